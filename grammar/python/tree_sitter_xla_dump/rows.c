// Reads the rows of a dump file into columns of integers, without a syntax tree.
//
// Lines are recognised by the patterns of the grammar's own scanner, which this file includes, so a line has the same kind
// here and in the tree. The parts of the patterns become the cells of the rows: for most tables in tables.h, which is
// generated from lines.py, and here for headers that count the rows below and for lines with an open syntax. Lines are
// nested into sections as the rules of the grammar say, from which kinds.h is generated. tests/syntax/test_rows.py holds
// both equal to the tree on every dump.
//
// A line of ASCII is recognised where it lies in the file. Everything else (instruction text over several lines, values
// glued to an instruction, stack traces) goes through the scanner's own entry points and a lexer that reads from memory.

#include <Python.h>

#include <stddef.h>

#include "scanner.c"

#include "column.h"
#include "numbers.h"
#include "tables.h"

enum { LINES_BETWEEN_CHECKS = 1 << 14 };

// ---------------------------------------------------------------- sections

// What each header accepts directly below it. Other kinds of lines are no headers.
static const uint64_t ACCEPTED[ERROR_SENTINEL + 1] = {ACCEPTED_KINDS};

// A header and what is below it, while that is read.
typedef struct {
  enum TokenType header;
  int64_t section; // row in TABLE_SECTIONS, NONE if it has none
  int64_t cells[MAX_WIDTH]; // of its own row; the first two are the span of the header
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
  Text stem; // of the first file in standard output
  bool is_elsewhere;
} Reader;

static int64_t offset_of(const Reader *reader, const uint8_t *at) { return at - reader->lexer.start; }

// Offsets, rows and counts take 32 bits, unless the file is too long for that.
static void create_tables(Reader *reader) {
  for (int table = 0; table < TABLE_COUNT; table++) {
    Rows *rows = &reader->rows[table];
    *rows = rows_of((int)strlen(LAYOUTS[table]), size_for(reader->lexer.end - reader->lexer.start));
    for (int column = 0; column < rows->width; column++) {
      if (LAYOUTS[table][column] != '.') rows->sizes[column] = WIDE;
    }
  }
}

#define ADD(reader, table, ...) add_row(&(reader)->rows[table], (const int64_t[]){__VA_ARGS__})

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

static Text without_trailing_blanks(Text text) {
  while (text.end > text.at && (text.end[-1] == '\r' || text.end[-1] == ' ')) text.end--;
  return text;
}

// ---------------------------------------------------------------- cells

static int64_t row_count(const Reader *reader, enum Table table) { return (int64_t)reader->rows[table].count; }

// The number in a text, whose digits may be grouped; NONE if it is missing.
static int64_t integer_of(Text text) {
  if (!text.at) return NONE;
  int64_t number = 0;
  for (const uint8_t *at = text.at; at < text.end; at++) number = is_digit(*at) ? number * 10 + (*at - '0') : number;
  return *text.at == '-' ? -number : number;
}

static int64_t start_of(const Reader *reader, Text span) { return span.at ? offset_of(reader, span.at) : NONE; }
static int64_t end_of(const Reader *reader, Text span) { return span.at ? offset_of(reader, span.end) : NONE; }

static void add_unknown(Reader *reader, int64_t start, int64_t end) {
  if (!reader->is_elsewhere) ADD(reader, TABLE_UNKNOWN_LINES, [UNKNOWN_LINES_START] = start, [UNKNOWN_LINES_END] = end);
}

// ---------------------------------------------------------------- opening and closing parts

static Frame *top(Reader *reader) { return &reader->stack.contents[reader->stack.size - 1]; }

// Opens a part whose header spans `start` to the end of the last row.
static void open_part(Reader *reader, enum TokenType header, int64_t start) {
  Frame frame = {.header = header, .section = NONE, .cells = {start, reader->end}};
  if (SECTIONS[header] && !reader->is_elsewhere) {
    frame.section = row_count(reader, TABLE_SECTIONS);
    ADD(reader, TABLE_SECTIONS, [SECTIONS_START] = start, [SECTIONS_END] = reader->end,
        [SECTIONS_SECTION] = SECTIONS[header] - 1);
  }
  for (int i = 2; i < MAX_WIDTH; i++) frame.cells[i] = NONE;
  array_push(&reader->stack, frame);
}

