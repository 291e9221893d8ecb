// Reads the rows of a dump file into columns of integers, without a syntax tree.
//
// Lines are recognised by the functions of the grammar's own scanner, which this file includes, so a line has the same kind
// here and in the tree. This file adds the two things that the generated parser does: it nests lines into sections, and it
// takes the cells of a row apart. tests/syntax/test_rows.py holds both equal to the tree on every dump.
//
// A line of ASCII is recognised where it lies in the file. Everything else (instruction text over several lines, values
// glued to an instruction, stack traces) goes through the scanner's own entry points and a lexer that reads from memory.

#include <Python.h>

#include <stddef.h>

#include "scanner.c"

#include "column.h"
#include "numbers.h"

enum { LINES_BETWEEN_CHECKS = 1 << 14 };

// ---------------------------------------------------------------- columns

#define BIT(number) (UINT64_C(1) << (number))

// In the order of the fields of FileColumns (server/xla_lens/syntax/columns.py): the number of columns of each, which of them hold
// numbers that the dump prints, and which of those are numbers of bytes. All others hold offsets, rows and counts of rows.
#define TABLES(X) \
  X(ALLOCATIONS, 14, BIT(4) | BIT(5) | BIT(6) | BIT(8), BIT(5)) \
  X(SLICES, 12, BIT(3) | BIT(6) | BIT(9) | BIT(10), BIT(9) | BIT(10)) X(USED_VALUE_ROWS, 12, BIT(6) | BIT(9), 0) \
  X(POSITION_ROWS, 5, 0, 0) X(USE_ROWS, 6, BIT(4), 0) X(SCHEDULE, 5, BIT(2), 0) \
  X(LIVE_RANGE_ROWS, 7, BIT(5) | BIT(6), 0) X(PEAKS, 5, BIT(4), 0) X(PEAK_BUFFERS, 7, BIT(5) | BIT(6), BIT(5) | BIT(6)) \
  X(STACK_TRACE_HEADERS, 3, BIT(2), BIT(2)) \
  X(STACK_TRACE_ROWS, 8, BIT(5) | BIT(6) | BIT(7), BIT(5) | BIT(6) | BIT(7)) X(TOTALS, 5, BIT(2), BIT(2)) \
  X(OTHER_COLOR_VALUES, 3, BIT(2), 0) X(LIVE_RANGE_HEADERS, 3, BIT(2), 0) X(REPORT_ALLOCATIONS, 9, BIT(2), 0) \
  X(REPORT_SPACES, 8, BIT(4) | BIT(5), BIT(5)) X(REPORT_ROWS, 12, BIT(2) | BIT(3) | BIT(4) | BIT(10), BIT(2)) \
  X(REPORT_TABLES, 8, BIT(2) | BIT(3) | BIT(7), 0) X(SECTION_ROWS, 3, 0, 0) X(UNKNOWN_LINES, 2, 0, 0) \
  X(OTHER_MODULES, 4, 0, 0)

enum Table {
#define X(name, width, printed, bytes) name,
  TABLES(X)
#undef X
  TABLE_COUNT
};

static const int WIDTHS[TABLE_COUNT] = {
#define X(name, width, printed, bytes) width,
  TABLES(X)
#undef X
};

static const uint64_t PRINTED[TABLE_COUNT] = {
#define X(name, width, printed, bytes) printed,
  TABLES(X)
#undef X
};

static const uint64_t BYTES[TABLE_COUNT] = {
#define X(name, width, printed, bytes) bytes,
  TABLES(X)
#undef X
};

enum { MAX_WIDTH = 14 };

typedef struct {
  void *columns[MAX_WIDTH];
  size_t count, capacity;
  uint64_t narrowed; // the columns that `narrow_columns` has narrowed
} Rows;

// ---------------------------------------------------------------- sections

enum Part {
  FILE_PART,
  ASSIGNMENT_PART,
  ALLOCATION_PART,
  OTHER_COLORS_PART,
  USED_VALUES_PART,
  USED_VALUE_PART,
  LIVE_RANGES_PART,
  SEQUENCE_PART,
  RANGES_PART,
  PEAK_PART,
  STACK_TRACES_PART,
  BY_SIZE_PART,
  WITH_VALUES_PART,
  REPORT_ALLOCATION_PART,
  MEMORY_SPACE_PART,
  TABLE_PART,
  MESSAGE_PART,
};

// The values of `Section` in server/xla_lens/syntax/columns.py, NONE for parts that are not sections.
static const int SECTION_OF[] = {NONE, 0, NONE, NONE, 1, NONE, 2, 3, 4, 5, 6, 7, 7, NONE, 7, NONE, NONE};

#define USED_VALUE_LINES (BIT(POSITIONS) | BIT(POSITION) | BIT(USES) | BIT(USE) | BIT(NO_USES) | BIT(FROM_INSTRUCTION))

