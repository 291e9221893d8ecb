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

PyObject *column_of(void *cells, size_t count, size_t cell_size) {
  Column *column = (Column *)PyType_GenericAlloc((PyTypeObject *)column_type(), 0);
  if (!column) {
    free(cells);
    return NULL;
  }
  void *fitting = realloc(cells, count ? count * cell_size : 1);
  column->cells = fitting ? fitting : cells;
  column->count = (Py_ssize_t)count;
  column->cell_size = (Py_ssize_t)cell_size;
  return (PyObject *)column;
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
