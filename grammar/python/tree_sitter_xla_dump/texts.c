// Reads and compares many texts of a file at once: the columns of their starts and ends come in, columns of results go out.
//
// The grammar of HLO defines what an instruction is. This file reads the usual form, `%name = shape opcode(operands)`, and answers
// NONE for everything else, which its caller reads. tests/syntax/hlo/test_quotes.py holds it equal to the reader in Python.

#include <ctype.h>
#include <Python.h>
#include <stdio.h>

#include "column.h"
#include "hlo_text.h"
#include "numbers.h"

enum { MAX_DIGITS = 17 };

// Texts of `data`: each row of `cells` has the start and the end of one. server/xla_lens/syntax/texts.py checks that they fit.
typedef struct {
  Py_buffer data, cells;
} Spans;

static void release_spans(Spans *spans) {
  PyBuffer_Release(&spans->data);
  PyBuffer_Release(&spans->cells);
}

static Py_ssize_t count_of(const Spans *spans) { return spans->cells.len / (2 * WIDE); }

static Text span_of(const Spans *spans, Py_ssize_t row) {
  const uint8_t *text = spans->data.buf;
  const int64_t *cells = (const int64_t *)spans->cells.buf + 2 * row;
  return (Text){text + cells[0], text + cells[1]};
}

// number_texts(data, spans): for each text its number, by first occurrence, in 32 bits.
PyObject *number_texts(PyObject *Py_UNUSED(self), PyObject *args) {
  Spans spans;
  Numbers distinct = {0};
  if (!PyArg_ParseTuple(args, "y*y*:number_texts", &spans.data, &spans.cells)) return NULL;
  const Py_ssize_t count = count_of(&spans);
  PyObject *result = PyBytes_FromStringAndSize(NULL, count * NARROW);
  if (result) {
    int32_t *numbers = (int32_t *)PyBytes_AsString(result);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < count; i++) numbers[i] = (int32_t)number_of(&distinct, span_of(&spans, i));
    Py_END_ALLOW_THREADS
  }
  if (distinct.is_out_of_memory) {
    Py_CLEAR(result);
    PyErr_NoMemory();
  }
  free_numbers(&distinct);
  release_spans(&spans);
  return result;
}

// ---------------------------------------------------------------- memory usage reports

enum { SIZE_DIGITS = 32 };

// Writes a size as `human_size` in server/xla_lens/syntax/numbers.py does. Returns its length.
static int write_size(char *text, int64_t size_bytes) {
  static const char *const UNITS[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const char *sign = size_bytes < 0 ? "-" : "";
  uint64_t size = size_bytes < 0 ? -(uint64_t)size_bytes : (uint64_t)size_bytes;
  if (size < 1024) return snprintf(text, SIZE_DIGITS, "%s%dB", sign, (int)size);
  int unit = 0;
  for (; size >= 1 << 20 && unit < 5; unit++) size /= 1024;
  return snprintf(text, SIZE_DIGITS, "%s%.*f%s", sign, unit ? 2 : 1, (double)size / 1024, UNITS[unit]);
}

// A text without the space around it.
static Text stripped(Text text) {
  text.at = after(is_space, text.at, text.end);
  while (text.end > text.at && is_space(text.end[-1])) text.end--;
  return text;
}

// Moves a row behind its next cell, which ends at a semicolon. Whether the cell has a text.
static bool is_next_cell(Text *row, const char *expected) {
  Text cell = *row;
  while (row->at < row->end && *row->at != ';') row->at++;
  cell = stripped((Text){cell.at, row->at});
  row->at += row->at < row->end;
  return length_of(cell) == strlen(expected) && memcmp(cell.at, expected, length_of(cell)) == 0;
}

// Whether the next cell is a part of a total with its share: `64.0KiB( 33%)`.
static bool is_next_part(Text *row, int64_t part, int64_t total) {
  char expected[2 * SIZE_DIGITS];
  int length = write_size(expected, part);
  snprintf(expected + length, SIZE_DIGITS, "(%3.0f%%)", 100.0 * (double)part / (double)total);
  return is_next_cell(row, expected);
}

static bool is_next_size(Text *row, int64_t size_bytes) {
  char expected[SIZE_DIGITS];
  write_size(expected, size_bytes);
  return is_next_cell(row, expected);
}

static bool is_next_number(Text *row, int64_t number) {
  char expected[SIZE_DIGITS];
  snprintf(expected, sizeof expected, "%lld", (long long)number);
  return is_next_cell(row, expected);
}

// report_rows_agree(data, spans, numbers): for each row of a table in a memory usage report whether it surely has the right cells in
// front of its shapes. `numbers` has five cells of 64 bits for each: the cumulative size, the total, the size, the offset and the number
// of values. A row with unusual numbers may count as wrong, so the caller looks at such rows again.
PyObject *report_rows_agree(PyObject *Py_UNUSED(self), PyObject *args) {
  Spans spans;
  Py_buffer numbers;
  if (!PyArg_ParseTuple(args, "y*y*y*:report_rows_agree", &spans.data, &spans.cells, &numbers)) return NULL;
  const Py_ssize_t count = Py_MIN(count_of(&spans), numbers.len / (5 * WIDE));
  PyObject *result = PyBytes_FromStringAndSize(NULL, count);
  if (result) {
    char *found = PyBytes_AsString(result);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < count; i++) {
      const int64_t *cells = (const int64_t *)numbers.buf + 5 * i;
      Text row = span_of(&spans, i);
      found[i] = is_next_part(&row, cells[0], cells[1]) && is_next_size(&row, cells[2]) && is_next_number(&row, cells[3]) &&
                 is_next_number(&row, cells[4]);
    }
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&numbers);
  release_spans(&spans);
  return result;
}

