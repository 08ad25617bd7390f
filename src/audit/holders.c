/* Blocks are sorted by their group's key, then added up. */
#include "audit/holders.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/host.h"
#include "report/units.h"

#define KEY_BEFORE UINT64_MAX     /* allocated before the recording began, where nothing says by whom */
#define KEY_NONE (UINT64_MAX - 1) /* no stack, no module */

static uint64_t frame_key(const wf_snapshot *s, uint32_t stack, uint32_t at) {
  uint32_t number;
  if (at == WF__NO_FRAME) return KEY_NONE;
  memcpy(&number, wf__string_set_text(&s->stacks, stack) + at * sizeof number, sizeof number);
  return number;
}

static uint64_t key_of(const wf__history *h, const wf__call_sites *sites, wf_memory_group by, const wf__block_life *b) {
  if (by == WF_MEMORY_BY_SIZE) return b->requested;
  if (b->from_free || (!b->stack && !b->born)) return KEY_BEFORE;
  return frame_key(h->snapshot, b->stack, by == WF_MEMORY_BY_SITE ? sites->site[b->stack] : sites->module[b->stack]);
}

static int by_key(const void *a, const void *b) {
  const wf__holder *x = a, *y = b;
  return x->key < y->key ? -1 : x->key > y->key;
}

static int by_bytes(const void *a, const void *b) {
  const wf__holder *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return by_key(a, b);
}

static void join(wf__holder *to, const wf__holder *one) {
  if (one->largest > to->largest) {
    to->largest = one->largest;
    to->stack = one->stack;
  }
  if (one->youngest > to->youngest) to->youngest = one->youngest;
  to->bytes += one->bytes;
  to->requested += one->requested;
  to->blocks += one->blocks;
}

wf_status wf__holders_make(wf__holders *to, const wf__history *h, const wf__call_sites *sites, wf_memory_group by,
                           uint32_t state) {
  *to = (wf__holders){.by = by};
  for (size_t i = 0; i < h->blocks.n; i++) {
    const wf__block_life *b = &h->blocks.at[i];
    if (!wf__allocated_at(b, state)) continue;
    wf__holder *one = WF__SNAP_ADD(to->groups);
    if (!one) {
      wf__holders_release(to);
      return WF_NO_MEMORY;
    }
    uint64_t key = key_of(h, sites, by, b);
    *one = (wf__holder){key, b->size, b->requested, 1, b->stack, b->size, b->born, key == KEY_BEFORE};
  }
  if (to->groups.n) qsort(to->groups.at, to->groups.n, sizeof *to->groups.at, by_key);
  size_t n = 0;
  for (size_t i = 0; i < to->groups.n; i++) {
    if (n && to->groups.at[n - 1].key == to->groups.at[i].key) join(&to->groups.at[n - 1], &to->groups.at[i]);
    else to->groups.at[n++] = to->groups.at[i];
  }
  to->groups.n = n;
  if (n) qsort(to->groups.at, n, sizeof *to->groups.at, by_bytes);
  return WF_OK;
}

void wf__holders_release(wf__holders *holders) {
  wf__release(holders->groups.at);
  *holders = (wf__holders){0};
}

char *wf__holder_name(const wf_snapshot *s, const wf__call_sites *sites, const wf__holders *holders,
                      const wf__holder *g, size_t width, char text[WF__SITE_TEXT]) {
  char bytes[WF__UNIT_TEXT];
  if (g->key == KEY_BEFORE) snprintf(text, WF__SITE_TEXT, "(before the recording began)");
  else if (holders->by == WF_MEMORY_BY_SIZE)
    snprintf(text, WF__SITE_TEXT, "%s each", wf__bytes_text((int64_t)g->key, bytes));
  else if (g->key == KEY_NONE)
    snprintf(text, WF__SITE_TEXT, "%s",
             holders->by == WF_MEMORY_BY_MODULE ? "(outside of any forward)" : "(no stack recorded)");
  else
    wf__frame_text(s,
                   wf__snap_frame_at(
                       s, g->stack, holders->by == WF_MEMORY_BY_SITE ? sites->site[g->stack] : sites->module[g->stack]),
                   width, text);
  return text;
}