// The kinds of lines that may appear directly in each part, as in grammar.js. At the top level, any kind may.
static const uint64_t ACCEPTED[] = {
  [FILE_PART] = ~UINT64_C(0),
  [ASSIGNMENT_PART] =
    BIT(ALLOCATION) | BIT(BROKEN_ALLOCATION) | BIT(SLICE) | BIT(OTHER_COLORS) | BIT(OTHER_COLOR_VALUE) | BIT(UNKNOWN_LINE),
  [ALLOCATION_PART] = BIT(SLICE) | BIT(OTHER_COLORS) | BIT(UNKNOWN_LINE),
  [OTHER_COLORS_PART] = BIT(OTHER_COLOR_VALUE) | BIT(UNKNOWN_LINE),
  [USED_VALUES_PART] = BIT(USED_VALUE) | BIT(BROKEN_USED_VALUE) | USED_VALUE_LINES | BIT(UNKNOWN_LINE),
  [USED_VALUE_PART] = USED_VALUE_LINES | BIT(UNKNOWN_LINE),
  [LIVE_RANGES_PART] = BIT(INSTRUCTION_SEQUENCE) | BIT(SCHEDULED_INSTRUCTION) | BIT(BUFFER_LIVE_RANGES) | BIT(LIVE_RANGE) |
    BIT(PEAK) | BIT(PEAK_BUFFER) | BIT(NO_PEAK) | BIT(STACK_TRACES) | BIT(STACK_TRACE_ROOT) | BIT(STACK_TRACE) |
    BIT(UNKNOWN_LINE),
  [SEQUENCE_PART] = BIT(SCHEDULED_INSTRUCTION) | BIT(UNKNOWN_LINE),
  [RANGES_PART] = BIT(LIVE_RANGE) | BIT(UNKNOWN_LINE),
  [PEAK_PART] = BIT(PEAK_BUFFER) | BIT(UNKNOWN_LINE),
  [STACK_TRACES_PART] = BIT(STACK_TRACE_ROOT) | BIT(STACK_TRACE) | BIT(UNKNOWN_LINE),
  [BY_SIZE_PART] = BIT(BY_SIZE_COLUMNS) | BIT(RULE) | BIT(BY_SIZE_ROW) | BIT(REST) | BIT(UNKNOWN_LINE),
  [WITH_VALUES_PART] =
    BIT(REPORT_ALLOCATION) | BIT(TABLE_COLUMNS) | BIT(TABLE_ROW) | BIT(REST) | BIT(RULE) | BIT(UNKNOWN_LINE),
  [REPORT_ALLOCATION_PART] = BIT(TABLE_COLUMNS) | BIT(UNKNOWN_LINE),
  [MEMORY_SPACE_PART] =
    BIT(MEMORY_SPACE_TOTAL) | BIT(TABLE_COLUMNS) | BIT(TABLE_ROW) | BIT(REST) | BIT(RULE) | BIT(UNKNOWN_LINE),
  [TABLE_PART] = BIT(RULE) | BIT(TABLE_ROW) | BIT(REST) | BIT(UNKNOWN_LINE),
  [MESSAGE_PART] = BIT(MESSAGE) | BIT(FIELD) | BIT(MESSAGE_END) | BIT(UNKNOWN_LINE),
};

typedef struct {
  enum Part part;
  int64_t start, header_end;
  int64_t section; // row in SECTION_ROWS, NONE if it has none
  int64_t cells[MAX_WIDTH];
  Text name, index; // of a used value; they are numbered after those of its rows
} Frame;

// ---------------------------------------------------------------- the reader

// A lexer over memory, in place of the one that tree-sitter passes to the scanner. `base` comes first, so that a TSLexer is a Lexer.
typedef struct {
  TSLexer base;
  const uint8_t *start, *end, *at, *mark;
  uint32_t width; // bytes of the lookahead
} Lexer;

typedef struct {
  Lexer lexer;
  Scanner scanner;
  Rows rows[TABLE_COUNT];
  Numbers names, indices;
  Array(Frame) stack;
  int64_t end; // of the last row
  int64_t allocation, used_value, report_allocation, space, space_start, space_end, report_tables, rest;
  Text stem;
  bool has_stem, is_elsewhere, is_out_of_memory;
} Reader;

static int64_t offset_of(const Reader *reader, const uint8_t *at) { return at - reader->lexer.start; }

// Offsets, rows and counts take 32 bits, unless the file is too long for that.
static size_t cell_size(const Reader *reader, enum Table table, int column) {
  bool is_long = reader->lexer.end - reader->lexer.start > INT32_MAX;
  bool is_wide = (is_long || PRINTED[table] & BIT(column)) && !(reader->rows[table].narrowed & BIT(column));
  return is_wide ? sizeof(int64_t) : sizeof(int32_t);
}

static void add_row(Reader *reader, enum Table table, const int64_t *cells) {
  Rows *rows = &reader->rows[table];
  int width = WIDTHS[table];
  if (rows->count == rows->capacity) {
    size_t capacity = rows->capacity ? rows->capacity + rows->capacity / 2 : 16;
    for (int i = 0; i < width; i++) {
      if (!grow(&rows->columns[i], capacity * cell_size(reader, table, i))) {
        reader->is_out_of_memory = true;
        return;
      }
    }
    rows->capacity = capacity;
  }
  for (int i = 0; i < width; i++) set_cell(rows->columns[i], cell_size(reader, table, i), (Py_ssize_t)rows->count, cells[i]);
  rows->count++;
}

// Halves the columns of printed ids, steps and the like whose numbers have less than 31 bits, so that adding or subtracting two of
// them fits as well. Numbers of bytes keep 64 bits, because code adds up any of them.
static void narrow_columns(Reader *reader) {
  enum { LIMIT = 1 << 30 };
  for (int table = 0; table < TABLE_COUNT; table++) {
    Rows *rows = &reader->rows[table];
    for (int column = 0; column < WIDTHS[table]; column++) {
      if (!(PRINTED[table] & ~BYTES[table] & BIT(column))) continue;
      int64_t *wide = rows->columns[column];
      int32_t *narrow = rows->columns[column];
      bool fits = true;
      for (size_t row = 0; fits && row < rows->count; row++) fits = -LIMIT < wide[row] && wide[row] < LIMIT;
      if (!fits) continue;
      for (size_t row = 0; row < rows->count; row++) {
        int64_t cell = wide[row];
        memcpy(&narrow[row], &(int32_t){(int32_t)cell}, sizeof *narrow);
      }
      rows->narrowed |= BIT(column);
    }
  }
}

#define ADD(reader, table, ...) add_row(reader, table, (const int64_t[]){__VA_ARGS__})

