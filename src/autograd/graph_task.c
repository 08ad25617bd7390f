/* Discovery of the graph below the roots, without recursion.
 *
 * A node is claimed by writing the pass and the item's number into it, so finding it again costs a comparison. Two passes may walk the same
 * nodes (leaves shared between threads, a pass inside a hook of another): whoever comes second finds such nodes by a table. */
#include "autograd/task.h"
#include "base/host.h"

typedef struct foreign {
  wf__node *node;
  uint32_t item;
} foreign;

/* ---- nodes claimed by others ------------------------------------------------------------------------------------------ */

static uint32_t hash_of(const wf__node *node, uint32_t room) {
  return (uint32_t)(((uintptr_t)node >> 4) * 0x9e3779b97f4a7c15u >> 32) & (room - 1);
}

static foreign *place_of(foreign *table, uint32_t room, const wf__node *node) {
  uint32_t i = hash_of(node, room);
  while (table[i].node && table[i].node != node) i = (i + 1) & (room - 1);
  return &table[i];
}

static wf_status foreign_add(wf__task *task, wf__node *node, uint32_t item) {
  if (task->foreign_n * 2 >= task->foreign_room) {
    uint32_t room = task->foreign_room ? task->foreign_room * 2 : 64;
    foreign *table = wf__calloc(room, sizeof *table);
    if (!table) return wf__self.pending;
    for (uint32_t i = 0; i < task->foreign_room; i++)
      if (task->foreign[i].node) *place_of(table, room, task->foreign[i].node) = task->foreign[i];
    wf__release(task->foreign);
    task->foreign = table;
    task->foreign_room = room;
  }
  *place_of(task->foreign, task->foreign_room, node) = (foreign){node, item};
  task->foreign_n++;
  return WF_OK;
}

uint32_t wf__task_find(const wf__task *task, wf__node *node) {
  if (WF__LIKELY(atomic_load_explicit(&node->task, memory_order_relaxed) == task)) return node->slot;
  if (!task->foreign_room) return WF__NO_ITEM;
  const foreign *f = place_of(task->foreign, task->foreign_room, node);
  return f->node ? f->item : WF__NO_ITEM;
}

/* ---- items ------------------------------------------------------------------------------------------------------------- */

static uint32_t add_item(wf__task *task, wf__node *node) {
  if (task->items == task->item_room) {
    uint32_t room = task->item_room ? task->item_room * 2 : 64;
    wf__item *grown = wf__realloc(task->item, room * sizeof *grown);
    if (!grown) return WF__NO_ITEM;
    task->item = grown;
    uint32_t *order = wf__realloc(task->order, room * sizeof *order);
    if (!order) return WF__NO_ITEM;
    task->order = order;
    uint32_t *ready = wf__realloc(task->ready, room * sizeof *ready);
    if (!ready) return WF__NO_ITEM;
    task->ready = ready;
    task->item_room = room;
  }
  uint32_t i = task->items;
  struct wf__task *none = NULL;
  if (atomic_compare_exchange_strong(&node->task, &none, task)) {
    node->slot = i;
  } else if (foreign_add(task, node, i)) {
    return WF__NO_ITEM;
  }
  task->item[i] = (wf__item){.node = wf__node_retain(node)};
  task->items++;
  return i;
}

/* Depth first; `ready` serves as the stack, `done` counts the entries of `order`. An item enters `order` after all that it leads to. */
static wf_status walk(wf__task *task, uint32_t root, uint32_t *done) {
  uint32_t depth = 0;
  task->ready[depth++] = root;
  while (depth) {
    uint32_t at = task->ready[depth - 1];
    wf__node *node = task->item[at].node;
    if (task->item[at].next_edge == node->edges) {
      task->order[(*done)++] = at;
      depth--;
      continue;
    }
    wf__node *next = node->edge[task->item[at].next_edge++].node;
    if (!next) continue;
    uint32_t i = wf__task_find(task, next);
    if (i == WF__NO_ITEM) {
      if ((i = add_item(task, next)) == WF__NO_ITEM) return wf__self.pending;
      task->ready[depth++] = i;
    }
    task->item[i].dependencies++;
  }
  return WF_OK;
}

static void mark_captures(wf__task *task) {
  for (int c = task->captures_n - 1; c >= 0; c--) {
    uint32_t i = wf__task_find(task, task->captures[c].node);
    if (i == WF__NO_ITEM) continue;
    task->next_capture[c] = task->item[i].capture;
    task->item[i].capture = (uint32_t)c + 1;
  }
}

/* With captures, only nodes that lead to one run; without, all do. */
static void mark_needed(wf__task *task) {
  for (uint32_t k = 0; k < task->items; k++) {
    wf__item *item = &task->item[task->order[k]];
    item->needed = !task->captures;
    for (uint32_t e = 0; e < item->node->edges && !item->needed; e++) {
      wf__node *next = item->node->edge[e].node;
      if (!next) continue;
      const wf__item *to = &task->item[wf__task_find(task, next)];
      item->needed = to->needed || to->capture;
    }
  }
}

static wf_status place_gradients(wf__task *task) {
  size_t total = 0;
  for (uint32_t i = 0; i < task->items; i++) {
    task->item[i].gradient = (uint32_t)total;
    total += task->item[i].node->outputs;
  }
  WF__CHECK(total < UINT32_MAX, WF_RUNTIME, "the graph has too many nodes for one backward pass");
  task->grads = wf__calloc(total, sizeof *task->grads);
  if (!task->grads) return wf__self.pending;
  task->grads_n = total;
  return WF_OK;
}

wf_status wf__task_discover(wf__task *task, const wf__edge *roots, int n) {
  uint32_t done = 0;
  for (int i = 0; i < n; i++) {
    if (!roots[i].node || wf__task_find(task, roots[i].node) != WF__NO_ITEM) continue;
    uint32_t root = add_item(task, roots[i].node);
    if (root == WF__NO_ITEM) return wf__self.pending;
    WF__TRY(walk(task, root, &done));
  }
  if (task->captures) {
    task->next_capture = wf__calloc((size_t)task->captures_n, sizeof *task->next_capture);
    if (!task->next_capture) return wf__self.pending;
    mark_captures(task);
  }
  mark_needed(task);
  return place_gradients(task);
}

void wf__task_clear(wf__task *task) {
  for (size_t i = 0; i < task->grads_n; i++) wf__tensor_release(task->grads[i]);
  for (uint32_t i = 0; i < task->items; i++) {
    wf__node *node = task->item[i].node;
    struct wf__task *mine = task;
    atomic_compare_exchange_strong(&node->task, &mine, NULL);
    wf__node_release(node);
  }
  wf__release(task->grads);
  wf__release(task->next_capture);
  wf__release(task->foreign);
  wf__release(task->ready);
  wf__release(task->order);
  wf__release(task->item);
}
