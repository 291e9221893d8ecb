"""Reading settings as editors send them: nested or flat, valid or not."""

import pytest

from xla_lens.lsp.settings import Settings, read_settings


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, Settings()),
        ({}, Settings()),
        ({"inlayHints": {"enable": False}}, Settings(inlay_hints=False)),
        ({"inlayHints.enable": False}, Settings(inlay_hints=False)),
        ({"codeLens": {"enable": False}, "references": {"limit": 7}}, Settings(code_lenses=False, place_limit=7)),
        (
            {"diagnostics": {"maxPeak": "16GiB", "maxMemory": "1.5 MiB", "ignore": ["peak-understated"]}},
            Settings(max_peak=16 << 30, max_memory=3 << 19, ignored_codes=frozenset({"peak-understated"})),
        ),
        ({"diagnostics": {"maxPeak": None, "workspace": True}}, Settings(checks_workspace=True)),
        ({"diagnostics": {"maxPeak": "", "maxMemory": ""}}, Settings()),
        ({"python": {"path": "/usr/bin/python3"}, "trace": {"server": "off"}}, Settings()),
    ],
)
def test_valid_settings_are_read(given: object, expected: Settings) -> None:
    assert read_settings(given) == (expected, [])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "xla-lens: expected an object with settings"),
        ({"inlayHints": {"enable": "no"}}, "xla-lens.inlayHints.enable: expected true or false"),
        ({"references": {"limit": 0}}, "xla-lens.references.limit: expected an integer of at least 1"),
        ({"references": {"limit": True}}, "xla-lens.references.limit: expected an integer of at least 1"),
        ({"diagnostics": {"maxPeak": 16}}, 'xla-lens.diagnostics.maxPeak: expected a size such as "16GiB" or "16GB"'),
        (
            {"diagnostics": {"maxPeak": "much"}},
            'xla-lens.diagnostics.maxPeak: expected a size such as "16GiB" or "16GB"',
        ),
        ({"diagnostics": {"ignore": "syntax"}}, "xla-lens.diagnostics.ignore: expected a list of finding codes"),
        (
            {"diagnostics": {"ignore": ["sintax"]}},
            "xla-lens.diagnostics.ignore: expected finding codes, not 'sintax'; did you mean 'syntax'?",
        ),
    ],
)
def test_invalid_settings_are_reported_and_ignored(given: object, message: str) -> None:
    assert read_settings(given) == (Settings(), [message])


def test_invalid_setting_leaves_the_others() -> None:
    settings, wrong = read_settings({"inlayHints": {"enable": 1}, "codeLens": {"enable": False}})
    assert settings == Settings(code_lenses=False)
    assert len(wrong) == 1


def test_path_mapping_keeps_its_keys() -> None:
    given = {"sources": {"pathMapping": {"/home/user.name": "/here", "C:\\src": "D:\\src"}}}
    expected = Settings(path_mapping=(("/home/user.name", "/here"), ("C:\\src", "D:\\src")))
    assert read_settings(given) == (expected, [])
    assert read_settings({"sources.pathMapping": given["sources"]["pathMapping"]}) == (expected, [])


@pytest.mark.parametrize("given", ["/home", ["/home"], {"/home": 5}, {"": "/here"}, {"/home": ""}, {"/home": {}}])
def test_invalid_path_mapping_is_rejected(given: object) -> None:
    error = "xla-lens.sources.pathMapping: expected an object that maps folders of the compiling machine to local ones"
    assert read_settings({"sources": {"pathMapping": given}}) == (Settings(), [error])
