// Reads and compares many texts of a file at once: the columns of their starts and ends come in, columns of results go out.
//
// The grammar of HLO defines what an instruction is. This file reads the usual form, `%name = shape opcode(operands)`, and answers
// NONE for everything else, which its caller reads. tests/syntax/hlo/test_quotes.py holds it equal to the reader in Python.

#include <ctype.h>
#include <Python.h>

#include "column.h"
#include "hlo_text.h"
#include "numbers.h"

enum { MAX_DEPTH = 4, MAX_DIGITS = 17 };

// ---------------------------------------------------------------- arguments

typedef struct {
  Py_buffer data;
  Cells start, end;
  const uint8_t *text;
  Py_ssize_t size, count;
} Spans;

static void release_spans(Spans *spans) {
  PyBuffer_Release(&spans->data);
  release_cells(&spans->start);
  release_cells(&spans->end);
}

// Takes over the three buffers. If they do not fit together, sets an exception and returns false.
static bool check_spans(Spans *spans) {
  spans->text = spans->data.buf;
  spans->size = spans->data.len;
  spans->count = spans->start.count;
  bool fits = spans->start.count == spans->end.count;
  Py_BEGIN_ALLOW_THREADS
  for (Py_ssize_t i = 0; fits && i < spans->count; i++) {
    int64_t start = cell_at(&spans->start, i), end = cell_at(&spans->end, i);
    fits = 0 <= start && start <= end && end <= spans->size;
  }
  Py_END_ALLOW_THREADS
  if (!fits) PyErr_SetString(PyExc_ValueError, "spans outside of the text");
  return fits;
}

static Text span_of(const Spans *spans, Py_ssize_t row) {
  return (Text){spans->text + cell_at(&spans->start, row), spans->text + cell_at(&spans->end, row)};
}

// ---------------------------------------------------------------- distinct texts

// number_texts(data, start, end): for each text its number, by first occurrence, and for each number the row of its first text.
PyObject *number_texts(PyObject *Py_UNUSED(self), PyObject *args) {
  Spans spans;
  Numbers distinct = {0};
  PyObject *result = NULL;
  if (!PyArg_ParseTuple(args, "y*O&O&:number_texts", &spans.data, cells_of, &spans.start, cells_of, &spans.end)) {
    return NULL;
  }
  if (check_spans(&spans)) {
    Rows numbers = rows_of(1, size_for(spans.count)), rows = rows_of(1, size_for(spans.count));
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < spans.count; i++) {
      uint32_t count = distinct.texts.size;
      add_row(&numbers, (const int64_t[]){number_of(&distinct, span_of(&spans, i))});
      if (distinct.texts.size > count) add_row(&rows, (const int64_t[]){i});
    }
    Py_END_ALLOW_THREADS
    numbers.is_out_of_memory |= distinct.is_out_of_memory;
    PyObject *columns = columns_of(&numbers);
    if (columns) result = Py_BuildValue("(NN)", columns, columns_of(&rows));
    free_rows(&rows);
    free_numbers(&distinct);
  }
  release_spans(&spans);
  return result;
}

// Compares the texts of two columns of spans.
static PyObject *compare(PyObject *args, int (*comparison)(Text, Text)) {
  Spans one, two;
  PyObject *result = NULL;
  if (!PyArg_ParseTuple(args, "y*O&O&y*O&O&", &one.data, cells_of, &one.start, cells_of, &one.end, &two.data,
                        cells_of, &two.start, cells_of, &two.end)) {
    return NULL;
  }
  if (check_spans(&one) && check_spans(&two)) {
    if (one.count != two.count) {
      PyErr_SetString(PyExc_ValueError, "columns of different lengths");
    } else {
      Rows found = rows_of(1, NARROW);
      Py_BEGIN_ALLOW_THREADS
      for (Py_ssize_t i = 0; i < one.count; i++) {
        add_row(&found, (const int64_t[]){comparison(span_of(&one, i), span_of(&two, i))});
      }
      Py_END_ALLOW_THREADS
      result = columns_of(&found);
    }
  }
  release_spans(&one);
  release_spans(&two);
  return result;
}

