/* See at_hand.h: counting of what threads keep at hand, and giving it back to the policy. */
#include "memory/at_hand.h"

#include "memory/stats.h"

_Atomic uint32_t wf__hand_round;
const char wf__at_hand[] = "";

static int64_t read(const int64_t *field) { return __atomic_load_n(field, __ATOMIC_RELAXED); }

/* ---- counting ---------------------------------------------------------------------------------------------------------- */

static void raise_peak(wf_stat *stat, int64_t to) {
  if (to > stat->peak) stat->peak = to;
}

static void fold(wf__tally *t, wf_stat stat[3]) {
  const int pools[] = {WF__STAT_ALL, WF__STAT_SMALL};
  for (int i = 0; i < 2; i++) {
    wf_stat *s = &stat[pools[i]];
    raise_peak(s, s->current + read(&t->peak));
    s->current += t->net;
    s->allocated += t->up;
    s->freed += t->up - t->net;
  }
  __atomic_store_n(&t->net, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&t->up, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&t->peak, 0, __ATOMIC_RELAXED);
}

void wf__hand_fold(wf__hand *h, wf__seen *seen) {
  fold(&h->count, seen->count);
  fold(&h->size, seen->size);
  fold(&h->requested, seen->requested);
}

/* The peaks of threads needn't have been at one moment: with several, the sum is what it was at most. */
static void show(const wf__hand *hands, size_t offset, const wf_stat seen[3], wf_stat out[3]) {
  int64_t net = 0, up = 0, peak = 0;
  for (const wf__hand *h = hands; h; h = h->next) {
    const wf__tally *t = (const wf__tally *)(const void *)((const char *)h + offset);
    net += read(&t->net);
    up += read(&t->up);
    peak += read(&t->peak);
  }
  for (int i = 0; i < 3; i++) out[i] = seen[i];
  const int pools[] = {WF__STAT_ALL, WF__STAT_SMALL};
  for (int i = 0; i < 2; i++) {
    wf_stat *s = &out[pools[i]];
    raise_peak(s, s->current + (peak > net ? peak : net));
    s->current += net;
    s->allocated += up;
    s->freed += up - net;
  }
}

void wf__hands_stats(const wf__hand *hands, const wf__seen *seen, wf_allocator_stats *stats) {
  show(hands, offsetof(wf__hand, count), seen->count, stats->allocation);
  show(hands, offsetof(wf__hand, size), seen->size, stats->allocated_bytes);
  show(hands, offsetof(wf__hand, requested), seen->requested, stats->requested_bytes);
  for (int i = 0; i < 3; i++) { /* nothing is ever pending on the host */
    stats->active[i] = stats->allocation[i];
    stats->active_bytes[i] = stats->allocated_bytes[i];
  }
}

static void reset(wf__hand *hands, size_t offset, wf_stat seen[3]) {
  int64_t net = 0;
  for (wf__hand *h = hands; h; h = h->next) {
    wf__tally *t = (wf__tally *)(void *)((char *)h + offset);
    int64_t now = read(&t->net);
    __atomic_store_n(&t->peak, now, __ATOMIC_RELAXED); /* its thread may raise it at this moment: then it wins */
    net += now;
  }
  seen[WF__STAT_ALL].peak = seen[WF__STAT_ALL].current + net;
  seen[WF__STAT_SMALL].peak = seen[WF__STAT_SMALL].current + net;
  seen[WF__STAT_LARGE].peak = seen[WF__STAT_LARGE].current;
}

void wf__hands_reset_peak(wf__hand *hands, wf__seen *seen) {
  reset(hands, offsetof(wf__hand, count), seen->count);
  reset(hands, offsetof(wf__hand, size), seen->size);
  reset(hands, offsetof(wf__hand, requested), seen->requested);
}

/* ---- giving back --------------------------------------------------------------------------------------------------------- */

void wf__hand_empty(wf__hand *h, wf_allocator *allocator, size_t keep) {
  for (size_t c = WF__HAND_CLASSES; c-- > 0 && h->bytes > keep;)
    while (h->block[c] && h->bytes > keep) {
      wf_block *block = h->block[c];
      h->block[c] = block->node.link;
      h->bytes -= block->size;
      wf_block_free(allocator, block);
    }
}
