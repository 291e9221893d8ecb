// The line scanner of the grammar xla_dump: determines the kind of the next line.
//
// At the start of a line it skips line ends and indentation, reads the whole line and, if the line is well-formed from
// its first byte to its last, emits the zero-width token of its kind. The rules of grammar.js then split the line into
// its parts. Any other line becomes one `unknown_line`.
//
// Three kinds of text need more than one line, or have an open syntax, and are measured here:
//   - the text of an instruction, which may contain line ends. Releases of 2024 omit the last one, so that the header
//     of the next value is glued to it;
//   - the names in the stack trace. They are op_names: any text, with line ends, that may look like other lines;
//   - attributes of an allocation that later releases may add.
//
// A line that another program or a later release printed may look like a row of another section. It does not end the
// section around it: such a line becomes a `_foreign_line`, whose text is one `unknown_line` (see `is_foreign`).

#include "tree_sitter/alloc.h"
#include "tree_sitter/array.h"
#include "tree_sitter/parser.h"

#include "kinds.h"
#include "lines.h"

#include <string.h>

// A character as one byte of a `Line`: itself if it is ASCII, else one of these. The format uses four beyond ASCII.
enum { CONTROL = 1, OTHER = 0x80, VERTICAL, TEE, CORNER, DASH };

enum {
  MAX_DIGITS = 18,         // more would not fit into 64 bits
  MAX_LINE = 1 << 26,      // a longer line is an unknown line
  MAX_AHEAD = 32,          // lines read ahead to find where a section continues
  MAX_BETWEEN = 3,         // known lines after a header to find its rows in
  KEPT_CAPACITY = 1 << 16, // buffer bytes that a scanner keeps between two lines
  SERIALIZED = 5,          // bytes of a serialized scanner
};

typedef Array(uint8_t) Line;

typedef struct {
  Line line;
  bool is_first;        // no token was emitted yet: the scanner is at the start of the file
  uint8_t last;         // the kind of the last line that is known, ERROR_SENTINEL at the start of the file
  uint32_t name_length; // characters of the name in the stack trace line just recognized; 0 if it has none
} Scanner;

// ---------------------------------------------------------------- reading

static void advance(TSLexer *lexer) { lexer->advance(lexer, false); }
static void skip(TSLexer *lexer) { lexer->advance(lexer, true); }

// Moves over `literal` as far as it is there. Returns whether all of it is.
static bool advance_literal(TSLexer *lexer, const char *literal) {
  for (; *literal && lexer->lookahead == *literal; literal++) advance(lexer);
  return !*literal;
}

static bool at_end(TSLexer *lexer) { return lexer->lookahead == 0 && lexer->eof(lexer); }
static bool at_line_end(TSLexer *lexer) { return lexer->lookahead == '\n' || at_end(lexer); }

static uint8_t narrow(int32_t character) {
  if (character < 0) return CONTROL; // not UTF-8
  if (character < 0x80) return (uint8_t)character;
  switch (character) {
    case 0x2502: return VERTICAL; // │
    case 0x251C: return TEE;      // ├
    case 0x2514: return CORNER;   // └
    case 0x2500: return DASH;     // ─
    default: return OTHER;
  }
}

// Reads to the end of the line and returns the number of characters. `line` receives the first MAX_LINE of them, one
// byte each, without trailing blanks.
static uint32_t read_line(TSLexer *lexer, Line *line) {
  array_clear(line);
  uint32_t length = 0;
  for (; !at_line_end(lexer); advance(lexer), length++) {
    if (length < MAX_LINE) array_push(line, narrow(lexer->lookahead));
  }
  while (line->size && (line->contents[line->size - 1] == '\r' || line->contents[line->size - 1] == ' ')) line->size--;
  return length;
}

// ---------------------------------------------------------------- matching within one line

// A part of a line. Each `match_` function moves `at` past what it matches; where nothing matches, `at` is undefined, except
// that `match` leaves it unchanged.
typedef struct {
  const uint8_t *at, *end;
} Text;

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

static bool is_name(uint8_t c) {
  switch (c) {
    case '{': case '}': case '(': case ')': case ',': case ':': case '<': case '>': case '@': case '"': case '|': case ';':
    case '=': case '%': case 0x7f: return false;
    default: return c > ' ';
  }
}

static bool match(Text *text, const char *literal) {
  size_t length = strlen(literal);
  if ((size_t)(text->end - text->at) < length || memcmp(text->at, literal, length) != 0) return false;
  text->at += length;
  return true;
}

