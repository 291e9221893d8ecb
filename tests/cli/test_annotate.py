"""`xla-lens report --annotate`."""

import shutil
from pathlib import Path

from cli.test_cli import run
from samples import DUMPS, SPLIT

_PROGRAM = DUMPS / "programs" / "programs.py"


def test_module_with_the_most_bytes_is_chosen() -> None:
    _, alone, _ = run("report", SPLIT, "--annotate", _PROGRAM)
    _, out, _ = run("report", DUMPS / "cpu-jaxlib0.12.0.1", "--annotate", _PROGRAM)
    assert out == alone
    selected = ("--module", "tuple_while")
    _, out, _ = run("report", DUMPS / "cpu-jaxlib0.12.0.1", "--annotate", _PROGRAM, *selected)
    assert out.startswith("programs.py: 104 B (76.5 %) of the host memory peak of 136 B ")


def test_path_mapping_decides_which_file_is_meant(tmp_path: Path) -> None:
    other = tmp_path / "model.py"
    shutil.copy(_PROGRAM, other)
    status, out, err = run("report", SPLIT, "--annotate", other)
    assert (status, out) == (2, "")
    assert err == f"xla-lens: {other}: the peak comes from other files: /home/user/programs/programs.py\n"
    mapping = f"/home/user/programs/programs.py={other}"
    status, out, _ = run("report", SPLIT, "--annotate", other, "--path-mapping", mapping)
    assert status == 0
    assert out.startswith("model.py: 2.29 MiB ")
