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

static inline const uint8_t *name_end(const uint8_t *at, const uint8_t *end) {
  while (at < end && is_name_character(*at)) at++;
  return at;
}

static inline const uint8_t *after_blanks(const uint8_t *at, const uint8_t *end) {
  while (at < end && is_blank(*at)) at++;
  return at;
}

static inline const uint8_t *after_spaces(const uint8_t *at, const uint8_t *end) {
  while (at < end && is_space(*at)) at++;
  return at;
}

static inline bool starts_with(Text text, const char *wanted) {
  size_t length = strlen(wanted);
  return (size_t)(text.end - text.at) >= length && memcmp(text.at, wanted, length) == 0;
}

// The name that a text starts with, behind an optional `%`; empty if there is none.
static inline Text leading_name(Text text) {
  const uint8_t *at = text.at + (text.at < text.end && *text.at == '%');
  return (Text){at, name_end(at, text.end)};
}

// The name of the instruction that a text starts with, `ROOT %name = shape` with an optional `ROOT`; empty if there is none. `shape`
// receives where the shape starts.
static inline Text defined_name(Text text, const uint8_t **shape) {
  for (int with_root = starts_with(text, "ROOT"); with_root >= 0; with_root--) {
    const uint8_t *start = with_root ? after_spaces(text.at + strlen("ROOT"), text.end) : text.at;
    if (with_root && start == text.at + strlen("ROOT")) continue;
    Text name = leading_name((Text){start, text.end});
    const uint8_t *at = after_spaces(name.end, text.end);
    if (is_empty(name) || at == text.end || *at != '=') continue;
    *shape = after_spaces(at + 1, text.end);
    if (*shape < text.end && ((**shape >= 'a' && **shape <= 'z') || **shape == '(')) return name;
  }
  return (Text){text.at, text.at};
}

#endif