static bool match_end(const Text *text) { return text->at == text->end; }

static bool is_literal(Text text, const char *literal) { return match(&text, literal) && match_end(&text); }

static bool ends_with(Text text, const char *literal) {
  size_t length = strlen(literal);
  return (size_t)(text.end - text.at) >= length && memcmp(text.end - length, literal, length) == 0;
}

static bool contains(Text text, const char *literal) {
  for (; text.at < text.end; text.at++) {
    if (match(&text, literal)) return true;
  }
  return false;
}

// Moves over all characters that are in `characters`. Returns whether there are any.
static bool match_all(Text *text, const char *characters) {
  const uint8_t *start = text->at;
  while (text->at < text->end && *text->at && strchr(characters, *text->at)) text->at++;
  return text->at > start;
}

// Moves to the first of two characters, or to the end. Returns whether there is anything in front of it.
static bool match_until(Text *text, char one, char other) {
  const uint8_t *start = text->at;
  while (text->at < text->end && *text->at != one && *text->at != other) text->at++;
  return text->at > start;
}

static bool match_digits(Text *text) {
  const uint8_t *start = text->at;
  while (text->at < text->end && is_digit(*text->at)) text->at++;
  return text->at > start && text->at - start <= MAX_DIGITS;
}

static bool match_integer(Text *text) {
  match(text, "-");
  return match_digits(text);
}

// `4 608`
static bool match_grouped_integer(Text *text) {
  match(text, "-");
  const uint8_t *start = text->at;
  if (!match_digits(text)) return false;
  size_t digits = (size_t)(text->at - start);
  for (; text->end - text->at >= 4 && text->at[0] == ' ' && digits + 3 <= MAX_DIGITS; text->at += 4, digits += 3) {
    if (!is_digit(text->at[1]) || !is_digit(text->at[2]) || !is_digit(text->at[3])) break;
  }
  return true;
}

// A percentage. A percentage of zero bytes is printed as `-nan`.
static bool match_number(Text *text) {
  match(text, "-");
  if (match(text, "nan") || match(text, "inf")) return true;
  if (!match_digits(text)) return false;
  Text fraction = *text;
  if (match(&fraction, ".") && match_digits(&fraction)) *text = fraction;
  return true;
}

// `205.03MiB`
static bool match_human_size(Text *text) {
  match(text, "-");
  if (text->at == text->end || !is_digit(*text->at) || !match_number(text)) return false;
  if (match(text, "B")) return true;
  const uint8_t *unit = text->at;
  return match_all(text, "KMGTPE") && text->at == unit + 1 && match(text, "iB");
}

static bool match_address(Text *text) { return match(text, "0x") && match_all(text, "0123456789abcdefABCDEF"); }

static bool match_name(Text *text) {
  const uint8_t *start = text->at;
  while (text->at < text->end && is_name(*text->at)) text->at++;
  return text->at > start;
}

// `{}`, `{0,1}`
static bool match_index(Text *text) {
  if (!match(text, "{")) return false;
  if (match(text, "}")) return true;
  do {
    if (!match_digits(text)) return false;
  } while (match(text, ","));
  return match(text, "}");
}

static bool match_rest(Text *text) {
  text->at = text->end;
  return true;
}

// The rest of the line, with balanced brackets.
static bool match_shape(Text *text) {
  if (match_end(text) || *text->at == ' ') return false;
  int depth = 0;
  for (; text->at < text->end; text->at++) {
    uint8_t c = *text->at;
    if (c == '(' || c == '[' || c == '{') depth++;
    if ((c == ')' || c == ']' || c == '}') && --depth < 0) return false;
  }
  return depth == 0;
}

static bool match_quoted_shape(Text *text) { return match_until(text, '|', '|'); }

static bool match_space_name(Text *text) {
  const uint8_t *start = text->at;
  match_until(text, '(', ')');
  return text->at - start >= 2 && *start != ' ' && text->at[-1] == ' ';
}

static bool match_file_name(Text *text) {
  const uint8_t *start = text->at;
  while (text->at < text->end && *text->at > ' ' && *text->at != '*') text->at++;
  return text->at > start;
}

