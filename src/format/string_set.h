/* Distinct strings, each kept once and named by a number: the same bytes always give the same number. Number 0 is the empty string.
 * A string costs its bytes and 13 more, whatever the number of times it comes. */
#ifndef WF_FORMAT_STRING_SET_H
#define WF_FORMAT_STRING_SET_H

#include "base/error.h"

typedef struct wf__string_set {
  char *bytes; /* all strings, each with a zero byte behind it */
  size_t used, room;
  uint64_t *begin; /* of each string in `bytes`, and one more for the end */
  uint32_t count, begin_room;
  uint32_t *slots; /* numbers, by hash; UINT32_MAX: none */
  uint32_t slot_count;
} wf__string_set;

/* The number of a string of n bytes. UINT32_MAX on error (WF_NO_MEMORY). */
uint32_t wf__string_set_add(wf__string_set *strings, const char *text, size_t n);
/* Its text, which ends in a zero byte; "" for a number that isn't there. Holds until the next string is added. */
const char *wf__string_set_text(const wf__string_set *strings, uint32_t number);
size_t wf__string_set_size(const wf__string_set *strings, uint32_t number);
/* Makes each string plain, as wf__text_plain does. No string is to be added afterwards: the old ones aren't found by their bytes then. */
void wf__string_set_plain(wf__string_set *strings);
void wf__string_set_release(wf__string_set *strings);

/* A hash of bytes for tables in memory; never written to files. */
uint64_t wf__hash_bytes(const void *bytes, size_t n);

#endif