static int64_t name_number(Reader *reader, Text name) { return number_of(&reader->names, name); }
static int64_t index_number(Reader *reader, Text index) {
  return index.at ? number_of(&reader->indices, index) : NONE;
}

// ---------------------------------------------------------------- the lexer over memory

// Code points as tree-sitter decodes them. Each byte that is not valid UTF-8 is one character, -1.
static void decode(Lexer *lexer) {
  const uint8_t *at = lexer->at;
  ptrdiff_t left = lexer->end - at;
  lexer->width = left > 0;
  lexer->base.lookahead = left > 0 ? *at : 0;
  if (left <= 0 || *at < 0x80) return;
  uint32_t width = *at >= 0xF0 ? 4 : *at >= 0xE0 ? 3 : 2;
  int32_t point = *at & (0x7F >> width);
  bool valid = *at >= 0xC2 && *at <= 0xF4 && left >= (ptrdiff_t)width;
  for (uint32_t i = 1; valid && i < width; i++) {
    valid = (at[i] & 0xC0) == 0x80;
    point = point << 6 | (at[i] & 0x3F);
  }
  static const int32_t SMALLEST[] = {0, 0, 0x80, 0x800, 0x10000};
  valid = valid && point >= SMALLEST[width] && point <= 0x10FFFF && !(point >= 0xD800 && point <= 0xDFFF);
  lexer->base.lookahead = valid ? point : -1;
  lexer->width = valid ? width : 1;
}

static void advance_in_memory(TSLexer *base, bool Py_UNUSED(skip)) {
  Lexer *lexer = (Lexer *)base;
  lexer->at += lexer->width;
  decode(lexer);
}

static void mark_in_memory(TSLexer *base) { ((Lexer *)base)->mark = ((Lexer *)base)->at; }
static bool eof_in_memory(const TSLexer *base) { return ((const Lexer *)base)->at >= ((const Lexer *)base)->end; }

static void seek(Lexer *lexer, const uint8_t *at) {
  lexer->at = lexer->mark = at;
  decode(lexer);
}

static const uint8_t *find(const uint8_t *at, const uint8_t *end, char c) {
  const uint8_t *found = at < end ? memchr(at, c, (size_t)(end - at)) : NULL;
  return found ? found : end;
}

// ---------------------------------------------------------------- cells

// The functions below split text that the scanner has accepted: they advance `text` over characters that must be there.

static int64_t read_integer(Text *text) {
  bool is_negative = match(text, "-");
  int64_t number = 0;
  for (; text->at < text->end && is_digit(*text->at); text->at++) number = number * 10 + (*text->at - '0');
  return is_negative ? -number : number;
}

static int64_t read_grouped_integer(Text *text) {
  Text start = *text;
  if (!match_grouped_integer(text)) return NONE;
  int64_t number = 0;
  for (const uint8_t *at = start.at; at < text->at; at++) number = is_digit(*at) ? number * 10 + (*at - '0') : number;
  return *start.at == '-' ? -number : number;
}

static Text read_by(Text *text, bool (*match_part)(Text *)) {
  const uint8_t *start = text->at;
  return match_part(text) ? (Text){start, text->at} : (Text){NULL, NULL};
}

static void skip_literal(Text *text, const char *literal) { match(text, literal); }

typedef struct {
  int64_t id, color;
  Text name, index, span;
} Value;

static Value read_value(Text *text) {
  Value value = {.color = NONE};
  value.span.at = text->at++;
  value.id = read_integer(text);
  text->at++;
  value.name = read_by(text, match_name);
  value.index = read_by(text, match_index);
  skip_literal(text, " (phi)");
  if (match(text, " @")) value.color = read_integer(text);
  value.span.end = ++text->at;
  return value;
}

static Text read_human_size(Text *text) { return read_by(text, match_human_size); }

static int64_t start_of(const Reader *reader, Text span) { return span.at ? offset_of(reader, span.at) : NONE; }
static int64_t end_of(const Reader *reader, Text span) { return span.at ? offset_of(reader, span.end) : NONE; }

// The end of a token that extends to the end of its line, including trailing blanks.
static const uint8_t *raw_end(const Reader *reader, Text text) {
  const uint8_t *end = text.end;
  while (end < reader->lexer.end && *end == ' ') end++;
  return end;
}

static const struct {
  const char *word;
  int64_t kind;
} ALLOCATION_KINDS[] = {{"constant", 1}, {"thread-local", 2}, {"maybe-live-out", 4}, {"preallocated-temp", 8}};

enum { PARAMETER_KIND = 16, OUTPUT_KIND = 32 };

static Text read_quoted_shape(Text *text) {
  Text shape = read_by(text, match_quoted_shape);
  return shape.at ? (Text){shape.at + 1, shape.end - 1} : shape;
}

