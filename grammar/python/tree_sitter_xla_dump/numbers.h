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
  uint64_t *slots; // the hash of a text, and in the lower half its number + 1; 0: empty
  size_t slot_count;
  Array(Text) texts;
  bool is_out_of_memory;
} Numbers;

// Mixes a text into a hash.
static uint64_t mixed(uint64_t hash, Text text) {
  const uint8_t *at = text.at;
  for (; text.end - at >= 8; at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  for (; at < text.end; at++) hash = (hash ^ *at) * UINT64_C(0x100000001b3);
  return hash;
}

static uint32_t hash_of(Text text) {
  uint64_t hash = mixed(UINT64_C(0xcbf29ce484222325), text);
  return (uint32_t)(hash ^ hash >> 32);
}

// The slot of a text, which is empty if the text has no number. There must be slots.
static uint64_t *slot_of(const Numbers *numbers, Text text, uint32_t hash) {
  for (size_t i = hash;; i++) {
    uint64_t *slot = &numbers->slots[i & (numbers->slot_count - 1)];
    if (!*slot || (*slot >> 32 == hash && is_same_text(numbers->texts.contents[(uint32_t)*slot - 1], text))) return slot;
  }
}

static void grow_numbers(Numbers *numbers) {
  Numbers grown = *numbers;
  grown.slot_count = numbers->slot_count ? 2 * numbers->slot_count : 64;
  grown.slots = calloc(grown.slot_count, sizeof *grown.slots);
  if (!grown.slots) {
    numbers->is_out_of_memory = true;
    return;
  }
  for (size_t old = 0; old < numbers->slot_count; old++) {
    if (!numbers->slots[old]) continue;
    size_t slot = numbers->slots[old] >> 32;
    while (grown.slots[slot & (grown.slot_count - 1)]) slot++;
    grown.slots[slot & (grown.slot_count - 1)] = numbers->slots[old];
  }
  free(numbers->slots);
  *numbers = grown;
}

// The number of a text, which gets the next one if it has none.
static int64_t number_of(Numbers *numbers, Text text) {
  if (numbers->texts.size * 2 >= numbers->slot_count) grow_numbers(numbers);
  if (numbers->is_out_of_memory) return NONE;
  uint32_t hash = hash_of(text);
  uint64_t *slot = slot_of(numbers, text, hash);
  if (!*slot) {
    array_push(&numbers->texts, text);
    *slot = (uint64_t)hash << 32 | numbers->texts.size;
  }
  return (int64_t)(uint32_t)*slot - 1;
}

static void free_numbers(Numbers *numbers) {
  free(numbers->slots);
  array_delete(&numbers->texts);
}
