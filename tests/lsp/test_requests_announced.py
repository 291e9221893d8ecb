"""Each request that the server announces is answered, and has a test that looks at what is in the answer."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import pytest
from lsprotocol import types as lsp

from lsp import test_requests_commands as commands
from lsp import test_requests_diagnostics as diagnostics
from lsp import test_requests_documents as documents
from lsp import test_requests_hierarchy as hierarchy
from lsp import test_requests_module_sources as module_sources
from lsp import test_requests_pages as pages
from lsp import test_requests_positions as positions
from lsp import test_requests_settings as settings
from lsp import test_requests_structure as structure
from lsp import test_requests_suggestions as suggestions
from lsp import test_requests_views as views
from lsp import test_requests_workspace as workspace
from lsp.reading import Reader
from lsp.wire import PULLING
from xla_lens.lsp.methods import METHODS, REFRESHES, Command
from xla_lens.lsp.requests import HANDLERS
from xla_lens.lsp.settings import _SETTINGS, Settings

_TESTS: Mapping[str, Callable[..., Any]] = {
    lsp.TEXT_DOCUMENT_HOVER: positions.test_a_step_behind_a_wide_name,
    lsp.TEXT_DOCUMENT_DEFINITION: positions.test_a_value_in_one_file,
    lsp.TEXT_DOCUMENT_DECLARATION: positions.test_a_value_in_three_files,
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: positions.test_a_value_in_three_files,
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: positions.test_an_alias_shows_bytes_of_another,
    lsp.TEXT_DOCUMENT_REFERENCES: positions.test_references_without_the_declaration,
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: positions.test_a_value_in_three_files,
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: structure.test_selections_widen_to_the_whole_file,
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: hierarchy.test_the_flow_of_data,
    lsp.CALL_HIERARCHY_INCOMING_CALLS: hierarchy.test_the_flow_of_data,
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: hierarchy.test_the_flow_of_data_through_tuples_and_aliases,
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: documents.test_the_outline_of_a_dump_in_one_file,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: structure.test_sections_allocations_values_and_their_lists_fold,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: structure.test_colours_tell_what_words_are,
    lsp.TEXT_DOCUMENT_INLAY_HINT: documents.test_hints_beside_the_lines,
    lsp.TEXT_DOCUMENT_CODE_LENS: suggestions.test_lenses_of_a_dump_in_one_file,
    lsp.CODE_LENS_RESOLVE: suggestions.test_a_lens_tells_what_there_is_when_it_is_shown,
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: documents.test_links_to_the_other_files,
    lsp.DOCUMENT_LINK_RESOLVE: documents.test_links_to_sources_are_found_when_they_are_followed,
    lsp.TEXT_DOCUMENT_CODE_ACTION: suggestions.test_a_finding_is_explained_and_leads_on,
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: diagnostics.test_pulled_diagnostics_are_told_once,
    lsp.WORKSPACE_DIAGNOSTIC: diagnostics.test_all_files_of_open_sets_are_pulled,
    lsp.WORKSPACE_SYMBOL: workspace.test_queries,
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: pages.test_what_is_live_at_a_step,
    lsp.WORKSPACE_EXECUTE_COMMAND: commands.test_commands_tell_what_the_command_line_tells,
}
"""For each request a test of what is answered."""

_COMMANDS: Mapping[str, Callable[..., Any]] = {
    Command.REPORT: commands.test_commands_tell_what_the_command_line_tells,
    Command.CHECK: commands.test_commands_tell_what_the_command_line_tells,
    Command.EXPLAIN: commands.test_every_code_is_explained,
    Command.SHOW_SUMMARY: pages.test_where_the_memory_goes_and_who_holds_which_bytes,
    Command.SHOW_LIVE_SET: commands.test_the_live_set_at_a_place,
    Command.SHOW_ALLOCATION_HISTORY: pages.test_where_the_memory_goes_and_who_holds_which_bytes,
    Command.SHOW_REPORT: pages.test_where_the_memory_goes_and_who_holds_which_bytes,
    Command.SHOW_REFERENCES: commands.test_references_are_shown,
    Command.GO_TO: suggestions.test_each_lens_leads_somewhere,
    Command.MEMORY_MAP: views.test_the_map_is_that_of_the_command_line,
    Command.OVERVIEW: views.test_where_the_memory_goes,
    Command.MODULES: views.test_modules_worst_first,
    Command.WHAT_IS_AT: views.test_what_is_at_a_place,
    Command.DESCRIBE: views.test_a_description_is_the_hover,
}

_SETTING_TESTS: Mapping[str, Callable[..., Any]] = {
    "inlayHints.enable": settings.test_hints_and_lenses_can_be_switched_off,
    "codeLens.enable": settings.test_hints_and_lenses_can_be_switched_off,
    "references.limit": settings.test_the_limit_of_references,
    "diagnostics.ignore": settings.test_codes_that_are_ignored,
    "diagnostics.maxPeak": settings.test_limits,
    "diagnostics.maxReserved": settings.test_limits,
    "sources.pathMapping": module_sources.test_a_source_that_the_user_maps,
    "diagnostics.workspace": diagnostics.test_sets_that_are_not_open_are_published_if_the_user_wants_that,
}

_REFRESH_TESTS: Mapping[str, Callable[..., Any]] = {
    lsp.WORKSPACE_DIAGNOSTIC_REFRESH: diagnostics.test_an_edit_in_a_sibling_has_them_pulled_again,
    lsp.WORKSPACE_INLAY_HINT_REFRESH: diagnostics.test_other_answers_are_outdated_by_edits_of_siblings,
    lsp.WORKSPACE_CODE_LENS_REFRESH: diagnostics.test_other_answers_are_outdated_by_edits_of_siblings,
    lsp.WORKSPACE_SEMANTIC_TOKENS_REFRESH: diagnostics.test_other_answers_are_outdated_by_edits_of_siblings,
    lsp.WORKSPACE_FOLDING_RANGE_REFRESH: diagnostics.test_other_answers_are_outdated_by_edits_of_siblings,
}

_ANNOUNCED: Mapping[str, tuple[str, ...]] = {
    "callHierarchyProvider": (
        lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY,
        lsp.CALL_HIERARCHY_INCOMING_CALLS,
        lsp.CALL_HIERARCHY_OUTGOING_CALLS,
    ),
    "codeActionProvider": (lsp.TEXT_DOCUMENT_CODE_ACTION,),
    "codeLensProvider": (lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CODE_LENS_RESOLVE),
    "declarationProvider": (lsp.TEXT_DOCUMENT_DECLARATION,),
    "definitionProvider": (lsp.TEXT_DOCUMENT_DEFINITION,),
    "diagnosticProvider": (lsp.TEXT_DOCUMENT_DIAGNOSTIC, lsp.WORKSPACE_DIAGNOSTIC),
    "documentHighlightProvider": (lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT,),
    "documentLinkProvider": (lsp.TEXT_DOCUMENT_DOCUMENT_LINK, lsp.DOCUMENT_LINK_RESOLVE),
    "documentSymbolProvider": (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL,),
    "executeCommandProvider": (lsp.WORKSPACE_EXECUTE_COMMAND,),
    "foldingRangeProvider": (lsp.TEXT_DOCUMENT_FOLDING_RANGE,),
    "hoverProvider": (lsp.TEXT_DOCUMENT_HOVER,),
    "implementationProvider": (lsp.TEXT_DOCUMENT_IMPLEMENTATION,),
    "inlayHintProvider": (lsp.TEXT_DOCUMENT_INLAY_HINT,),
    "referencesProvider": (lsp.TEXT_DOCUMENT_REFERENCES,),
    "selectionRangeProvider": (lsp.TEXT_DOCUMENT_SELECTION_RANGE,),
    "semanticTokensProvider": (lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE,),
    "typeDefinitionProvider": (lsp.TEXT_DOCUMENT_TYPE_DEFINITION,),
    "workspace.textDocumentContent": (lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT,),
    "workspaceSymbolProvider": (lsp.WORKSPACE_SYMBOL,),
}
"""What each capability promises."""

_NO_REQUESTS = {"positionEncoding", "textDocumentSync", "workspace.workspaceFolders", "workspace.fileOperations"}


async def test_what_is_announced_is_answered_and_nothing_else(reader: Reader) -> None:
    capabilities = dict((await reader.start(PULLING))["capabilities"])
    capabilities |= {f"workspace.{name}": value for name, value in capabilities.pop("workspace").items()}
    announced = {name for name, value in capabilities.items() if value} - _NO_REQUESTS
    assert announced == _ANNOUNCED.keys()
    promised = {method for methods in _ANNOUNCED.values() for method in methods}
    assert promised == HANDLERS.keys() == METHODS.keys() | {lsp.WORKSPACE_EXECUTE_COMMAND}
    assert capabilities["executeCommandProvider"]["commands"] == [str(command) for command in Command]
    # A dump is evidence: nothing writes.
    assert not any("rename" in name.lower() or "formatting" in name.lower() for name in capabilities)


@pytest.mark.parametrize(
    ("there", "tested"),
    [
        (HANDLERS, _TESTS),
        (set(map(str, Command)), _COMMANDS),
        (_SETTINGS, _SETTING_TESTS),
        (set(REFRESHES.values()), _REFRESH_TESTS),
    ],
    ids=["requests", "commands", "settings", "refreshes"],
)
def test_each_has_a_test(there: Any, tested: Mapping[str, Callable[..., Any]]) -> None:
    assert set(there) == {str(name) for name in tested}
    for test in tested.values():
        assert test.__name__.startswith("test_")


def test_each_setting_is_read() -> None:
    assert {field for field, _ in _SETTINGS.values()} == {field.name for field in fields(Settings)}