// The cells of an allocation's header from `index` on; `size` is NULL in a dump, and gets the size's span in a report.
static void read_allocation(Reader *reader, Text *text, int64_t *cells, Text *size) {
  int64_t *index = cells, *size_bytes = cells + 1, *color = cells + 2, *kind = cells + 3, *parameter = cells + 4,
          *parameter_index = cells + 5, *parameter_shape = cells + 6, *output_shape = cells + 8;
  for (int i = 0; i < 10; i++) cells[i] = NONE;
  *color = *kind = 0;
  skip_literal(text, "allocation ");
  *index = read_integer(text);
  skip_literal(text, ": ");
  if (match(text, "0x")) {
    text->at = find(text->at, text->end, ',');
    skip_literal(text, ", ");
  }
  skip_literal(text, "size ");
  if (size) *size = read_human_size(text);
  else *size_bytes = read_integer(text);
  while (match(text, ", ")) {
    Text start = *text;
    if (!match_known_attribute(text)) {
      match_unknown_attribute(text);
      if (!size) ADD(reader, UNKNOWN_LINES, offset_of(reader, start.at), offset_of(reader, text->at));
      continue;
    }
    Text part = {start.at, text->at};
    if (match(&part, "color ")) *color = read_integer(&part);
    else if (match(&part, "page ")) continue;
    else if (match(&part, "parameter ")) {
      *kind |= PARAMETER_KIND;
      *parameter = read_integer(&part);
      Text shape = {NULL, NULL};
      if (match(&part, ", shape ")) shape = read_quoted_shape(&part);
      if (shape.at) {
        parameter_shape[0] = start_of(reader, shape);
        parameter_shape[1] = end_of(reader, shape);
      }
      skip_literal(&part, " at ShapeIndex ");
      *parameter_index = index_number(reader, read_by(&part, match_index));
    } else if (match(&part, "output shape is ")) {
      *kind |= OUTPUT_KIND;
      Text shape = read_quoted_shape(&part);
      output_shape[0] = start_of(reader, shape);
      output_shape[1] = end_of(reader, shape);
    } else {
      for (size_t i = 0; i < sizeof ALLOCATION_KINDS / sizeof *ALLOCATION_KINDS; i++) {
        if (match(&part, ALLOCATION_KINDS[i].word)) *kind |= ALLOCATION_KINDS[i].kind;
      }
    }
  }
  match(text, ":");
}

// ---------------------------------------------------------------- opening and closing parts

static Frame *top(Reader *reader) { return &reader->stack.contents[reader->stack.size - 1]; }

static Frame *open_part(Reader *reader, enum Part part, int64_t start, int64_t header_end) {
  Frame frame = {.part = part, .start = start, .header_end = header_end, .section = NONE};
  if (SECTION_OF[part] != NONE && !reader->is_elsewhere) {
    frame.section = (int64_t)reader->rows[SECTION_ROWS].count;
    ADD(reader, SECTION_ROWS, start, header_end, SECTION_OF[part]);
  }
  array_push(&reader->stack, frame);
  return top(reader);
}

static int64_t row_count(const Reader *reader, enum Table table) { return (int64_t)reader->rows[table].count; }

static void close_part(Reader *reader) {
  Frame frame = array_pop(&reader->stack);
  int64_t *cells = frame.cells;
  if (frame.section != NONE) {
    size_t size = cell_size(reader, SECTION_ROWS, 1);
    set_cell(reader->rows[SECTION_ROWS].columns[1], size, (Py_ssize_t)frame.section, reader->end);
  }
  if (reader->is_elsewhere) return;
  switch (frame.part) {
    case ALLOCATION_PART:
      cells[0] = frame.start;
      cells[1] = frame.header_end;
      cells[3] = row_count(reader, SLICES) - cells[2];
      add_row(reader, ALLOCATIONS, cells);
      reader->allocation = NONE;
      break;
    case USED_VALUE_PART:
      cells[0] = frame.start;
      cells[1] = frame.header_end;
      cells[3] = row_count(reader, POSITION_ROWS) - cells[2];
      cells[5] = row_count(reader, USE_ROWS) - cells[4];
      if (frame.name.at) {
        cells[8] = index_number(reader, frame.index);
        cells[7] = name_number(reader, frame.name);
      }
      add_row(reader, USED_VALUE_ROWS, cells);
      reader->used_value = NONE;
      break;
    case PEAK_PART:
      cells[0] = frame.start;
      cells[1] = frame.header_end;
      cells[3] = row_count(reader, PEAK_BUFFERS) - cells[2];
      add_row(reader, PEAKS, cells);
      break;
    case TABLE_PART:
      ADD(reader, REPORT_TABLES, frame.start, reader->end, reader->report_allocation, reader->space,
          reader->report_tables, cells[0], row_count(reader, REPORT_ROWS) - cells[0], reader->rest);
      reader->report_tables++;
      break;
    default: break;
  }
}

static void close_parts(Reader *reader, enum TokenType kind) {
  while (!(ACCEPTED[top(reader)->part] & BIT(kind))) close_part(reader);
}

// ---------------------------------------------------------------- rows

static void add_unknown(Reader *reader, int64_t start, int64_t end) {
  if (!reader->is_elsewhere) ADD(reader, UNKNOWN_LINES, start, end);
}

static void read_slice(Reader *reader, Text text, int64_t start) {
  skip_literal(&text, "value: ");
  Value value = read_value(&text);
  skip_literal(&text, " (size=");
  int64_t size = read_integer(&text);
  skip_literal(&text, ",offset=");
  int64_t offset = read_integer(&text);
  skip_literal(&text, "): ");
  int64_t index = index_number(reader, value.index);
  ADD(reader, SLICES, start, reader->end, reader->allocation, value.id, name_number(reader, value.name), index, value.color,
      start_of(reader, value.span), end_of(reader, value.span), size, offset, offset_of(reader, text.at));
}

static void read_used_value(Reader *reader, Text text, int64_t start) {
  Frame *frame = open_part(reader, USED_VALUE_PART, start, reader->end);
  int64_t *cells = frame->cells;
  cells[2] = row_count(reader, POSITION_ROWS);
  cells[4] = row_count(reader, USE_ROWS);
  for (int i = 6; i < 12; i++) cells[i] = NONE;
  reader->used_value = row_count(reader, USED_VALUE_ROWS);
  if (text.at) {
    Value value = read_value(&text);
    cells[6] = value.id;
    cells[9] = value.color;
    frame->name = value.name;
    frame->index = value.index;
  } else {
    add_unknown(reader, start, reader->end);
  }
}

