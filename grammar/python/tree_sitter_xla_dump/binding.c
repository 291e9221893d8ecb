// The Python binding of both grammars. Each function returns a capsule for `tree_sitter.Language`.

#include <Python.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "column.h"

typedef struct TSLanguage TSLanguage;

const TSLanguage *tree_sitter_xla_dump(void);
const TSLanguage *tree_sitter_hlo(void);

// rows.c
PyObject *read_rows(PyObject *self, PyObject *args);

// modules.c
PyObject *read_module(PyObject *self, PyObject *args);

// texts.c
PyObject *number_texts(PyObject *self, PyObject *args);
PyObject *differences(PyObject *self, PyObject *args);
PyObject *read_quotes(PyObject *self, PyObject *args);
PyObject *report_rows_agree(PyObject *self, PyObject *args);
PyObject *split_lists(PyObject *self, PyObject *args);
PyObject *instruction_sources(PyObject *self, PyObject *args);
PyObject *instruction_forms(PyObject *self, PyObject *args);

// sweep.c
PyObject *covered_changes(PyObject *self, PyObject *args);
PyObject *next_peaks(PyObject *self, PyObject *args);

static PyObject *language_xla_dump(PyObject *self, PyObject *args) {
  (void)self, (void)args;
  return PyCapsule_New((void *)tree_sitter_xla_dump(), "tree_sitter.Language", NULL);
}

static PyObject *language_hlo(PyObject *self, PyObject *args) {
  (void)self, (void)args;
  return PyCapsule_New((void *)tree_sitter_hlo(), "tree_sitter.Language", NULL);
}

// release_memory(): gives freed memory back to the system, where the C library can.
static PyObject *release_memory(PyObject *self, PyObject *args) {
  (void)self, (void)args;
#ifdef __GLIBC__
  Py_BEGIN_ALLOW_THREADS
  malloc_trim(0);
  Py_END_ALLOW_THREADS
#endif
  return Py_NewRef(Py_None);
}

static PyMethodDef METHODS[] = {
  {"language_xla_dump", language_xla_dump, METH_NOARGS, "The language of the memory dumps."},
  {"language_hlo", language_hlo, METH_NOARGS, "The language of HLO text."},
  {"read_rows", read_rows, METH_VARARGS, "The rows of a dump file, as columns."},
  {"read_module", read_module, METH_VARARGS, "The computations and instructions of an HLO module, as columns."},
  {"number_texts", number_texts, METH_VARARGS, "Numbers for the distinct texts among some spans."},
  {"differences", differences, METH_VARARGS, "Where the instructions at two columns of spans differ."},
  {"read_quotes", read_quotes, METH_VARARGS, "The parts of quoted instructions, as columns."},
  {"report_rows_agree", report_rows_agree, METH_VARARGS, "Which rows of a memory usage report surely have the right numbers."},
  {"split_lists", split_lists, METH_VARARGS, "The elements of lists, as columns."},
  {"instruction_sources", instruction_sources, METH_VARARGS, "What instructions are, and where they come from, as columns."},
  {"instruction_forms", instruction_forms, METH_VARARGS, "What the instructions of an HLO module compute, as columns of hashes."},
  {"covered_changes", covered_changes, METH_VARARGS, "How many more bytes are covered after each start and end of a slot."},
  {"next_peaks", next_peaks, METH_VARARGS, "The peak of the live bytes without each of some slots."},
  {"release_memory", release_memory, METH_NOARGS, "Give freed memory back to the system."},
  {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
  .m_base = PyModuleDef_HEAD_INIT,
  .m_name = "_binding",
  .m_size = 0,
  .m_methods = METHODS,
};

PyMODINIT_FUNC PyInit__binding(void) {
  return PyModule_Create(&MODULE);
}
