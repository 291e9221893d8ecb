"""`xla-lens unknown`: list the text of dumps that is not known."""

import argparse
from itertools import chain

from xla_lens.cli.json_output import print_json
from xla_lens.cli.output import print_lines
from xla_lens.cli.sets import find_dumps
from xla_lens.report.unknown_text import by_form, unknown_text, unknown_text_data, unknown_text_lines


def run_unknown(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status, which is 1 if there is such text."""
    dumps = find_dumps(arguments.paths)
    texts = (unknown_text(loaded.read_module()) for loaded in dumps.load())
    found = by_form(chain.from_iterable(texts))
    if arguments.output_format == "json":
        print_json(unknown_text_data(found))
    else:
        print_lines(unknown_text_lines(found, len(dumps.files)))
    return int(bool(found))