// A file name without the suffix that files of a dump set have; the whole name if it has none.
static Text stem_of(Text name) {
  static const char *const SUFFIXES[] = {
    "-buffer-assignment.txt", "-buffer-assignment-values.txt", "-live-range.txt", "-memory-usage-report.txt",
  };
  for (size_t i = 0; i < sizeof SUFFIXES / sizeof *SUFFIXES; i++) {
    if (ends_with(name, SUFFIXES[i])) return (Text){name.at, name.end - strlen(SUFFIXES[i])};
  }
  return name;
}

static bool match_dump_name(Text *text) {
  const uint8_t *start = text->at;
  return match_file_name(text) && stem_of((Text){start, text->at}).end < text->at;
}

// The field names of MemoryUsageReportProto.
static bool match_key(Text *text) {
  static const char *const KEYS[] = {
    "memory_space_allocation_entries", "allocation_entries", "memory_space", "color", "total_bytes", "index", "size",
    "cumulative_size", "offset", "defining_positions", "name", "shape",
  };
  Text key = *text;
  match_all(text, "_abcdefghijklmnopqrstuvwxyz");
  key.end = text->at;
  for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++) {
    if (is_literal(key, KEYS[i])) return true;
  }
  return false;
}

// ---------------------------------------------------------------- patterns

static bool match_attributes(Text *text);

// A pattern is the text of a line with one of these bytes for each part that varies. Parts are numbered from 0. lines.h
// has the patterns.
#define DIGITS "\x01"
#define INTEGER "\x02"
#define GROUPED "\x03"
#define NUMBER "\x04"
#define SIZE "\x05"
#define ADDRESS "\x06"
#define NAME "\x07"
#define INDEX "\x08"
#define SHAPE "\x09"
#define QUOTED "\x0a"
#define SPACE_NAME "\x0b"
#define FILE_NAME "\x0c"
#define DUMP_NAME "\x0d"
#define KEY "\x0e"
#define ATTRIBUTES "\x0f"
#define TAIL "\x10"
static bool (*const PARTS[])(Text *) = {
  NULL, match_digits, match_integer, match_grouped_integer, match_number, match_human_size, match_address, match_name,
  match_index, match_shape, match_quoted_shape, match_space_name, match_file_name, match_dump_name, match_key,
  match_attributes, match_rest,
};

// What may be missing, any number of blanks, and any number of dashes. The last two are not numbered.
#define OPTION "\x1c"
#define OPTION_END "\x1d"
#define OPTIONAL(pattern) OPTION pattern OPTION_END
#define BLANKS "\x1e"
#define DASHES "\x1f"

// Matches a pattern and stores its parts. A part that is missing is NULL.
static bool match_pattern(Text *text, const char *pattern, Text *parts) {
  const char *option = NULL;
  Text before = *text, *first = parts;
  for (; *pattern; pattern++) {
    const uint8_t *start = text->at;
    bool is_match = true;
    if (*pattern == *OPTION) {
      option = pattern;
      before = *text;
      first = parts;
    } else if (*pattern == *OPTION_END) {
      option = NULL;
    } else if (*pattern == *BLANKS) {
      match_all(text, " ");
    } else if (*pattern == *DASHES) {
      match_all(text, "-");
    } else if (*pattern >= ' ') {
      is_match = start < text->end && *start == (uint8_t)*pattern;
      text->at += is_match;
    } else {
      is_match = PARTS[(uint8_t)*pattern](text);
      *parts++ = (Text){start, text->at};
    }
    if (is_match) continue;
    if (!option) return false;
    *text = before;
    parts = first;
    for (pattern = option + 1; *pattern != *OPTION_END; pattern++) {
      if (*pattern < *OPTION) *parts++ = (Text){NULL, NULL};
    }
    option = NULL;
  }
  return true;
}

static bool match_attribute_end(const Text *text) { return text->at < text->end && (*text->at == ',' || *text->at == ':'); }

static const char *const ATTRIBUTE_PATTERNS[] = {ATTRIBUTES_OF_ALLOCATIONS};

// Matches one attribute of an allocation. Returns the number of its pattern, -1 if the grammar does not know it, and then moves to
// the next comma or colon.
static int match_attribute(Text *text, Text *parts) {
  for (int i = 0; i < (int)(sizeof ATTRIBUTE_PATTERNS / sizeof *ATTRIBUTE_PATTERNS); i++) {
    Text rest = *text;
    if (match_pattern(&rest, ATTRIBUTE_PATTERNS[i], parts) && match_attribute_end(&rest)) {
      *text = rest;
      return i;
    }
  }
  match_until(text, ',', ':');
  return -1;
}

