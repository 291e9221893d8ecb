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
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Replaces this folder, in which this file would hide the package of the same name.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).parent.parent))

from crosscheck.rules import Result, compare
from crosscheck.stacks import wrong_stacks
from crosscheck.tables import nothing_compared, size_table, summary, tables, unexplained
from crosscheck.traced import compare_traced
from xla_lens.cli.sets import load_sets
from xla_lens.files import find_sets, load_module
from xla_lens.model.analysis import Analysis
from xla_lens.syntax.file_names import SUFFIXES, FileKind, module_name

HERE = Path(__file__).parent
DUMPS = HERE / "dumps"
FACTS = HERE / "facts.json"
README = HERE / "README.md"

AT_SIZE = (("train_step.py",), ("llama_step.py", "32", "scanned"), ("llama_step.py", "32"))

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


def compare_all(
    folder: Path, facts: dict[str, Any], compare_one: Callable[[str, Analysis, dict[str, Any]], Result] = compare
) -> list[Result]:
    """Compare all dump sets of a folder, which must be those that the facts describe."""
    results = [
        compare_one(module, loaded.analysis, facts["modules"][module])
        for loaded in load_sets([folder])
        for module in [module_name(str(next(iter(loaded.files.paths.values()))))]
        if module is not None
    ]
    assert [result.module for result in results] == list(facts["modules"])
    assert results, f"No program in {folder}."
    return results


def compare_stacks(folder: Path, facts: dict[str, Any]) -> list[str]:
    """The stack frames in which xprof and we differ, for all dump sets of a folder."""
    wrong = []
    for files in find_sets(folder):
        name, loaded = module_name(files.stem.name + ".txt"), load_module(files, {}, None, lambda: False)
        assert name
        assert loaded
        wrong += [f"{name}: {line}" for line in wrong_stacks(loaded.module, facts["modules"][name]["stacks"])]
    return wrong


def compare_at_size(python: Path) -> tuple[list[Result], dict[str, str], list[str]]:
    """Compare programs of real size. Return the results, the versions of the peers
    and the stack frames that differ.
    """
    results: list[Result] = []
    wrong: list[str] = []
    versions: dict[str, str] = {}
    for script, *arguments in AT_SIZE:
        print(f"Compiling {' '.join((script, *arguments))}", file=sys.stderr)
        compare_one = compare_traced if script == "llama_step.py" else compare
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            run(python, script, str(folder), *arguments)
            facts = json.loads(run(python, "peers.py", str(folder)))
            versions |= facts["versions"]
            results += compare_all(folder, facts, compare_one)
            wrong += compare_stacks(folder, facts)
    return results, versions, wrong


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
    parser.add_argument(
        "--large", action="store_true", help="also compare a program of 32 layers that are not in a loop"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run(options.python, "programs.py", str(folder))
        facts = json.loads(run(options.python, "peers.py", str(folder)))
        results = compare_all(folder, facts)
        shown = tables(results, facts["versions"])
        print(shown)
        wrong = compare_stacks(folder, facts)
        of_size, versions, more = compare_at_size(options.python)
        at_size = size_table(of_size, versions)
        print(at_size)
        problems = [*unexplained(results + of_size), *wrong, *more, *nothing_compared(results + of_size)]
        print(*problems, summary(results + of_size, problems), sep="\n")
        if options.record and not problems:
            record(folder, facts, shown, at_size)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
