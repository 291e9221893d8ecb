"""Print XProf's memory viewer for one module as JSON: `python memory_viewer.py MODULE.hlo.pb`. Needs xprof."""

import shutil
import sys
import tempfile
from pathlib import Path


def memory_viewer(path: Path, color: int = 0) -> str:
    """Return what the memory viewer shows of a memory space, as JSON."""
    from xprof.convert.raw_to_tool_data import xspace_to_tool_data

    with tempfile.TemporaryDirectory() as session:
        shutil.copy(path, Path(session) / "module.hlo_proto.pb")
        space = Path(session) / "host.xplane.pb"
        space.touch()
        text, _ = xspace_to_tool_data(
            [str(space)], "memory_viewer", {"module_name": "module", "memory_space": str(color)}
        )
    return text.decode() if isinstance(text, bytes) else str(text)


if __name__ == "__main__":
    print(memory_viewer(Path(sys.argv[1])))
