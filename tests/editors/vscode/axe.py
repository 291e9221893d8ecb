"""Checks a page with axe: names, contrast, roles and keyboard operation."""

from editors.vscode.window import Page
from samples import ROOT

_AXE = ROOT / "vscode-extension" / "node_modules" / "axe-core" / "axe.min.js"


def axe_problems(page: Page) -> list[tuple[str, str, list[str]]]:
    """Return what axe finds in a page: the rule, what it asks for, and the elements.

    The context of the page has to ignore content security policies.
    """
    page.add_script_tag(path=_AXE)
    found = page.evaluate("axe.run()")
    assert found["passes"]
    return [(one["id"], one["help"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]