static int is_same(Text one, Text two) { return is_same_text(one, two); }

// same_texts(data, start, end, other, other_start, other_end): for each row 1 if both texts are equal, else 0.
PyObject *same_texts(PyObject *Py_UNUSED(self), PyObject *args) { return compare(args, is_same); }

// ---------------------------------------------------------------- quoted instructions

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
    const uint8_t *opcode = after_spaces(at + 1, text.end);
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

static int64_t parameter_number(const Head *head, const uint8_t *end) {
  if (!is_text(head->opcode, "parameter")) return NONE;
  const uint8_t *at = head->opcode.end + 1, *digits = at;
  int64_t number = 0;
  for (; at < end && *at >= '0' && *at <= '9' && at - digits < MAX_DIGITS; at++) number = number * 10 + (*at - '0');
  return at > digits && at < end && *at == ')' ? number : NONE;
}

static int64_t known_number(const Numbers *names, Text name) {
  return names->slot_count ? (int64_t)names->slots[slot_of(names, name, hash_of(name))] - 1 : NONE;
}

// The number of operands in a list without `%`: names, each with or without its shape. NONE if anything else is in it.
static int64_t read_bare_operands(const uint8_t *at, const uint8_t *end, const Numbers *names, Rows *operands) {
  int64_t count = 0;
  for (;;) {
    // A shape ends with a bracket before the blank; the name is what follows the last blank outside of brackets.
    if (end - at > 2 && at[0] == '/' && at[1] == '*') {
      // The number of an operand, in front of every fifth.
      for (at += 3; at < end && !(at[-1] == '*' && at[0] == '/'); at++) {}
      at += at < end;
    }
    const uint8_t *word = at;
    int depth = 0;
    for (; at < end && (depth || (*at != ',' && *at != ')')); at++) {
      if (*at == '(' || *at == '[' || *at == '{') depth++;
      else if (*at == ')' || *at == ']' || *at == '}') depth--;
      else if (!depth && is_space(*at)) word = at + 1;
    }
    Text name = {word, name_end(word, at)};
    bool is_name = name.at < name.end && name.end == at && (isalpha(*name.at) || *name.at == '_');
    if (at == end || !is_name || (name.end - name.at == 4 && memcmp(name.at, "null", 4) == 0)) return NONE;
    add_row(operands, (const int64_t[]){known_number(names, name)});
    count++;
    if (*at++ == ')') return count;
    if (at == end || *at++ != ' ') return NONE;
  }
}

// The number of operands; they are appended to `operands`. NONE if the list is not of the usual form.
static int64_t read_operands(const Head *head, const uint8_t *end, const Numbers *names, Rows *operands) {
  if (is_text(head->opcode, "parameter") || is_text(head->opcode, "constant")) return 0;
  const uint8_t *start = head->opcode.end + 1, *at = start;
  size_t first = operands->count;
  int depth = 0;
  bool has_percent = false, has_null = false;
  for (; at < end; at++) {
    if (*at == '(') {
      if (++depth > MAX_DEPTH) break;
    } else if (*at == ')') {
      if (!depth--) {
        if (at == start || (has_percent && !has_null)) return (int64_t)(operands->count - first);
        operands->count = first;
        int64_t count = has_percent || !head->is_bare ? NONE : read_bare_operands(start, end, names, operands);
        if (count == NONE) operands->count = first;
        return count;
      }
    } else if (*at == '%') {
      has_percent = true;
      Text name = {at + 1, name_end(at + 1, end)};
      if (name.at < name.end) {
        add_row(operands, (const int64_t[]){known_number(names, name)});
        for (; at + 4 < name.end; at++) has_null |= memcmp(at + 1, "null", 4) == 0;
        at = name.end - 1;
      }
    } else if (*at == 'n') {
      has_null |= end - at >= 4 && memcmp(at, "null", 4) == 0;
    }
  }
  operands->count = first;
  return NONE;
}