static void close_part(Reader *reader) {
  Frame frame = array_pop(&reader->stack);
  int64_t *cells = frame.cells;
  // The row is missing if there was no memory for it.
  if (frame.section != NONE && frame.section < row_count(reader, TABLE_SECTIONS)) {
    set_cell(&reader->rows[TABLE_SECTIONS], SECTIONS_END, (size_t)frame.section, reader->end);
  }
  if (reader->is_elsewhere) return;
  switch (frame.header) {
    case BROKEN_ALLOCATION:
    case ALLOCATION:
      cells[ALLOCATIONS_SLICE_COUNT] = row_count(reader, TABLE_SLICES) - cells[ALLOCATIONS_FIRST_SLICE];
      add_row(&reader->rows[TABLE_ALLOCATIONS], cells);
      reader->allocation = NONE;
      break;
    case BROKEN_USED_VALUE:
    case USED_VALUE:
      cells[USED_VALUES_POSITION_COUNT] = row_count(reader, TABLE_POSITIONS) - cells[USED_VALUES_FIRST_POSITION];
      cells[USED_VALUES_USE_COUNT] = row_count(reader, TABLE_USES) - cells[USED_VALUES_FIRST_USE];
      if (frame.name.at) {
        cells[USED_VALUES_NAME] = name_number(reader, frame.name);
        cells[USED_VALUES_INDEX] = index_number(reader, frame.index);
      }
      add_row(&reader->rows[TABLE_USED_VALUES], cells);
      reader->used_value = NONE;
      break;
    case PEAK:
      cells[PEAKS_BUFFER_COUNT] = row_count(reader, TABLE_PEAK_BUFFERS) - cells[PEAKS_FIRST_BUFFER];
      add_row(&reader->rows[TABLE_PEAKS], cells);
      break;
    case TABLE_COLUMNS:
      cells[REPORT_TABLES_END] = reader->end;
      cells[REPORT_TABLES_INDEX] = reader->report_allocation;
      cells[REPORT_TABLES_COLOR] = reader->space;
      cells[REPORT_TABLES_TABLE] = reader->report_tables;
      cells[REPORT_TABLES_ROW_COUNT] = row_count(reader, TABLE_REPORT_ROWS) - cells[REPORT_TABLES_FIRST_ROW];
      cells[REPORT_TABLES_REST] = reader->rest;
      add_row(&reader->rows[TABLE_REPORT_TABLES], cells);
      reader->report_tables++;
      break;
    default: break;
  }
}

static void close_parts(Reader *reader, enum TokenType kind) {
  while (kind != UNKNOWN_LINE && !(ACCEPTED[top(reader)->header] & BIT(kind))) close_part(reader);
}

// ---------------------------------------------------------------- rows

// The cells of an allocation that its attributes fill.
static void read_attributes(Reader *reader, Text text, int64_t *cells) {
  int64_t *color = cells + ALLOCATIONS_COLOR, *kind = cells + ALLOCATIONS_KIND;
  *color = *kind = 0;
  text.end++; // the colon
  while (match(&text, ", ")) {
    Text start = text, parts[MAX_PARTS];
    int number = match_attribute(&text, parts);
    if (number < 0) add_unknown(reader, offset_of(reader, start.at), offset_of(reader, text.at));
    else if (number < COLOR) *kind |= 1 << number;
    else if (number == COLOR) *color = integer_of(parts[PART_COLOR_NUMBER]);
    if (number == PARAMETER) {
      cells[ALLOCATIONS_PARAMETER] = integer_of(parts[PART_PARAMETER_NUMBER]);
      cells[ALLOCATIONS_PARAMETER_INDEX] = index_number(reader, parts[PART_PARAMETER_INDEX]);
      if (parts[PART_PARAMETER_SHAPE].at) {
        cells[ALLOCATIONS_PARAMETER_SHAPE_START] = start_of(reader, parts[PART_PARAMETER_SHAPE]);
        cells[ALLOCATIONS_PARAMETER_SHAPE_END] = end_of(reader, parts[PART_PARAMETER_SHAPE]);
      }
    }
    if (number == OUTPUT) {
      cells[ALLOCATIONS_OUTPUT_SHAPE_START] = start_of(reader, parts[PART_OUTPUT_SHAPE]);
      cells[ALLOCATIONS_OUTPUT_SHAPE_END] = end_of(reader, parts[PART_OUTPUT_SHAPE]);
    }
  }
}

