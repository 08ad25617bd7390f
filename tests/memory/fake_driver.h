/* A driver without a device: addresses from a counter, a limit on bytes, streams that advance when told. And the checks that hold
 * for any allocator at any time. */
#ifndef WF_TESTS_FAKE_DRIVER_H
#define WF_TESTS_FAKE_DRIVER_H

#include "test.h"

#include <stdlib.h>
#include <weft/sys/allocator.h>

enum { FAKE_STREAMS = 8, FAKE_SEGMENTS = 512 };

typedef struct fake_driver {
  size_t limit, used; /* bytes; limit 0: none */
  uintptr_t next;
  struct {
    uintptr_t address;
    size_t bytes;
  } out[FAKE_SEGMENTS]; /* segments that haven't come back */
  struct {
    uintptr_t address;
    size_t bytes, mapped;
  } spaces[FAKE_SEGMENTS]; /* reserved and not given up */
  int out_count, space_count, gets, gives, maps, unmaps, waits;
  uint64_t marks, retired, passed[FAKE_STREAMS];
} fake_driver;

static bool fake_get(void *context, size_t bytes, uintptr_t *address) {
  fake_driver *d = context;
  d->gets++;
  if ((d->limit && d->used + bytes > d->limit) || d->out_count == FAKE_SEGMENTS) return false;
  if (!d->next) d->next = (uintptr_t)1 << 30;
  *address = d->next;
  d->next += bytes + (2 << 20); /* a gap, so that segments never touch */
  d->used += bytes;
  d->out[d->out_count].address = *address;
  d->out[d->out_count++].bytes = bytes;
  return true;
}

static void fake_give(void *context, uintptr_t address, size_t bytes) {
  fake_driver *d = context;
  int i = 0;
  while (i < d->out_count && d->out[i].address != address) i++;
  assert_true(i < d->out_count); /* a segment that was got, once */
  assert_int_equal(d->out[i].bytes, bytes);
  d->out[i] = d->out[--d->out_count];
  d->used -= bytes;
  d->gives++;
}

static bool fake_reserve(void *context, size_t bytes, uintptr_t *address) {
  fake_driver *d = context;
  if (d->space_count == FAKE_SEGMENTS) return false;
  if (!d->next) d->next = (uintptr_t)1 << 30;
  *address = d->next;
  d->next += bytes + (2 << 20);
  d->spaces[d->space_count].mapped = 0;
  d->spaces[d->space_count].address = *address;
  d->spaces[d->space_count++].bytes = bytes;
  return true;
}

static int fake_space(const fake_driver *d, uintptr_t address, size_t bytes) {
  int i = 0;
  while (i < d->space_count &&
         !(address >= d->spaces[i].address && address + bytes <= d->spaces[i].address + d->spaces[i].bytes))
    i++;
  assert_true(i < d->space_count);
  assert_int_equal((address - d->spaces[i].address) % (2 << 20), 0);
  assert_int_equal(bytes % (2 << 20), 0);
  return i;
}

static void fake_unreserve(void *context, uintptr_t address, size_t bytes) {
  fake_driver *d = context;
  int i = fake_space(d, address, bytes);
  assert_int_equal(d->spaces[i].address, address);
  assert_int_equal(d->spaces[i].bytes, bytes);
  assert_int_equal(d->spaces[i].mapped, 0);
  d->spaces[i] = d->spaces[--d->space_count];
}

static bool fake_map(void *context, uintptr_t address, size_t bytes) {
  fake_driver *d = context;
  int i = fake_space(d, address, bytes);
  d->maps++;
  if (d->limit && d->used + bytes > d->limit) return false;
  d->spaces[i].mapped += bytes;
  d->used += bytes;
  return true;
}

static void fake_unmap(void *context, uintptr_t address, size_t bytes) {
  fake_driver *d = context;
  int i = fake_space(d, address, bytes);
  assert_true(d->spaces[i].mapped >= bytes);
  d->spaces[i].mapped -= bytes;
  d->used -= bytes;
  d->unmaps++;
}

static uint64_t fake_record(void *context, uint64_t stream) { return ++((fake_driver *)context)->marks << 8 | stream; }
static bool fake_query(void *context, uint64_t event) {
  fake_driver *d = context;
  bool done = d->passed[event & 255] >= event >> 8;
  d->retired += done;
  return done;
}
static void fake_wait(void *context, uint64_t event) {
  fake_driver *d = context;
  d->waits++;
  d->retired++;
  if (d->passed[event & 255] < event >> 8) d->passed[event & 255] = event >> 8;
}
static inline void fake_pass(fake_driver *d, uint64_t stream) { d->passed[stream] = d->marks; }

