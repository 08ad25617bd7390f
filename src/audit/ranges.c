/* A sorted array: segments are few, and change rarely. */
#include "audit/ranges.h"

#include "base/host.h"

/* The first that ends behind the address. */
static size_t first_behind(const wf__ranges *r, uint64_t address) {
  size_t low = 0, high = r->n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (r->at[middle].address + r->at[middle].size <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static wf_status insert(wf__ranges *r, size_t at, wf__range range) {
  const wf__range *place = WF__SNAP_ADD(*r);
  if (!place) return WF_NO_MEMORY;
  memmove(r->at + at + 1, r->at + at, (r->n - 1 - at) * sizeof *r->at);
  r->at[at] = range;
  return WF_OK;
}

static void take_out(wf__ranges *r, size_t at) {
  memmove(r->at + at, r->at + at + 1, (r->n - at - 1) * sizeof *r->at);
  r->n--;
}

static wf_status new_life(wf__history *h, wf__segment_life life, uint32_t *number) {
  wf__segment_life *place = WF__SNAP_ADD(h->segments);
  if (!place) return WF_NO_MEMORY;
  *place = life;
  *number = (uint32_t)(h->segments.n - 1);
  return WF_OK;
}

wf_status wf__ranges_add(wf__ranges *r, wf__history *h, wf__segment_life life) {
  uint32_t number;
  size_t at = first_behind(r, life.address);
  if (at < r->n && r->at[at].address < life.address + life.size)
    return WF_OK; /* something is there: a history with a gap */
  WF__TRY(new_life(h, life, &number));
  return insert(r, at, (wf__range){life.address, life.size, number});
}

/* Cuts the range in two; both parts are lives that end together. */
static wf_status cut(wf__ranges *r, wf__history *h, size_t at, uint64_t address) {
  wf__range *low = &r->at[at];
  wf__segment_life rest = h->segments.at[low->segment];
  uint64_t front = address - low->address;
  uint32_t number;
  rest.address = address;
  rest.size = low->size - front;
  WF__TRY(new_life(h, rest, &number));
  WF__TRY(insert(r, at + 1, (wf__range){address, rest.size, number}));
  r->at[at].size = h->segments.at[r->at[at].segment].size = front;
  return WF_OK;
}

wf_status wf__ranges_begin(wf__ranges *r, wf__history *h, const wf__snap_event *e, uint32_t state) {
  uint64_t end = e->address + e->size;
  size_t at = first_behind(r, e->address);
  if (at == r->n || r->at[at].address >= end) h->unmatched++;
  if (at < r->n && r->at[at].address < e->address) WF__TRY(cut(r, h, at++, e->address));
  while (at < r->n && r->at[at].address < end) {
    if (r->at[at].address + r->at[at].size > end) WF__TRY(cut(r, h, at, end));
    wf__segment_life *life = &h->segments.at[r->at[at].segment];
    life->born = state;
    life->stack = e->stack;
    take_out(r, at);
  }
  return WF_OK;
}

const wf__range *wf__ranges_find(const wf__ranges *r, uint64_t address) {
  size_t at = first_behind(r, address);
  return at < r->n && r->at[at].address <= address ? &r->at[at] : NULL;
}

void wf__ranges_release(wf__ranges *r) {
  wf__release(r->at);
  r->n = r->room = 0;
  r->at = NULL;
}
