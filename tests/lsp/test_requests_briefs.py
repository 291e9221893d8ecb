"""Short answers for language models."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, copied
from lsp.wire import FULL, RequestFailed
from samples import DUMPS, SPLIT, TPU
from xla_lens.editor.brief import LONGEST_BRIEF

_MESSAGE = (
    "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
    "temporaries (12.05M) exceeds available HBM (10.00M). HLO module: jit_roundtrip."
)
_COMPARED = [
    next(DUMPS.glob(f"{target}/host_offload/*-buffer-assignment.txt"))
    for target in ("tpu-v5p-jaxlib0.6.2-libtpu0.0.17.1", "tpu-v5e2x2-libtpu0.0.51")
]


async def _brief(reader: Reader, question: str, path: Path, **more: Any) -> str:
    text = str(await reader.run("brief", {"question": question, "uri": path.as_uri(), **more}))
    assert 0 < len(text.encode()) <= LONGEST_BRIEF
    return text


async def test_memory_and_savings_of_a_dump_or_a_folder(reader: Reader, tmp_path: Path) -> None:
    dump = copied(SPLIT, tmp_path / "split")
    await reader.start(FULL, tmp_path)
    text = await _brief(reader, "memory", dump)
    assert "It needs 4.21 MiB of host memory." in text
    # Paths are whole, so that an agent can open them.
    assert "36.4 %  /home/user/programs/programs.py:50 in mlp_apply" in text
    assert await _brief(reader, "memory", tmp_path / "split") == text
    assert "What would lower the host memory peak" in await _brief(reader, "savings", dump)


async def test_comparison(reader: Reader, tmp_path: Path) -> None:
    old, new = (copied(path, tmp_path / name) for path, name in zip(_COMPARED, ("old", "new"), strict=True))
    await reader.start(FULL, tmp_path)
    text = await _brief(reader, "comparison", new, old=old.as_uri())
    assert text.startswith("jit_roundtrip: HBM peak 8.00 MiB → 12.00 MiB")
    with pytest.raises(RequestFailed, match="two different dumps"):
        await _brief(reader, "comparison", new, old=new.as_uri())


async def test_failure_says_what_to_do_within_the_limit(reader: Reader, tmp_path: Path) -> None:
    shutil.copytree(TPU.parent, tmp_path / "dumps")
    log = tmp_path / "error.log"
    log.write_text(f"step 1\n{_MESSAGE}\n")
    await reader.start(FULL, tmp_path)
    text = await _brief(reader, "failure", log)
    assert text.startswith("HBM ran out when XLA compiled jit_roundtrip")
    assert "does not fit the device" in text
    assert text.index("What would lower the HBM peak") < text.index("What the message says")
    # A text that is in no file.
    assert "jit_roundtrip" in await _brief(reader, "failure", tmp_path / "message", text=_MESSAGE)


async def test_files_outside_of_the_workspace_are_refused(reader: Reader, tmp_path: Path) -> None:
    outside = copied(SPLIT, tmp_path / "outside")
    inside = tmp_path / "inside"
    inside.mkdir()
    os.symlink(outside.parent, inside / "link")
    await reader.start(FULL, inside)
    for path in (outside, inside / ".." / "outside" / SPLIT.name, inside / "link" / SPLIT.name, inside / "link"):
        with pytest.raises(RequestFailed, match="is not in the workspace"):
            await _brief(reader, "memory", path)
    with pytest.raises(RequestFailed, match="unknown question"):
        await _brief(reader, "weather", inside)
