"""`xla-lens check --unknown`: list the text of dumps that XLA Lens does not know."""

import argparse
from dataclasses import replace

from xla_lens.cli.output import print_json, print_lines
from xla_lens.cli.sets import load_sets
from xla_lens.features.unknown_text import Form, UnknownText, unknown_text, unknown_text_data, unknown_text_lines


def run_unknown(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    sets = 0
    forms: dict[Form, UnknownText] = {}
    for loaded in load_sets(options.paths):
        sets += 1
        for one in unknown_text(loaded.analysis, loaded.module(is_prepared=False)):
            before = forms.get(one.form)
            forms[one.form] = replace(before, count=before.count + one.count) if before else one
    found = sorted(forms.values(), key=lambda one: -one.count)
    if options.output_format == "json":
        print_json(unknown_text_data(found))
    else:
        print_lines(unknown_text_lines(found, sets))
    return int(bool(found))
