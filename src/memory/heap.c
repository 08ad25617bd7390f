/* The pairing heap of heap.h. */
#include "memory/heap.h"

/* Puts the greater of two roots below the other one, in front of those that are there. */
static inline wf__order_node *meld(wf__order_node *a, wf__order_node *b) {
  if (wf__order_less(&b->key, &a->key)) {
    wf__order_node *less = b;
    b = a;
    a = less;
  }
  b->beside = a->below;
  if (b->beside) b->beside->back = b;
  b->back = a;
  a->below = b;
  return a;
}

wf__order_node *wf__heap_insert(wf__order_node *root, wf__order_node *node) {
  node->below = node->beside = NULL;
  return root ? meld(root, node) : node;
}

/* One heap of all that hang side by side: in pairs from the first on, and those from the last one on. */
static wf__order_node *join(wf__order_node *first) {
  wf__order_node *pairs = NULL, *all;
  while (first) {
    wf__order_node *a = first, *b = a->beside;
    first = b ? b->beside : NULL;
    a->beside = NULL;
    if (b) a = meld(a, b);
    a->beside = pairs;
    pairs = a;
  }
  if (!pairs) return NULL;
  for (all = pairs, pairs = all->beside; pairs;) {
    wf__order_node *next = pairs->beside;
    all = meld(all, pairs);
    pairs = next;
  }
  all->beside = NULL;
  return all;
}

wf__order_node *wf__heap_remove(wf__order_node *root, wf__order_node *node) {
  wf__order_node *below = node->below, *next = node->beside;
  if (node == root) return below ? join(below) : NULL;
  if (node->back->below == node) node->back->below = next;
  else node->back->beside = next;
  if (next) next->back = node->back;
  return below ? meld(root, join(below)) : root;
}
