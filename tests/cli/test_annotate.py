"""`xla-lens annotate`."""

import shutil
from pathlib import Path

from cli.test_cli import run
from samples import DUMPS, SPLIT

_PROGRAM = DUMPS / "programs" / "programs.py"


def test_module_with_the_most_bytes_is_chosen() -> None:
    _, alone, _ = run("annotate", _PROGRAM, SPLIT)
    _, out, _ = run("annotate", _PROGRAM, DUMPS / "cpu-jaxlib0.12.0.1")
    assert out == alone
    selected = ("--module", "tuple_while")
    _, out, _ = run("annotate", _PROGRAM, DUMPS / "cpu-jaxlib0.12.0.1", *selected)
    assert out.startswith("programs.py: 104 B (76.5 %) of the host memory peak of 136 B ")


def test_path_mapping_decides_which_file_is_meant(tmp_path: Path) -> None:
    other = tmp_path / "model.py"
    shutil.copy(_PROGRAM, other)
    status, out, err = run("annotate", other, SPLIT)
    assert (status, out) == (2, "")
    assert err == f"xla-lens: {other}: the peak comes from other files: /home/user/programs/programs.py\n"
    mapping = f"/home/user/programs/programs.py={other}"
    status, out, _ = run("annotate", other, SPLIT, "--path-mapping", mapping)
    assert status == 0
    assert out.startswith("model.py: 2.29 MiB ")
