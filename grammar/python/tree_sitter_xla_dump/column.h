// Columns of 32-bit or 64-bit integers: those that numpy reads in place, and those that this module reads in place from numpy.

#ifndef XLA_DUMP_COLUMN_H
#define XLA_DUMP_COLUMN_H

#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_WIDTH = 14, NARROW = sizeof(int32_t), WIDE = sizeof(int64_t) };

// The type of columns, a borrowed reference. On failure, sets an exception and returns NULL.
PyObject *column_type(void);

// The columns of a table while rows are added. `sizes` are the bytes of the cells of each column, NARROW or WIDE.
typedef struct {
  void *columns[MAX_WIDTH];
  uint8_t sizes[MAX_WIDTH];
  int width;
  size_t count, capacity;
  bool is_out_of_memory;
} Rows;

// An empty table whose cells all have one size.
Rows rows_of(int width, size_t cell_size);

// Makes room for more rows than the capacity.
bool grow_rows(Rows *rows);

void free_rows(Rows *rows);

// The columns as a tuple, which own the memory of the rows from now on, even if this fails. Raises MemoryError if adding a row failed.
PyObject *columns_of(Rows *rows);

// Tells `is_cancelled` how many bytes were read. Whether to stop; `failed` becomes true if it raises an exception.
bool is_stopped(PyObject *is_cancelled, int64_t size, bool *failed);

// The size of cells for numbers up to `largest`.
static inline size_t size_for(Py_ssize_t largest) { return largest > INT32_MAX ? WIDE : NARROW; }

static inline void set_cell(Rows *rows, int column, size_t row, int64_t cell) {
  if (rows->sizes[column] == WIDE) ((int64_t *)rows->columns[column])[row] = cell;
  else ((int32_t *)rows->columns[column])[row] = (int32_t)cell;
}

static inline void add_row(Rows *rows, const int64_t *cells) {
  if (rows->count == rows->capacity && !grow_rows(rows)) return;
  for (int column = 0; column < rows->width; column++) set_cell(rows, column, rows->count, cells[column]);
  rows->count++;
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
