/* Rows of memory that will be read next, whose lines are asked for a few at a time, while something else is done. */
#ifndef WF_KERNEL_AHEAD_H
#define WF_KERNEL_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#define WF__AHEAD_LINE 64

typedef struct wf__ahead {
  const char *row;
  int64_t stride, length; /* bytes from row to row, and of each */
  int64_t rows;           /* that are left */
  int64_t at;             /* bytes of the first that were asked for */
  bool near;              /* into the first cache, not only the second */
} wf__ahead;

/* A row into the first cache. gcc 12 takes a function that does nothing but prefetch for one without effect, and leaves its calls out: the empty
 * instruction is an effect. */
static inline void wf__fetch(const char *row, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += WF__AHEAD_LINE) __builtin_prefetch(row + i);
  __asm__ volatile("");
}

static inline void wf__ask(wf__ahead *next, int64_t lines) {
  for (; lines > 0 && next->rows > 0; lines--) {
    const char *p = next->row + next->at;
    if (next->near) __builtin_prefetch(p);
    else __builtin_prefetch(p, 0, 2);
    next->at += WF__AHEAD_LINE - (int64_t)((uintptr_t)p % WF__AHEAD_LINE);
    if (next->at < next->length) continue;
    next->at = 0;
    next->row += next->stride;
    next->rows--;
  }
}

#endif
