// The lexical rules of HLO text, as in server/xla_lens/syntax/hlo/lexical.py.

#ifndef HLO_TEXT_H
#define HLO_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// A part of a text. It is empty if `at` is `end`.
typedef struct {
  const uint8_t *at, *end;
} Text;

static inline bool is_empty(Text text) { return text.at == text.end; }

static inline bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Within a line.
static inline bool is_blank(uint8_t c) { return c == ' ' || c == '\t'; }

static inline bool is_name_character(uint8_t c) {
  switch (c) {
    case '{': case '}': case '(': case ')': case '[': case ']': case '"': case ',': case '=': case '%': return false;
    default: return !is_space(c);
  }
}

// How a character changes the number of open brackets.
static inline int nesting(uint8_t c) {
  switch (c) {
    case '{': case '(': case '[': return 1;
    case '}': case ')': case ']': return -1;
    default: return 0;
  }
}

// What follows the characters of a kind that a text starts with.
static inline const uint8_t *after(bool (*is_of_kind)(uint8_t), const uint8_t *at, const uint8_t *end) {
  while (at < end && is_of_kind(*at)) at++;
  return at;
}

static inline bool starts_with(Text text, const char *wanted) {
  size_t length = strlen(wanted);
  return (size_t)(text.end - text.at) >= length && memcmp(text.at, wanted, length) == 0;
}

// The name that a text starts with, behind an optional `%`; empty if there is none.
static inline Text leading_name(Text text) {
  const uint8_t *at = text.at + (text.at < text.end && *text.at == '%');
  return (Text){at, after(is_name_character, at, text.end)};
}

// The name of the instruction that a text starts with, `ROOT %name = shape` with an optional `ROOT`; empty if there is none. `shape`
// receives where the shape starts, unless it is NULL.
static inline Text defined_name(Text text, const uint8_t **shape) {
  for (int with_root = starts_with(text, "ROOT"); with_root >= 0; with_root--) {
    const uint8_t *start = with_root ? after(is_space, text.at + strlen("ROOT"), text.end) : text.at;
    if (with_root && start == text.at + strlen("ROOT")) continue;
    Text name = leading_name((Text){start, text.end});
    const uint8_t *at = after(is_space, name.end, text.end);
    if (is_empty(name) || at == text.end || *at != '=') continue;
    at = after(is_space, at + 1, text.end);
    if (shape) *shape = at;
    if (at < text.end && ((*at >= 'a' && *at <= 'z') || *at == '(')) return name;
  }
  return (Text){text.at, text.at};
}

#endif
