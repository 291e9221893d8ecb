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

// ---------------------------------------------------------------- the peak without each slot

enum { NONE = -1 };

// Live bytes over time: `bytes[i]` from `steps[i]` up to the next step. `highest` is a binary tree with the place of the most live bytes
// below each node, the first of equal ones. The leaves start at `leaves`.
typedef struct {
  const int64_t *steps, *bytes;
  int64_t count, leaves;
  int64_t *highest;
} Live;

// The place with more live bytes, the first if they are equal. NONE has fewer than any other.
static int64_t higher(const Live *live, int64_t first, int64_t second) {
  if (first == NONE || second == NONE) return first == NONE ? second : first;
  return live->bytes[second] > live->bytes[first] ? second : first;
}

static bool build_tree(Live *live) {
  for (live->leaves = 1; live->leaves < live->count;) live->leaves *= 2;
  live->highest = malloc(2 * (size_t)live->leaves * sizeof *live->highest);
  if (!live->highest) return false;
  for (int64_t i = 0; i < live->leaves; i++) live->highest[live->leaves + i] = i < live->count ? i : NONE;
  for (int64_t node = live->leaves - 1; node > 0; node--)
    live->highest[node] = higher(live, live->highest[2 * node], live->highest[2 * node + 1]);
  return true;
}

// The place of the most live bytes from place `first` up to, not including, `last`; NONE if there is none between.
static int64_t highest_between(const Live *live, int64_t first, int64_t last) {
  int64_t left = NONE, right = NONE;
  for (first += live->leaves, last += live->leaves; first < last; first /= 2, last /= 2) {
    if (first & 1) left = higher(live, left, live->highest[first++]);
    if (last & 1) right = higher(live, live->highest[--last], right);
  }
  return higher(live, left, right);
}

// The number of changes of the live bytes before a step.
static int64_t changes_before(const Live *live, int64_t step) {
  int64_t low = 0, high = live->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (live->steps[middle] < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

// A slot while it is live: the bytes that only it covers, since when, and the peak without it up to then. `freed` are the bytes that only
// it covers at `peak_step`.
typedef struct {
  int64_t freed, peak, step;
  int64_t alone, since;
} Without;

// Adds the steps from `first` up to, not including, `last`, at which only this slot covers `alone` bytes.
static void add_steps(Without *without, const Live *live, int64_t first, int64_t last, int64_t alone) {
  int64_t place = changes_before(live, first);
  if (place == live->count || live->steps[place] != first) {
    // The live bytes of the step before hold.
    int64_t bytes = (place ? live->bytes[place - 1] : 0) - alone;
    if (bytes > without->peak) without->peak = bytes, without->step = first;
  }
  place = highest_between(live, place, last == INT64_MAX ? live->count : changes_before(live, last));
  if (place != NONE && live->bytes[place] - alone > without->peak) {
    without->peak = live->bytes[place] - alone;
    without->step = live->steps[place];
  }
}

// From a step on, only this slot covers `added` more bytes.
static void change_alone(Without *without, const Live *live, int64_t step, int64_t peak_step, int64_t added) {
  if (without->since < step) {
    add_steps(without, live, without->since, step, without->alone);
    if (without->since <= peak_step && peak_step < step) without->freed = without->alone;
  }
  without->since = step;
  without->alone += added;
}

// How many slots cover a segment, and the exclusive or of their numbers, which is the slot if it is only one.
typedef struct {
  int64_t count, slots;
} Segment;

// A slot that starts or ends at a step, which covers the segments from `low` up to, not including, `high`.
typedef struct {
  int64_t step, low, high, slot, is_start;
} Border;

static void sweep_borders(const Border *borders, Py_ssize_t count, const uint64_t *bounds, const Live *live, int64_t peak_step,
                          const char *is_wanted, Segment *segments, Without *slots) {
  for (const Border *border = borders; border < borders + count; border++) {
    Without *own = &slots[border->slot];
    int64_t alone = 0;
    for (int64_t i = border->low; i < border->high; i++) {
      Segment *segment = &segments[i];
      int64_t size = (int64_t)(bounds[i + 1] - bounds[i]), other = border->is_start ? segment->slots : segment->slots ^ border->slot;
      segment->slots ^= border->slot;
      segment->count += border->is_start ? 1 : -1;
      if (segment->count == 1 + border->is_start && is_wanted[other])
        change_alone(&slots[other], live, border->step, peak_step, border->is_start ? -size : size);
      alone += segment->count == border->is_start ? size : 0;
    }
    if (!is_wanted[border->slot]) continue;
    if (border->is_start) {
      *own = (Without){.step = NONE, .alone = alone, .since = border->step};
      int64_t place = highest_between(live, 0, changes_before(live, border->step));
      if (place != NONE && live->bytes[place] > 0) own->peak = live->bytes[place], own->step = live->steps[place];
    } else {
      change_alone(own, live, border->step, peak_step, 0);
      add_steps(own, live, border->step, INT64_MAX, 0);
    }
  }
}

// next_peaks(bounds, borders, is_wanted, steps, bytes, peak_step): for each slot the bytes that only it covers at `peak_step`, the peak of
// the live bytes without it, and its first step, NONE if there is none. `bounds` are the bytes at which the segments start, followed by
// the end of the last. `borders` have five cells each, see above, in the order of their steps; at the same step, ends come first. `steps`
// and `bytes` are the live bytes over time. `is_wanted` has a byte for each slot; those that are not wanted get any numbers. All cells
// have 64 bits.
PyObject *next_peaks(PyObject *Py_UNUSED(self), PyObject *args) {
  Py_buffer bounds, borders, is_wanted, steps, bytes;
  long long peak_step;
  if (!PyArg_ParseTuple(args, "y*y*y*y*y*L:next_peaks", &bounds, &borders, &is_wanted, &steps, &bytes, &peak_step)) return NULL;
  Live live = {.steps = steps.buf, .bytes = bytes.buf, .count = steps.len / WIDE};
  Without *slots = calloc((size_t)is_wanted.len + 1, sizeof *slots);
  Segment *segments = calloc((size_t)(bounds.len / WIDE) + 1, sizeof *segments);
  PyObject *result = PyBytes_FromStringAndSize(NULL, 3 * WIDE * is_wanted.len);
  if (slots && segments && build_tree(&live) && result) {
    int64_t *found = (int64_t *)PyBytes_AsString(result);
    Py_BEGIN_ALLOW_THREADS
    sweep_borders(borders.buf, borders.len / (Py_ssize_t)sizeof(Border), bounds.buf, &live, peak_step, is_wanted.buf, segments, slots);
    for (Py_ssize_t i = 0; i < is_wanted.len; i++) {
      found[3 * i] = slots[i].freed;
      found[3 * i + 1] = slots[i].peak;
      found[3 * i + 2] = slots[i].step;
    }
    Py_END_ALLOW_THREADS
  } else if (result) {
    Py_CLEAR(result);
    PyErr_NoMemory();
  }
  free(slots);
  free(segments);
  free(live.highest);
  PyBuffer_Release(&bounds);
  PyBuffer_Release(&borders);
  PyBuffer_Release(&is_wanted);
  PyBuffer_Release(&steps);
  PyBuffer_Release(&bytes);
  return result;
}
