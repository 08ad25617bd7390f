/* Strings end to end in one buffer, found by an open hash table of their numbers that is at most half full. */
#include "format/string_set.h"

#include <string.h>

#include "base/host.h"
#include "format/text.h"

#define NOTHING UINT32_MAX
#define STRINGS_MAX ((uint32_t)1 << 30)

/* Eight bytes a step, multiplied and folded. */
uint64_t wf__hash_bytes(const void *bytes, size_t n) {
  const char *p = bytes;
  uint64_t hash = 0x9e3779b97f4a7c15u ^ n, word;
  for (; n >= 8; n -= 8, p += 8) {
    memcpy(&word, p, 8);
    hash = (hash ^ word) * 0xd6e8feb86659fd93u;
    hash ^= hash >> 32;
  }
  word = 0;
  if (n) memcpy(&word, p, n);
  hash = (hash ^ word) * 0xd6e8feb86659fd93u;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  return hash ^ hash >> 32;
}

size_t wf__string_set_size(const wf__string_set *s, uint32_t number) {
  return number < s->count ? (size_t)(s->begin[number + 1] - s->begin[number] - 1) : 0;
}

const char *wf__string_set_text(const wf__string_set *s, uint32_t number) {
  return number < s->count ? s->bytes + s->begin[number] : "";
}

/* The slot that holds the string, or the free one where it belongs. */
static uint32_t *slot_of(const wf__string_set *s, const char *text, size_t n) {
  uint32_t mask = s->slot_count - 1, i = (uint32_t)wf__hash_bytes(text, n) & mask;
  for (;; i = (i + 1) & mask) {
    uint32_t number = s->slots[i];
    if (number == NOTHING) return &s->slots[i];
    if (wf__string_set_size(s, number) == n && !memcmp(s->bytes + s->begin[number], text, n)) return &s->slots[i];
  }
}

static bool grow_slots(wf__string_set *s) {
  uint32_t count = s->slot_count ? 2 * s->slot_count : 256, *slots = wf__malloc(count * sizeof *slots);
  if (!slots) return false;
  memset(slots, 0xff, count * sizeof *slots);
  wf__release(s->slots);
  s->slots = slots;
  s->slot_count = count;
  for (uint32_t i = 0; i < s->count; i++) *slot_of(s, wf__string_set_text(s, i), wf__string_set_size(s, i)) = i;
  return true;
}

static bool grow_bytes(wf__string_set *s, size_t n) {
  size_t room = s->room ? s->room : 4096;
  if (n > SIZE_MAX / 4 - s->used) {
    wf__fail_memory(n);
    return false;
  }
  while (room < s->used + n) room *= 2;
  if (room == s->room) return true;
  char *bytes = wf__realloc(s->bytes, room);
  if (!bytes) return false;
  s->bytes = bytes;
  s->room = room;
  return true;
}

static bool grow_begin(wf__string_set *s) {
  if (s->count + 2 <= s->begin_room) return true;
  uint32_t room = s->begin_room ? 2 * s->begin_room : 128;
  uint64_t *begin = wf__realloc(s->begin, room * sizeof *begin);
  if (!begin) return false;
  s->begin = begin;
  s->begin_room = room;
  return true;
}

static uint32_t add(wf__string_set *s, uint32_t *slot, const char *text, size_t n) {
  if (s->count == STRINGS_MAX) {
    wf__fail(WF_NO_MEMORY, "more than %u different strings", STRINGS_MAX);
    return NOTHING;
  }
  if (!grow_bytes(s, n + 1) || !grow_begin(s)) return NOTHING;
  if (!s->count) s->begin[0] = 0;
  if (n) memcpy(s->bytes + s->used, text, n);
  s->bytes[s->used + n] = 0;
  s->used += n + 1;
  s->begin[s->count + 1] = s->used;
  return *slot = s->count++;
}

uint32_t wf__string_set_add(wf__string_set *s, const char *text, size_t n) {
  if (WF__UNLIKELY(2 * (uint64_t)s->count + 2 > s->slot_count) && !grow_slots(s)) return NOTHING;
  if (WF__UNLIKELY(!s->count) && add(s, slot_of(s, "", 0), "", 0) == NOTHING) return NOTHING;
  uint32_t *slot = slot_of(s, text, n);
  return *slot != NOTHING ? *slot : add(s, slot, text, n);
}

void wf__string_set_plain(wf__string_set *s) {
  for (uint32_t i = 0; i < s->count; i++) wf__text_plain(s->bytes + s->begin[i]);
}

void wf__string_set_release(wf__string_set *s) {
  wf__release(s->bytes);
  wf__release(s->begin);
  wf__release(s->slots);
  *s = (wf__string_set){0};
}