// split_lists(data, spans): the elements of lists, separated by commas outside of brackets: for each the row of its list, its start and
// its end, without the space around it. An empty list has one empty element.
PyObject *split_lists(PyObject *Py_UNUSED(self), PyObject *args) {
  Spans spans;
  if (!PyArg_ParseTuple(args, "y*y*:split_lists", &spans.data, &spans.cells)) return NULL;
  const uint8_t *data = spans.data.buf;
  Rows elements = rows_of(3, size_for(Py_MAX(spans.data.len, count_of(&spans))));
  Py_BEGIN_ALLOW_THREADS
  for (Py_ssize_t i = 0; i < count_of(&spans); i++) {
    Text list = span_of(&spans, i), element = list;
    int64_t depth = 0;
    for (const uint8_t *at = list.at; at <= list.end; at++) {
      if (at < list.end) depth += nesting(*at);
      if (at < list.end && (*at != ',' || depth)) continue;
      element = stripped((Text){element.at, at});
      add_row(&elements, (const int64_t[]){i, element.at - data, element.end - data});
      element.at = at + 1;
    }
  }
  Py_END_ALLOW_THREADS
  release_spans(&spans);
  return columns_of(&elements);
}

// ---------------------------------------------------------------- instructions

static bool is_opcode_character(uint8_t c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

typedef struct {
  Text shape, opcode;
  bool is_bare; // names have no `%`
} Head;

// Finds the shape and the opcode as `read_instruction` in server/xla_lens/syntax/hlo/instruction.py does.
static bool read_head(Text text, Head *head) {
  const uint8_t *at;
  Text name = defined_name(text, &at);
  if (is_empty(name)) return false;
  head->is_bare = name.at == text.at || name.at[-1] != '%';
  head->shape.at = at;
  if (*at == '(') {
    while (at + 1 < text.end && !(at[0] == ')' && at[1] == ' ')) at++;
    if (at + 1 >= text.end) return false;
  }
  for (; at < text.end; at++) {
    if (*at != ')' && *at != ']' && *at != '}') continue;
    const uint8_t *opcode = after(is_space, at + 1, text.end);
    if (opcode == at + 1 || opcode == text.end || *opcode < 'a' || *opcode > 'z') continue;
    const uint8_t *end = opcode;
    while (end < text.end && is_opcode_character(*end)) end++;
    if (end < text.end && *end == '(') {
      head->shape.end = at + 1;
      head->opcode = (Text){opcode, end};
      return true;
    }
  }
  return false;
}

static bool is_text(Text text, const char *expected) {
  return starts_with(text, expected) && length_of(text) == strlen(expected);
}

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

static bool is_no_digit(uint8_t c) { return !is_digit(c); }

// The number that a text consists of, NONE if it is none.
static int64_t number_in(Text text) {
  int64_t number = 0;
  if (is_empty(text) || length_of(text) > MAX_DIGITS || after(is_digit, text.at, text.end) < text.end) return NONE;
  for (; text.at < text.end; text.at++) number = number * 10 + (*text.at - '0');
  return number;
}

static int64_t parameter_number(const Head *head, const uint8_t *end) {
  const uint8_t *start = head->opcode.end + 1;
  const Text digits = {start, after(is_digit, start, end)};
  const bool is_parameter = is_text(head->opcode, "parameter") && digits.end < end && *digits.end == ')';
  return is_parameter ? number_in(digits) : NONE;
}

static int64_t known_number(const Numbers *names, Text name) {
  return names->slots ? (int64_t)(uint32_t)*slot_of(names, name, hash_of(name)) - 1 : NONE;
}

static bool has_byte(Text text, int wanted) { return memchr(text.at, wanted, length_of(text)) != NULL; }

// Where a text contains another one, `end` if it does not.
static const uint8_t *find(Text text, const char *wanted) {
  while (!is_empty(text) && (text.at = memchr(text.at, *wanted, length_of(text))) && !starts_with(text, wanted)) text.at++;
  return text.at ? text.at : text.end;
}

// The list of operands without its brackets. It ends at `end` if the closing one is missing.
static Text operands_of(const Head *head, const uint8_t *end) {
  const uint8_t *start = head->opcode.end + 1, *at = start;
  int depth = 0;
  for (; at < end; at++) {
    if (*at == '(') depth++;
    else if (*at == ')' && !depth--) break;
  }
  return (Text){start, at};
}

// Moves a list of operands behind the first one. Returns its word, `%name` or `name`, without the comment and the shape in front;
// empty if it is not of that form.
static Text next_operand(Text *list) {
  const uint8_t *start = list->at, *at = start, *end = list->end;
  for (;;) {
    at = after(is_space, at, end);
    // The number of an operand, in front of every fifth.
    if (starts_with((Text){at, end}, "/*")) {
      for (at += 3; at < end && !(at[-1] == '*' && *at == '/');) at++;
      at += at < end;
    }
    Text name = leading_name((Text){at, end});
    if (name.end == end || *name.end == ',') {
      list->at = name.end + (name.end < end);
      bool is_usual = !is_empty(name) && !has_byte((Text){start, at}, '%');
      return (Text){is_usual ? at : name.end, name.end};
    }
    // Otherwise it is a shape, which ends with a bracket in front of a blank.
    int depth = 0;
    for (; at < end && (depth || !is_space(*at)); at++) depth += nesting(*at);
    if (at == end || nesting(at[-1]) >= 0) return (Text){at, at};
  }
}

// The name of the tuple of which an operand is an element, `tuple` of `tuple#0#1`; the name itself if it is none.
static Text tuple_name(Text name) {
  for (const uint8_t *at = name.end; at > name.at + 1 && (is_digit(*--at) || *at == '#');) {
    if (*at == '#' && at + 1 < name.end) name.end = at;
  }
  return name;
}

// The number of operands; they are appended to `operands`. NONE if the list is not of the usual form: names with `%`, or in
// instructions without any, names that are recognizable without. With `elements`, the operand is the tuple where it is an element of
// one that has no name of its own, and the index is mixed into `elements`.
static int64_t read_operands(const Head *head, const uint8_t *end, const Numbers *names, Rows *operands, uint64_t *elements) {
  if (is_text(head->opcode, "parameter") || is_text(head->opcode, "constant")) return 0;
  Text list = operands_of(head, end);
  bool has_percent = has_byte(list, '%');
  if (list.end == end) return NONE;
  const size_t first = operands->count;
  while (!is_empty(list)) {
    Text word = next_operand(&list);
    // `null` stands for an operand that was deleted.
    bool is_usual = !is_empty(word) && !is_text(word, "null") && (has_percent ? *word.at == '%' : head->is_bare && (isalpha(*word.at) || *word.at == '_'));
    if (!is_usual) {
      operands->count = first;
      return NONE;
    }
    const Text name = {word.at + has_percent, word.end};
    int64_t number = known_number(names, name);
    if (elements && number == NONE) {
      const Text tuple = tuple_name(name);
      number = known_number(names, tuple);
      *elements = mixed(*elements + (operands->count - first) + 1, (Text){tuple.end, name.end});
    }
    add_row(operands, (const int64_t[]){number});
  }
  return (int64_t)(operands->count - first);
}

enum { NAME, SHAPE_START, SHAPE_END, OPCODE_START, OPCODE_END, PARAMETER, OPERAND_COUNT, QUOTE_COLUMNS };

// How much of an instruction is read. The shape of a tuple can have 100,000 bytes, and each value of the tuple quotes it.
enum { NAMES = 0, HEADS = 1, OPERANDS = 2 };

// read_quotes(data, spans, names, name_spans, parts): for each quoted instruction its name, the start and the end of its shape and of
// its opcode, the number of the parameter and the number of its operands; and all operands, one after another. Names are rows of
// `name_spans`, whose texts are distinct. The name is NONE if it is unknown, the shape and the opcode if the text is not of the usual
// form, the parameter if it is none, the number of operands if their list is not of the usual form; and all of them if `parts` does not
// include them. The columns have 32 bits, except in texts of 2 GiB or more; parameters always have 64.
PyObject *read_quotes(PyObject *Py_UNUSED(self), PyObject *args) {
  Spans spans, names;
  int parts;
  if (!PyArg_ParseTuple(args, "y*y*y*y*i:read_quotes", &spans.data, &spans.cells, &names.data, &names.cells, &parts)) return NULL;
  Numbers known = {0};
  Rows quotes = rows_of(QUOTE_COLUMNS, size_for(spans.data.len)), operands = rows_of(1, size_for(spans.data.len));
  quotes.sizes[PARAMETER] = WIDE;
  const uint8_t *start = spans.data.buf;
  Py_BEGIN_ALLOW_THREADS
  reserve_rows(&quotes, (size_t)count_of(&spans));
  while (known.slot_count / 2 < (size_t)count_of(&names) && !known.is_out_of_memory) grow_numbers(&known);
  array_reserve(&known.texts, (uint32_t)count_of(&names));
  for (Py_ssize_t i = 0; i < count_of(&names); i++) number_of(&known, span_of(&names, i));
  for (Py_ssize_t i = 0; i < count_of(&spans); i++) {
    Text text = span_of(&spans, i);
    Text name = defined_name(text, NULL);
    Head head;
    bool has_head = parts >= HEADS && read_head(text, &head);
    add_row(&quotes, (const int64_t[QUOTE_COLUMNS]){
      [NAME] = is_empty(name) ? NONE : known_number(&known, name),
      [SHAPE_START] = has_head ? head.shape.at - start : NONE,
      [SHAPE_END] = has_head ? head.shape.end - start : NONE,
      [OPCODE_START] = has_head ? head.opcode.at - start : NONE,
      [OPCODE_END] = has_head ? head.opcode.end - start : NONE,
      [PARAMETER] = has_head ? parameter_number(&head, text.end) : NONE,
      [OPERAND_COUNT] = has_head && parts >= OPERANDS ? read_operands(&head, text.end, &known, &operands, NULL) : NONE,
    });
  }
  Py_END_ALLOW_THREADS
  quotes.is_out_of_memory |= known.is_out_of_memory;
  PyObject *columns = columns_of(&quotes), *found = columns ? columns_of(&operands) : NULL;
  free_rows(&operands);
  free_numbers(&known);
  release_spans(&spans);
  release_spans(&names);
  return Py_BuildValue("(NN)", columns, found);
}

// ---------------------------------------------------------------- instructions of two texts

// Whether two lists have the same operands, as far as they are of the usual form.
static bool same_operands(Text one, Text two) {
  while (!is_empty(one) && !is_empty(two)) {
    Text left = next_operand(&one), right = next_operand(&two);
    if (is_empty(left) || is_empty(right)) return true;
    // Recent modules name an element of a tuple, `%tuple#0`, where quotes name the `get-tuple-element`.
    if (!has_byte(right, '#') && !is_same_text(leading_name(left), leading_name(right))) return false;
  }
  return is_empty(one) && is_empty(two);
}

static bool is_end_of_attributes(Text text) {
  return text.at == text.end || starts_with(text, ", metadata=") || starts_with(text, ", backend_config=");
}

// Whether two texts have the same attributes. Metadata does not count, nor the backend's own text, whose order is not defined.
static bool same_attributes(Text one, Text two) {
  for (;; one.at++, two.at++) {
    while (one.at < one.end && *one.at == '%') one.at++;
    while (two.at < two.end && *two.at == '%') two.at++;
    if (one.at == one.end || two.at == two.end || *one.at == ',') {
      bool is_end = is_end_of_attributes(one), is_other_end = is_end_of_attributes(two);
      if (is_end || is_other_end) return is_end && is_other_end;
    }
    if (*one.at != *two.at) return false;
  }
}

enum { SAME = 0, OTHER_SHAPE = 1, OTHER_OPCODE = 2, OTHER_OPERANDS = 3, OTHER_ATTRIBUTES = 4, OTHER_REST = 5 };

// Compares two texts of an instruction. Parts that are not of the usual form, and constants, belong to the rest.
static int difference(Text one, Text two) {
  Head left, right;
  if (is_same_text(one, two)) return SAME;
  if (!read_head(one, &left) || !read_head(two, &right)) return OTHER_REST;
  if (!is_same_text(left.shape, right.shape)) return OTHER_SHAPE;
  // Quotes name what an asynchronous instruction does, `slice-start`.
  if (starts_with(left.opcode, "async-") != starts_with(right.opcode, "async-")) return OTHER_REST;
  if (!is_same_text(left.opcode, right.opcode)) return OTHER_OPCODE;
  Text operands = operands_of(&left, one.end), others = operands_of(&right, two.end);
  one.at = operands.end;
  two.at = others.end;
  if (is_empty(one) || is_empty(two)) return OTHER_REST;
  if (!is_text(left.opcode, "constant") && !same_operands(operands, others)) return OTHER_OPERANDS;
  return same_attributes(one, two) ? OTHER_REST : OTHER_ATTRIBUTES;
}

// differences(data, spans, other, other_spans): for each row 0 if both texts of an instruction are the same, else the first
// part that differs: 1 the shape, 2 the opcode, 3 the operands, 4 the attributes, 5 anything else.
PyObject *differences(PyObject *Py_UNUSED(self), PyObject *args) {
  Spans one, two;
  if (!PyArg_ParseTuple(args, "y*y*y*y*:differences", &one.data, &one.cells, &two.data, &two.cells)) return NULL;
  const Py_ssize_t count = Py_MIN(count_of(&one), count_of(&two));
  PyObject *result = PyBytes_FromStringAndSize(NULL, count);
  if (result) {
    char *found = PyBytes_AsString(result);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < count; i++) found[i] = (char)difference(span_of(&one, i), span_of(&two, i));
    Py_END_ALLOW_THREADS
  }
  release_spans(&one);
  release_spans(&two);
  return result;
}

