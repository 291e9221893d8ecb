"""`make demo`: where the memory of a real program goes, in under a screen.

Copies a dump and the program that it comes from to `build/demo`, so that the source lines in the dump exist here.
Prints the answer, the line of the program behind it, the memory map, and what to type next.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
_DUMP: Final = ROOT / "tests" / "dumps" / "cpu-jaxlib0.12.0.1" / "mlp_train"
_PROGRAM: Final = ROOT / "tests" / "dumps" / "programs" / "programs.py"
_FOLDER: Final = ROOT / "build" / "demo"
_COMMAND: Final = Path(sys.executable).parent / "xla-lens"

_HAS_COLORS: Final = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def main() -> None:
    """Run the demo."""
    folder, command = _shown(_FOLDER), _shown(_COMMAND)
    _copy()
    print("A training step of a small network, compiled by JAX for CPU. Where does its memory go?\n")
    report = ("report", folder, "--part", "line", "--top", "3")
    print(_painted("1;36", f"$ {command} {' '.join(report)}"), flush=True)
    subprocess.run([_COMMAND, *report], cwd=ROOT, check=True)
    row, line = _line()
    print(f"\nThe line of the program that takes most, {_shown(_FOLDER / _PROGRAM.name)}:{row}:")
    print(f"  {row:4} │ {line}\n")
    page = _FOLDER / "memory-map.html"
    html = ("report", folder, "--output-format", "html")
    page.write_bytes(subprocess.run([_COMMAND, *html], cwd=ROOT, check=True, capture_output=True).stdout)
    print(f"The memory map, every buffer over time: open {_shown(page)} in a browser.\n")
    print("Type next:")
    for arguments, words in (
        (f"report {folder}", "the whole report"),
        (f"report {folder} --budget 4MiB", "what to do to fit into 4 MiB"),
        (f"check {folder}", "whether the dump contradicts itself"),
        ("--help", "all commands; add --help to any"),
    ):
        print(f"  {_painted('1;36', f'{command} {arguments}')}{' ' * (34 - len(arguments))}{words}")
    print("\nYour own program, with a report when it ends:")
    print(_painted("1;36", f"  {command} run python train.py"))


def _copy() -> None:
    """Copy the dump and the program. In the collection, the home folder in paths is replaced by `/home/user`."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    (_FOLDER / _PROGRAM.name).write_bytes(_PROGRAM.read_bytes())
    for file in _DUMP.glob("module_0000*"):
        text = file.read_text(encoding="utf-8").replace("/home/user/programs", str(_FOLDER))
        (_FOLDER / file.name).write_text(text, encoding="utf-8")


def _line() -> tuple[int, str]:
    """The line of the program that takes most memory, from the report."""
    arguments = ("report", str(_FOLDER), "--part", "line", "--output-format", "markdown")
    report = subprocess.run([_COMMAND, *arguments], check=True, capture_output=True, text=True).stdout
    match = re.search(rf"{re.escape(_PROGRAM.name)}:(\d+)", report)
    assert match
    row = int(match[1])
    return row, _PROGRAM.read_text(encoding="utf-8").splitlines()[row - 1]


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def _painted(color: str, text: str) -> str:
    return f"\033[{color}m{text}\033[0m" if _HAS_COLORS else text


if __name__ == "__main__":
    main()
