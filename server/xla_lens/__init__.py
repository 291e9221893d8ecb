"""XLA Lens: where the memory goes in the buffer assignment dumps of the XLA compiler.

As a library::

    import xla_lens

    path = "dumps/module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt"
    analysis, module = xla_lens.load(path), xla_lens.load_module(path)
    hbm = analysis.memory.space(0)
    print(f"peak: {hbm.peak_live_bytes:,} bytes at step {hbm.peak_step}")
    for line in xla_lens.bytes_by_line(analysis.dump, module, hbm.peak_step, hbm.color).lines:
        print(line.size_bytes, line.frame)

Values, allocations and instructions are rows of the tables of `analysis.dump`; see `DumpSet`.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from xla_lens.api import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        """Import the public API when a name in it is first used. That takes 0.4 s, for which the server's answer to
        `initialize` and the help of commands would wait.
        """
        if name != "__all__" and name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module("xla_lens.api"), name)
