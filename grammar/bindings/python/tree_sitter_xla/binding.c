#include <Python.h>

typedef struct TSLanguage TSLanguage;

TSLanguage *tree_sitter_xla_dump(void);
TSLanguage *tree_sitter_hlo(void);

static PyObject *language_xla_dump(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args)) {
    return PyCapsule_New(tree_sitter_xla_dump(), "tree_sitter.Language", NULL);
}

static PyObject *language_hlo(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(args)) {
    return PyCapsule_New(tree_sitter_hlo(), "tree_sitter.Language", NULL);
}

static PyMethodDef methods[] = {
    {"language_xla_dump", language_xla_dump, METH_NOARGS, "The language of the memory dumps."},
    {"language_hlo", language_hlo, METH_NOARGS, "The language of HLO text."},
    {NULL, NULL, 0, NULL}
};

static struct PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_binding",
    .m_doc = NULL,
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__binding(void) {
    return PyModuleDef_Init(&module);
}