static void read_position(Reader *reader, Text text, int64_t start, bool is_use) {
  Text name = read_by(&text, match_name);
  int64_t operand = NONE;
  if (is_use) {
    skip_literal(&text, ", operand ");
    operand = read_integer(&text);
  }
  skip_literal(&text, " ");
  Text index = read_by(&text, match_index);
  int64_t name_cell = name_number(reader, name), index_cell = index_number(reader, index);
  if (is_use) ADD(reader, USE_ROWS, start, reader->end, reader->used_value, name_cell, operand, index_cell);
  else ADD(reader, POSITION_ROWS, start, reader->end, reader->used_value, name_cell, index_cell);
}

static void read_live_range(Reader *reader, Text text, int64_t start) {
  int64_t name = name_number(reader, read_by(&text, match_name));
  int64_t index = index_number(reader, read_by(&text, match_index));
  int64_t value_end = offset_of(reader, text.at);
  skip_literal(&text, ":");
  int64_t first = read_integer(&text);
  skip_literal(&text, "-");
  ADD(reader, LIVE_RANGE_ROWS, start, reader->end, name, index, value_end, first, read_integer(&text));
}

static void read_peak_buffer(Reader *reader, Text text, int64_t start) {
  int64_t name = name_number(reader, read_by(&text, match_name));
  int64_t index = index_number(reader, read_by(&text, match_index));
  int64_t value_end = offset_of(reader, text.at);
  skip_literal(&text, ": ");
  int64_t size = read_integer(&text);
  skip_literal(&text, " bytes");
  int64_t cumulative = match(&text, " (cumulative: ") ? read_integer(&text) : NONE;
  ADD(reader, PEAK_BUFFERS, start, reader->end, name, index, value_end, size, cumulative);
}

// Two sizes, `12345 (12.1KiB)`; the second may be missing.
static Text read_sizes(Text *text, int64_t *size) {
  *size = read_integer(text);
  return match(text, " (") ? read_human_size(text) : (Text){NULL, NULL};
}

static void read_table_row(Reader *reader, Text text, int64_t start) {
  Text cumulative = read_human_size(&text);
  text.at = find(text.at, text.end, ';') + 1;
  match_spaces(&text);
  Text size = read_human_size(&text);
  skip_literal(&text, ";");
  match_spaces(&text);
  int64_t offset = read_integer(&text);
  skip_literal(&text, ";");
  match_spaces(&text);
  int64_t values = read_integer(&text);
  skip_literal(&text, "; ");
  ADD(reader, REPORT_ROWS, start, reader->end, offset, reader->report_allocation, reader->space, reader->report_tables,
      start_of(reader, cumulative), end_of(reader, cumulative), start_of(reader, size), end_of(reader, size), values,
      offset_of(reader, text.at));
}

static void read_report_allocation(Reader *reader, Text text, bool is_by_size) {
  Text cumulative = {NULL, NULL}, remaining = {NULL, NULL}, size;
  if (is_by_size) {
    cumulative = read_human_size(&text);
    text.at = find(text.at, text.end, ';') + 1;
    match_spaces(&text);
    remaining = read_human_size(&text);
    skip_literal(&text, "; ");
  }
  int64_t cells[10], header = offset_of(reader, text.at);
  read_allocation(reader, &text, cells, &size);
  ADD(reader, REPORT_ALLOCATIONS, header, offset_of(reader, text.at), cells[0], start_of(reader, size),
      end_of(reader, size), start_of(reader, cumulative), end_of(reader, cumulative), start_of(reader, remaining),
      end_of(reader, remaining));
  reader->report_allocation = cells[0];
}

static void read_stack_trace(Reader *reader, const uint8_t *at, bool is_branch_line) {
  Lexer *lexer = &reader->lexer;
  const uint8_t *start = at;
  int64_t depth = 0;
  seek(lexer, at);
  if (is_branch_line) {
    const uint8_t *line = at;
    while (line > lexer->start && line[-1] != '\n') line--;
    int64_t stems = 1;
    for (; lexer->base.lookahead != 0x251C && lexer->base.lookahead != 0x2514; advance(&lexer->base)) stems++;
    for (int i = 0; i < 3; i++, stems++) advance(&lexer->base);
    // 6 columns before the first branch, 4 for each of them.
    depth = 1 + ((at - line) - 6 + stems - 4) / 4;
  }
  if (lexer->base.lookahead == ' ') advance(&lexer->base);
  const uint8_t *name = lexer->at;
  uint32_t length = reader->scanner.name_length;
  reader->scanner.name_length = 0;
  if (!length) {
    const uint8_t *end = find(name, lexer->end, '\n');
    reader->end = offset_of(reader, end);
    add_unknown(reader, offset_of(reader, name), reader->end);
    seek(lexer, end);
    return;
  }
  for (; length && lexer->at < lexer->end; length--) advance(&lexer->base);
  const uint8_t *name_end = lexer->at;
  Text text = {name_end, find(name_end, lexer->end, '\n')};
  int64_t sizes[3] = {NONE, NONE, NONE};
  skip_literal(&text, " (");
  match_number(&text);
  skip_literal(&text, "%");
  while (match(&text, ", ")) {
    int which = match(&text, "current: ") ? 1 : match(&text, "remaining: ") ? 2 : 0;
    skip_literal(&text, "total: ");
    int64_t size = read_grouped_integer(&text);
    if (sizes[which] == NONE) sizes[which] = size;
    skip_literal(&text, " bytes");
  }
  skip_literal(&text, ")");
  reader->end = offset_of(reader, text.at);
  if (!reader->is_elsewhere) {
    ADD(reader, STACK_TRACE_ROWS, offset_of(reader, start), reader->end, depth, offset_of(reader, name),
        offset_of(reader, name_end), sizes[0], sizes[1], sizes[2]);
  }
  seek(lexer, find(text.at, lexer->end, '\n'));
}

