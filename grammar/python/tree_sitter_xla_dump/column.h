// A column of 32-bit or 64-bit integers that numpy reads in place.

#ifndef XLA_DUMP_COLUMN_H
#define XLA_DUMP_COLUMN_H

#include <Python.h>

#include <stddef.h>
#include <stdint.h>

// The type of columns, a borrowed reference. On failure, sets an exception and returns NULL.
PyObject *column_type(void);

// A column of cells from malloc, which it owns from now on, even if this fails. `cell_size` is 4 or 8.
PyObject *column_of(void *cells, size_t count, size_t cell_size);

#endif