static void add_report_allocation(Reader *reader, Text index, Text attributes, Text cumulative) {
  int64_t start = offset_of(reader, index.at) - (int64_t)strlen("allocation ");
  reader->report_allocation = integer_of(index);
  ADD(reader, TABLE_REPORT_ALLOCATIONS, [REPORT_ALLOCATIONS_START] = start,
      [REPORT_ALLOCATIONS_END] = offset_of(reader, attributes.end) + 1, // the colon
      [REPORT_ALLOCATIONS_INDEX] = reader->report_allocation,
      [REPORT_ALLOCATIONS_CUMULATIVE_START] = start_of(reader, cumulative));
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
  for (uint32_t left = length; left && lexer->at < lexer->end; left--) advance(&lexer->base);
  const uint8_t *name_end = lexer->at, *line_end = find(name_end, lexer->end, '\n');
  if (length) {
    Text text = without_trailing_blanks((Text){name_end, line_end}), sizes[3];
    match_measures(&text, sizes);
    reader->end = offset_of(reader, text.at);
    if (!reader->is_elsewhere) {
      ADD(reader, TABLE_STACK_TRACES, [STACK_TRACES_START] = offset_of(reader, start), [STACK_TRACES_END] = reader->end,
          [STACK_TRACES_DEPTH] = depth, [STACK_TRACES_NAME_START] = offset_of(reader, name),
          [STACK_TRACES_NAME_END] = offset_of(reader, name_end), [STACK_TRACES_TOTAL_BYTES] = integer_of(sizes[0]),
          [STACK_TRACES_CURRENT_BYTES] = integer_of(sizes[1]), [STACK_TRACES_REMAINING_BYTES] = integer_of(sizes[2]));
    }
  } else {
    reader->end = offset_of(reader, line_end);
    add_unknown(reader, offset_of(reader, name), reader->end);
  }
  seek(lexer, line_end);
}

static void read_file_marker(Reader *reader, Text name, int64_t start) {
  Text stem = stem_of(name);
  if (!reader->stem.at) reader->stem = stem;
  reader->is_elsewhere = !is_same_text(stem, reader->stem);
  if (reader->is_elsewhere) {
    ADD(reader, TABLE_OTHER_MODULES, [OTHER_MODULES_START] = start, [OTHER_MODULES_END] = reader->end,
        [OTHER_MODULES_NAME_START] = start_of(reader, name), [OTHER_MODULES_NAME_END] = end_of(reader, name));
  }
}

// Instruction text from `at` on; moves the lexer to its end.
static void read_instruction(Reader *reader, const uint8_t *at) {
  Lexer *lexer = &reader->lexer;
  while (at < lexer->end && (*at == ' ' || *at == '\r')) at++;
  const uint8_t *end = find(at, lexer->end, '\n');
  int64_t *cells = reader->used_value == NONE ? NULL : top(reader)->cells;
  if (cells) cells[USED_VALUES_INSTRUCTION_START] = cells[USED_VALUES_INSTRUCTION_END] = NONE;
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
    cells[USED_VALUES_INSTRUCTION_START] = offset_of(reader, at);
    cells[USED_VALUES_INSTRUCTION_END] = reader->end;
  }
  seek(lexer, lexer->mark);
}

