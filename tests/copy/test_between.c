/* Copies between the host and an emulated device and between two of those: any layout, dtype and broadcast, from pinned and pageable memory, waiting
 * and not, against a loop over indices. What lies between the destination's elements must stay. */
#include "test.h"

#include <weft/weft.h>
#include "../kernel/guarded.h"
#include "kernel/tables.h"
#include "tensor/tensor.h"

#define MOST_DIMS 4

typedef struct layout {
  int ndim;
  int64_t size[MOST_DIMS], stride[MOST_DIMS], offset, elements; /* elements: of the memory that it needs */
} layout;

/* Dims in a random order, some with gaps. */
static layout random_layout(const int64_t *size, int ndim, uint64_t *seed) {
  layout l = {.ndim = ndim, .offset = (int64_t)(random_next(seed) % 3)};
  int order[MOST_DIMS] = {0, 1, 2, 3};
  bool ordered = random_next(seed) % 2;
  for (int i = ndim - 1; i > 0 && !ordered; i--) {
    int j = (int)(random_next(seed) % (uint64_t)(i + 1)), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  int64_t stride = 1;
  bool dense = random_next(seed) % 2;
  for (int i = ndim - 1; i >= 0; i--) {
    l.size[order[i]] = size[order[i]];
    l.stride[order[i]] = stride;
    stride *= size[order[i]] + (dense ? 0 : (int64_t)(random_next(seed) % 2));
  }
  l.elements = l.offset + stride;
  return l;
}

static wf_tensor *numbers(int64_t n, wf_dtype dtype, uint64_t *seed) {
  wf_tensor_options o = wf_tensor_defaults();
  o.dtype = dtype;
  wf_tensor *t = wf_empty(WF_SHAPE(n), &o);
  random_fill(wf__data(t), dtype, n, seed);
  return t;
}

/* The same numbers on a device, or in pinned host memory, or where they are. */
static wf_tensor *placed(const wf_tensor *t, wf_device device, bool pinned) {
  if (device.type != WF_DEVICE_CPU) return wf_to_device(t, device, false);
  return pinned ? wf_pin_memory(t) : wf_clone(t, WF_FORMAT_PRESERVE);
}

static wf_tensor *view_of(const wf_tensor *memory, const layout *l) {
  return wf_as_strided(memory, wf_dims_of(l->size, l->ndim), wf_dims_of(l->stride, l->ndim), l->offset);
}

/* What the destination's memory holds afterwards. */
static void expect(char *memory, const layout *to, wf_dtype to_type, const char *source, const layout *from,
                   wf_dtype from_type) {
  int64_t count = 1;
  for (int d = 0; d < to->ndim; d++) count *= to->size[d];
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, at = to->offset, of = from->offset;
    for (int d = to->ndim - 1; d >= 0; d--) {
      int64_t index = rest % to->size[d];
      int missing = to->ndim - from->ndim;
      rest /= to->size[d];
      at += index * to->stride[d];
      if (d >= missing && from->size[d - missing] != 1) of += index * from->stride[d - missing];
    }
    wf__kernels_of(WF__ISA_REF)
        ->convert[from_type][to_type](memory + at * (int64_t)wf_dtype_size(to_type),
                                      source + of * (int64_t)wf_dtype_size(from_type), 1);
  }
}