// Texts one after another: text `i` spans cell `i` to cell `i + 1` of `offsets` in a block.
typedef struct {
  Py_buffer block;
  Cells offsets;
} Block;

static Text text_of(const Block *texts, Py_ssize_t row) {
  const uint8_t *block = texts->block.buf;
  return (Text){block + cell_at(&texts->offsets, row), block + cell_at(&texts->offsets, row + 1)};
}

// Numbers the texts of a block, which must be distinct and outlive the numbers. Returns whether they lie in the block.
static bool number_block(const Block *texts, Numbers *known) {
  Py_ssize_t count = texts->offsets.count - 1;
  bool fits = count >= 0 && cell_at(&texts->offsets, 0) >= 0 && cell_at(&texts->offsets, count) <= texts->block.len;
  for (Py_ssize_t i = 0; fits && i < count; i++) fits = cell_at(&texts->offsets, i) <= cell_at(&texts->offsets, i + 1);
  if (fits) reserve_numbers(known, (size_t)count);
  for (Py_ssize_t i = 0; fits && !known->is_out_of_memory && i < count; i++) number_of(known, text_of(texts, i));
  return fits;
}

enum { NAME, SHAPE_START, SHAPE_END, OPCODE_START, OPCODE_END, PARAMETER, OPERAND_COUNT, QUOTE_COLUMNS };

// How much of an instruction is read. The shape of a tuple can have 100,000 bytes, and each value of the tuple quotes it.
enum { NAMES = 0, HEADS = 1, OPERANDS = 2 };

// read_quotes(data, start, end, names, offsets, parts): for each quoted instruction its name, the start and the end of its shape and of
// its opcode, the number of the parameter and the number of its operands; and all operands, one after another. Names are numbers in
// `names`, a block of texts that start at `offsets`. The name is NONE if it is unknown, the shape and the opcode if the text is not of
// the usual form, the parameter if it is none, the number of operands if their list is not of the usual form; and all of them if `parts`
// does not include them. The columns have 32 bits, except in texts of 2 GiB or more; parameters always have 64.
PyObject *read_quotes(PyObject *Py_UNUSED(self), PyObject *args) {
  Spans spans;
  Block names;
  Numbers known = {0};
  PyObject *result = NULL;
  int parts;
  if (!PyArg_ParseTuple(
        args, "y*O&O&y*O&i:read_quotes", &spans.data, cells_of, &spans.start, cells_of, &spans.end, &names.block, cells_of,
        &names.offsets, &parts)) {
    return NULL;
  }
  if (check_spans(&spans)) {
    Rows quotes = rows_of(QUOTE_COLUMNS, size_for(spans.size)), operands = rows_of(1, size_for(spans.size));
    quotes.sizes[PARAMETER] = WIDE;
    bool fits;
    Py_BEGIN_ALLOW_THREADS
    fits = number_block(&names, &known);
    for (Py_ssize_t i = 0; fits && i < spans.count; i++) {
      Text text = span_of(&spans, i);
      const uint8_t *shape;
      Text name = defined_name(text, &shape);
      Head head;
      bool has_head = parts >= HEADS && read_head(text, &head);
      add_row(&quotes, (const int64_t[QUOTE_COLUMNS]){
        [NAME] = is_empty(name) ? NONE : known_number(&known, name),
        [SHAPE_START] = has_head ? head.shape.at - spans.text : NONE,
        [SHAPE_END] = has_head ? head.shape.end - spans.text : NONE,
        [OPCODE_START] = has_head ? head.opcode.at - spans.text : NONE,
        [OPCODE_END] = has_head ? head.opcode.end - spans.text : NONE,
        [PARAMETER] = has_head ? parameter_number(&head, text.end) : NONE,
        [OPERAND_COUNT] = has_head && parts >= OPERANDS ? read_operands(&head, text.end, &known, &operands) : NONE,
      });
    }
    Py_END_ALLOW_THREADS
    quotes.is_out_of_memory |= known.is_out_of_memory;
    if (fits) {
      PyObject *columns = columns_of(&quotes);
      if (columns) result = Py_BuildValue("(NN)", columns, columns_of(&operands));
    } else {
      PyErr_SetString(PyExc_ValueError, "names outside of their block");
    }
    free_rows(&quotes);
    free_rows(&operands);
  }
  free_numbers(&known);
  PyBuffer_Release(&names.block);
  release_cells(&names.offsets);
  release_spans(&spans);
  return result;
}

