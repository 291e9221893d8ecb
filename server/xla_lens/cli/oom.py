"""`xla-lens oom`: what an out-of-memory message says, joined with the dump it is about."""

import argparse
import os
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from xla_lens.cli.json_output import print_json
from xla_lens.cli.output import CannotRun, print_error
from xla_lens.cli.report import print_outlines, report_of
from xla_lens.cli.sets import STANDARD_INPUT, GivenDumpSets, LoadedSet, find_dumps, reading
from xla_lens.disk.reading import log_blocks, open_file
from xla_lens.disk.sets import SetFiles
from xla_lens.model.analysis import Analysis
from xla_lens.oom.candidates import Candidate
from xla_lens.oom.explanation import (
    compiled_outline,
    nothing_found,
    oom_outline,
    oom_report,
)
from xla_lens.oom.message_data import compiled_data, messages_data
from xla_lens.report import report_json
from xla_lens.report.data import report_data
from xla_lens.report.facts import Report
from xla_lens.report.options import Part, ReportOptions, report_options
from xla_lens.report.outline import report_outline
from xla_lens.syntax.compile_log import CompiledProgram, keeping_compiler_lines, read_compile_log
from xla_lens.syntax.oom import read_oom_log
from xla_lens.syntax.oom_messages import OomLog


def run_oom(arguments: argparse.Namespace) -> int:
    """Run the command.

    Returns the exit status: 0, or 1 if the log says nothing about memory, if no dump fits its message, and if the dump
    has errors.
    """
    log, paths = arguments.log, arguments.paths
    if os.path.isdir(log):
        log, paths = STANDARD_INPUT, [log, *paths]
    if log == STANDARD_INPUT and STANDARD_INPUT in paths:
        raise CannotRun("-: standard input is either the log or a dump, not both")
    dumps = find_dumps(paths) if paths else GivenDumpSets((), {})
    label = "<stdin>" if log == STANDARD_INPUT else str(log)
    found, programs = read_log(log, label)
    if not found.messages:
        _print_programs(programs, label, arguments)
        return int(not programs)
    options = report_options(
        arguments.part or ADVICE_ONLY,
        top=arguments.top,
        budget_bytes=arguments.wanted_budget,
        is_json=arguments.output_format == "json",
    )
    last = print_answer(found, label, dumps, options, output_format=arguments.output_format, color=arguments.color)
    return int(bool(paths) and not (last and last.analysis.is_sound))


ADVICE_ONLY: Final = frozenset({Part.ADVICE})
"""The parts of the dump's report that follow the message, unless others are chosen."""


def _print_programs(programs: list[CompiledProgram], label: str, arguments: argparse.Namespace) -> None:
    """Print what a log without a message says about programs, or what was looked for."""
    if not programs:
        print_error(nothing_found(label))
    elif arguments.output_format == "json":
        data = compiled_data(programs)
        print_json(report_json.Oom(log=label, messages=[], programs=data, left_out=0, dumps=0, report=None))
    else:
        outline = compiled_outline(label, programs, arguments.top)
        print_outlines([(outline, None)], arguments.output_format, arguments.color)


def print_answer(
    found: OomLog, label: str, dumps: GivenDumpSets, options: ReportOptions, *, output_format: str, color: str
) -> Report | None:
    """Print what the messages in a log say, then the report of the dump that the first failure is about. Unless the
    options have a budget, it is the capacity in the message. Returns the report, None if no dump fits the message.
    """
    sets = {Candidate(files.module, files.labels, partial(_load, dumps, files)): files for files in dumps.files}
    answer = oom_report(label, found, [*sets], options.top)
    choice = answer.choice
    last = None
    if choice:
        capacity = answer.main.hbm_capacity
        if capacity and options.budget_bytes is None:
            # The advice has the plan for the budget, so the part of that name would repeat it.
            more = frozenset[Part]() if options.parts == ADVICE_ONLY else frozenset({Part.BUDGET})
            options = replace(options, parts=options.parts | more, budget_bytes=capacity.size_bytes)
        files = sets[choice.candidate]
        last = report_of(LoadedSet(files, answer.on_device(choice.analysis), dumps), options)
    if output_format == "json":
        print_json(
            report_json.Oom(
                log=answer.label,
                messages=messages_data(answer),
                programs=[],
                left_out=answer.log.left_out,
                dumps=len(answer.candidates),
                report=report_data(last) if last else None,
            )
        )
    else:
        outlines = [(oom_outline(answer), last.dump if last else None)]
        outlines += [(report_outline(last), last.dump)] if last else []
        print_outlines(outlines, output_format, color)
    return None if choice and choice.join.is_refuted else last


def read_log(log: Path, label: str) -> tuple[OomLog, list[CompiledProgram]]:
    """Read the messages in a log, and what the compiler for TPUs logged. Raises `CannotRun`."""
    if log == STANDARD_INPUT and (sys.stdin is None or sys.stdin.isatty()):
        raise CannotRun("no log given: name the file, or pipe the output of the program into this command")
    with reading(label):
        source = nullcontext(sys.stdin.buffer) if log == STANDARD_INPUT else open_file(log, is_named=True)
        with source as stream:
            lines: list[bytes] = []
            messages = read_oom_log(keeping_compiler_lines(log_blocks(stream, label), lines))
            return messages, [*read_compile_log(b"\n".join(lines))]


def _load(dumps: GivenDumpSets, files: SetFiles) -> Analysis:
    return dumps.load_one(files).analysis