static bool match_attributes(Text *text) {
  Text parts[MAX_PARTS];
  while (match(text, ", ")) {
    const uint8_t *start = text->at;
    bool is_known = match_attribute(text, parts) >= 0;
    if (!is_known && (text->at == start || text->at == text->end || *start <= ' ')) return false;
  }
  return true;
}

// ` (16.6%, total: 4 608 bytes, current: 4 608 bytes, remaining: 23 128 bytes)` ends a line of the stack trace. Two snapshots
// of 2025 printed only some of the numbers, and no word before the first. `sizes` receives the three numbers.
static bool match_measures(Text *text, Text *sizes) {
  Text percent;
  sizes[0] = sizes[1] = sizes[2] = (Text){NULL, NULL};
  if (!match_pattern(text, " (" NUMBER "%", &percent)) return false;
  while (match(text, ", ")) {
    int which = match(text, "current: ") ? 1 : match(text, "remaining: ") ? 2 : 0;
    if (!which) match(text, "total: ");
    Text size = *text;
    if (!match_grouped_integer(text)) return false;
    size.end = text->at;
    if (!sizes[which].at) sizes[which] = size;
    if (!match(text, " bytes")) return false;
  }
  return match(text, ")") && match_end(text);
}

// Returns the start of the measures that end the line, or NULL. Searches from the right, because names may contain
// anything.
static const uint8_t *find_measures(Text text) {
  if (text.end - text.at < 2 || text.end[-1] != ')') return NULL;
  for (const uint8_t *at = text.end - 2; at > text.at; at--) {
    if (*at == ')' || (text.end - at) > 160) return NULL;
    if (*at != '(' || at[-1] != ' ') continue;
    Text measures = {at - 1, text.end}, sizes[3];
    return match_measures(&measures, sizes) ? at - 1 : NULL;
  }
  return NULL;
}

// `│   `, `    `, ... and at last `├── ` or `└── `
static bool match_branch(Text *text) {
  static const char STEM[] = {(char)VERTICAL, ' ', ' ', ' ', 0};
  static const char FORK[] = {(char)TEE, (char)DASH, (char)DASH, ' ', 0};
  static const char LAST[] = {(char)CORNER, (char)DASH, (char)DASH, ' ', 0};
  while (match(text, STEM) || match(text, "    ")) {
  }
  return match(text, FORK) || match(text, LAST);
}

// ---------------------------------------------------------------- kinds of lines

static Text text_of(const Line *line) { return (Text){line->contents, line->contents + line->size}; }

enum { ANY_INDENT = 0xff };

static const struct {
  uint8_t indent, kind;
  const char *pattern;
} LINES[] = {LINE_PATTERNS};

// Whether a line that begins like the header of an allocation is a damaged one: it has two of its three marks. Other
// lines about allocations have one at most.
static bool is_broken_allocation(Text text) {
  int marks = ends_with(text, ":");
  for (Text at = text; at.at < at.end; at.at++) {
    Text rest = at;
    if (match(&rest, "size ") && match_integer(&rest)) {
      marks++;
      break;
    }
  }
  return match(&text, "allocation ") && marks + match_digits(&text) >= 2;
}

// Whether a line that begins with `<` is the damaged header of a used value: a number, and at least a part of the color.
static bool is_broken_value(Text text) {
  if (!match(&text, "<") || !match_digits(&text)) return false;
  return contains(text, "@") || (text.end - text.at > 2 && text.end[-1] == '>' && is_digit(text.end[-2]));
}

// The kind of a line without indentation, and the parts of its pattern.
static enum TokenType line_kind(Text text, uint32_t indent, Text *parts) {
  for (const uint8_t *at = text.at; at < text.end; at++) {
    if (*at < ' ') return UNKNOWN_LINE; // XLA prints no control characters
  }
  if (match_end(&text)) return UNKNOWN_LINE;
  for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
    if (LINES[i].indent != indent && LINES[i].indent != ANY_INDENT) continue;
    const char *pattern = LINES[i].pattern;
    if (*pattern >= ' ' && (uint8_t)*pattern != *text.at) continue;
    Text rest = text;
    if (match_pattern(&rest, pattern, parts) && match_end(&rest)) return (enum TokenType)LINES[i].kind;
  }
  if (indent) return UNKNOWN_LINE;
  return is_broken_allocation(text) ? BROKEN_ALLOCATION : is_broken_value(text) ? BROKEN_USED_VALUE : UNKNOWN_LINE;
}

