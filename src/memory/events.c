/* Blocks used on streams other than their own. Freeing such a block marks the present end of those streams; it becomes free when
 * all of them have got there, which is looked at when memory is next asked for, or waited for when memory runs out.
 *
 * What a free needs is taken when the use is recorded, so that freeing can't fail. Marks of one stream pass in order: one that
 * hasn't passed stops the look at its queue, not at the others. */
#include "memory/policy.h"

static wf__use_queue *queue_of(wf_allocator *a, uint64_t stream) {
  for (wf__use_queue *q = a->queues; q; q = q->next)
    if (q->stream == stream) return q;
  if (!wf__records_reserve(&a->queue_records, 1)) return NULL;
  wf__use_queue *q = wf__records_take(&a->queue_records);
  *q = (wf__use_queue){.next = a->queues, .stream = stream};
  return a->queues = q;
}

wf_status wf_block_record_stream(wf_allocator *a, wf_block *block, uint64_t stream) {
  if (!block || stream == block->node.key.stream || !a->driver.record) return WF_OK;
  for (wf__use *use = block->uses; use; use = use->next)
    if (use->queue->stream == stream) return WF_OK;
  wf__use_queue *queue = queue_of(a, stream);
  if (!queue || !wf__records_reserve(&a->uses, 1)) return WF_NO_MEMORY;
  wf__use *use = wf__records_take(&a->uses);
  *use = (wf__use){.next = block->uses, .queue = queue, .block = block};
  block->uses = use;
  return WF_OK;
}

/* Makes the marks of a freed block. False: no stream is behind any more. */
static bool mark(wf_allocator *a, wf_block *block) {
  for (wf__use *use = block->uses, *next; use; use = next) {
    next = use->next;
    use->event = a->driver.record(a->driver.context, use->queue->stream);
    if (!use->event) { /* that stream is done */
      wf__records_put(&a->uses, use);
      continue;
    }
    use->next = NULL;
    if (use->queue->tail) use->queue->tail->next = use;
    else use->queue->head = use;
    use->queue->tail = use;
    block->waits++;
    a->waiting++;
  }
  block->uses = NULL;
  return block->waits > 0;
}

bool wf__uses_defer(wf_allocator *a, wf_block *block) {
  if (!wf__suspended(a)) return mark(a, block);
  block->node.link = a->unmarked;
  a->unmarked = block;
  return true;
}

/* Marks are made again: for blocks freed in the meantime, in the order of their frees. */
static void mark_the_unmarked(wf_allocator *a) {
  wf_block *last = a->unmarked, *first = NULL;
  a->unmarked = NULL;
  while (last) {
    wf_block *block = last;
    last = block->node.link;
    block->node.link = first;
    first = block;
  }
  for (wf_block *next; first; first = next) {
    next = first->node.link;
    if (!mark(a, first)) wf__block_to_free(a, first);
  }
}

/* The mark at *link has passed; `before` is the one in front of it. */
static void retire(wf_allocator *a, wf__use_queue *queue, wf__use **link, wf__use *before) {
  wf__use *use = *link;
  wf_block *block = use->block;
  *link = use->next;
  if (queue->tail == use) queue->tail = before;
  wf__records_put(&a->uses, use);
  a->waiting--;
  if (--block->waits == 0) wf__block_to_free(a, block);
}

void wf__uses_poll(wf_allocator *a) {
  if (WF__LIKELY(!a->waiting && !a->unmarked) || wf__suspended(a)) return;
  mark_the_unmarked(a);
  for (wf__use_queue *queue = a->queues; queue; queue = queue->next)
    while (queue->head && a->driver.query(a->driver.context, queue->head->event)) retire(a, queue, &queue->head, NULL);
}

void wf__uses_wait(wf_allocator *a, const wf__private_pool *only) {
  a->stats.sync_all_streams++;
  mark_the_unmarked(a);
  for (wf__use_queue *queue = a->queues; queue; queue = queue->next) {
    wf__use *before = NULL;
    for (wf__use **link = &queue->head; *link;) {
      if (only && (*link)->block->pool->owner != only) {
        before = *link;
        link = &before->next;
        continue;
      }
      a->driver.wait(a->driver.context, (*link)->event);
      retire(a, queue, link, before);
    }
  }
}