// ---------------------------------------------------------------- the sources of instructions

// The quotation mark that ends a string, `end` if there is none. `at` is behind the one that starts it.
static const uint8_t *string_end(const uint8_t *at, const uint8_t *end) {
  for (;;) {
    const uint8_t *quote = at < end ? memchr(at, '"', end - at) : NULL;
    if (!quote) return end;
    const uint8_t *escape = quote;
    while (escape > at && escape[-1] == '\\') escape--;
    if ((quote - escape) % 2 == 0) return quote;
    at = quote + 1;
  }
}

// Where a value ends: at a comma or a closing bracket that it has not opened.
static const uint8_t *value_end(const uint8_t *at, const uint8_t *end) {
  for (int64_t depth = 0; at < end; at++) {
    if (*at == '"') at = string_end(at + 1, end);
    else if (!depth && (*at == ',' || nesting(*at) < 0)) return at;
    else depth += nesting(*at);
  }
  return end;
}

static const char METADATA[] = ", metadata={";

// The fields of the metadata among the attributes of an instruction, up to the end of the text; empty if there are none. Strings and
// backend configurations may contain metadata, too.
static Text metadata_of(Text attributes) {
  while (!is_empty(attributes) && !starts_with(attributes, METADATA)) attributes.at = value_end(attributes.at + 1, attributes.end);
  return (Text){Py_MIN(attributes.at + strlen(METADATA), attributes.end), attributes.end};
}

