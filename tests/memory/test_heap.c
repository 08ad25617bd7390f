/* The heap against the least of an array that is searched through, while records come and go at random. */
#include "test.h"

#include "memory/heap.h"

enum { NODES = 400 };

static uint32_t seed = 3;
static uint32_t draw(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

static wf__order_node nodes[NODES];
static bool in[NODES];

static wf__order_node *least(void) {
  wf__order_node *found = NULL;
  for (int i = 0; i < NODES; i++)
    if (in[i] && (!found || wf__order_less(&nodes[i].key, &found->key))) found = &nodes[i];
  return found;
}

static wf__order_node *take_out(wf__order_node *root, wf__order_node *node) {
  in[node - nodes] = false;
  return wf__heap_remove(root, node);
}

static void the_root_is_the_least_whatever_comes_and_goes(void **state) {
  wf__order_node *root = NULL;
  for (int i = 0; i < NODES; i++)
    nodes[i].key = (wf__order_key){0, 512, draw(20), 512 * (uint64_t)draw(1 << 20) + (uint64_t)i};
  for (int round = 0; round < 20000; round++) {
    uint32_t i = draw(NODES);
    if (in[i]) {
      root = take_out(root, &nodes[i]);
    } else if (round % 3) {
      in[i] = true;
      root = wf__heap_insert(root, &nodes[i]);
    } else if (root) {
      root = take_out(root, root);
    }
    assert_ptr_equal(root, least());
  }
  while (root) {
    root = take_out(root, root);
    assert_ptr_equal(root, least());
  }
}

static void what_came_in_order_leaves_in_order(void **state) {
  for (int backwards = 0; backwards < 2; backwards++) {
    wf__order_node *root = NULL;
    for (int i = 0; i < NODES; i++) {
      nodes[i].key = (wf__order_key){.address = (uint64_t)(backwards ? NODES - i : i)};
      root = wf__heap_insert(root, &nodes[i]);
    }
    for (int i = 0; i < NODES; i++) {
      assert_ptr_equal(root, &nodes[backwards ? NODES - 1 - i : i]);
      root = wf__heap_remove(root, root);
    }
    assert_null(root);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_root_is_the_least_whatever_comes_and_goes),
    cmocka_unit_test(what_came_in_order_leaves_in_order),
};

WF_TEST_MAIN("memory/heap", tests)
