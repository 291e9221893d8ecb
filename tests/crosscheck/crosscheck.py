"""Compare XLA Lens with XLA's own protos and with xprof: `python crosscheck.py --python PYTHON`, or `make crosscheck`.

PYTHON has jax, libtpu and xprof. Prints tables and a summary, and exits with status 1 if the rules do not explain a
difference, or if there is nothing to compare. `--record` saves the peers' numbers for the tests: dumps/, facts.json and
the tables in README.md.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# Replaces this folder, in which this file would hide the package of the same name.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).parent.parent))

from crosscheck.matrix import ROWS
from crosscheck.rules import Result, Space, compare
from crosscheck.tables import nothing_compared, peak_table, size_table, summary, target_table, unexplained
from crosscheck.targets import row_problems
from crosscheck.traced import TracedSpace
from xla_lens.cli.sets import find_dumps
from xla_lens.syntax.file_names import SUFFIXES, FileKind, module_name

HERE = Path(__file__).parent
DUMPS = HERE / "dumps"
FACTS = HERE / "facts.json"
README = HERE / "README.md"
TARGETS = HERE / "targets"
TARGET_FACTS = HERE / "targets.json"

AT_SIZE = (("programs.py", "transformer"), ("llama_step.py", "32", "scanned"), ("llama_step.py", "32"))

KEPT = (
    *(SUFFIXES[kind] for kind in (FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES, FileKind.LIVE_RANGE)),
    "after_optimizations.txt",
)


def run(python: Path, script: str, *arguments: str) -> str:
    """Run a script in the other Python and return its output. Its log is printed only if it fails."""
    command = [str(python), str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def compare_programs(python: Path, folder: Path, script: str, *arguments: str) -> tuple[list[Result], dict[str, Any]]:
    """Compile programs into a folder. Return the comparisons and the facts of the peers."""
    print(f"Compiling {' '.join((script, *arguments))}", file=sys.stderr)
    run(python, script, str(folder), *arguments)
    facts = json.loads(run(python, "peers.py", str(folder)))
    results = []
    for loaded in find_dumps([folder]).load():
        name, analysis = module_name(loaded.files.stem.name + ".txt"), loaded.with_module()
        assert name
        assert analysis.module
        space_type = TracedSpace if script == "llama_step.py" else Space
        results.append(compare(name, analysis, analysis.module, facts["modules"][name], space_type))
    assert [result.module for result in results] == list(facts["modules"])
    return results, facts


def compare_targets(python: Path, folder: Path) -> tuple[dict[str, dict[str, int]], list[str]]:
    """Compile each row of `matrix.py` into a folder of its own. Return the memory analysis of those that can be
    compiled here, and the problems.
    """
    sizes: dict[str, dict[str, int]] = {}
    problems: list[str] = []
    for name in ROWS:
        print(f"Compiling {name}", file=sys.stderr)
        found = json.loads(run(python, "matrix.py", str(folder / name), name).splitlines()[-1])
        if "missing" in found:
            print(f"{name} is left out: {found['missing']}", file=sys.stderr)
            continue
        sizes[name] = found
        problems += row_problems(name, folder / name, found)
    return sizes, problems


def record_targets(folder: Path, sizes: dict[str, dict[str, int]]) -> None:
    """Save the dumps of the rows and their memory analysis for the tests."""
    shutil.rmtree(TARGETS, ignore_errors=True)
    for name in sizes:
        for path in sorted((folder / name).rglob("*after_optimizations[-.]*txt")):
            place = path.relative_to(folder).parts
            # Folders that XLA makes have the name of the machine and of the process: HOST_PID.
            kept = TARGETS.joinpath(*place[:2], *["host_1"] * (len(place) > 3)) if len(place) > 2 else TARGETS / name
            kept.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, kept)
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in sizes.items())
    TARGET_FACTS.write_text(f"{{\n{rows}\n}}\n")
    README.write_text(readme_with(README.read_text(), target_table(sizes), "targets"))


def readme_with(text: str, shown: str, name: str = "tables") -> str:
    """README.md with what stands between two marks replaced."""
    before, mark, rest = text.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- end of {name} -->\n")
    assert mark
    assert end
    return f"{before}{mark}\n{shown}\n{end}{after}"


def record(folder: Path, facts: dict[str, Any], shown: str, at_size: str) -> None:
    """Save the dumps, the facts and the tables for the tests."""
    shutil.rmtree(DUMPS, ignore_errors=True)
    DUMPS.mkdir()
    for path in sorted(folder.iterdir()):
        if path.name.endswith(KEPT):
            shutil.copy(path, DUMPS)
    # Only programs of real size have padding.
    compared = {name: {key: one[key] for key in one if key != "unpadded"} for name, one in facts["modules"].items()}
    modules = ",\n".join(f"{json.dumps(name)}: {_compact(one)}" for name, one in compared.items())
    FACTS.write_text(f'{{"versions": {json.dumps(facts["versions"])}, "modules": {{\n{modules}\n}}}}\n')
    README.write_text(readme_with(readme_with(README.read_text(), shown), at_size, "programs of real size"))


def _compact(one: Any) -> str:
    return json.dumps(one, separators=(",", ":"), ensure_ascii=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, required=True, help="a Python with jax and xprof")
    parser.add_argument("--record", action="store_true", help="save the peers' numbers for the tests")
    parser.add_argument("--targets", action="store_true", help="only compile for all targets and with all flags")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        sizes, problems = compare_targets(options.python, Path(temporary))
        print(target_table(sizes), *problems, sep="\n")
        if options.record and not problems:
            record_targets(Path(temporary), sizes)
    if options.targets:
        return 1 if problems or not sizes else 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        results, facts = compare_programs(options.python, folder, "programs.py")
        shown = peak_table(results, facts["versions"])
        print(shown)
        of_size: list[Result] = []
        versions: dict[str, str] = {}
        for command in AT_SIZE:
            with tempfile.TemporaryDirectory() as other:
                found, others = compare_programs(options.python, Path(other), *command)
            of_size += found
            versions |= others["versions"]
        at_size = size_table(of_size, versions)
        print(at_size)
        problems += [*unexplained(results + of_size), *nothing_compared(results + of_size)]
        print(*problems, summary(results + of_size, problems), sep="\n")
        if options.record and not problems:
            record(folder, facts, shown, at_size)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
