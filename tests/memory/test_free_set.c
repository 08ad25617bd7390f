/* The set of free blocks against a sorted array: every search in every state, over streams and sizes of all classes. */
#include "test.h"

#include <stdlib.h>

#include "base/host.h"
#include "memory/free_set.h"

enum { NODES = 300 };

static uint32_t seed = 7;
static uint32_t draw(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

static int compare(const wf__order_key *a, const wf__order_key *b) {
  if (a->stream != b->stream) return a->stream < b->stream ? -1 : 1;
  if (a->size != b->size) return a->size < b->size ? -1 : 1;
  if (a->tie != b->tie) return a->tie < b->tie ? -1 : 1;
  return a->address < b->address ? -1 : a->address > b->address;
}

static int by_key(const void *a, const void *b) {
  return compare(&(*(wf__order_node *const *)a)->key, &(*(wf__order_node *const *)b)->key);
}

/* Sizes that are alike, at the edges of classes, and far apart. */
static uint64_t draw_size(void) {
  static const uint64_t edges[] = {
      512, 1024, 1 << 20, (1 << 20) - 512, (1 << 20) + 512, 2 << 20, (uint64_t)1 << 40, (uint64_t)1 << 59};
  switch (draw(4)) {
    case 0: return edges[draw(8)];
    case 1: return 512 * (uint64_t)(1 + draw(16));
    case 2: return 512 * (uint64_t)(1 + draw(4096));
    default: return 512 * (uint64_t)(1 + draw(1 << 20));
  }
}

static void check(const wf__free_set *set, wf__order_node **sorted, int n, const wf__order_key *key) {
  int at = 0, behind = 0;
  while (at < n && compare(&sorted[at]->key, key) < 0) at++;
  behind = at + (at < n && compare(&sorted[at]->key, key) == 0);
  assert_ptr_equal(wf__free_set_at_least(set, key), at < n ? sorted[at] : NULL);
  assert_ptr_equal(wf__free_set_after(set, key), behind < n ? sorted[behind] : NULL);
  assert_ptr_equal(wf__free_set_before(set, key), at > 0 ? sorted[at - 1] : NULL);
}

static void searches_agree_with_a_sorted_array(void **state) {
  wf__free_set set = {0};
  static wf__order_node nodes[NODES];
  static bool in[NODES];
  wf__order_node *sorted[NODES];
  assert_null(wf__free_set_first(&set));
  for (uint64_t stream = 0; stream < 3; stream++) assert_true(wf__free_set_reserve(&set, 5 * stream));
  for (int round = 0; round < 4000; round++) {
    uint32_t i = draw(NODES);
    if (in[i]) {
      wf__free_set_remove(&set, &nodes[i]);
    } else {
      nodes[i].key = (wf__order_key){5 * draw(3), draw_size(), draw(3), 512 * (uint64_t)(i + 1)};
      wf__free_set_insert(&set, &nodes[i]);
    }
    in[i] = !in[i];
    if (round % 8) continue;
    int n = 0;
    for (int k = 0; k < NODES; k++)
      if (in[k]) sorted[n++] = &nodes[k];
    qsort(sorted, (size_t)n, sizeof *sorted, by_key);
    assert_ptr_equal(wf__free_set_first(&set), n ? sorted[0] : NULL);
    for (int k = 0; k < 40; k++) {
      wf__order_key key = {draw(13), draw_size(), draw(3), 512 * (uint64_t)draw(NODES)};
      check(&set, sorted, n, k % 2 && n ? &sorted[draw((uint32_t)n)]->key : &key);
    }
  }
  wf__free_set_drop(&set);
}

/* Only best fits are asked for, as while memory is at hand; then somebody walks through all of it, and it goes on. */
static void best_fits_agree_with_a_sorted_array_between_walks(void **state) {
  wf__free_set set = {0};
  static wf__order_node nodes[NODES];
  static bool in[NODES];
  assert_true(wf__free_set_reserve(&set, 0));
  for (int round = 0; round < 6000; round++) {
    uint32_t i = draw(NODES);
    if (in[i]) {
      wf__free_set_remove(&set, &nodes[i]);
    } else {
      nodes[i].key = (wf__order_key){0, 512 * (uint64_t)(1 + draw(8)), draw(3), 512 * (uint64_t)(i + 1)};
      wf__free_set_insert(&set, &nodes[i]);
    }
    in[i] = !in[i];
    wf__order_node *sorted[NODES];
    int n = 0, at = 0;
    for (int k = 0; k < NODES; k++)
      if (in[k]) sorted[n++] = &nodes[k];
    qsort(sorted, (size_t)n, sizeof *sorted, by_key);
    wf__order_key key = {0, 512 * (uint64_t)draw(10), 0, 0};
    while (at < n && compare(&sorted[at]->key, &key) < 0) at++;
    assert_ptr_equal(wf__free_set_at_least(&set, &key), at < n ? sorted[at] : NULL);
    if (round % 1500 != 1499) continue;
    wf__order_node *node = wf__free_set_first(&set);
    for (int k = 0; k < n; k++, node = wf__free_set_after(&set, &node->key)) assert_ptr_equal(node, sorted[k]);
    assert_null(node);
  }
  wf__free_set_drop(&set);
}

static void without_host_memory_a_stream_is_refused(void **state) {
  wf__free_set set = {0};
  assert_true(wf__free_set_reserve(&set, 1));
  wf__fault_at(1);
  assert_false(wf__free_set_reserve(&set, 2));
  assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
  assert_true(wf__free_set_reserve(&set, 1));
  wf__fault_at(0);
  wf__free_set_drop(&set);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(searches_agree_with_a_sorted_array),
    cmocka_unit_test(best_fits_agree_with_a_sorted_array_between_walks),
    cmocka_unit_test(without_host_memory_a_stream_is_refused),
};

WF_TEST_MAIN("memory/free_set", tests)