// ---------------------------------------------------------------- the stack trace

enum { ROOT_INDENT = 4, BRANCH_INDENT = 6 };

static bool is_branch(Text text, uint32_t indent) { return indent >= BRANCH_INDENT && match_branch(&text); }

// The kind of a line within a stack trace. `line` includes the indentation.
static enum TokenType next_kind(const Line *line) {
  Text text = text_of(line);
  match_all(&text, " ");
  uint32_t indent = (uint32_t)(text.at - line->contents);
  if (is_branch(text, indent)) return STACK_TRACE;
  if (indent == ROOT_INDENT && find_measures(text)) return STACK_TRACE_ROOT;
  Text parts[MAX_PARTS];
  return line_kind(text, indent, parts);
}

// Returns the number of characters in the name of a stack trace line, line ends included; 0 if its end is not found.
// `line` holds the first line from the name on, `length` characters; the lexer is at its end.
//
// A name is any text. It ends where measures end a line and something else follows. If the first line has no measures,
// the name continues until there are some, but never into the next branch or section. Afterwards, `line` holds the line
// below the name.
static uint32_t measure_name(TSLexer *lexer, Line *line, uint32_t length) {
  static const uint64_t ENDS =
    BIT(STACK_TRACE) | BIT(BUFFER_ASSIGNMENT) | BIT(LIVE_RANGES) | BIT(BEGIN_FILE) | BIT(BEGIN_OTHER_FILE) | BIT(END_FILE);
  uint32_t start = 0, name_length = 0;
  for (;;) {
    const uint8_t *measures = find_measures(text_of(line));
    if (measures) name_length = start + (uint32_t)(measures - line->contents);
    if (at_end(lexer)) {
      array_clear(line);
      return name_length;
    }
    start += length + 1;
    advance(lexer);
    length = read_line(lexer, line);
    if (name_length && line->size == 0) return name_length;
    enum TokenType kind = next_kind(line);
    if (kind != UNKNOWN_LINE && (name_length || ENDS & BIT(kind))) return name_length;
  }
}

// ---------------------------------------------------------------- lines of other sections

// The group of lines that a line belongs to. Groups are numbered in the order in which XLA prints them; 0, which is also
// that of the start of a file, comes before all.
static int group_of(enum TokenType kind) {
  static const uint8_t GROUPS[ERROR_SENTINEL + 1] = {GROUPS_OF_KINDS};
  return GROUPS[kind];
}

// Whether a line is the first one of a section. It may be the only one.
static bool is_header(enum TokenType kind) { return HEADER_KINDS & BIT(kind); }

static bool is_marker(enum TokenType kind) { return kind == BEGIN_FILE || kind == BEGIN_OTHER_FILE || kind == END_FILE; }

// Whether a line is the header of a section that may be the first one of a file, so that a row of `kind` before it belongs
// to no section.
static bool begins_file(enum TokenType header, enum TokenType kind) {
  switch (header) {
    case BUFFER_ASSIGNMENT:
    case MEMORY_SPACE: return true;
    case TOTAL: return group_of(kind) != group_of(ALLOCATION);
    case LIVE_RANGES: return group_of(kind) != group_of(USED_VALUE) || kind == POSITION;
    default: return false;
  }
}

