// Numbers for distinct texts, in the order in which they were first seen. `Text` must be defined before.

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tree_sitter/array.h"

enum { NONE = -1 };

static inline size_t length_of(Text text) { return (size_t)(text.end - text.at); }

static inline bool is_same_text(Text one, Text other) {
  return length_of(one) == length_of(other) && memcmp(one.at, other.at, length_of(one)) == 0;
}

typedef struct {
  uint32_t *slots; // 1 + number, 0: empty
  size_t slot_count;
  Array(Text) texts;
  uint64_t *hashes;
  bool is_out_of_memory;
} Numbers;

// Makes room for `count` distinct texts.
static bool reserve_numbers(Numbers *numbers, size_t count) {
  size_t slot_count = 64;
  while (slot_count / 2 < count) slot_count *= 2;
  if (slot_count <= numbers->slot_count) return true;
  uint32_t *slots = calloc(slot_count, sizeof *slots);
  uint64_t *hashes = slots ? realloc(numbers->hashes, slot_count / 2 * sizeof *hashes) : NULL;
  if (!hashes) {
    free(slots);
    numbers->is_out_of_memory = true;
    return false;
  }
  for (uint32_t number = 0; number < numbers->texts.size; number++) {
    size_t slot = hashes[number] & (slot_count - 1);
    while (slots[slot]) slot = (slot + 1) & (slot_count - 1);
    slots[slot] = number + 1;
  }
  free(numbers->slots);
  numbers->slots = slots;
  numbers->slot_count = slot_count;
  numbers->hashes = hashes;
  array_reserve(&numbers->texts, (uint32_t)(slot_count / 2));
  return true;
}

static uint64_t hash_of(Text text) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  const uint8_t *at = text.at;
  for (; text.end - at >= 8; at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  for (; at < text.end; at++) hash = (hash ^ *at) * UINT64_C(0x100000001b3);
  return hash ^ hash >> 32;
}

// The slot of a text, which is empty if the text has no number. There must be slots.
static size_t slot_of(const Numbers *numbers, Text text, uint64_t hash) {
  size_t slot = hash & (numbers->slot_count - 1);
  for (; numbers->slots[slot]; slot = (slot + 1) & (numbers->slot_count - 1)) {
    uint32_t number = numbers->slots[slot] - 1;
    if (numbers->hashes[number] == hash && is_same_text(numbers->texts.contents[number], text)) break;
  }
  return slot;
}

// The number of a text, which gets the next one if it has none.
static int64_t number_of(Numbers *numbers, Text text) {
  uint64_t hash = hash_of(text);
  if (numbers->texts.size * 2 >= numbers->slot_count && !reserve_numbers(numbers, numbers->slot_count)) return NONE;
  size_t slot = slot_of(numbers, text, hash);
  if (numbers->slots[slot]) return numbers->slots[slot] - 1;
  uint32_t number = numbers->texts.size;
  array_push(&numbers->texts, text);
  numbers->hashes[number] = hash;
  numbers->slots[slot] = number + 1;
  return number;
}

static void free_numbers(Numbers *numbers) {
  free(numbers->slots);
  free(numbers->hashes);
  array_delete(&numbers->texts);
}
