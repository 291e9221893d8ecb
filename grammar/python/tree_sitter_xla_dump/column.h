// Columns of 32-bit or 64-bit integers: those that numpy reads in place, and those that this module reads in place from numpy.

#ifndef XLA_DUMP_COLUMN_H
#define XLA_DUMP_COLUMN_H

#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The type of columns, a borrowed reference. On failure, sets an exception and returns NULL.
PyObject *column_type(void);

// A column of cells from malloc, which it owns from now on, even if this fails. `cell_size` is 4 or 8.
PyObject *column_of(void *cells, size_t count, size_t cell_size);

// Writes a cell of a column of `cell_size`.
static inline void set_cell(void *cells, size_t cell_size, Py_ssize_t row, int64_t cell) {
  if (cell_size == sizeof(int64_t)) ((int64_t *)cells)[row] = cell;
  else ((int32_t *)cells)[row] = (int32_t)cell;
}

// A column that is an argument.
typedef struct {
  Py_buffer view;
  Py_ssize_t count;
  bool is_wide;
} Cells;

// The converter of an argument for `O&`. The caller calls `release_cells`.
int cells_of(PyObject *object, void *cells);

void release_cells(Cells *cells);

static inline int64_t cell_at(const Cells *cells, Py_ssize_t row) {
  return cells->is_wide ? ((const int64_t *)cells->view.buf)[row] : ((const int32_t *)cells->view.buf)[row];
}

#endif