// Whether a line does not belong where it is: it is of another section than the last known line, and that section
// continues below it, or it is a row without others of its kind. The lexer is at the end of the line, or if the next line
// `is_read` into the scanner's line, at the end of that.
static bool is_foreign(Scanner *scanner, TSLexer *lexer, enum TokenType kind, bool is_read) {
  enum TokenType last = (enum TokenType)scanner->last;
  int own = group_of(kind), group = group_of(last);
  Line *line = &scanner->line;
  // The positions of a value come below its header and before its uses.
  if (kind == POSITION && (last == USED_VALUES || last == USES || last == USE || last == NO_USES || last == FROM_INSTRUCTION)) {
    return true;
  }
  if (kind == POSITION && (last == USED_VALUE || last == BROKEN_USED_VALUE)) {
    advance(lexer);
    read_line(lexer, line);
    return next_kind(line) == POSITIONS;
  }
  if (own == group || kind == UNKNOWN_LINE || is_marker(kind)) return false;
  bool is_section = is_header(kind);
  bool is_alone = !is_section && kind != ALLOCATION && kind != USED_VALUE && kind != REPORT_ALLOCATION;
  int known = 0;
  for (int count = 0; count < MAX_AHEAD && (is_read || !at_end(lexer)); count++, is_read = false) {
    if (!is_read) {
      advance(lexer);
      read_line(lexer, line);
    }
    Text text = text_of(line);
    match_all(&text, " ");
    bool is_quote = text.at - line->contents == 1 && match(&text, "from instruction:");
    enum TokenType below = is_quote ? FROM_INSTRUCTION : next_kind(line);
    if (below == UNKNOWN_LINE) continue;
    if (is_marker(below)) break;
    int other = group_of(below);
    if (is_section) {
      // Its rows follow, or if it has none, a later section. Lines of other sections may stand between.
      if ((other == own && (!is_header(below) || below == kind)) || (group < own && own < other)) return false;
      if (++known == MAX_BETWEEN) return true;
      continue;
    }
    if (!group) return is_alone && other != own && begins_file(below, kind);
    if (other == group) return is_alone || !is_header(below);
    // Two rows whose header is missing are a section.
    if (!known++ && other == own && !is_header(below)) is_alone = false;
  }
  if (is_section) return known > 0;
  return group && is_alone;
}

// ---------------------------------------------------------------- tokens

static bool emit(TSLexer *lexer, enum TokenType type) {
  lexer->result_symbol = type;
  return true;
}

// Emits the token of a line, with whose section the next line is compared.
static bool emit_line(Scanner *scanner, TSLexer *lexer, enum TokenType kind) {
  if (kind != UNKNOWN_LINE) scanner->last = (uint8_t)kind;
  return emit(lexer, kind);
}

static bool scan_unknown_line(TSLexer *lexer) {
  while (!at_line_end(lexer)) advance(lexer);
  lexer->mark_end(lexer);
  return emit(lexer, UNKNOWN_LINE);
}

// Emits a row of the stack trace. The scanner's line holds it from its name on, `length` characters.
static bool scan_stack_trace(Scanner *scanner, TSLexer *lexer, uint32_t length, enum TokenType kind) {
  scanner->name_length = measure_name(lexer, &scanner->line, length);
  if (!is_foreign(scanner, lexer, kind, true)) return emit_line(scanner, lexer, kind);
  scanner->name_length = 0;
  return emit(lexer, FOREIGN);
}

static bool scan_line(Scanner *scanner, TSLexer *lexer) {
  // Most lines end with an optional part, so tree-sitter calls the scanner within lines, too. There, only the header of
  // a value that is glued to the instruction before it starts a line.
  bool line_start = false;
  uint32_t indent = 0;
  for (; lexer->lookahead == '\n' || lexer->lookahead == '\r' || lexer->lookahead == ' ' || lexer->lookahead == '\t';
       skip(lexer)) {
    line_start = line_start || lexer->lookahead == '\n';
    indent = lexer->lookahead == '\n' ? 0 : indent + 1;
  }
  if (at_end(lexer) || !(line_start || lexer->lookahead == '<' || scanner->is_first)) return false;
  lexer->mark_end(lexer);

  // The longest lines are recognized by their first words.
  if (indent == 1 && lexer->lookahead == 'f') {
    if (advance_literal(lexer, "from instruction:")) return emit_line(scanner, lexer, FROM_INSTRUCTION);
    return scan_unknown_line(lexer);
  }

  Line *line = &scanner->line;
  uint32_t length = read_line(lexer, line);
  Text text = text_of(line);
  if (is_branch(text, indent)) {
    match_branch(&text);
    uint32_t width = (uint32_t)(text.at - line->contents);
    memmove(line->contents, text.at, (size_t)(text.end - text.at));
    line->size -= width;
    return scan_stack_trace(scanner, lexer, length - width, STACK_TRACE);
  }
  Text parts[MAX_PARTS];
  enum TokenType kind = length <= MAX_LINE ? line_kind(text, indent, parts) : UNKNOWN_LINE;
  if (kind == UNKNOWN_LINE && indent == ROOT_INDENT && find_measures(text)) {
    return scan_stack_trace(scanner, lexer, length, STACK_TRACE_ROOT);
  }
  bool is_unread = kind >= BROKEN_ALLOCATION;
  if (is_unread) lexer->mark_end(lexer);
  if (is_foreign(scanner, lexer, kind, false)) return emit(lexer, is_unread ? UNKNOWN_LINE : FOREIGN);
  return emit_line(scanner, lexer, kind);
}

