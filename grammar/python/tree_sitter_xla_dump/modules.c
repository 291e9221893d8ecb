// Reads the lines of an HLO module: computations and instructions. A line
// of an unknown form belongs to nothing, and ends neither the instruction nor the computation around it.

#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "column.h"

#include "hlo_text.h"

enum { COMPUTATION_COLUMNS = 7, INSTRUCTION_COLUMNS = 4, LINES_BETWEEN_CHECKS = 1 << 13, LINES_AHEAD = 8 };

typedef struct {
  const uint8_t *text;
  Py_ssize_t size;
  Rows computations, instructions, table_lines;
  // The computation and the instruction that are not ended yet, as their rows.
  int64_t computation[COMPUTATION_COLUMNS], instruction[INSTRUCTION_COLUMNS];
  bool is_computation_open, is_instruction_open, is_in_table;
  // The brackets and the string that are open at `scanned` in the instruction.
  int64_t scanned, depth;
  bool is_in_string, is_finished;
} ModuleReader;

static bool is_line_end(uint8_t byte) { return byte == '\n' || byte == '\r'; }

// Whether only blanks are left in the line.
static bool is_at_line_end(const uint8_t *at, const uint8_t *end) {
  at = after(is_blank, at, end);
  return at == end || is_line_end(*at);
}

static bool is_entry_head(Text line) { return starts_with(line, "ENTRY ") || starts_with(line, "ENTRY\t"); }

// The name in the head of a computation, empty if the line is no head.
static Text computation_name(Text line) {
  const Text none = {line.at, line.at};
  if (is_entry_head(line)) {
    Text name = computation_name((Text){after(is_blank, line.at + strlen("ENTRY"), line.end), line.end});
    if (!is_empty(name)) return name;
  }
  const Text name = leading_name(line);
  const uint8_t *at = after(is_blank, name.end, line.end);
  if (is_empty(name) || at == line.end) return none;
  if (*at == '{') return is_at_line_end(at + 1, line.end) ? name : none;
  if (*at != '(') return none;
  const uint8_t *line_end = memchr(at, '\n', line.end - at);
  for (const uint8_t *open = line_end ? line_end : line.end; --open > at;) {
    if (*open == '{' && is_at_line_end(open + 1, line.end)) return name;
    // Behind the bracket there are only blanks, unless there is another line end.
    if (!is_blank(*open) && !is_line_end(*open) && !memchr(at, '\r', open - at)) break;
  }
  return none;
}

static Py_ssize_t trimmed(const ModuleReader *reader, Py_ssize_t end) {
  while (end && (is_blank(reader->text[end - 1]) || is_line_end(reader->text[end - 1]))) end--;
  return end;
}

static void end_instruction(ModuleReader *reader) {
  if (reader->is_instruction_open) add_row(&reader->instructions, reader->instruction);
  reader->is_instruction_open = false;
}

static void end_computation(ModuleReader *reader, Py_ssize_t end) {
  end_instruction(reader);
  if (reader->is_computation_open) {
    int64_t *row = reader->computation;
    row[1] = trimmed(reader, end);
    row[5] = (int64_t)reader->instructions.count - row[4];
    // A line that only looks like a head has neither parameters nor instructions.
    const uint8_t *text_end = reader->text + reader->size, *head = after(is_blank, reader->text + row[3], text_end);
    if (row[5] || (head < text_end && *head == '(')) add_row(&reader->computations, row);
  }
  reader->is_computation_open = false;
}

static bool read_instruction(ModuleReader *reader, Text line) {
  if (!reader->is_computation_open) return false;
  line.at = after(is_blank, line.at, line.end);
  const Text name = defined_name(line, NULL);
  if (is_empty(name)) return false;
  end_instruction(reader);
  const uint8_t *text = reader->text;
  int64_t row[INSTRUCTION_COLUMNS] = {
    line.at - text, trimmed(reader, line.end - text), name.at - text, name.end - text,
  };
  memcpy(reader->instruction, row, sizeof row);
  reader->is_instruction_open = true;
  reader->scanned = row[0];
  reader->depth = 0;
  reader->is_in_string = reader->is_finished = false;
  return true;
}

// Whether the text of the instruction goes on at `end`: a bracket or a string is open there, and at all lines before.
static bool is_instruction_unfinished(ModuleReader *reader, int64_t end) {
  const uint8_t *text = reader->text;
  for (; !reader->is_finished && reader->scanned < end; reader->scanned++) {
    const uint8_t byte = text[reader->scanned];
    if (byte == '"') reader->is_in_string = !reader->is_in_string;
    else if (reader->is_in_string) reader->scanned += byte == '\\';
    else reader->depth += nesting(byte);
  }
  reader->is_finished = reader->is_finished || (reader->depth <= 0 && !reader->is_in_string);
  return !reader->is_finished;
}

