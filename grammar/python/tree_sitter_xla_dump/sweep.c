// Sweeps slots, which are rectangles of bytes by steps, over the steps: how many bytes are covered after each event.

#include <stdlib.h>

#include "column.h"

// A node of a binary tree over byte ranges, the leaves. Node 1 is the root, the children of a node are `2 * node` and `2 * node + 1`.
typedef struct {
  int64_t covers; // slots that fill the node but not its parent
  uint64_t covered; // bytes; sums of offsets and sizes may have more than 64 bits
} Node;

// A slot that starts or ends: `count` more slots cover the leaves from `low` up to, not including, `high`.
typedef struct {
  int64_t low, high, count;
} Event;

// Applies an event to a node, which has the leaves from `first` up to, not including, `last`. Leaf `i` starts at byte `bounds[i]`.
static void cover(Node *nodes, const uint64_t *bounds, const Event *event, size_t node, int64_t first, int64_t last) {
  if (event->low >= last || event->high <= first) return;
  if (event->low <= first && last <= event->high) {
    nodes[node].covers += event->count;
  } else {
    int64_t middle = first + (last - first) / 2;
    cover(nodes, bounds, event, 2 * node, first, middle);
    cover(nodes, bounds, event, 2 * node + 1, middle, last);
  }
  nodes[node].covered = nodes[node].covers ? bounds[last] - bounds[first]
    : last - first > 1                     ? nodes[2 * node].covered + nodes[2 * node + 1].covered
                                           : 0;
}

// covered_changes(bounds, events): for each event how many more bytes are covered after it. `bounds` are the bytes at which the leaves
// start, followed by the end of the last. Both have cells of 64 bits, so do the bytes that are returned.
PyObject *covered_changes(PyObject *Py_UNUSED(self), PyObject *args) {
  Py_buffer bounds, events;
  if (!PyArg_ParseTuple(args, "y*y*:covered_changes", &bounds, &events)) return NULL;
  const Py_ssize_t bound_count = bounds.len / WIDE, count = events.len / (Py_ssize_t)sizeof(Event);
  PyObject *result = PyBytes_FromStringAndSize(NULL, count * WIDE);
  Node *nodes = result ? calloc(4 * (size_t)(bound_count + 1), sizeof *nodes) : NULL;
  if (nodes) {
    uint64_t *changes = (uint64_t *)PyBytes_AsString(result);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < count; i++) {
      uint64_t before = nodes[1].covered;
      cover(nodes, bounds.buf, (const Event *)events.buf + i, 1, 0, bound_count - 1);
      changes[i] = nodes[1].covered - before;
    }
    Py_END_ALLOW_THREADS
  } else if (result) {
    Py_CLEAR(result);
    PyErr_NoMemory();
  }
  free(nodes);
  PyBuffer_Release(&bounds);
  PyBuffer_Release(&events);
  return result;
}
