"""Write the kinds of lines and their nesting, src/kinds.h, from src/grammar.json: `python generate_kinds.py`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent / "src"

_HEAD = """\
// Generated from grammar.json by generate_kinds.py. Do not edit.

#ifndef XLA_DUMP_KINDS_H
#define XLA_DUMP_KINDS_H

#include <stdint.h>

// The tokens of the scanner, in the order of `externals` in grammar.js.
enum TokenType {
"""

_NESTING = """\
};

#define BIT(kind) (UINT64_C(1) << (kind))

// The kinds of lines that each header accepts directly below it, besides unknown lines.
#define ACCEPTED_KINDS \\
"""


def kinds_header(grammar: Any) -> str:
    """Return the text of kinds.h for a grammar."""
    rules = grammar["rules"]
    tokens = [token["name"] for token in grammar["externals"]]

    def first(rule: Any) -> Iterator[str]:
        """The tokens that a rule can begin with."""
        if rule["type"] == "SYMBOL":
            yield from [rule["name"]] if rule["name"] in tokens else first(rules[rule["name"]])
        elif rule["type"] == "SEQ":
            yield from first(rule["members"][0])
        elif rule["type"] == "CHOICE":
            for member in rule["members"]:
                yield from first(member)
        elif "content" in rule:
            yield from first(rule["content"])

    accepted: dict[str, set[str]] = {}
    for rule in rules.values():
        # A section: its header, then the rows.
        if rule["type"] == "PREC_RIGHT":
            header, *rest = rule["content"]["members"]
            start = next(place for place, part in enumerate(rest) if part["type"] == "REPEAT")
            below = {token for part in rest[start:] for token in first(part)}
            accepted |= dict.fromkeys(first(header), below - {"unknown_line", "_foreign_line"})
    lines = [
        f"  [{_kind(token)}] = {' | '.join(f'BIT({_kind(row)})' for row in tokens if row in accepted[token])}, \\\n"
        for token in tokens
        if token in accepted
    ]
    kinds = "".join(f"  {_kind(token)},\n" for token in tokens)
    return f"{_HEAD}{kinds}{_NESTING}{''.join(lines)}  [ERROR_SENTINEL] = ~UINT64_C(0) // the file\n\n#endif\n"


def _kind(token: str) -> str:
    """The name of a token in C. Those of lines that are not visible in the tree end with `_line`."""
    return (token.strip("_").removesuffix("_line") if token.startswith("_") else token).upper()


if __name__ == "__main__":
    (SOURCE / "kinds.h").write_text(kinds_header(json.loads((SOURCE / "grammar.json").read_text())))
