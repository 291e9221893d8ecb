"""Out-of-memory messages in the forms that XLA has printed since 2019, as they stand in logs.

Names and paths of users' programs are replaced, and lists are short.
"""

from pathlib import Path
from typing import Final

_LOGS: Final = Path(__file__).parent / "logs"


def _log(name: str) -> str:
    return (_LOGS / f"{name}.txt").read_text(encoding="utf-8")


TPU_LIST: Final = _log("tpu-list")
"""jaxlib of 2023 and 2024: erfanzar/EasyDeL#166."""

TPU_TENSORFLOW: Final = _log("tpu-tensorflow")
"""TensorFlow 1.15 on TPU v2: DifferentiableUniverseInitiative/flowpm#27."""

TPU_TORCH: Final = _log("tpu-torch")
"""PyTorch/XLA of May 2020, where the logger puts a prefix in front of each line: pytorch/xla#1965."""

TPU_VMEM: Final = _log("tpu-vmem")
"""libtpu of 2026 under vLLM: vllm-project/tpu-inference#2803."""

GPU_LIST: Final = _log("gpu-list")
"""XLA of October 2022: google-research/t5x#870 and jax-ml/jax#13428."""

TPU_RUNTIME: Final = _log("tpu-runtime")
"""PyTorch/XLA of March 2020, when a program is loaded: pytorch/xla#1735."""