static void read_file_marker(Reader *reader, Text text, int64_t start) {
  skip_literal(&text, "*** Begin ");
  Text name = {text.at, text.end - strlen(" ***")};
  static const char *const SUFFIXES[] = {
    "-buffer-assignment.txt", "-buffer-assignment-values.txt", "-live-range.txt", "-memory-usage-report.txt",
  };
  Text stem = name;
  for (size_t i = 0; i < sizeof SUFFIXES / sizeof *SUFFIXES; i++) {
    if (ends_with(name, SUFFIXES[i])) stem.end = name.end - strlen(SUFFIXES[i]);
  }
  if (!reader->has_stem) reader->stem = stem;
  reader->has_stem = true;
  size_t length = (size_t)(stem.end - stem.at);
  reader->is_elsewhere =
    (size_t)(reader->stem.end - reader->stem.at) != length || memcmp(stem.at, reader->stem.at, length) != 0;
  if (reader->is_elsewhere) ADD(reader, OTHER_MODULES, start, reader->end, start_of(reader, name), end_of(reader, name));
}

// Instruction text from `at` on; moves the lexer to its end.
static void read_instruction(Reader *reader, const uint8_t *at) {
  Lexer *lexer = &reader->lexer;
  while (at < lexer->end && (*at == ' ' || *at == '\r')) at++;
  const uint8_t *end = find(at, lexer->end, '\n');
  int64_t *cells = top(reader)->part == USED_VALUE_PART ? top(reader)->cells + 10 : NULL;
  if (cells) cells[0] = cells[1] = NONE;
  if (at == end) {
    seek(lexer, at);
    return;
  }
  const uint8_t *text_end = end < lexer->end && end[-1] == '\r' ? end - 1 : end;
  bool is_plain = find(at, text_end, '\r') == text_end && text_end[-1] != '>';
  if (is_plain) {
    Nesting nesting = {0, false, false};
    seek(lexer, end < lexer->end ? end + 1 : end);
    is_plain = end == lexer->end || step_line_start(&lexer->base, &nesting);
  }
  if (is_plain) {
    lexer->mark = text_end;
  } else {
    seek(lexer, at);
    scan_instruction(&reader->scanner, &lexer->base);
  }
  reader->end = offset_of(reader, lexer->mark);
  if (cells) {
    cells[0] = offset_of(reader, at);
    cells[1] = reader->end;
  }
  seek(lexer, lexer->mark);
}

static enum Part part_of(enum TokenType kind) {
  switch (kind) {
    case BUFFER_ASSIGNMENT: return ASSIGNMENT_PART;
    case OTHER_COLORS: return OTHER_COLORS_PART;
    case USED_VALUES: return USED_VALUES_PART;
    case INSTRUCTION_SEQUENCE: return SEQUENCE_PART;
    case BUFFER_LIVE_RANGES: return RANGES_PART;
    case BY_SIZE: return BY_SIZE_PART;
    case WITH_VALUES: return WITH_VALUES_PART;
    case MESSAGE: return MESSAGE_PART;
    default: return FILE_PART;
  }
}

// In text of another module, rows still open parts; only the rows of tables are left out.
static void read_row(Reader *reader, enum TokenType kind, Text text) {
  int64_t start = offset_of(reader, text.at);
  bool is_elsewhere = reader->is_elsewhere;
  int64_t number;
  Frame *frame;
  Text human;
  switch (kind) {
    case BROKEN_ALLOCATION:
    case ALLOCATION:
      frame = open_part(reader, ALLOCATION_PART, start, reader->end);
      if (is_elsewhere) break;
      reader->allocation = row_count(reader, ALLOCATIONS);
      frame->cells[2] = row_count(reader, SLICES);
      for (int i = 4; i < 14; i++) frame->cells[i] = NONE;
      if (kind == ALLOCATION) read_allocation(reader, &text, frame->cells + 4, NULL);
      else add_unknown(reader, start, reader->end);
      break;
    case BROKEN_USED_VALUE: text = (Text){NULL, NULL}; // fall through
    case USED_VALUE:
      if (is_elsewhere) open_part(reader, USED_VALUE_PART, start, reader->end);
      else read_used_value(reader, text, start);
      break;
    case LIVE_RANGES:
    case NO_LIVE_RANGES:
      frame = open_part(reader, LIVE_RANGES_PART, start, reader->end);
      if (is_elsewhere) break;
      number = NONE;
      if (kind == LIVE_RANGES) {
        skip_literal(&text, "HloLiveRange (max ");
        number = read_integer(&text);
      }
      ADD(reader, LIVE_RANGE_HEADERS, start, reader->end, number);
      break;
    case PEAK:
      frame = open_part(reader, PEAK_PART, start, reader->end);
      skip_literal(&text, "Live ranges at ");
      frame->cells[2] = row_count(reader, PEAK_BUFFERS);
      frame->cells[4] = read_integer(&text);
      break;
    case STACK_TRACES:
      open_part(reader, STACK_TRACES_PART, start, reader->end);
      if (is_elsewhere) break;
      skip_literal(&text, "Stack trace breakdown for peak usage: ");
      ADD(reader, STACK_TRACE_HEADERS, start, reader->end, read_grouped_integer(&text));
      break;
    case REPORT_ALLOCATION:
      open_part(reader, REPORT_ALLOCATION_PART, start, reader->end);
      if (!is_elsewhere) read_report_allocation(reader, text, false);
      break;
    case MEMORY_SPACE:
      open_part(reader, MEMORY_SPACE_PART, start, reader->end);
      if (is_elsewhere) break;
      text.at = find(text.at, text.end, '(');
      skip_literal(&text, "(color=");
      reader->space = read_integer(&text);
      reader->space_start = start;
      reader->space_end = reader->end;
      reader->report_tables = 0;
      reader->report_allocation = NONE;
      break;
    case TABLE_COLUMNS:
      open_part(reader, TABLE_PART, start, reader->end)->cells[0] = row_count(reader, REPORT_ROWS);
      if (!is_elsewhere) reader->rest = NONE;
      break;
    case MESSAGE_END:
      if (top(reader)->part == MESSAGE_PART) close_part(reader);
      break;
    case BEGIN_FILE: read_file_marker(reader, text, start); break;
    default: {
      enum Part part = part_of(kind);
      if (part != FILE_PART) open_part(reader, part, start, reader->end);
    }
  }
  if (is_elsewhere) return;
  switch (kind) {
    case SLICE: read_slice(reader, text, start); break;
    case OTHER_COLOR_VALUE:
      skip_literal(&text, "value: ");
      ADD(reader, OTHER_COLOR_VALUES, start, reader->end, read_value(&text).id);
      break;
    case TOTAL:
      skip_literal(&text, "Total bytes used: ");
      human = read_sizes(&text, &number);
      ADD(reader, TOTALS, start, reader->end, number, start_of(reader, human), end_of(reader, human));
      break;
    case POSITION: read_position(reader, text, start, false); break;
    case USE: read_position(reader, text, start, true); break;
    case SCHEDULED_INSTRUCTION:
      number = read_integer(&text);
      skip_literal(&text, ":");
      ADD(reader, SCHEDULE, start, reader->end, number, name_number(reader, text), offset_of(reader, text.at));
      break;
    case LIVE_RANGE: read_live_range(reader, text, start); break;
    case PEAK_BUFFER: read_peak_buffer(reader, text, start); break;
    case BY_SIZE_ROW: read_report_allocation(reader, text, true); break;
    case MEMORY_SPACE_TOTAL:
      skip_literal(&text, "Total bytes: ");
      human = read_sizes(&text, &number);
      ADD(reader, REPORT_SPACES, start, reader->end, reader->space_start, reader->space_end, reader->space, number,
          start_of(reader, human), end_of(reader, human));
      break;
    case TABLE_ROW: read_table_row(reader, text, start); break;
    case REST:
      skip_literal(&text, "The rest ");
      reader->rest = read_integer(&text);
      break;
    case UNKNOWN_LINE: add_unknown(reader, start, reader->end); break;
    default: break;
  }
}