// ---------------------------------------------------------------- instructions of two texts

// The name of the next operand of a list, which is empty at its end. Lists with `%` may have shapes before the names.
static Text next_operand(Text *list, bool has_percent) {
  const uint8_t *at = list->at, *end = list->end;
  if (has_percent) {
    at = memchr(at, '%', (size_t)(end - at));
    at = at ? at + 1 : end;
  }
  while (!has_percent && at < end && (is_space(*at) || *at == ',' || *at == '/')) {
    if (*at++ != '/') continue;
    for (at++; at < end && !(at[-1] == '*' && at[0] == '/'); at++) {}
    at += at < end;
  }
  Text name = {at, name_end(at, end)};
  list->at = name.end > name.at ? name.end : end;
  return name;
}

static bool has_byte(Text text, int wanted) { return memchr(text.at, wanted, (size_t)(text.end - text.at)) != NULL; }

static bool same_operands(Text one, Text two) {
  bool one_percent = has_byte(one, '%'), two_percent = has_byte(two, '%');
  if ((!one_percent && has_byte(one, '[')) || (!two_percent && has_byte(two, '['))) return true;
  for (;;) {
    Text left = next_operand(&one, one_percent), right = next_operand(&two, two_percent);
    if (left.at == left.end || right.at == right.end) return left.at == left.end && right.at == right.end;
    // Recent modules name an element of a tuple, `%tuple#0`, where quotes name the `get-tuple-element`.
    if (!has_byte(right, '#') && !is_same(left, right)) return false;
  }
}

// What follows a list of operands, from the bracket on. Empty if the bracket is missing.
static Text after_operands(const uint8_t *at, const uint8_t *end) {
  int depth = 0;
  for (; at < end; at++) {
    if (*at == '(') depth++;
    else if (*at == ')' && !depth--) break;
  }
  return (Text){at, end};
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

enum { SAME = 0, OTHER_SHAPE = 1, OTHER_OPCODE = 2, OTHER_OPERANDS = 3, OTHER_ATTRIBUTES = 4 };

// Compares two texts of an instruction. Parts that are not of the usual form, and constants, count as the same.
static int difference(Text one, Text two) {
  Head left, right;
  if (!read_head(one, &left) || !read_head(two, &right)) return SAME;
  if (!is_same(left.shape, right.shape)) return OTHER_SHAPE;
  // Quotes name what an asynchronous instruction does, `slice-start`.
  if (starts_with(left.opcode, "async-") != starts_with(right.opcode, "async-")) return SAME;
  if (!is_same(left.opcode, right.opcode)) return OTHER_OPCODE;
  Text rest = after_operands(left.opcode.end + 1, one.end), other = after_operands(right.opcode.end + 1, two.end);
  if (rest.at == rest.end || other.at == other.end) return SAME;
  bool reads_same = is_text(left.opcode, "constant") ||
                    same_operands((Text){left.opcode.end + 1, rest.at}, (Text){right.opcode.end + 1, other.at});
  return !reads_same ? OTHER_OPERANDS : same_attributes(rest, other) ? SAME : OTHER_ATTRIBUTES;
}

// differences(data, start, end, other, other_start, other_end): for each row 0 if both texts of an instruction agree, else the first part
// that differs: 1 the shape, 2 the opcode, 3 the operands, 4 the attributes.
PyObject *differences(PyObject *Py_UNUSED(self), PyObject *args) { return compare(args, difference); }