static bool is_key_character(uint8_t c) { return isalnum(c) || c == '_' || c == '.' || c == '-'; }

// The value of a field of metadata, a string with its quotation marks; empty if there is none.
static Text field_of(Text metadata, const char *wanted) {
  for (;;) {
    Text key = {after(is_space, metadata.at, metadata.end), NULL}, value;
    key.end = value.at = after(is_key_character, key.at, metadata.end);
    if (value.at == metadata.end || *value.at++ != '=') return (Text){metadata.end, metadata.end};
    if (value.at < metadata.end && *value.at == '"') value.end = string_end(value.at + 1, metadata.end) + 1;
    else if (value.at < metadata.end && *value.at == '{') value.end = find((Text){value.at, metadata.end}, "}") + 1;
    else value.end = after(is_name_character, value.at, metadata.end);
    // What is cut off has no value.
    if (value.end > metadata.end || value.end == value.at) return (Text){metadata.end, metadata.end};
    if (length_of(key) == strlen(wanted) && starts_with(key, wanted)) return value;
    metadata.at = value.end;
  }
}

// instruction_sources(data, spans): for each instruction the start and the end of its opcode, and those of its op_name with quotation
// marks, and its `stack_frame_id`. NONE for what it lacks, and for an instruction that is not of the usual form.
PyObject *instruction_sources(PyObject *Py_UNUSED(self), PyObject *args) {
  Spans spans;
  if (!PyArg_ParseTuple(args, "y*y*:instruction_sources", &spans.data, &spans.cells)) return NULL;
  const uint8_t *start = spans.data.buf;
  Rows sources = rows_of(5, size_for(spans.data.len));
  Py_BEGIN_ALLOW_THREADS
  for (Py_ssize_t i = 0; i < count_of(&spans); i++) {
    Text text = span_of(&spans, i), op_name = {text.end, text.end}, frame = op_name;
    Head head;
    const bool is_usual = read_head(text, &head);
    if (is_usual) {
      const Text metadata = metadata_of((Text){Py_MIN(operands_of(&head, text.end).end + 1, text.end), text.end});
      op_name = field_of(metadata, "op_name");
      frame = field_of(metadata, "stack_frame_id");
    }
    add_row(&sources, (const int64_t[]){
      is_usual ? head.opcode.at - start : NONE,
      is_usual ? head.opcode.end - start : NONE,
      is_empty(op_name) ? NONE : op_name.at - start,
      is_empty(op_name) ? NONE : op_name.end - start,
      is_empty(frame) ? NONE : number_in(frame),
    });
  }
  Py_END_ALLOW_THREADS
  release_spans(&spans);
  return columns_of(&sources);
}

