#include "column.h"

#include <stdlib.h>
#include <string.h>

Rows rows_of(int width, size_t cell_size) {
  Rows rows = {.width = width};
  memset(rows.sizes, (int)cell_size, sizeof rows.sizes);
  return rows;
}

bool grow_rows(Rows *rows) { return reserve_rows(rows, rows->capacity + rows->capacity / 2 + 16); }

bool reserve_rows(Rows *rows, size_t capacity) {
  // For no bytes, `realloc` may return NULL.
  if (capacity <= rows->capacity) return true;
  for (int i = 0; i < rows->width && !rows->is_out_of_memory; i++) {
    void *grown = realloc(rows->columns[i], capacity * rows->sizes[i]);
    if (grown) rows->columns[i] = grown;
    else rows->is_out_of_memory = true;
  }
  if (!rows->is_out_of_memory) rows->capacity = capacity;
  return !rows->is_out_of_memory;
}

void free_rows(Rows *rows) {
  for (int i = 0; i < rows->width; i++) free(rows->columns[i]);
  rows->width = 0;
}

PyObject *columns_of(Rows *rows) {
  PyObject *columns = rows->is_out_of_memory ? PyErr_NoMemory() : PyTuple_New(rows->width);
  for (int i = 0; columns && i < rows->width; i++) {
    PyObject *cells = PyBytes_FromStringAndSize(rows->columns[i], (Py_ssize_t)(rows->count * rows->sizes[i]));
    PyObject *column = cells ? Py_BuildValue("(Ni)", cells, rows->sizes[i]) : NULL;
    if (!column || PyTuple_SetItem(columns, i, column) < 0) Py_CLEAR(columns);
    free(rows->columns[i]);
    rows->columns[i] = NULL;
  }
  free_rows(rows);
  return columns;
}

bool goes_on(PyObject *report, int64_t size) {
  PyObject *answer = PyObject_CallFunction(report, "n", (Py_ssize_t)size);
  Py_XDECREF(answer);
  return answer;
}