// ---------------------------------------------------------------- lines

static bool is_ascii(const uint8_t *at, const uint8_t *end) {
  for (; end - at >= 8; at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    if (word & UINT64_C(0x8080808080808080)) return false;
  }
  for (; at < end; at++) {
    if (*at & 0x80) return false;
  }
  return true;
}

static Text without_trailing_blanks(Text text) {
  while (text.end > text.at && (text.end[-1] == '\r' || text.end[-1] == ' ')) text.end--;
  return text;
}

// Reads the next line, or several if a row spans them. Returns false at the end of the file.
static bool read_next(Reader *reader) {
  Lexer *lexer = &reader->lexer;
  const uint8_t *at = lexer->at;
  uint32_t indent = 0;
  bool is_line_start = reader->scanner.is_first;
  for (; at < lexer->end && (*at == '\n' || *at == '\r' || *at == ' ' || *at == '\t'); at++) {
    is_line_start = is_line_start || *at == '\n';
    indent = *at == '\n' ? 0 : indent + 1;
  }
  if (at >= lexer->end) return false;
  Text text = {at, find(at, lexer->end, '\n')};
  const uint8_t *line_end = text.end;
  enum TokenType kind = UNKNOWN_LINE;
  if (indent == 1 && *at == 'f') {
    Text rest = text;
    if (match(&rest, "from instruction:")) {
      close_parts(reader, FROM_INSTRUCTION);
      reader->scanner.is_first = false;
      reader->scanner.last = FROM_INSTRUCTION;
      reader->end = offset_of(reader, rest.at);
      read_instruction(reader, rest.at);
      return true;
    }
  } else if (is_ascii(at, line_end) && line_end - at <= MAX_LINE) {
    text = without_trailing_blanks(text);
    kind = line_kind(text, indent);
    if (kind == UNKNOWN_LINE && indent == ROOT_INDENT && find_measures(text)) kind = STACK_TRACE_ROOT;
  } else {
    kind = STACK_TRACE;
  }
  if (kind == STACK_TRACE || kind == STACK_TRACE_ROOT) {
    // Rows that may span lines, and lines with multi-byte characters, are left to the scanner.
    seek(lexer, lexer->at);
    scan_line(&reader->scanner, &lexer->base);
    kind = (enum TokenType)lexer->base.result_symbol;
    if (kind == STACK_TRACE || kind == STACK_TRACE_ROOT) {
      close_parts(reader, kind);
      reader->scanner.is_first = false;
      read_stack_trace(reader, at, kind == STACK_TRACE);
      return true;
    }
    text = (Text){at, line_end};
    text = without_trailing_blanks(text);
  }
  reader->scanner.is_first = false;
  if (kind == FOREIGN_LINE) {
    kind = UNKNOWN_LINE;
  } else if (kind == POSITION || group_of(kind) != group_of((enum TokenType)reader->scanner.last)) {
    seek(lexer, line_end);
    if (is_foreign(&reader->scanner, &lexer->base, kind, false)) kind = UNKNOWN_LINE;
  }
  if (kind != UNKNOWN_LINE) reader->scanner.last = (uint8_t)kind;
  close_parts(reader, kind);
  switch (kind) {
    case SLICE:
    case NO_LIVE_RANGES:
    case NO_PEAK:
    case BY_SIZE_COLUMNS:
    case TABLE_COLUMNS:
    case TABLE_ROW:
    case REST:
    case FIELD: reader->end = offset_of(reader, raw_end(reader, text)); break;
    case BROKEN_ALLOCATION:
    case BROKEN_USED_VALUE:
    case UNKNOWN_LINE: reader->end = offset_of(reader, line_end); break;
    default: reader->end = offset_of(reader, text.end);
  }
  read_row(reader, kind, text);
  seek(lexer, line_end);
  if (kind == BEGIN_OTHER_FILE) {
    scan_other_text(&lexer->base);
    seek(lexer, lexer->mark);
  }
  return true;
}