// ---------------------------------------------------------------- the forms of instructions

enum { MODULE_CELLS = 4 };

// A module: for each instruction its start and its end, and those of its name; for each computation the start and the end of its name,
// its first instruction and their number.
typedef struct {
  Py_buffer data, instructions, computations;
  Numbers names, computation_names;
  int64_t *rows;   // the first instruction with each name
  uint64_t *forms; // of the first computation with each name, 0 as long as it is unknown
  Rows found, operands;
} Module;

static const int64_t *cells_of(const Py_buffer *table, Py_ssize_t row) { return (const int64_t *)table->buf + MODULE_CELLS * row; }

static Py_ssize_t row_count(const Py_buffer *table) { return table->len / (MODULE_CELLS * WIDE); }

static Text text_at(const Module *module, const int64_t *span) {
  const uint8_t *text = module->data.buf;
  return (Text){text + span[0], text + span[1]};
}

static uint64_t with_byte(uint64_t hash, uint8_t byte) { return mixed(hash, (Text){&byte, &byte + 1}); }

static uint64_t with_number(uint64_t hash, uint64_t number) {
  return mixed(hash, (Text){(const uint8_t *)&number, (const uint8_t *)&number + sizeof number});
}

static uint64_t with_text(uint64_t hash, Text text) { return with_number(mixed(hash, text), length_of(text)); }

