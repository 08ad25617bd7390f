/* Indexing by several tensors, masks, nonzero. All indices are checked before anything is written.
 *
 * The dims in which no index moves are rows or blocks that are moved as a whole; writes to the table are split over threads by those dims
 * only, so that equal indices meet on one thread, in order. */
#include "exec/families.h"
#include "exec/threads.h"
#include "exec/walk.h"
#include "kernel/indexing.h"
#include "kernel/kernel.h"

typedef struct job {
  const wf_plan *plan;
  wf__walk walk;   /* all dims but `places` and `run` */
  int places, run; /* dim along which places lie, and dim of each place's run; -1: none */
  wf__walk shared; /* PUT: the dims that threads share out; `walk` then holds the rest */
} job;

static bool is_indexed(const wf_plan *plan, int d) {
  for (int o = 2; o < plan->operands; o++)
    if (plan->operand[o].stride[d]) return true;
  return false;
}

/* ---- range ---------------------------------------------------------------------------------------------------------------------- */

static wf_status check_operand(const wf_plan *plan, int o) {
  const wf_operand *index = &plan->operand[o];
  int last = -1;
  uint32_t inner = 0;
  for (int d = 0; d < plan->ndim; d++) {
    if (plan->size[d] == 0) return WF_OK;
    if (!index->stride[d]) inner |= 1u << d;
    else last = d;
  }
  if (last >= 0) inner |= 1u << last;
  wf_plan only = *plan;
  only.operand[0] = *index;
  wf__walk walk;
  wf__cursor at;
  wf__walk_of(&walk, &only, 1, inner);
  wf__walk_seek(&walk, 0, &at);
  wf__index_row row = {
      .stride = last >= 0 ? index->stride[last] : 0, .entries = plan->shape[o][0], .narrow = index->dtype == WF_I32};
  for (int64_t i = 0; i < walk.count; i++, wf__walk_next(&walk, &at)) {
    int64_t bad;
    row.at = at.at[0];
    if (!wf__ref_index_row_fits(&row, last >= 0 ? plan->size[last] : 1, plan->param.index.flag2, &bad))
      return wf__refuse_index(plan, (int)plan->param.index.step, bad, plan->shape[o][2], plan->shape[o][0]);
  }
  return WF_OK;
}

/* ---- get and put ------------------------------------------------------------------------------------------------------------------ */

static void move_block(const job *j, char *const *at) {
  const wf_plan *p = j->plan;
  wf__index_row row[WF_PLAN_OPERANDS];
  wf__index_block block = {.to = at[0],
                           .from = at[1],
                           .n = 1,
                           .m = 1,
                           .row = row,
                           .rows = p->operands - 2,
                           .wraps = p->param.index.flag2,
                           .into_table = p->op == WF__INDEX_PUT,
                           .add = p->op == WF__INDEX_PUT && p->param.index.flag,
                           .dtype = p->operand[0].dtype};
  if (j->places >= 0) {
    block.n = p->size[j->places];
    block.to_stride = p->operand[0].stride[j->places];
    block.from_stride = p->operand[1].stride[j->places];
  }
  if (j->run >= 0) {
    block.m = p->size[j->run];
    block.to_step = p->operand[0].stride[j->run];
    block.from_step = p->operand[1].stride[j->run];
  }
  for (int k = 0; k < block.rows; k++) {
    const wf_operand *index = &p->operand[2 + k];
    row[k] = (wf__index_row){.at = at[2 + k],
                             .stride = j->places >= 0 ? index->stride[j->places] : 0,
                             .entries = p->shape[2 + k][0],
                             .step = p->shape[2 + k][1],
                             .narrow = index->dtype == WF_I32};
  }
  wf__ref_index_block(&block);
}

static void get_blocks(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  wf__cursor at;
  wf__walk_seek(&j->walk, begin, &at);
  for (int64_t i = begin; i < end; i++, wf__walk_next(&j->walk, &at)) move_block(j, at.at);
}

static void put_blocks(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  wf__cursor outer, at;
  wf__walk_seek(&j->shared, begin, &outer);
  for (int64_t i = begin; i < end; i++, wf__walk_next(&j->shared, &outer)) {
    wf__walk walk = j->walk;
    for (int o = 0; o < walk.operands; o++) walk.base[o] = outer.at[o];
    wf__walk_seek(&walk, 0, &at);
    for (int64_t k = 0; k < walk.count; k++, wf__walk_next(&walk, &at)) move_block(j, at.at);
  }
}

static wf_status run_index(const wf_plan *plan) {
  job j = {.plan = plan, .places = -1, .run = -1};
  uint32_t indexed = 0, inner = 0;
  int64_t count = 1;
  for (int o = 2; o < plan->operands; o++) WF__TRY(check_operand(plan, o));
  for (int d = 0; d < plan->ndim; d++) {
    count *= plan->size[d];
    bool moved = is_indexed(plan, d);
    if (moved) indexed |= 1u << d;
    *(moved ? &j.places : &j.run) = d;
  }
  if (count == 0) return WF_OK;
  if (j.places >= 0) inner |= 1u << j.places;
  if (j.run >= 0) inner |= 1u << j.run;
  int64_t work = (j.places >= 0 ? plan->size[j.places] : 1) * (j.run >= 0 ? plan->size[j.run] : 1);
  if (plan->op == WF__INDEX_GET) {
    wf__walk_of(&j.walk, plan, plan->operands, inner);
    wf__parallel(j.walk.count, WF__GRAIN / 4 / work + 1, get_blocks, &j);
    return WF_OK;
  }
  wf__walk_of(&j.shared, plan, plan->operands, indexed | inner);
  wf__walk_of(&j.walk, plan, plan->operands, ~indexed | inner);
  wf__parallel(j.shared.count, WF__GRAIN / 4 / (work * j.walk.count) + 1, put_blocks, &j);
  return WF_OK;
}

/* ---- masks ------------------------------------------------------------------------------------------------------------------------ */

wf_status wf__exec_advanced_index(const wf_plan *plan) {
  switch (plan->op) {
    case WF__INDEX_GET:
    case WF__INDEX_PUT: return run_index(plan);
    case WF__INDEX_NONZERO: wf__ref_nonzero(plan); return WF_OK;
    case WF__INDEX_MASKED_PUT:
      WF__CHECK(wf__ref_mask_count(plan) <= plan->param.index.count, WF_RUNTIME,
                "Number of elements of source < number of ones in mask");
      wf__ref_masked(plan);
      return WF_OK;
    case WF__INDEX_MASKED_GET: wf__ref_masked(plan); return WF_OK;
    default: return wf__no_kernel("index_cpu", plan->operand[0].dtype);
  }
}