static wf_allocator *fake_allocator(fake_driver *d, const char *conf) {
  wf_allocator_driver driver = {.context = d,
                                .get = fake_get,
                                .give = fake_give,
                                .record = fake_record,
                                .query = fake_query,
                                .wait = fake_wait,
                                .reserve = fake_reserve,
                                .unreserve = fake_unreserve,
                                .map = fake_map,
                                .unmap = fake_unmap};
  wf_allocator_options options = wf_allocator_defaults();
  options.conf = conf;
  options.total_bytes = d->limit;
  return wf_allocator_new(&driver, &options);
}

/* What a walk must find, and the sums that the statistics must agree with. */
typedef struct fake_census {
  wf_block_view previous;
  bool any;
  int64_t count[3][3], bytes[3][3]; /* [state][pool] */
  int64_t segments[3], reserved[3], requested[3], split[3], split_bytes[3];
} fake_census;

static void fake_visit(const wf_block_view *v, void *context) {
  fake_census *c = context;
  assert_true(v->size > 0 && v->size % 512 == 0);
  if (!c->any || c->previous.segment != v->segment) {
    if (c->any) {
      assert_int_equal(v->segment, c->previous.segment + 1);
      assert_true(v->segment_address > c->previous.segment_address);
      assert_int_equal(c->previous.address + c->previous.size, c->previous.segment_address + c->previous.segment_size);
    }
    assert_int_equal(v->address, v->segment_address);
  } else { /* blocks of a segment lie end to end, and two free ones have been joined */
    assert_int_equal(v->address, c->previous.address + c->previous.size);
    assert_false(v->state == WF_BLOCK_FREE && c->previous.state == WF_BLOCK_FREE);
  }
  for (int pool = 0; pool < 3; pool++) {
    if (pool && pool != (v->large ? 2 : 1)) continue;
    c->count[v->state][pool]++;
    c->bytes[v->state][pool] += (int64_t)v->size;
    c->requested[pool] += (int64_t)v->requested;
    if (v->address == v->segment_address) {
      c->segments[pool] += !v->expandable;
      c->reserved[pool] += (int64_t)v->segment_size;
    }
    if (v->state == WF_BLOCK_FREE && v->size < v->segment_size && !v->expandable) {
      c->split[pool]++;
      c->split_bytes[pool] += (int64_t)v->size;
    }
  }
  c->any = true;
  c->previous = *v;
}

static void fake_check(wf_allocator *allocator, const fake_driver *d) {
  fake_census c = {0};
  wf_allocator_walk(allocator, fake_visit, &c);
  if (c.any)
    assert_int_equal(c.previous.address + c.previous.size, c.previous.segment_address + c.previous.segment_size);
  wf_allocator_stats s;
  wf_allocator_get_stats(allocator, &s);
  assert_int_equal(s.reserved_bytes[0].current, d->used);
  for (int pool = 0; pool < 3; pool++) {
    assert_int_equal(s.allocation[pool].current, c.count[WF_BLOCK_ALLOCATED][pool]);
    assert_int_equal(s.allocated_bytes[pool].current, c.bytes[WF_BLOCK_ALLOCATED][pool]);
    assert_int_equal(s.active[pool].current, c.count[WF_BLOCK_ALLOCATED][pool] + c.count[WF_BLOCK_PENDING][pool]);
    assert_int_equal(s.active_bytes[pool].current, c.bytes[WF_BLOCK_ALLOCATED][pool] + c.bytes[WF_BLOCK_PENDING][pool]);
    assert_int_equal(s.segment[pool].current, c.segments[pool]);
    assert_int_equal(s.reserved_bytes[pool].current, c.reserved[pool]);
    assert_int_equal(s.requested_bytes[pool].current, c.requested[pool]);
    assert_int_equal(s.inactive_split[pool].current, c.split[pool]);
    assert_int_equal(s.inactive_split_bytes[pool].current, c.split_bytes[pool]);
  }
  const wf_stat *each = (const wf_stat *)(const void *)&s; /* every wf_stat comes before the counters */
  for (size_t i = 0; i < offsetof(wf_allocator_stats, alloc_retries) / sizeof(wf_stat); i++) {
    assert_int_equal(each[i].current, each[i].allocated - each[i].freed);
    assert_true(each[i].peak >= each[i].current);
  }
}

#endif