// A shape without the layouts in it.
static uint64_t with_dimensions(uint64_t hash, Text shape) {
  for (const uint8_t *at = shape.at; at < shape.end;) {
    const uint8_t *layout = memchr(at, '{', shape.end - at);
    hash = mixed(hash, (Text){at, layout ? layout : shape.end});
    at = layout ? value_end(layout, shape.end) : shape.end;
  }
  return hash;
}

// An op_name without its digits, which are the numbers of layers.
static uint64_t with_op_name(uint64_t hash, Text op_name) {
  while (!is_empty(op_name)) {
    const Text part = {op_name.at, after(is_no_digit, op_name.at, op_name.end)};
    hash = mixed(hash, part);
    op_name.at = after(is_digit, part.end, op_name.end);
  }
  return hash;
}

// An attribute that may name computations, with their forms.
static uint64_t with_computations(uint64_t hash, Text attribute, const Module *module) {
  for (const uint8_t *at = attribute.at; at < attribute.end;) {
    const Text name = leading_name((Text){at, attribute.end});
    const int64_t number = is_empty(name) ? NONE : known_number(&module->computation_names, name);
    const uint64_t form = number == NONE ? 0 : module->forms[number];
    hash = form ? with_number(hash, form) : is_empty(name) ? with_byte(hash, *at) : with_text(hash, name);
    at = is_empty(name) ? at + 1 : name.end;
  }
  return hash;
}