// ---------------------------------------------------------------- Python

// The texts one after another in one bytes object, and where each starts, followed by the end of the last.
static PyObject *texts_of(const Numbers *numbers) {
  uint32_t count = numbers->texts.size;
  size_t size = 0;
  for (uint32_t i = 0; i < count; i++) size += (size_t)(numbers->texts.contents[i].end - numbers->texts.contents[i].at);
  size_t cell_size = size > INT32_MAX ? sizeof(int64_t) : sizeof(int32_t);
  void *offsets = malloc(((size_t)count + 1) * cell_size);
  PyObject *block = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
  if (!block || !offsets) {
    Py_XDECREF(block);
    free(offsets);
    return PyErr_NoMemory();
  }
  char *start = PyBytes_AsString(block);
  Py_BEGIN_ALLOW_THREADS
  size_t offset = 0;
  for (uint32_t i = 0; i <= count; i++) {
    set_cell(offsets, cell_size, i, (int64_t)offset);
    if (i == count) break;
    Text text = numbers->texts.contents[i];
    memcpy(start + offset, text.at, (size_t)(text.end - text.at));
    offset += (size_t)(text.end - text.at);
  }
  Py_END_ALLOW_THREADS
  return Py_BuildValue("(NN)", block, column_of(offsets, (size_t)count + 1, cell_size));
}

static PyObject *tables_of(Reader *reader) {
  PyObject *tables = PyList_New(TABLE_COUNT);
  for (int table = 0; tables && table < TABLE_COUNT; table++) {
    Rows *rows = &reader->rows[table];
    PyObject *columns = PyList_New(WIDTHS[table]);
    for (int i = 0; columns && i < WIDTHS[table]; i++) {
      PyObject *column = column_of(rows->columns[i], rows->count, cell_size(reader, table, i));
      rows->columns[i] = NULL;
      if (!column || PyList_SetItem(columns, i, column) < 0) Py_CLEAR(columns);
    }
    if (!columns || PyList_SetItem(tables, table, columns) < 0) Py_CLEAR(tables);
  }
  return tables;
}

static void free_reader(Reader *reader) {
  for (int table = 0; table < TABLE_COUNT; table++) {
    for (int i = 0; i < WIDTHS[table]; i++) free(reader->rows[table].columns[i]);
  }
  free_numbers(&reader->names);
  free_numbers(&reader->indices);
  array_delete(&reader->stack);
  array_delete(&reader->scanner.line);
}

// read_rows(data, is_cancelled): the names, the indices (each as `texts_of`) and the columns of the tables of a file; None if it was
// cancelled.
// `is_cancelled` is called every few milliseconds with the number of bytes read so far.
PyObject *read_rows(PyObject *Py_UNUSED(self), PyObject *args) {
  Py_buffer data;
  PyObject *is_cancelled, *result = NULL;
  if (!PyArg_ParseTuple(args, "y*O:read_rows", &data, &is_cancelled)) return NULL;
  const uint8_t *text = data.buf;
  Reader reader = {
    .lexer =
      {
        .base = {.advance = advance_in_memory, .mark_end = mark_in_memory, .eof = eof_in_memory},
        .start = text,
        .end = text + data.len,
      },
    .scanner = {.is_first = true, .last = ERROR_SENTINEL},
    .allocation = NONE,
    .used_value = NONE,
    .report_allocation = NONE,
    .space = NONE,
    .space_start = NONE,
    .space_end = NONE,
    .rest = NONE,
  };
  bool stopped = false, failed = false;
  static const uint8_t NO_INDEX[] = "{}";
  array_push(&reader.stack, ((Frame){.part = FILE_PART, .section = NONE}));
  number_of(&reader.indices, (Text){NO_INDEX, NO_INDEX + 2});
  // tree-sitter passes over a byte order mark.
  seek(&reader.lexer, data.len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text);
  for (;;) {
    bool more = true;
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; more && i < LINES_BETWEEN_CHECKS; i++) more = read_next(&reader);
    Py_END_ALLOW_THREADS
    reader.is_out_of_memory |= reader.names.is_out_of_memory || reader.indices.is_out_of_memory;
    if (!more || reader.is_out_of_memory) break;
    PyObject *answer = PyObject_CallFunction(is_cancelled, "n", (Py_ssize_t)offset_of(&reader, reader.lexer.at));
    failed = !answer;
    stopped = answer && PyObject_IsTrue(answer) > 0;
    Py_XDECREF(answer);
    if (failed || stopped) break;
  }
  while (reader.stack.size > 1) close_part(&reader);
  Py_BEGIN_ALLOW_THREADS
  narrow_columns(&reader);
  Py_END_ALLOW_THREADS
  if (reader.is_out_of_memory) {
    PyErr_NoMemory();
  } else if (stopped) {
    result = Py_NewRef(Py_None);
  } else if (!failed) {
    result = PyTuple_New(3);
    PyObject *parts[] = {texts_of(&reader.names), texts_of(&reader.indices), tables_of(&reader)};
    for (int i = 0; result && i < 3; i++) {
      if (!parts[i] || PyTuple_SetItem(result, i, parts[i]) < 0) Py_CLEAR(result);
    }
  }
  free_reader(&reader);
  PyBuffer_Release(&data);
  return result;
}
