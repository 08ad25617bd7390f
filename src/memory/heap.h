/* A heap of the records of order.h: who is first is known at once, and adding one touches two others, where a tree would follow a path of
 * a dozen. Nothing but the first can be found in order. It is a pairing heap: it owns nothing and never allocates, and taking out what
 * is first costs amortised O(log n).
 *
 * Of a node, `below` is the first of those below it, `beside` the next that hangs beside it, and `back` the one before it or, of the first
 * below, the one above. */
#ifndef WF_MEMORY_HEAP_H
#define WF_MEMORY_HEAP_H

#include "memory/order.h"

/* All three return the new root; NULL is the empty heap. `node` isn't in a set, or is in this heap. */
wf__order_node *wf__heap_insert(wf__order_node *root, wf__order_node *node);
wf__order_node *wf__heap_remove(wf__order_node *root, wf__order_node *node);

#endif
