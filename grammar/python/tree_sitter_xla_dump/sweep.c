// Sweeps slots, which are rectangles of bytes by steps, over the steps: how many bytes are covered after each event.

#include <Python.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "column.h"

// A binary tree over byte ranges: node 1 is the root, the children of a node are `2 * node` and `2 * node + 1`. `covers` counts the slots that fill a node but not its parent, `covered` has its covered bytes.
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
  Py_buffer lengths, low, high, events;
  if (!PyArg_ParseTuple(args, "y*y*y*y*:covered_changes", &lengths, &low, &high, &events)) return NULL;
  const int64_t *lows = low.buf, *highs = high.buf, *slots = events.buf;
  Py_ssize_t leaf_count = lengths.len / (Py_ssize_t)sizeof(int64_t), slot_count = low.len / (Py_ssize_t)sizeof(int64_t);
  Py_ssize_t event_count = events.len / (Py_ssize_t)sizeof(int64_t);
  bool fits = low.len == high.len;
  for (Py_ssize_t i = 0; fits && i < slot_count; i++) {
    fits = 0 <= lows[i] && lows[i] <= leaf_count && 0 <= highs[i] && highs[i] <= leaf_count;
  }
  for (Py_ssize_t i = 0; fits && i < event_count; i++) {
    int64_t slot = slots[i] < 0 ? ~slots[i] : slots[i];
    fits = slot < slot_count;
  }
  PyObject *result = NULL;
  if (!fits) {
    PyErr_SetString(PyExc_ValueError, "slots outside of the leaves");
  } else {
    Tree tree = {.leaf_count = leaf_count ? (size_t)leaf_count : 1};
    tree.lengths = calloc(2 * tree.leaf_count, sizeof *tree.lengths);
    tree.covered = calloc(2 * tree.leaf_count, sizeof *tree.covered);
    tree.covers = calloc(2 * tree.leaf_count, sizeof *tree.covers);
    int64_t *changes = malloc(((size_t)event_count + 1) * sizeof *changes);
    bool is_complete = tree.lengths && tree.covered && tree.covers && changes;
    if (is_complete) {
      Py_BEGIN_ALLOW_THREADS
      if (leaf_count) memcpy(tree.lengths + tree.leaf_count, lengths.buf, (size_t)lengths.len);
      for (size_t node = tree.leaf_count - 1; node; node--) {
        tree.lengths[node] = tree.lengths[2 * node] + tree.lengths[2 * node + 1];
      }
      for (Py_ssize_t i = 0; i < event_count; i++) {
        bool is_end = slots[i] < 0;
        int64_t slot = is_end ? ~slots[i] : slots[i], before = tree.covered[1];
        // The end of a slot lies before its start if the sum of offset and size has more than 64 bits.
        bool is_sound = lows[slot] < highs[slot];
        if (is_sound) cover(&tree, (size_t)lows[slot], (size_t)highs[slot], is_end ? -1 : 1);
        changes[i] = tree.covered[1] - before;
      }
      Py_END_ALLOW_THREADS
      result = column_of(changes, (size_t)event_count, sizeof *changes);
    } else {
      free(changes);
      PyErr_NoMemory();
    }
    free(tree.lengths);
    free(tree.covered);
    free(tree.covers);
  }
  PyBuffer_Release(&lengths);
  PyBuffer_Release(&low);
  PyBuffer_Release(&high);
  PyBuffer_Release(&events);
  return result;
}