static uint64_t with_attributes(uint64_t hash, Text text, const Head *head, const Module *module) {
  // What says nothing about the elements of the result, and differs in instructions that are alike.
  static const char *const OTHERS[] = {", channel_id=", ", control-predecessors=", ", frontend_attributes=", ", origin=", ", sharding="};
  const bool is_call = is_text(head->opcode, "custom-call");
  while (!is_empty(text)) {
    const Text attribute = {text.at, value_end(text.at + 1, text.end)};
    bool is_other = !is_call && starts_with(attribute, ", backend_config=");
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) is_other = is_other || starts_with(attribute, OTHERS[i]);
    if (starts_with(attribute, METADATA)) hash = with_op_name(hash, field_of(metadata_of(attribute), "op_name"));
    else if (head->is_bare || has_byte(attribute, '%')) hash = is_other ? hash : with_computations(hash, attribute, module);
    else hash = is_other ? hash : with_text(hash, attribute);
    text.at = attribute.end;
  }
  return hash;
}

// Whether the form of an instruction could be read: a hash. Its operands are appended as rows.
static bool read_form(Module *module, Text text, uint64_t *form) {
  Head head, source;
  Rows *operands = &module->operands;
  const size_t first = operands->count;
  if (!read_head(text, &head)) return false;
  const Text list = operands_of(&head, text.end);
  *form = with_dimensions(with_text(0, head.opcode), head.shape);
  if (is_text(head.opcode, "parameter")) *form = with_text(*form, list);
  if (read_operands(&head, text.end, &module->names, operands, form) == NONE) return false;
  for (size_t i = first; i < operands->count; i++) {
    const int64_t name = cell_at(operands, 0, i);
    if (name != NONE) set_cell(operands, 0, i, module->rows[name]);
  }
  // A bitcast moves elements by the layouts of its operand and its result.
  if (is_text(head.opcode, "bitcast") && operands->count > first) {
    const int64_t row = cell_at(operands, 0, first);
    if (row == NONE || !read_head(text_at(module, cells_of(&module->instructions, row)), &source)) return false;
    *form = with_text(with_text(*form, head.shape), source.shape);
  }
  const Text attributes = {Py_MIN(list.end + 1, text.end), text.end};
  *form = with_attributes(*form, attributes, &head, module);
  return true;
}

