/* From a path to a snapshot: what the file is, its reader, and what must hold of the result before anybody works with it. */
#include <stdlib.h>

#include "audit/file_kind.h"
#include "audit/snapshot.h"
#include "base/host.h"

bool wf__snap_grow(void *array, size_t item_bytes) {
  struct any {
    void *at;
    size_t n, room;
  } *a = array;
  size_t room = a->room ? a->room + a->room / 2 : 64;
  void *at = room <= SIZE_MAX / item_bytes ? wf__realloc(a->at, room * item_bytes) : NULL;
  if (!at) return false;
  a->at = at;
  a->room = room;
  return true;
}

uint32_t wf__snap_stream_number(wf_snapshot *s, uint64_t handle) {
  for (size_t i = s->streams.n; i-- > 0;)
    if (s->streams.at[i] == handle) return (uint32_t)i;
  if (s->streams.n == 4096) {
    wf__fail(WF_VALUE, "%s: more than 4096 streams", s->name);
    return UINT32_MAX;
  }
  uint64_t *place = WF__SNAP_ADD(s->streams);
  if (!place) return UINT32_MAX;
  *place = handle;
  return (uint32_t)(s->streams.n - 1);
}

uint32_t wf__snap_pool_number(wf_snapshot *s, int64_t first, int64_t second) {
  for (size_t i = 0; i < s->pools.n; i++)
    if (s->pools.at[i].id[0] == first && s->pools.at[i].id[1] == second) return (uint32_t)i;
  if (s->pools.n == 4096) return 0; /* other pairs of numbers than pools */
  wf__snap_pool *place = WF__SNAP_ADD(s->pools);
  if (!place) return UINT32_MAX;
  *place = (wf__snap_pool){{first, second}};
  return (uint32_t)(s->pools.n - 1);
}

static int by_place(const void *a, const void *b) {
  const wf__snap_segment *x = a, *y = b;
  if (x->device != y->device) return x->device < y->device ? -1 : 1;
  return x->address < y->address ? -1 : x->address > y->address;
}

static wf_status bad_segment(const wf_snapshot *s, const wf__snap_segment *g, const char *what) {
  return wf__fail(WF_VALUE, "%s: not a memory snapshot that can be read: the segment at 0x%llx %s", s->name,
                  (unsigned long long)g->address, what);
}

/* Blocks lie end to end in their segment. Older releases write no addresses; then they follow from the sizes. */
static wf_status check_segment(const wf_snapshot *s, const wf__snap_segment *g) {
  uint64_t at = g->address;
  if (!g->size || g->address + g->size < g->address) return bad_segment(s, g, "has no size");
  for (uint32_t i = 0; i < g->block_count; i++) {
    wf__snap_block *b = &s->blocks.at[g->first_block + i];
    if (!b->size) return bad_segment(s, g, "has a block without size");
    if (b->address && b->address != at) return bad_segment(s, g, "has blocks that don't lie end to end");
    b->address = at;
    at += b->size;
    if (at - g->address > g->size) return bad_segment(s, g, "has blocks beyond its end");
  }
  return at - g->address == g->size ? WF_OK : bad_segment(s, g, "isn't covered by its blocks");
}

static wf_status finish(wf_snapshot *s) {
  wf__string_set_plain(&s->strings); /* names come from the file and go to terminals, drawings and pages */
  if (s->segments.n) qsort(s->segments.at, s->segments.n, sizeof *s->segments.at, by_place);
  for (size_t i = 0; i < s->segments.n; i++) {
    const wf__snap_segment *g = &s->segments.at[i];
    WF__TRY(check_segment(s, g));
    if (i && g[-1].device == g->device && g[-1].address + g[-1].size > g->address)
      return bad_segment(s, g, "overlaps another one");
  }
  if (!s->pools.n && wf__snap_pool_number(s, 0, 0) == UINT32_MAX) return WF_NO_MEMORY;
  if (!s->streams.n && wf__snap_stream_number(s, 0) == UINT32_MAX) return WF_NO_MEMORY;
  return WF_OK;
}

static wf_status read_kind(wf_snapshot *s, wf__input *input, const wf_snapshot_options *options) {
  const void *first;
  int64_t n = wf__input_peek(input, &first);
  if (n < 0) return wf_error_peek().status;
  wf__file_kind kind = wf__file_kind_of(first, (size_t)n);
  if (kind == WF__FILE_PICKLE) {
    wf_status status = wf__snap_read_pickle(s, input, options);
    return status ? status : finish(s);
  }
  if (kind == WF__FILE_RMM_LOG) {
    wf_status status = wf__snap_read_log(s, input, options);
    return status ? status : finish(s);
  }
  wf__fail(WF_VALUE, "%s: not a memory snapshot: %s", s->name, wf__file_kind_name(kind));
  wf__hint("%s", wf__file_kind_advice(kind));
  return WF_VALUE;
}

wf_snapshot *wf_snapshot_read(const char *path, const wf_snapshot_options *options) {
  wf_snapshot *s = wf__calloc(1, sizeof *s);
  if (!s) return NULL;
  s->name = wf__strdup(path);
  /* number 0 of pools and streams is the default one, of stacks and frames the empty one */
  bool good = s->name && wf__snap_pool_number(s, 0, 0) == 0 && wf__string_set_add(&s->stacks, "", 0) == 0 &&
              wf__string_set_add(&s->frames, "", 0) == 0;
  wf__input *input =
      good ? wf__input_open(path, options ? options->progress : NULL, options ? options->context : NULL) : NULL;
  wf_status status = input ? read_kind(s, input, options) : WF_IO;
  if (input) s->bytes = wf__input_position(input);
  wf__input_close(input);
  if (!status) return s;
  if (status == WF_VALUE && !*wf_error_peek().hint)
    wf__hint(
        "nothing in it was executed; a snapshot that can be read is written by "
        "torch.cuda.memory._dump_snapshot(\"FILE.pickle\")");
  wf_snapshot_free(s);
  return NULL;
}

void wf_snapshot_free(wf_snapshot *s) {
  if (!s) return;
  wf__release(s->events.at);
  wf__release(s->blocks.at);
  wf__release(s->segments.at);
  wf__release(s->all_traces.at);
  wf__release(s->streams.at);
  wf__release(s->pools.at);
  wf__string_set_release(&s->strings);
  wf__string_set_release(&s->frames);
  wf__string_set_release(&s->stacks);
  wf__release(s->name);
  wf__release(s);
}
