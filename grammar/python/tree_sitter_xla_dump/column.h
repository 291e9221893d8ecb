// A column of 64-bit integers that numpy reads in place.

#ifndef XLA_DUMP_COLUMN_H
#define XLA_DUMP_COLUMN_H

#include <Python.h>

#include <stddef.h>
#include <stdint.h>

// The type of columns, a borrowed reference. On failure, sets an exception and returns NULL.
PyObject *column_type(void);

// A column of cells from malloc, which it owns from now on, even if this fails.
PyObject *column_of(int64_t *cells, size_t count);

#endif
