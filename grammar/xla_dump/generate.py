"""Write what C, Python and editors need of the kinds of lines and their forms: `python generate.py`.

The kinds of lines and their nesting come from src/grammar.json, which tree-sitter writes from grammar.js. Everything
else comes from the table in lines.py.
"""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import lines
import textmate
from forms import Piece, pieces_of
from lines import Line, Table

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = "grammar/xla_dump"

_NOTICE: Final = "Generated from lines.py by generate.py. Do not edit."


def generated(grammar: Any) -> dict[str, str]:
    """Return the texts of all generated files by their paths in the repository."""
    kinds = [_kind(token["name"]) for token in grammar["externals"]]
    known = {line.kind.upper() for line in lines.LINES}
    if known != set(kinds[: kinds.index("UNKNOWN_LINE")]):
        raise ValueError(f"not both in grammar.js and in lines.py: {known ^ set(kinds[: kinds.index('UNKNOWN_LINE')])}")
    return {
        f"{FOLDER}/src/kinds.h": kinds_header(grammar),
        f"{FOLDER}/src/lines.h": "".join(_lines_header()),
        f"{FOLDER}/queries/highlights.scm": "".join(_highlights()),
        "vscode-extension/languages/xla-dump.tmLanguage.json": textmate.grammar(),
        "grammar/python/tree_sitter_xla_dump/tables.h": "".join(_tables_header()),
        "server/xla_lens/syntax/tables.py": "".join(_tables_module()),
    }


# ---------------------------------------------------------------- kinds of lines and their nesting

