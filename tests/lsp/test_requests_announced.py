"""Each announced request has a handler and a test of its answers."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import pytest
from lsprotocol import types as lsp

from lsp import test_requests_call_hierarchy as call_hierarchy
from lsp import test_requests_commands as commands
from lsp import test_requests_comparison as comparison
from lsp import test_requests_diagnostics as diagnostics
from lsp import test_requests_documents as documents
from lsp import test_requests_lenses_and_actions as lenses_and_actions
from lsp import test_requests_module_sources as module_sources
from lsp import test_requests_navigation as navigation
from lsp import test_requests_pages as pages
from lsp import test_requests_settings as settings
from lsp import test_requests_source_memory as source_memory
from lsp import test_requests_structure as structure
from lsp import test_requests_views as views
from lsp import test_requests_workspace as workspace
from lsp.reading import Reader
from lsp.wire import PULLING
from xla_lens.lsp.handlers import HANDLERS, Command
from xla_lens.lsp.settings import _SETTINGS, Settings

_TESTS: Mapping[str, Callable[..., Any]] = {
    lsp.TEXT_DOCUMENT_HOVER: navigation.test_jumps_work_from_a_step_after_a_wide_name,
    lsp.TEXT_DOCUMENT_DEFINITION: navigation.test_jumps_work_from_a_value_in_one_file,
    lsp.TEXT_DOCUMENT_DECLARATION: navigation.test_jumps_work_from_a_value_in_three_files,
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: navigation.test_jumps_work_from_a_value_in_three_files,
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: navigation.test_jumps_work_from_an_alias,
    lsp.TEXT_DOCUMENT_REFERENCES: navigation.test_references_can_exclude_the_declaration,
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: navigation.test_jumps_work_from_a_value_in_three_files,
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: structure.test_selection_ranges_widen_to_the_whole_file,
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: call_hierarchy.test_value_has_producers_and_consumers,
    lsp.CALL_HIERARCHY_INCOMING_CALLS: call_hierarchy.test_value_has_producers_and_consumers,
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: call_hierarchy.test_data_flow_passes_through_tuples_and_aliases,
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: documents.test_dump_in_one_file_has_an_outline,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: structure.test_dump_has_folding_ranges,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: structure.test_dump_has_semantic_tokens,
    lsp.TEXT_DOCUMENT_INLAY_HINT: documents.test_dump_in_one_file_has_hints,
    lsp.TEXT_DOCUMENT_CODE_LENS: lenses_and_actions.test_dump_in_one_file_has_lenses,
    lsp.CODE_LENS_RESOLVE: lenses_and_actions.test_lens_is_resolved_from_the_current_analysis,
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: documents.test_parts_link_to_the_other_files,
    lsp.DOCUMENT_LINK_RESOLVE: documents.test_links_to_sources_are_resolved,
    lsp.TEXT_DOCUMENT_CODE_ACTION: lenses_and_actions.test_finding_has_actions,
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: diagnostics.test_pulled_diagnostics_are_unchanged_the_second_time,
    lsp.WORKSPACE_DIAGNOSTIC: diagnostics.test_workspace_diagnostics_contain_all_files_of_open_sets,
    lsp.WORKSPACE_SYMBOL: workspace.test_query_finds_symbols,
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: pages.test_live_set_page_lists_live_values,
    lsp.WORKSPACE_EXECUTE_COMMAND: commands.test_commands_return_what_the_command_line_prints,
}
"""A test of the answers to each request."""

_COMMANDS: Mapping[str, Callable[..., Any]] = {
    Command.REPORT: commands.test_commands_return_what_the_command_line_prints,
    Command.COMPARE: comparison.test_each_row_leads_into_both_dumps,
    Command.COMPARED_MAPS: comparison.test_maps_of_the_page_are_on_one_axis,
    Command.SELECT_FOR_COMPARE: comparison.test_actions_select_and_compare,
    Command.END_COMPARISON: comparison.test_lens_and_hover_say_what_a_value_was,
    Command.CHECK: commands.test_commands_return_what_the_command_line_prints,
    Command.EXPLAIN: commands.test_explain_returns_the_page_of_every_code,
    Command.SHOW_SUMMARY: pages.test_summary_report_and_history_pages_are_shown,
    Command.SHOW_LIVE_SET: commands.test_show_live_set_finds_the_step_at_a_position,
    Command.SHOW_ALLOCATION_HISTORY: pages.test_summary_report_and_history_pages_are_shown,
    Command.SHOW_REPORT: pages.test_summary_report_and_history_pages_are_shown,
    Command.SHOW_ADVICE: pages.test_summary_report_and_history_pages_are_shown,
    Command.SHOW_REFERENCES: commands.test_show_references_goes_to_the_first,
    Command.FIND_VALUES: workspace.test_documented_query_finds_the_same_as_a_command,
    Command.GO_TO: lenses_and_actions.test_click_on_each_lens_has_a_target,
    Command.MEMORY_MAP: views.test_memory_map_equals_that_of_the_command_line,
    Command.OVERVIEW: views.test_overview_has_the_numbers_of_the_report,
    Command.MODULES: views.test_modules_are_sorted_by_peak,
    Command.PEAK: views.test_peak_has_the_lines_of_the_report,
    Command.VALUES: views.test_values_are_those_of_the_overview,
    Command.WHAT_IS_AT: views.test_what_is_at_returns_rows_and_step,
    Command.SOURCE_MEMORY: source_memory.test_command_has_the_lines_of_the_report,
    Command.DESCRIBE: views.test_description_of_a_value_is_its_hover,
}

_SETTING_TESTS: Mapping[str, Callable[..., Any]] = {
    "inlayHints.enable": settings.test_hints_and_lenses_can_be_disabled,
    "codeLens.enable": settings.test_hints_and_lenses_can_be_disabled,
    "references.limit": settings.test_number_of_references_can_be_limited,
    "diagnostics.ignore": settings.test_ignored_codes_are_not_reported,
    "diagnostics.maxPeak": settings.test_memory_limits_are_reported,
    "diagnostics.maxMemory": settings.test_memory_limits_are_reported,
    "diagnostics.maxReserved": settings.test_memory_limits_are_reported,
    "device.memory": settings.test_capacity_of_the_device_can_be_stated,
    "sources.pathMapping": module_sources.test_path_mapping_finds_a_source,
    "sourceLines.enable": source_memory.test_hints_and_hovers_are_off_by_default,
    "diagnostics.workspace": diagnostics.test_diagnostics_of_closed_sets_are_published_on_request,
}

_REFRESH_TESTS: Mapping[str, Callable[..., Any]] = {
    lsp.WORKSPACE_DIAGNOSTIC_REFRESH: diagnostics.test_edit_of_a_sibling_refreshes_pulled_diagnostics,
    lsp.WORKSPACE_INLAY_HINT_REFRESH: diagnostics.test_edit_of_a_sibling_refreshes_other_requests,
    lsp.WORKSPACE_CODE_LENS_REFRESH: diagnostics.test_edit_of_a_sibling_refreshes_other_requests,
    lsp.WORKSPACE_SEMANTIC_TOKENS_REFRESH: diagnostics.test_edit_of_a_sibling_refreshes_other_requests,
    lsp.WORKSPACE_FOLDING_RANGE_REFRESH: diagnostics.test_edit_of_a_sibling_refreshes_other_requests,
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
"""The requests that each capability announces."""

_NO_REQUESTS = {"positionEncoding", "textDocumentSync", "workspace.workspaceFolders", "workspace.fileOperations"}


async def test_announced_capabilities_match_the_handlers(reader: Reader) -> None:
    capabilities = dict((await reader.start(PULLING))["capabilities"])
    capabilities |= {f"workspace.{name}": value for name, value in capabilities.pop("workspace").items()}
    announced = {name for name, value in capabilities.items() if value} - _NO_REQUESTS
    assert announced == _ANNOUNCED.keys()
    promised = {method for methods in _ANNOUNCED.values() for method in methods}
    assert promised == HANDLERS.keys()
    assert capabilities["executeCommandProvider"]["commands"] == [str(command) for command in Command]
    # The server never edits a dump.
    assert not any("rename" in name.lower() or "formatting" in name.lower() for name in capabilities)


@pytest.mark.parametrize(
    ("announced", "tested"),
    [
        (HANDLERS, _TESTS),
        (set(map(str, Command)), _COMMANDS),
        (_SETTINGS, _SETTING_TESTS),
        ({handler.refresh for handler in HANDLERS.values()} - {""}, _REFRESH_TESTS),
    ],
    ids=["requests", "commands", "settings", "refreshes"],
)
def test_each_request_command_setting_and_refresh_has_a_test(
    announced: Any, tested: Mapping[str, Callable[..., Any]]
) -> None:
    assert set(announced) == {str(name) for name in tested}
    for test in tested.values():
        assert test.__name__.startswith("test_")


def test_each_setting_has_a_reader() -> None:
    assert {field for field, _ in _SETTINGS.values()} == {field.name for field in fields(Settings)}