// Whether an instruction follows the line that ends at `at`, before any other computation.
static bool computation_goes_on(const ModuleReader *reader, const uint8_t *at) {
  const uint8_t *end = reader->text + reader->size;
  for (int i = 0; i < LINES_AHEAD && at < end; i++) {
    const uint8_t *found = memchr(at, '\n', end - at);
    Text line = {at, found ? found + 1 : end};
    Text unindented = {after(is_blank, at, line.end), line.end};
    if (is_blank(*at) && !is_empty(defined_name(unindented, NULL))) return true;
    if (is_entry_head(line) || !is_empty(computation_name(line))) return false;
    at = line.end;
  }
  return false;
}

static bool read_computation(ModuleReader *reader, Text line) {
  const Text name = computation_name(line);
  if (is_empty(name)) return false;
  // Heads without parameters follow the end of the computation before, and instructions follow them.
  const bool names_parameters = memchr(name.end, '(', line.end - name.end);
  if (!names_parameters && (reader->is_computation_open || !computation_goes_on(reader, line.end))) return false;
  const uint8_t *text = reader->text;
  end_computation(reader, line.at - text);
  bool is_entry = name.at - line.at > (Py_ssize_t)strlen("%");
  int64_t row[COMPUTATION_COLUMNS] = {
    line.at - text, 0, name.at - text, name.end - text, (int64_t)reader->instructions.count, 0, is_entry,
  };
  memcpy(reader->computation, row, sizeof row);
  reader->is_computation_open = true;
  reader->is_in_table = false;
  return true;
}

static bool is_close(Text line) {
  Text rest = {after(is_blank, line.at + 1, line.end), line.end};
  if (is_empty(rest) || is_line_end(*rest.at) || starts_with(rest, "//")) return true;
  return *rest.at == ',' && starts_with((Text){after(is_blank, rest.at + 1, rest.end), rest.end}, "execution_thread=");
}

static bool is_table_header(Text line) {
  static const char *const NAMES[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
  for (int i = 0; i < 4; i++) {
    if (starts_with(line, NAMES[i]) && is_at_line_end(line.at + strlen(NAMES[i]), line.end)) return true;
  }
  return false;
}

static void read_line(ModuleReader *reader, Text line) {
  const int64_t start = line.at - reader->text;
  const uint8_t first = is_empty(line) ? '\n' : *line.at;
  if (is_blank(first) && read_instruction(reader, line)) return;
  if (first >= '0' && first <= '9' && reader->is_in_table) {
    add_row(&reader->table_lines, &start);
  } else if (first == '}' && is_close(line)) {
    if (!reader->is_computation_open || !computation_goes_on(reader, line.end)) end_computation(reader, start + 1);
  } else if (is_table_header(line)) {
    reader->is_in_table = !reader->is_computation_open;
    if (reader->is_in_table) add_row(&reader->table_lines, &start);
  } else if (!read_computation(reader, line) && reader->is_instruction_open) {
    // The instruction continues: one of its attributes contains line ends.
    bool is_text = is_empty(line) || after(is_space, line.at, line.end) < line.end;
    if (is_text && is_instruction_unfinished(reader, start)) reader->instruction[1] = trimmed(reader, line.end - reader->text);
  }
}

// read_module(data, starts, report): the columns of computations and instructions, and the starts of the lines that may be rows and
// headers of the tables of stack frames. `starts` are the lines, without those inside of a string, in 64 bits. `report` is called about
// every millisecond with the number of bytes read so far. An exception that it raises ends the reading.
PyObject *read_module(PyObject *Py_UNUSED(self), PyObject *args) {
  Py_buffer data, starts;
  PyObject *report, *columns[3] = {NULL, NULL, NULL};
  if (!PyArg_ParseTuple(args, "y*y*O:read_module", &data, &starts, &report)) return NULL;
  ModuleReader reader = {.text = data.buf, .size = data.len};
  Rows *tables[] = {&reader.computations, &reader.instructions, &reader.table_lines};
  const int widths[] = {COMPUTATION_COLUMNS, INSTRUCTION_COLUMNS, 1};
  for (int i = 0; i < 3; i++) *tables[i] = rows_of(widths[i], size_for(data.len));
  const int64_t *start = starts.buf, *last = start + starts.len / WIDE;
  bool more = true;
  while (start < last && (more = goes_on(report, *start))) {
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < LINES_BETWEEN_CHECKS && start < last; i++, start++) {
      read_line(&reader, (Text){reader.text + *start, reader.text + (start + 1 < last ? start[1] : reader.size)});
    }
    Py_END_ALLOW_THREADS
  }
  if (more) end_computation(&reader, reader.size);
  for (int i = 0; i < 3 && more; i++) {
    columns[i] = columns_of(tables[i]);
    more = columns[i];
  }
  for (int i = 0; i < 3; i++) free_rows(tables[i]);
  PyBuffer_Release(&starts);
  PyBuffer_Release(&data);
  return Py_BuildValue("(NNN)", columns[0], columns[1], columns[2]);
}
