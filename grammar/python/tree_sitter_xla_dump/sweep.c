// Sweeps slots, which are rectangles of bytes by steps, over the steps: how many bytes are covered after each event.

#include <Python.h>

#include <stdbool.h>
#include <stdlib.h>

#include "column.h"

// A binary tree over byte ranges: node 1 is the root, the children of a node are `2 * node` and `2 * node + 1`. `covers` counts the
// slots that fill a node but not its parent, `covered` has its covered bytes.
typedef struct {
  size_t leaf_count;
  int64_t *lengths, *covered;
  int32_t *covers;
} Tree;

static void update(Tree *tree, size_t node) {
  tree->covered[node] = tree->covers[node] ? tree->lengths[node]
    : node < tree->leaf_count              ? tree->covered[2 * node] + tree->covered[2 * node + 1]
                                           : 0;
}

// Adds `count` slots that cover the leaves from `low` up to, not including, `high`.
static void cover(Tree *tree, size_t low, size_t high, int32_t count) {
  size_t first = low + tree->leaf_count, last = high + tree->leaf_count - 1;
  for (size_t left = first, right = last + 1; left < right; left /= 2, right /= 2) {
    if (left & 1) {
      tree->covers[left] += count;
      update(tree, left++);
    }
    if (right & 1) {
      tree->covers[--right] += count;
      update(tree, right);
    }
  }
  // The leaves may be at two depths, so the ancestors of one end come before those of the other.
  while (first /= 2) update(tree, first);
  while (last /= 2) update(tree, last);
}

// covered_changes(lengths, low, high, slot): `lengths` are the bytes of the leaves; each slot covers the leaves from `low` up to, not
// including, `high`. An event is a slot that starts, or its complement `~slot` for one that ends. Returns for each event how many
// more bytes are covered after it.
PyObject *covered_changes(PyObject *Py_UNUSED(self), PyObject *args) {
  Cells lengths, low, high, events;
  if (!PyArg_ParseTuple(args, "O&O&O&O&:covered_changes", cells_of, &lengths, cells_of, &low, cells_of, &high, cells_of, &events)) {
    return NULL;
  }
  Py_ssize_t leaf_count = lengths.count, slot_count = low.count, event_count = events.count;
  bool fits = low.count == high.count;
  Py_BEGIN_ALLOW_THREADS
  for (Py_ssize_t i = 0; fits && i < slot_count; i++) {
    int64_t first = cell_at(&low, i), last = cell_at(&high, i);
    fits = 0 <= first && first <= leaf_count && 0 <= last && last <= leaf_count;
  }
  for (Py_ssize_t i = 0; fits && i < event_count; i++) {
    int64_t event = cell_at(&events, i);
    fits = (event < 0 ? ~event : event) < slot_count;
  }
  Py_END_ALLOW_THREADS
  PyObject *result = NULL;
  if (!fits) {
    PyErr_SetString(PyExc_ValueError, "slots outside of the leaves");
  } else {
    Tree tree = {.leaf_count = leaf_count ? (size_t)leaf_count : 1};
    tree.lengths = calloc(2 * tree.leaf_count, sizeof *tree.lengths);
    tree.covered = calloc(2 * tree.leaf_count, sizeof *tree.covered);
    tree.covers = calloc(2 * tree.leaf_count, sizeof *tree.covers);
    Rows changes = rows_of(1, WIDE);
    if (tree.lengths && tree.covered && tree.covers) {
      Py_BEGIN_ALLOW_THREADS
      for (Py_ssize_t leaf = 0; leaf < leaf_count; leaf++) tree.lengths[(Py_ssize_t)tree.leaf_count + leaf] = cell_at(&lengths, leaf);
      for (size_t node = tree.leaf_count - 1; node; node--) {
        tree.lengths[node] = tree.lengths[2 * node] + tree.lengths[2 * node + 1];
      }
      for (Py_ssize_t i = 0; i < event_count; i++) {
        int64_t event = cell_at(&events, i), before = tree.covered[1];
        Py_ssize_t slot = (Py_ssize_t)(event < 0 ? ~event : event);
        int64_t first = cell_at(&low, slot), last = cell_at(&high, slot);
        // The end of a slot lies before its start if the sum of offset and size has more than 64 bits.
        if (first < last) cover(&tree, (size_t)first, (size_t)last, event < 0 ? -1 : 1);
        add_row(&changes, (const int64_t[]){tree.covered[1] - before});
      }
      Py_END_ALLOW_THREADS
      result = columns_of(&changes);
    } else {
      PyErr_NoMemory();
    }
    free(tree.lengths);
    free(tree.covered);
    free(tree.covers);
  }
  release_cells(&lengths);
  release_cells(&low);
  release_cells(&high);
  release_cells(&events);
  return result;
}