_HEAD = """\
// Generated from grammar.json by generate.py. Do not edit.

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
    nesting = [
        f"  [{_kind(token)}] = {' | '.join(f'BIT({_kind(row)})' for row in tokens if row in accepted[token])}, \\\n"
        for token in tokens
        if token in accepted
    ]
    kinds = "".join(f"  {_kind(token)},\n" for token in tokens)
    return f"{_HEAD}{kinds}{_NESTING}{''.join(nesting)}  [ERROR_SENTINEL] = ~UINT64_C(0) // the file\n\n#endif\n"


def _kind(token: str) -> str:
    """The name of a token in C. Those of lines that are not visible in the tree end with `_line`."""
    return (token.strip("_").removesuffix("_line") if token.startswith("_") else token).upper()


# ---------------------------------------------------------------- forms

_UNNUMBERED: Final = ("blanks", "dashes", "phi")


def _pattern(form: str) -> str:
    """A form as match_pattern of scanner.c reads it."""
    pattern = ""
    for piece in pieces_of(form):
        if piece.bracket == "]":
            pattern += ")"
        elif piece.bracket or piece.text or piece.kind:
            # C joins literals that follow each other.
            pattern += " " if pattern and not pattern.endswith("OPTIONAL(") else ""
            part = json.dumps(piece.text) if piece.text else lines.PARTS[piece.kind].pattern if piece.kind else ""
            pattern += part or "OPTIONAL("
    return pattern


def _parts(form: str) -> list[str]:
    """The columns of the parts of a form, in the order in which match_pattern numbers them."""
    return [piece.column for piece in pieces_of(form) if piece.kind and piece.kind not in _UNNUMBERED]


def _cells(form: str) -> dict[str, tuple[str, str]]:
    """For each column of a form, what it stores and how C reads it."""
    found, pieces = dict[str, tuple[str, str]](), pieces_of(form)
    numbers = [-1] * len(pieces)
    number = 0
    for place, piece in enumerate(pieces):
        if piece.kind and piece.kind not in _UNNUMBERED:
            numbers[place], number = number, number + 1
    for place, piece in enumerate(pieces):
        if piece.column and piece.kind:
            stored = lines.PARTS[piece.kind].column
            function = {"number": "integer_of(", "name": "name_number(reader, ", "index": "index_number(reader, "}
            if stored:
                found[piece.column] = stored, f"{function[stored]}parts[{numbers[place]}])"
        elif piece.column:
            found[piece.column] = "place", _place(pieces, numbers, place)
    return found


def _place(pieces: Sequence[Piece], numbers: Sequence[int], place: int) -> str:
    """How C reads a place: from the part that ends there, else from the next one, minus the literal text in between."""
    if place and numbers[place - 1] >= 0:
        return f"end_of(reader, parts[{numbers[place - 1]}])"
    between = 0
    for piece, number in zip(pieces[place + 1 :], numbers[place + 1 :], strict=True):
        if number >= 0 and not between:
            return f"start_of(reader, parts[{number}])"
        if number >= 0:
            return f"offset_of(reader, parts[{number}].at) - {between}"
        if not piece.text:
            break
        between += len(piece.text)
    raise ValueError(f"no part tells where {pieces[place].column} is")


def _keeps_blanks(form: str) -> bool:
    """Whether blanks at the end of a line belong to its last token."""
    last = pieces_of(form)[-1].kind if form else ""
    return last in ("shape", "tail", "blanks")


# ---------------------------------------------------------------- C: the scanner


def _lines_header() -> Iterator[str]:
    yield f"// {_NOTICE}\n\n#ifndef XLA_DUMP_LINES_H\n#define XLA_DUMP_LINES_H\n\n"
    yield "// The header of a value. The macros of its parts are in scanner.c.\n"
    yield f"#define VALUE {_pattern(lines.VALUE)}\n\n"
    yield "// The indentation, kind and pattern of each line. The first match of a whole line determines its kind.\n"
    yield from _macro("LINE_PATTERNS", (_row(line) for line in lines.LINES if line.form))
    most = max(len(_parts(form)) for form in (*(line.form for line in lines.LINES), *lines.ATTRIBUTES))
    yield f"// The most parts that a pattern has.\nenum {{ MAX_PARTS = {most} }};\n\n"
    yield "// The attributes of an allocation, and the numbers of some.\n"
    yield from _macro("ATTRIBUTES_OF_ALLOCATIONS", map(_pattern, lines.ATTRIBUTES))
    words = [form.split()[0].upper() for form in lines.ATTRIBUTES]
    numbers = ", ".join(f"{word} = {words.index(word)}" for word in ("PARAMETER", "OUTPUT", "COLOR"))
    yield f"enum {{ {numbers} }};\n\n"
    yield "// The group of each kind of line, numbered in the order in which XLA prints them.\n"
    groups = {line.kind.upper(): lines.GROUPS.index(line.group) + 1 for line in lines.LINES if line.group}
    yield from _macro("GROUPS_OF_KINDS", (f"[{kind}] = {group}" for kind, group in groups.items()))
    yield "// The lines that are the first ones of a section, and may be its only ones.\n"
    headers = [f"BIT({line.kind.upper()})" for line in lines.LINES if line.section or line.is_alone]
    yield f"#define HEADER_KINDS \\\n  ({_wrapped(headers, ' | ')})\n\n#endif\n"


def _row(line: Line) -> str:
    indent = "ANY_INDENT" if line.indent == lines.ANY_INDENT else line.indent
    return f"{{{indent}, {line.kind.upper()}, {_pattern(line.form)}}}"


def _macro(name: str, rows: Iterable[str]) -> Iterator[str]:
    yield f"#define {name} \\\n" + ", \\\n".join(f"  {row}" for row in rows) + "\n\n"


def _wrapped(words: Iterable[str], separator: str) -> str:
    """Words of a macro, several on a line."""
    text = textwrap.wrap(separator.join(words), 110, break_long_words=False, break_on_hyphens=False)
    return " \\\n   ".join(text)


# ---------------------------------------------------------------- C: the rows


class Column(NamedTuple):
    """A column of a table: what it stores, and what the reader remembers it under, if it is no part of a line."""

    name: str
    stored: str
    state: str


def _columns(table: Table) -> list[Column]:
    """The columns of a table."""
    forms = [line.form for line in lines.LINES if line.table == table.name]
    stored = {column: kind for form in forms for column, (kind, _) in _cells(form).items()}
    found = [Column("start", "place", ""), Column("end", "place", "")]
    for text in filter(None, table.columns.split(", ")):
        match = re.fullmatch(r"(\w+)(?:: (\w+)(?: = (\w+))?)?", text)
        name, kind, state = match.groups("") if match else (text, "", "")
        is_filled = name in stored or (kind and (state or table.is_by_hand))
        if not is_filled or kind not in ("", *lines.STORED):
            raise ValueError(f"{table.name}: neither a form nor its kind says what the column {text} stores")
        found.append(Column(name, kind or stored[name], state))
    return found


def _table(table: Table) -> str:
    return f"TABLE_{table.name.upper()}"


def _tables_header() -> Iterator[str]:
    yield f"// {_NOTICE}\n\n#ifndef XLA_DUMP_TABLES_H\n#define XLA_DUMP_TABLES_H\n\n"
    yield from _layouts()
    yield from _names_for_rows_by_hand()
    yield "// For each header of a section, 1 more than its number in `DumpSection`.\n"
    yield "static const uint8_t SECTIONS[ERROR_SENTINEL + 1] = {\n"
    for line in lines.LINES:
        if line.section:
            yield f"  [{line.kind.upper()}] = {lines.SECTIONS.index(line.section) + 1},\n"
    yield "};\n\n// The kinds of lines whose last token extends to the end of the line, including trailing blanks.\n"
    blanks = dict.fromkeys(f"BIT({line.kind.upper()})" for line in lines.LINES if _keeps_blanks(line.form))
    yield f"#define ENDS_WITH_BLANKS \\\n  ({_wrapped(blanks, ' | ')})\n\n"
    yield "// The cases of a switch over the kinds of lines that add one row each.\n#define ROW_CASES \\\n"
    tables = {table.name: table for table in lines.TABLES if not table.is_by_hand}
    cases = [_case(line, tables[line.table]) for line in lines.LINES if line.table in tables]
    yield " \\\n".join(cases) + "\n\n#endif\n"


def _layouts() -> Iterator[str]:
    yield "// The tables of FileColumns (server/xla_lens/syntax/tables.py), in the same order.\n"
    yield "enum Table {\n" + "".join(f"  {_table(table)},\n" for table in lines.TABLES) + "  TABLE_COUNT,\n};\n\n"
    yield "// One letter for each column: `n` for numbers that the dump prints, `.` for offsets, rows and counts.\n"
    yield "static const char *const LAYOUTS[TABLE_COUNT] = {\n"
    for table in lines.TABLES:
        letters = "".join("n" if column.stored == "number" else "." for column in _columns(table))
        yield f'  [{_table(table)}] = "{letters}",\n'
    most = max(len(_columns(table)) for table in lines.TABLES)
    yield f'}};\n\n_Static_assert(MAX_WIDTH >= {most}, "column.h has room for fewer columns than a table has");\n\n'


def _names_for_rows_by_hand() -> Iterator[str]:
    """The numbers of the columns, and of the parts of lines, by which rows.c fills rows by hand."""
    by_hand = {table.name: table for table in lines.TABLES if table.is_by_hand}
    yield "// The columns of the tables whose rows are added by hand.\nenum {\n"
    for table in by_hand.values():
        first, *others = [f"{table.name}_{column.name}".upper() for column in _columns(table)]
        yield from _wrapped_row([f"{first} = 0", *others])
    yield "};\n\n// The parts of the lines that are read by hand.\nenum {\n"
    forms = {line.kind: line.form for line in lines.LINES if line.table in by_hand or not line.table}
    forms |= {form.split()[0]: form for form in lines.ATTRIBUTES}
    for kind, form in forms.items():
        numbers = {f"PART_{kind}_{column}".upper(): number for number, column in enumerate(_parts(form)) if column}
        yield from _wrapped_row([f"{name} = {number}" for name, number in numbers.items()])
    yield "};\n\n"


def _wrapped_row(names: Sequence[str]) -> Iterator[str]:
    """Names of an enum."""
    yield from (f"  {text}\n" for text in textwrap.wrap(", ".join(names) + "," * bool(names), 116))


def _case(line: Line, table: Table) -> str:
    found, cells = _cells(line.form), ["start", "end"]
    for column in _columns(table)[2:]:
        cell = found[column.name][1] if column.name in found else "NONE"
        cells.append(f"reader->{column.state}" if column.state else cell)
    text = textwrap.wrap(f"ADD(reader, {_table(table)}, {', '.join(cells)});", 108, break_long_words=False)
    return f"  case {line.kind.upper()}: \\\n    " + " \\\n        ".join(text) + " \\\n    break;"


# ---------------------------------------------------------------- Python

_MODULE: Final = '''\
"""The tables of a dump file, the roles of mentions, and the types of semantic tokens, from the forms of lines in
grammar/xla_dump/lines.py. Generated by grammar/xla_dump/generate.py. Do not edit.
"""

from enum import Enum, IntEnum, auto
from typing import Final

from xla_lens.syntax.columns import AllTables, Column, FileTable


class DumpSection(IntEnum):
    """The sections of a dump."""

'''


def _tables_module() -> Iterator[str]:
    yield _MODULE + "".join(f"    {name.upper()} = {number}\n" for number, name in enumerate(lines.SECTIONS))
    for table in lines.TABLES:
        yield f"\n\nclass {_class(table)}(FileTable, frozen=True):\n{_docstring(table.doc)}\n"
        if table.columns:
            yield "\n" + "".join(f"    {column.name}: Column\n" for column in _columns(table)[2:])
    yield "\n\nclass FileColumns(AllTables, frozen=True, eq=False):\n"
    yield '    """All tables of one dump file."""\n\n'
    yield "".join(f"    {table.name}: {_class(table)}\n" for table in lines.TABLES)
    yield '\n\nclass MentionRole(Enum):\n    """The part of the dump that mentions something."""\n\n'
    roles = dict.fromkeys([*(table.role for table in lines.TABLES if table.role), *lines.PARTS_OF_ROWS])
    yield "".join(f"    {role} = auto()\n" for role in roles)
    yield "\n\nMENTIONS: Final = {\n"
    for table in lines.TABLES:
        if table.role:
            yield f'    "{table.name}": ("{table.holder}", MentionRole.{table.role}),\n'
    yield '}\n"""The tables whose rows are mentions, each with the file that has to hold it, empty for any."""\n'
    yield "\nTOKEN_TYPES: Final = {\n"
    types = dict[str, str]()
    for color in lines.COLORS.values():
        if color.token:
            names = [*(f"'\"{_words(word)}\"'" for word in color.words), *(f'"{node}"' for node in color.nodes)]
            types |= dict.fromkeys(names, color.token)
    yield "".join(f'    {name}: "{token}",\n' for name, token in types.items())
    yield '}\n"""The types of semantic tokens by the kind of a word, as `excerpt.words` returns it."""\n'


def _class(table: Table) -> str:
    return table.name.title().replace("_", "")


def _docstring(text: str) -> str:
    found = textwrap.wrap(f'"""{text}', 116, break_long_words=False, break_on_hyphens=False)
    if len(found) > 1:
        found.append('"""')
    elif len(found[0]) <= 113:
        found[0] += '"""'
    else:
        found.append('"""')
    return "\n".join(f"    {line}" for line in found)


def _words(literal: str) -> str:
    """A literal without the punctuation around its words, as server/xla_lens/syntax/excerpt.py names it."""
    match = re.search(r"[\w*].*[\w*]|\w", literal)
    return match[0] if match else literal


# ---------------------------------------------------------------- tree-sitter


def _highlights() -> Iterator[str]:
    yield f"; {_NOTICE}\n"
    for color in lines.COLORS.values():
        names = [json.dumps(word) for word in color.words]
        names += [f"({node})" for node in color.nodes if not node.startswith("(")]
        if names:
            yield "\n[\n" + "".join(f"  {name}\n" for name in names) + f"] @{color.capture}\n"
        # Of a pattern, its innermost node is captured.
        patterns = [node.removesuffix(")") for node in color.nodes if node.startswith("(")]
        yield "".join(f"\n{pattern} @{color.capture})\n" for pattern in patterns)


if __name__ == "__main__":
    for path, text in generated(json.loads((ROOT / FOLDER / "src" / "grammar.json").read_text())).items():
        (ROOT / path).write_text(text)
