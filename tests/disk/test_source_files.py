"""Finding source files that a dump names by paths of another machine."""

from pathlib import Path

import pytest

from xla_lens.disk.source_files import file_index, nearest
from xla_lens.text.paths import mapped


@pytest.mark.parametrize(
    ("path", "mapping", "expected"),
    [
        ("/home/user/a/b.py", {}, "/home/user/a/b.py"),
        ("/home/user/a/b.py", {"/home/user": "/me"}, "/me/a/b.py"),
        ("/home/user/a/b.py", {"/home/user/": "/me/"}, "/me/a/b.py"),
        ("/home/user/a/b.py", {"/home": "/x", "/home/user/a": "/y", "/home/user": "/z"}, "/y/b.py"),
        ("/home/username/b.py", {"/home/user": "/me"}, "/home/username/b.py"),
        ("/home/user/b.py", {"/": "/me"}, "/me/home/user/b.py"),
        ("/home/user/b.py", {"/home/user": "/"}, "/b.py"),
        ("C:\\src\\a\\b.py", {"C:\\src": "/src"}, "/src/a/b.py"),
        ("src/b.py", {"src": "lib"}, "lib/b.py"),
        ("/home/user", {"/home/user": "/me/b.py"}, "/me/b.py"),
    ],
)
def test_longest_folder_of_the_mapping_wins(path: str, mapping: dict[str, str], expected: str) -> None:
    assert mapped(path, tuple(mapping.items())) == expected


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in (
        *("train.py", "models/layers.py", "old/models/layers.py", "deep/er/train.py"),
        *(".venv/lib/jax.py", "node_modules/x/only.py"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link.py").symlink_to(tmp_path / "train.py")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/build/x/models/layers.py", "models/layers.py"),
        ("/build/old/models/layers.py", "old/models/layers.py"),
        ("C:\\build\\old\\models\\layers.py", "old/models/layers.py"),
        ("layers.py", "models/layers.py"),
        ("/er/train.py", "deep/er/train.py"),
        ("/other/train.py", "train.py"),
        ("/a/jax.py", None),
        ("/a/only.py", None),
        ("/a/link.py", None),
        ("/a/train", None),
        ("/", None),
        ("", None),
    ],
)
def test_longest_common_end_of_a_path_wins(workspace: Path, path: str, expected: str | None) -> None:
    assert nearest(file_index([workspace], 100), path) == (workspace / expected if expected else None)


def test_deepest_files_are_left_out_first(workspace: Path) -> None:
    assert {file.name for files in file_index([workspace], 2).values() for file in files} == {"train.py", "layers.py"}
    assert file_index([workspace / "nowhere"], 100) == {}
