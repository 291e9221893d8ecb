#include "column.h"

#include <stdlib.h>

typedef struct {
  PyObject_HEAD
  int64_t *cells;
  Py_ssize_t count;
} Column;

static int column_buffer(PyObject *self, Py_buffer *view, int flags) {
  Column *column = (Column *)self;
  static int64_t nothing;
  void *cells = column->count ? (void *)column->cells : (void *)&nothing;
  return PyBuffer_FillInfo(view, self, cells, column->count * (Py_ssize_t)sizeof(int64_t), 1, flags);
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

PyObject *column_of(int64_t *cells, size_t count) {
  Column *column = (Column *)PyType_GenericAlloc((PyTypeObject *)column_type(), 0);
  if (!column) {
    free(cells);
    return NULL;
  }
  int64_t *fitting = realloc(cells, count ? count * sizeof *cells : 1);
  column->cells = fitting ? fitting : cells;
  column->count = (Py_ssize_t)count;
  return (PyObject *)column;
}