static bool scan_branch(TSLexer *lexer) {
  while (lexer->lookahead == ' ') skip(lexer);
  while (!at_line_end(lexer) && lexer->lookahead != 0x251C && lexer->lookahead != 0x2514) advance(lexer);
  for (int i = 0; i < 3 && !at_line_end(lexer); i++) advance(lexer);
  lexer->mark_end(lexer);
  return emit(lexer, BRANCH);
}

static bool scan_frame_name(Scanner *scanner, TSLexer *lexer) {
  if (lexer->lookahead == ' ') skip(lexer);
  uint32_t length = scanner->name_length;
  if (!length) return scan_unknown_line(lexer);
  scanner->name_length = 0;
  for (; length && !at_end(lexer); length--) advance(lexer);
  lexer->mark_end(lexer);
  return emit(lexer, FRAME_NAME);
}

// The text of a file outside of the dump set, up to the next marker. It may be empty.
static bool scan_other_text(TSLexer *lexer) {
  lexer->mark_end(lexer);
  while (lexer->lookahead == ' ' || lexer->lookahead == '\r' || lexer->lookahead == '\n') skip(lexer);
  while (!at_end(lexer)) {
    if (advance_literal(lexer, "*** ") && (lexer->lookahead == 'B' || lexer->lookahead == 'E')) break;
    while (!at_line_end(lexer)) advance(lexer);
    lexer->mark_end(lexer);
    if (!at_end(lexer)) advance(lexer);
  }
  return emit(lexer, OTHER_TEXT);
}

// Whether the text is that of a parameter, behind which its shape may follow.
static bool is_parameter(Text text) {
  Text parts[MAX_PARTS];
  return match_pattern(&text, "parameter " DIGITS, parts) && text.at == text.end;
}

// Called at every attribute of an allocation. Emits nothing for one that the grammar knows. Reads no further than that one can reach:
// to the next comma or colon outside of its shape and its index.
static bool scan_unknown_attribute(Scanner *scanner, TSLexer *lexer) {
  while (lexer->lookahead == ' ') skip(lexer);
  Line *line = &scanner->line;
  array_clear(line);
  bool is_marked = false, is_over = false, is_quoted = false, is_index = false;
  for (; !is_over && !at_line_end(lexer); advance(lexer)) {
    int32_t c = lexer->lookahead;
    if (c == ',' || c == ':') {
      if (!is_marked) lexer->mark_end(lexer);
      is_marked = true;
      is_over = !is_quoted && !is_index && !(c == ',' && is_parameter(text_of(line)));
    }
    if (c == '|') is_quoted = !is_quoted;
    is_index = c == '{' || (is_index && (c == ',' || c == ' ' || is_digit(narrow(c))));
    array_push(line, narrow(c));
  }
  Text text = text_of(line), parts[MAX_PARTS];
  return is_marked && match_attribute(&text, parts) < 0 && emit(lexer, UNKNOWN_ATTRIBUTE);
}

// ---------------------------------------------------------------- the instruction

// The state of brackets and strings in an instruction. A line end within either does not end the instruction.
typedef struct {
  int depth;
  bool quoted, escaped;
} Nesting;

static void step(TSLexer *lexer, Nesting *nesting) {
  int32_t c = lexer->lookahead;
  if (nesting->escaped) {
    nesting->escaped = false;
  } else if (c == '"') {
    nesting->quoted = !nesting->quoted;
  } else if (nesting->quoted) {
    nesting->escaped = c == '\\';
  } else if (c == '{' || c == '(' || c == '[') {
    nesting->depth++;
  } else if (c == '}' || c == ')' || c == ']') {
    nesting->depth--;
  }
  advance(lexer);
}

// Moves over `literal` as far as it matches. Returns whether all of it did.
static bool step_literal(TSLexer *lexer, Nesting *nesting, const char *literal) {
  while (*literal && lexer->lookahead == *literal) {
    step(lexer, nesting);
    literal++;
  }
  return !*literal;
}