// Appends the form of an instruction. Returns the hash of its computation, which has it, and where its operands are.
static uint64_t add_form(Module *module, Py_ssize_t row, uint64_t hash) {
  const int64_t *cells = cells_of(&module->instructions, row);
  const Text text = text_at(module, cells);
  const size_t first = module->operands.count;
  uint64_t form = 0;
  const bool is_usual = read_form(module, text, &form);
  if (!is_usual) module->operands.count = first;
  const int64_t count = (int64_t)(module->operands.count - first);
  add_row(&module->found, (const int64_t[]){is_usual ? (int64_t)form : NONE, is_usual ? count : NONE});
  hash = is_usual ? with_number(hash, form) : with_text(hash, text);
  for (size_t i = first; i < module->operands.count; i++) hash = with_number(hash, row - cell_at(&module->operands, 0, i));
  const bool is_root = cells[2] - cells[0] > (int64_t)strlen("%");
  return with_byte(hash, is_root);
}

static void read_forms(Module *module) {
  const Py_ssize_t count = row_count(&module->instructions), computation_count = row_count(&module->computations);
  for (Py_ssize_t row = 0; row < count; row++) {
    const int64_t next = module->names.texts.size;
    if (number_of(&module->names, text_at(module, cells_of(&module->instructions, row) + 2)) == next) module->rows[next] = row;
  }
  for (Py_ssize_t i = 0; i < computation_count; i++) {
    number_of(&module->computation_names, text_at(module, cells_of(&module->computations, i)));
  }
  if (module->names.is_out_of_memory || module->computation_names.is_out_of_memory) return;
  for (Py_ssize_t i = 0, row = 0; i <= computation_count; i++) {
    const int64_t *cells = i < computation_count ? cells_of(&module->computations, i) : NULL;
    const Py_ssize_t end = cells ? Py_MIN(count, cells[2] + cells[3]) : count;
    uint64_t hash = 0;
    for (; row < end; row++) hash = add_form(module, row, hash);
    const int64_t name = cells ? known_number(&module->computation_names, text_at(module, cells)) : NONE;
    if (name != NONE && !module->forms[name]) module->forms[name] = hash;
  }
}

// instruction_forms(data, instructions, computations): for each instruction its form and the number of its operands; and the rows of
// all operands, one after another, NONE for unknown ones. Instructions of the same form compute the same from the same operands. The
// form is a hash of what is printed of them but names, layouts, and what the backend and the source say; of the op_name, all but digits
// counts. Both are NONE for an instruction that is not of the usual form. An operand that is an element of a tuple without a name of its
// own (`%while#1`) has the row of the tuple.
PyObject *instruction_forms(PyObject *Py_UNUSED(self), PyObject *args) {
  Module module = {0};
  if (!PyArg_ParseTuple(args, "y*y*y*:instruction_forms", &module.data, &module.instructions, &module.computations)) return NULL;
  module.rows = calloc(row_count(&module.instructions) + 1, sizeof *module.rows);
  module.forms = calloc(row_count(&module.computations) + 1, sizeof *module.forms);
  module.found = rows_of(2, WIDE);
  module.operands = rows_of(1, size_for(module.data.len));
  if (module.rows && module.forms) {
    Py_BEGIN_ALLOW_THREADS
    read_forms(&module);
    Py_END_ALLOW_THREADS
  }
  const bool is_whole = module.rows && module.forms && !module.names.is_out_of_memory && !module.computation_names.is_out_of_memory;
  module.found.is_out_of_memory |= !is_whole;
  PyObject *columns = columns_of(&module.found), *operands = columns ? columns_of(&module.operands) : NULL;
  free_rows(&module.operands);
  free_numbers(&module.names);
  free_numbers(&module.computation_names);
  free(module.rows);
  free(module.forms);
  PyBuffer_Release(&module.data);
  PyBuffer_Release(&module.instructions);
  PyBuffer_Release(&module.computations);
  return Py_BuildValue("(NN)", columns, operands);
}
