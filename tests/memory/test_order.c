/* The ordered set against a sorted array that is searched from the front. */
#include "test.h"

#include <stdlib.h>

#include "memory/order.h"

enum { NODES = 300 };

static int compare(const void *a, const void *b) {
  const wf__order_key *x = &(*(wf__order_node *const *)a)->key, *y = &(*(wf__order_node *const *)b)->key;
  const uint64_t *p = &x->stream, *q = &y->stream; /* the four members, most important first */
  for (int i = 0; i < 4; i++)
    if (p[i] != q[i]) return p[i] < q[i] ? -1 : 1;
  return 0;
}

static void check_all(const wf__order *order, wf__order_node **sorted, int n, const wf__order_key *key) {
  wf__order_node probe = {.key = *key}, *probed = &probe;
  int low = 0;
  while (low < n && compare(&sorted[low], &probed) < 0) low++;
  bool same = low < n && compare(&sorted[low], &probed) == 0;
  assert_ptr_equal(wf__order_at_least(order, key), low < n ? sorted[low] : NULL);
  assert_ptr_equal(wf__order_after(order, key), low + same < n ? sorted[low + same] : NULL);
  assert_ptr_equal(wf__order_before(order, key), low ? sorted[low - 1] : NULL);
}

static void searches_agree_with_a_sorted_array(void **state) {
  static wf__order_node nodes[NODES];
  wf__order order = {0};
  wf__order_node *sorted[NODES];
  bool in[NODES] = {0};
  int n = 0;
  unsigned seed = 5;
  for (int i = 0; i < NODES; i++) /* few different values, so that later members decide */
    nodes[i].key =
        (wf__order_key){(unsigned)i % 3, (unsigned)i / 3 % 4, (unsigned)i / 12 % 3, (unsigned)(i * 7919 % NODES)};
  for (int step = 0; step < 5000; step++) {
    seed = seed * 1664525u + 1013904223u;
    int i = (int)(seed >> 8) % NODES;
    if (in[i]) {
      wf__order_remove(&order, &nodes[i]);
      int at = 0;
      while (sorted[at] != &nodes[i]) at++;
      memmove(&sorted[at], &sorted[at + 1], (size_t)(--n - at) * sizeof *sorted);
    } else {
      wf__order_insert(&order, &nodes[i]);
      sorted[n++] = &nodes[i];
      qsort(sorted, (size_t)n, sizeof *sorted, compare);
    }
    in[i] = !in[i];
    check_all(&order, sorted, n, &nodes[(i * 31 + step) % NODES].key);
  }
  assert_ptr_equal(wf__order_first(&order), n ? sorted[0] : NULL);
}

static int depth(const wf__order_node *node) {
  if (!node) return 0;
  int left = depth(node->left), right = depth(node->right);
  return 1 + (left > right ? left : right);
}

/* Keys that come in order are the worst case of a plain tree; 4096 of them would be 4096 deep. */
static void keys_that_come_in_order_make_a_shallow_tree(void **state) {
  static wf__order_node nodes[4096];
  wf__order order = {0};
  for (unsigned i = 0; i < 4096; i++) {
    nodes[i].key.address = i;
    wf__order_insert(&order, &nodes[i]);
  }
  assert_true(depth(order.root) < 60);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(searches_agree_with_a_sorted_array),
    cmocka_unit_test(keys_that_come_in_order_make_a_shallow_tree),
};

WF_TEST_MAIN("memory/order", tests)