// Whether the header of a value glued to the instruction before it starts here: `<8 fusion @0>` to the end of the line.
static bool step_glued_value(Scanner *scanner, TSLexer *lexer, Nesting *nesting) {
  Line *line = &scanner->line;
  array_clear(line);
  bool valid = true;
  while (!at_line_end(lexer) && lexer->lookahead != '\r' && valid) {
    uint8_t c = narrow(lexer->lookahead);
    // Stop early unless it starts with `<` and a digit, or at a quotation mark.
    valid = line->size == 0 || (line->size == 1 ? is_digit(c) : c != '"');
    array_push(line, c);
    step(lexer, nesting);
  }
  Text text = text_of(line), parts[MAX_PARTS];
  return match_pattern(&text, VALUE, parts) && match_end(&text);
}

// Whether the line that starts here cannot be part of an instruction.
static bool step_line_start(TSLexer *lexer, Nesting *nesting) {
  if (at_line_end(lexer) || lexer->lookahead == '\r') return true;
  switch (lexer->lookahead) {
    case '<':
      step(lexer, nesting);
      return lexer->lookahead >= '0' && lexer->lookahead <= '9';
    case ' ':
      step(lexer, nesting);
      switch (lexer->lookahead) {
        case 'p': return step_literal(lexer, nesting, "positions:");
        case 'u': return step_literal(lexer, nesting, "uses:");
        case 'f': return step_literal(lexer, nesting, "from instruction:");
        case 'v': return step_literal(lexer, nesting, "value: <");
        default: return false;
      }
    case 'B': return step_literal(lexer, nesting, "BufferAssignment:");
    case 'H': return step_literal(lexer, nesting, "HloLiveRange ");
    default: return false;
  }
}

static bool scan_instruction(Scanner *scanner, TSLexer *lexer) {
  Nesting nesting = {0, false, false};
  for (;;) {
    if (lexer->lookahead == '\r' || at_line_end(lexer)) {
      lexer->mark_end(lexer);
      if (at_end(lexer)) break;
      if (lexer->lookahead == '\r') {
        step(lexer, &nesting);
        if (lexer->lookahead != '\n') continue;
      }
      if (nesting.depth <= 0 && !nesting.quoted) break;
      step(lexer, &nesting);
      if (step_line_start(lexer, &nesting)) break;
    } else if (lexer->lookahead == '<') {
      lexer->mark_end(lexer);
      if (step_glued_value(scanner, lexer, &nesting)) break;
    } else {
      step(lexer, &nesting);
    }
  }
  return emit(lexer, INSTRUCTION);
}

// ---------------------------------------------------------------- the tree-sitter interface

void *tree_sitter_xla_dump_external_scanner_create(void) { return ts_calloc(1, sizeof(Scanner)); }

void tree_sitter_xla_dump_external_scanner_destroy(void *payload) {
  Scanner *scanner = payload;
  array_delete(&scanner->line);
  ts_free(scanner);
}

unsigned tree_sitter_xla_dump_external_scanner_serialize(void *payload, char *buffer) {
  const Scanner *scanner = payload;
  memcpy(buffer, &scanner->name_length, sizeof scanner->name_length);
  buffer[sizeof scanner->name_length] = (char)scanner->last;
  return SERIALIZED;
}

void tree_sitter_xla_dump_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  Scanner *scanner = payload;
  scanner->name_length = 0;
  scanner->last = ERROR_SENTINEL;
  scanner->is_first = !length;
  if (length == SERIALIZED) {
    memcpy(&scanner->name_length, buffer, sizeof scanner->name_length);
    scanner->last = (uint8_t)buffer[sizeof scanner->name_length];
  }
  if (scanner->line.capacity > KEPT_CAPACITY) array_delete(&scanner->line);
}

bool tree_sitter_xla_dump_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
  Scanner *scanner = payload;
  if (!valid[ERROR_SENTINEL]) {
    if (valid[INSTRUCTION]) {
      while (lexer->lookahead == ' ' || lexer->lookahead == '\r') skip(lexer);
      if (!at_line_end(lexer)) return scan_instruction(scanner, lexer);
    }
    if (valid[BRANCH]) return scan_branch(lexer);
    if (valid[FRAME_NAME]) return scan_frame_name(scanner, lexer);
    if (valid[OTHER_TEXT]) return scan_other_text(lexer);
    if (valid[UNKNOWN_ATTRIBUTE]) return scan_unknown_attribute(scanner, lexer);
    if (valid[UNKNOWN_LINE] && !valid[TOTAL]) return scan_unknown_line(lexer);
  }
  return scan_line(scanner, lexer);
}
