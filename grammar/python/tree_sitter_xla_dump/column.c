#include "column.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  PyObject_HEAD
  void *cells;
  Py_ssize_t count, cell_size;
} Column;

static int column_buffer(PyObject *self, Py_buffer *view, int flags) {
  Column *column = (Column *)self;
  static int64_t nothing;
  void *cells = column->count ? column->cells : (void *)&nothing;
  if (PyBuffer_FillInfo(view, self, cells, column->count * column->cell_size, 1, flags) < 0) return -1;
  // numpy tells `long` and `long long` apart even if they have the same size.
  static char narrow[] = "i", wide[] = "q", wide_as_long[] = "l";
  if (flags & PyBUF_FORMAT) view->format = column->cell_size == sizeof(int) ? narrow : sizeof(long) == 8 ? wide_as_long : wide;
  view->itemsize = column->cell_size;
  if (flags & PyBUF_ND) view->shape = &column->count;
  return 0;
}

static void column_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  free(((Column *)self)->cells);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyType_Slot COLUMN_SLOTS[] = {
  {Py_bf_getbuffer, (void *)column_buffer},
  {Py_tp_dealloc, (void *)column_dealloc},
  {0, NULL},
};

static PyType_Spec COLUMN_SPEC = {
  "tree_sitter_xla_dump._binding.Column", sizeof(Column), 0, Py_TPFLAGS_DEFAULT, COLUMN_SLOTS,
};

PyObject *column_type(void) {
  static PyObject *type;
  if (!type) type = PyType_FromSpec(&COLUMN_SPEC);
  return type;
}

Rows rows_of(int width, size_t cell_size) {
  Rows rows = {.width = width};
  memset(rows.sizes, (int)cell_size, sizeof rows.sizes);
  return rows;
}

bool grow_rows(Rows *rows) {
  size_t capacity = rows->capacity + rows->capacity / 2 + 16;
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
    Column *column = (Column *)PyType_GenericAlloc((PyTypeObject *)column_type(), 0);
    if (column) {
      void *fitting = rows->count ? realloc(rows->columns[i], rows->count * rows->sizes[i]) : NULL;
      column->cells = fitting ? fitting : rows->columns[i];
      column->count = (Py_ssize_t)rows->count;
      column->cell_size = rows->sizes[i];
      rows->columns[i] = NULL;
    }
    if (!column || PyTuple_SetItem(columns, i, (PyObject *)column) < 0) Py_CLEAR(columns);
  }
  free_rows(rows);
  return columns;
}

bool is_stopped(PyObject *is_cancelled, int64_t size, bool *failed) {
  PyObject *answer = PyObject_CallFunction(is_cancelled, "n", (Py_ssize_t)size);
  *failed = !answer;
  bool is_true = answer && PyObject_IsTrue(answer) > 0;
  Py_XDECREF(answer);
  return is_true;
}

int cells_of(PyObject *object, void *address) {
  Cells *cells = address;
  if (!object) {
    // A later argument is wrong.
    release_cells(cells);
    return 1;
  }
  if (PyObject_GetBuffer(object, &cells->view, PyBUF_ND | PyBUF_FORMAT) < 0) return 0;
  const char *format = cells->view.format;
  if (cells->view.ndim != 1 || !format || strlen(format) != 1 || !strchr("ilq", *format)) {
    release_cells(cells);
    PyErr_SetString(PyExc_TypeError, "no column of integers");
    return 0;
  }
  cells->count = cells->view.shape[0];
  cells->is_wide = cells->view.itemsize == sizeof(int64_t);
  return Py_CLEANUP_SUPPORTED;
}

void release_cells(Cells *cells) { PyBuffer_Release(&cells->view); }