static void check(wf_device to_device, wf_device from_device, uint64_t *seed) {
  wf_scope scope = wf_scope_begin();
  int64_t size[MOST_DIMS], narrow[MOST_DIMS];
  int ndim = (int)(random_next(seed) % (MOST_DIMS + 1)), missing = ndim ? (int)(random_next(seed) % 6 == 0) : 0;
  for (int d = 0; d < ndim; d++) size[d] = 1 + (int64_t)(random_next(seed) % 9);
  for (int d = missing; d < ndim; d++) narrow[d - missing] = random_next(seed) % 8 ? size[d] : 1;
  layout to = random_layout(size, ndim, seed), from = random_layout(narrow, ndim - missing, seed);
  wf_dtype to_type = (wf_dtype)(1 + random_next(seed) % 10);
  wf_dtype from_type = random_next(seed) % 2 ? to_type : (wf_dtype)(1 + random_next(seed) % 10);
  bool pinned = random_next(seed) % 2, non_blocking = random_next(seed) % 2;
  wf_tensor *old = numbers(to.elements, to_type, seed), *source = numbers(from.elements, from_type, seed);
  wf_tensor *memory = placed(old, to_device, pinned), *there = placed(source, from_device, pinned);
  expect(wf__data(old), &to, to_type, wf__data(source), &from, from_type);
  assert_ok(wf_copy_(view_of(memory, &to), view_of(there, &from), non_blocking));
  assert_ok(wf_device_sync(from_device));
  assert_ok(wf_device_sync(to_device));
  wf_tensor *result = to_device.type == WF_DEVICE_CPU ? memory : wf_to_device(memory, wf_cpu(), false);
  if (memcmp(wf__data(result), wf__data(old), (size_t)to.elements * wf_dtype_size(to_type)))
    fail_msg("%s to %s, %d dims, %s, %s: wrong", wf_dtype_name(from_type), wf_dtype_name(to_type), ndim,
             pinned ? "pinned" : "pageable", non_blocking ? "not waiting" : "waiting");
  wf_scope_end(scope, NULL);
}

static void host_memory_reaches_a_device_in_any_layout(void **state) {
  (void)state;
  uint64_t seed = 11;
  for (int i = 0; i < 600; i++) check(wf_sim(0), wf_cpu(), &seed);
}

static void a_device_is_read_into_host_memory_in_any_layout(void **state) {
  (void)state;
  uint64_t seed = 12;
  for (int i = 0; i < 600; i++) check(wf_cpu(), wf_sim(0), &seed);
}

static void two_devices_meet_on_the_host(void **state) {
  (void)state;
  uint64_t seed = 13;
  for (int i = 0; i < 300; i++) check(wf_sim(1), wf_sim(0), &seed);
}

/* The one kind of copy that may still be under way when the call returns is one that isn't waited for, of pinned memory. */
static void a_read_into_pageable_memory_is_over_on_return(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  uint64_t seed = 14;
  wf_tensor *source = numbers(50000, WF_F32, &seed), *there = wf_to_device(source, wf_sim(0), false);
  wf_tensor *back = wf_empty(WF_SHAPE(50000), NULL);
  assert_ok(wf_copy_(back, there, true));
  assert_memory_equal(wf__data(back), wf__data(source), 200000);
  wf_scope_end(scope, NULL);
}

static void transfers_that_do_not_fit_are_refused_and_change_nothing(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_tensor *to = wf_to_device(wf_zeros(WF_SHAPE(2, 3), NULL), wf_sim(0), false);
  assert_int_equal(wf_copy_(to, wf_ones(WF_SHAPE(4), NULL), false), WF_RUNTIME);
  wf_error_take();
  wf_tensor *back = wf_to_device(to, wf_cpu(), false);
  for (int i = 0; i < 6; i++) assert_true(((float *)wf__data(back))[i] == 0);
  wf_scope_end(scope, NULL);
}

static int two_devices(void **state) {
  (void)state;
  return setenv("WEFT_SIM", "devices=2,mem=64MiB", 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(host_memory_reaches_a_device_in_any_layout, two_devices),
    cmocka_unit_test(a_device_is_read_into_host_memory_in_any_layout),
    cmocka_unit_test(two_devices_meet_on_the_host),
    cmocka_unit_test(a_read_into_pageable_memory_is_over_on_return),
    cmocka_unit_test(transfers_that_do_not_fit_are_refused_and_change_nothing),
};
WF_TEST_MAIN("copy/between", tests)
