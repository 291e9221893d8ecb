// Columns of 32-bit or 64-bit integers that this module fills for numpy, and the 64-bit cells that it reads from numpy.

#ifndef XLA_DUMP_COLUMN_H
#define XLA_DUMP_COLUMN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_WIDTH = 14, NARROW = sizeof(int32_t), WIDE = sizeof(int64_t) };

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

// Makes room for so many rows. Where their number is known, this leaves no freed memory behind, as growing does.
bool reserve_rows(Rows *rows, size_t capacity);

void free_rows(Rows *rows);

// The columns as a tuple of pairs, a bytes object and the size of its cells. Frees the rows, even if this fails. Raises MemoryError if
// adding a row failed.
PyObject *columns_of(Rows *rows);

// Tells `report` how many bytes were read. Whether it raised no exception.
bool goes_on(PyObject *report, int64_t size);

// The size of cells for numbers up to `largest`.
static inline size_t size_for(Py_ssize_t largest) { return largest > INT32_MAX ? WIDE : NARROW; }

static inline void set_cell(Rows *rows, int column, size_t row, int64_t cell) {
  if (rows->sizes[column] == WIDE) ((int64_t *)rows->columns[column])[row] = cell;
  else ((int32_t *)rows->columns[column])[row] = (int32_t)cell;
}

static inline int64_t cell_at(const Rows *rows, int column, size_t row) {
  return rows->sizes[column] == WIDE ? ((const int64_t *)rows->columns[column])[row] : ((const int32_t *)rows->columns[column])[row];
}

static inline void add_row(Rows *rows, const int64_t *cells) {
  if (rows->count == rows->capacity && !grow_rows(rows)) return;
  for (int column = 0; column < rows->width; column++) set_cell(rows, column, rows->count, cells[column]);
  rows->count++;
}

#endif