// Adds a row from the parts of its pattern. In text of another module, rows only open and close parts.
static void read_row(Reader *reader, enum TokenType kind, const Text *parts, int64_t start) {
  int64_t end = reader->end;
  if (ACCEPTED[kind]) open_part(reader, kind, start);
  if (kind == MESSAGE_END && top(reader)->header == MESSAGE) close_part(reader);
  if (kind == BEGIN_FILE) read_file_marker(reader, parts[PART_BEGIN_FILE_NAME], start);
  if (reader->is_elsewhere) return;
  Frame *frame = top(reader);
  int64_t *cells = frame->cells;
  const Text none = {NULL, NULL};
  switch (kind) {
    ROW_CASES
    case BROKEN_ALLOCATION:
    case ALLOCATION:
      reader->allocation = row_count(reader, TABLE_ALLOCATIONS);
      cells[ALLOCATIONS_FIRST_SLICE] = row_count(reader, TABLE_SLICES);
      if (kind == BROKEN_ALLOCATION) {
        add_unknown(reader, start, end);
        break;
      }
      cells[ALLOCATIONS_INDEX] = integer_of(parts[PART_ALLOCATION_INDEX]);
      cells[ALLOCATIONS_SIZE_BYTES] = integer_of(parts[PART_ALLOCATION_SIZE_BYTES]);
      read_attributes(reader, parts[PART_ALLOCATION_ATTRIBUTES], cells);
      break;
    case BROKEN_USED_VALUE:
    case USED_VALUE:
      reader->used_value = row_count(reader, TABLE_USED_VALUES);
      cells[USED_VALUES_FIRST_POSITION] = row_count(reader, TABLE_POSITIONS);
      cells[USED_VALUES_FIRST_USE] = row_count(reader, TABLE_USES);
      if (kind == BROKEN_USED_VALUE) {
        add_unknown(reader, start, end);
        break;
      }
      cells[USED_VALUES_ID] = integer_of(parts[PART_USED_VALUE_ID]);
      cells[USED_VALUES_COLOR] = integer_of(parts[PART_USED_VALUE_COLOR]);
      frame->name = parts[PART_USED_VALUE_NAME];
      frame->index = parts[PART_USED_VALUE_INDEX];
      break;
    case PEAK:
      cells[PEAKS_FIRST_BUFFER] = row_count(reader, TABLE_PEAK_BUFFERS);
      cells[PEAKS_STEP] = integer_of(parts[PART_PEAK_STEP]);
      break;
    case REPORT_ALLOCATION:
      add_report_allocation(reader, parts[PART_REPORT_ALLOCATION_INDEX], parts[PART_REPORT_ALLOCATION_ATTRIBUTES], none);
      break;
    case BY_SIZE_ROW:
      add_report_allocation(reader, parts[PART_BY_SIZE_ROW_INDEX], parts[PART_BY_SIZE_ROW_ATTRIBUTES],
                            parts[PART_BY_SIZE_ROW_CUMULATIVE]);
      break;
    case MEMORY_SPACE:
      reader->space = integer_of(parts[PART_MEMORY_SPACE_COLOR]);
      reader->space_start = start;
      reader->space_end = end;
      reader->report_tables = 0;
      reader->report_allocation = NONE;
      break;
    case TABLE_COLUMNS:
      cells[REPORT_TABLES_FIRST_ROW] = row_count(reader, TABLE_REPORT_ROWS);
      reader->rest = NONE;
      break;
    case REST: reader->rest = integer_of(parts[PART_REST_COUNT]); break;
    case UNKNOWN_LINE: add_unknown(reader, start, end); break;
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

// Reads the next line, or several if a row spans them. Returns false at the end of the file.
static bool read_next(Reader *reader) {
  Lexer *lexer = &reader->lexer;
  const uint8_t *at = lexer->at;
  uint32_t indent = 0;
  for (; at < lexer->end && (*at == '\n' || *at == '\r' || *at == ' ' || *at == '\t'); at++) {
    indent = *at == '\n' ? 0 : indent + 1;
  }
  if (at >= lexer->end) return false;
  if (indent == 1 && *at == 'f') {
    Text rest = {at, lexer->end};
    if (match(&rest, "from instruction:")) {
      close_parts(reader, FROM_INSTRUCTION);
      reader->scanner.is_first = false;
      reader->scanner.last = FROM_INSTRUCTION;
      reader->end = offset_of(reader, rest.at);
      read_instruction(reader, rest.at);
      return true;
    }
  }
  const uint8_t *line_end = find(at, lexer->end, '\n');
  Text text = without_trailing_blanks((Text){at, line_end}), parts[MAX_PARTS];
  Scanner *scanner = &reader->scanner;
  const enum TokenType last = (enum TokenType)scanner->last;
  bool is_plain = is_ascii(at, line_end) && line_end - at <= MAX_LINE;
  enum TokenType kind = is_plain ? line_kind(text, indent, parts) : UNKNOWN_LINE;
  bool is_expected = kind == UNKNOWN_LINE ? indent != ROOT_INDENT || !find_measures(text)
    : kind == POSITION                    ? last == POSITIONS || last == POSITION
                                          : group_of(kind) == group_of(last);
  if (!is_plain || !is_expected) {
    // Lines that may be foreign, rows that may span lines, and lines with multi-byte characters are left to the scanner.
    seek(lexer, lexer->at);
    scan_line(scanner, &lexer->base);
    kind = (enum TokenType)lexer->base.result_symbol;
    if (kind == STACK_TRACE || kind == STACK_TRACE_ROOT) {
      close_parts(reader, kind);
      scanner->is_first = false;
      read_stack_trace(reader, at, kind == STACK_TRACE);
      return true;
    }
    if (kind < UNKNOWN_LINE) line_kind(text, indent, parts);
    if (kind == FOREIGN) kind = UNKNOWN_LINE;
  }
  scanner->is_first = false;
  if (kind != UNKNOWN_LINE) scanner->last = (uint8_t)kind;
  close_parts(reader, kind);
  Text blanks = {text.end, line_end};
  if (ENDS_WITH_BLANKS & BIT(kind)) match_all(&blanks, " ");
  reader->end = offset_of(reader, kind >= BROKEN_ALLOCATION ? line_end : blanks.at);
  read_row(reader, kind, parts, offset_of(reader, at));
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
  size_t size = 0;
  for (uint32_t i = 0; i < numbers->texts.size; i++) size += length_of(numbers->texts.contents[i]);
  PyObject *block = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
  if (!block) return NULL;
  uint8_t *start = (uint8_t *)PyBytes_AsString(block), *at = start;
  Rows offsets = rows_of(1, size_for((Py_ssize_t)size));
  Py_BEGIN_ALLOW_THREADS
  add_row(&offsets, (const int64_t[]){0});
  for (uint32_t i = 0; i < numbers->texts.size; i++) {
    Text text = numbers->texts.contents[i];
    memcpy(at, text.at, length_of(text));
    at += length_of(text);
    add_row(&offsets, (const int64_t[]){at - start});
  }
  Py_END_ALLOW_THREADS
  return Py_BuildValue("(NN)", block, columns_of(&offsets));
}

static PyObject *tables_of(Reader *reader) {
  PyObject *tables = PyList_New(TABLE_COUNT);
  for (int table = 0; tables && table < TABLE_COUNT; table++) {
    PyObject *columns = columns_of(&reader->rows[table]);
    if (!columns || PyList_SetItem(tables, table, columns) < 0) Py_CLEAR(tables);
  }
  return tables;
}

// read_rows(data, report): the names, the indices (each as `texts_of`) and the columns of the tables of a file. `report` is called every
// few milliseconds with the number of bytes read so far. An exception that it raises ends the reading.
PyObject *read_rows(PyObject *Py_UNUSED(self), PyObject *args) {
  Py_buffer data;
  PyObject *report, *result = NULL;
  if (!PyArg_ParseTuple(args, "y*O:read_rows", &data, &report)) return NULL;
  const uint8_t *text = data.buf;
  Lexer lexer = {
    .base = {.advance = advance_in_memory, .mark_end = mark_in_memory, .eof = eof_in_memory},
    .start = text,
    .end = text + data.len,
  };
  Reader reader = {
    .lexer = lexer, .scanner = {.is_first = true, .last = ERROR_SENTINEL}, .allocation = NONE, .used_value = NONE,
    .report_allocation = NONE, .space = NONE, .space_start = NONE, .space_end = NONE, .rest = NONE,
  };
  create_tables(&reader);
  static const uint8_t NO_INDEX[] = "{}";
  array_push(&reader.stack, ((Frame){.header = ERROR_SENTINEL, .section = NONE}));
  number_of(&reader.indices, (Text){NO_INDEX, NO_INDEX + 2});
  // tree-sitter passes over a byte order mark.
  seek(&reader.lexer, data.len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text);
  bool more = true;
  do {
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; more && i < LINES_BETWEEN_CHECKS; i++) more = read_next(&reader);
    while (!more && reader.stack.size > 1) close_part(&reader);
    Py_END_ALLOW_THREADS
  } while (more && goes_on(report, offset_of(&reader, reader.lexer.at)));
  if (reader.names.is_out_of_memory || reader.indices.is_out_of_memory) {
    PyErr_NoMemory();
  } else if (!more) {
    PyObject *names = texts_of(&reader.names), *indices = names ? texts_of(&reader.indices) : NULL;
    result = Py_BuildValue("(NNN)", names, indices, indices ? tables_of(&reader) : NULL);
  }
  for (int table = 0; table < TABLE_COUNT; table++) free_rows(&reader.rows[table]);
  free_numbers(&reader.names);
  free_numbers(&reader.indices);
  array_delete(&reader.stack);
  array_delete(&reader.scanner.line);
  PyBuffer_Release(&data);
  return result;
}
