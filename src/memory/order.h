/* An ordered set of records that carry their own links: a treap. It owns nothing and never allocates.
 *
 * Free blocks are ordered by (stream, size, tie, address) so that the first entry at or after (stream, size) is the best fit;
 * segments use the same order with everything but the address 0. Weights come from a fixed generator, so a history of calls
 * always builds the same tree. Every operation walks one path of expected length O(log n), without recursion. */
#ifndef WF_MEMORY_ORDER_H
#define WF_MEMORY_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wf__order_key {
  uint64_t stream, size, tie, address;
} wf__order_key;

typedef struct wf__order_node {
  wf__order_key key; /* must not change while the node is in a set */
  union {
    struct { /* in an order */
      struct wf__order_node *left, *right;
      uint32_t weight;
    };
    struct { /* in a heap, see heap.h */
      struct wf__order_node *below, *beside, *back;
    };
    void *link; /* in neither: whatever list its record is in */
  };
} wf__order_node;

static inline bool wf__order_less(const wf__order_key *a, const wf__order_key *b) {
  if (a->stream != b->stream) return a->stream < b->stream;
  if (a->size != b->size) return a->size < b->size;
  if (a->tie != b->tie) return a->tie < b->tie;
  return a->address < b->address;
}

typedef struct wf__order {
  wf__order_node *root;
  uint32_t seed;
} wf__order;

/* Adds a node whose key isn't in the set. */
void wf__order_insert(wf__order *order, wf__order_node *node);
/* Takes out a node that is in the set. */
void wf__order_remove(wf__order *order, wf__order_node *node);
/* First node at or after the key, after it, and last node before it; NULL when there is none. */
wf__order_node *wf__order_at_least(const wf__order *order, const wf__order_key *key);
wf__order_node *wf__order_after(const wf__order *order, const wf__order_key *key);
wf__order_node *wf__order_before(const wf__order *order, const wf__order_key *key);
static inline wf__order_node *wf__order_first(const wf__order *order) {
  return wf__order_at_least(order, &(wf__order_key){0, 0, 0, 0});
}

#endif
