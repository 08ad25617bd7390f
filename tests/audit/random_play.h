/* Random requests on a recorded allocator, with notes of what it held on the way: what histories are checked against. */
#ifndef WF_TESTS_RANDOM_PLAY_H
#define WF_TESTS_RANDOM_PLAY_H

#include "audit/snapshot_maker.h"
#include "test.h"

#define MIB ((size_t)1 << 20)
enum { BLOCKS = 200, CHECKS = 40 };

/* What the policy held at a moment. */
typedef struct truth {
  size_t events; /* so far */
  maker_walk walk;
  wf_allocator_stats stats;
} truth;

static inline uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u, *seed >> 8; }

static inline size_t random_size(uint32_t *seed) {
  switch (next(seed) % 4) {
    case 0: return 1 + next(seed) % 4096;
    case 1: return 1 + next(seed) % (2 * MIB);
    case 2: return 19 * MIB + next(seed) % (3 * MIB);
    default: return 1 + next(seed) % (12 * MIB);
  }
}

static inline void note(maker *m, truth *t) {
  *t = (truth){.events = m->event_count};
  wf_allocator_walk(m->allocator, maker_gather, &t->walk);
  wf_allocator_get_stats(m->allocator, &t->stats);
}

static inline void take_one(maker *m, wf_block **slot, uint32_t *seed) {
  *slot = maker_alloc(m, random_size(seed), next(seed) % 2, 1 + (int)(next(seed) % 3));
}

static inline void drop_one(maker *m, wf_block **slot, uint32_t *seed) {
  if (next(seed) % 8 == 0) assert_ok(wf_block_record_stream(m->allocator, *slot, 5));
  maker_free(m, *slot, 1);
  *slot = NULL;
}

/* Plays at random and notes the truth at some moments; the last one is the end. */
static inline int play(maker *m, truth *t, uint32_t seed) {
  static const maker_frame frames[] = {{"f", "a.py", 1}, {"g", "b.py", 2}, {"h", "c.py", 3}, {"i", "d.py", 4}};
  wf_block *blocks[BLOCKS] = {0};
  int n = 0;
  for (int i = 0; i < 4; i++) maker_add_stack(m, &frames[i % 2], 2 - i % 2 + i / 2);
  for (int i = 0; i < 3000; i++) {
    wf_block **slot = &blocks[next(&seed) % BLOCKS];
    if (*slot) drop_one(m, slot, &seed);
    else take_one(m, slot, &seed);
    if (next(&seed) % 64 == 0) m->passed[5] = m->marks;
    if (next(&seed) % 500 == 0) {
      m->stack = 4; /* a line of its own */
      wf_allocator_empty_cache(m->allocator);
    }
    if (i % 100 == 99 && n < CHECKS - 1) note(m, &t[n++]);
  }
  note(m, &t[n++]);
  return n;
}

#endif
