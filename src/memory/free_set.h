/* The free blocks of a pool in the order of their keys (stream, size, tie, address), found fast: each stream has its sizes in classes,
 * with a bit for each class that isn't empty, and a heap or an ordered set a class. Classes follow the order of sizes (exact up to 1 MiB, then
 * 32 to a power of two), so the best fit is in the request's own class or is the first of the next one that isn't empty.
 *
 * A stream's classes are made with wf__free_set_reserve, before anything of that stream is inserted; nothing else allocates. */
#ifndef WF_MEMORY_FREE_SET_H
#define WF_MEMORY_FREE_SET_H

#include "memory/order.h"

struct wf__stream_set;

typedef struct wf__free_set {
  struct wf__stream_set *streams; /* ascending */
  struct wf__stream_set *recent;  /* the one used last */
} wf__free_set;

/* Makes room for blocks of that stream; false when host memory is out, with the error set. */
bool wf__free_set_reserve(wf__free_set *set, uint64_t stream);
/* Frees the classes of all streams; the nodes in them are the caller's. */
void wf__free_set_drop(wf__free_set *set);

/* As those of order.h. */
void wf__free_set_insert(wf__free_set *set, wf__order_node *node);
void wf__free_set_remove(wf__free_set *set, wf__order_node *node);
wf__order_node *wf__free_set_at_least(const wf__free_set *set, const wf__order_key *key);
wf__order_node *wf__free_set_after(const wf__free_set *set, const wf__order_key *key);
wf__order_node *wf__free_set_before(const wf__free_set *set, const wf__order_key *key);
static inline wf__order_node *wf__free_set_first(const wf__free_set *set) {
  return wf__free_set_at_least(set, &(wf__order_key){0, 0, 0, 0});
}

#endif
