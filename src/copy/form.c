/* Normal form of copies. At most 16 dims: an insertion sort is the fastest there is. */
#include "copy/form.h"

typedef struct dim {
  int64_t size, to, from, by; /* strides in bytes; by: of the factors of a scaled copy */
} dim;

/* Whether a belongs outside of b. */
static bool is_outer(const dim *a, const dim *b) { return a->to != b->to ? a->to > b->to : a->from > b->from; }

static int collect(const wf_plan *plan, bool has_source, dim *dims) {
  int n = 0;
  for (int d = 0; d < plan->ndim; d++) {
    dim new = {plan->size[d], plan->operand[0].stride[d], has_source ? plan->operand[1].stride[d] : 0,
               plan->operands > 2 ? plan->operand[2].stride[d] : 0};
    if (new.size == 1 || (!has_source && new.to == 0 && new.size > 0)) continue;
    int at = n++;
    for (; at > 0 && is_outer(&new, &dims[at - 1]); at--) dims[at] = dims[at - 1];
    dims[at] = new;
  }
  return n;
}

static int merge(dim *dims, int n, bool has_source) {
  int last = 0; /* dims[0 … last] are merged */
  for (int i = 1; i < n; i++) {
    dim *outer = &dims[last], inner = dims[i];
    bool consecutive = outer->to == inner.to * inner.size && (!has_source || outer->from == inner.from * inner.size) &&
                       outer->by == inner.by * inner.size;
    if (consecutive) {
      *outer = (dim){outer->size * inner.size, inner.to, inner.from, inner.by};
    } else {
      dims[++last] = inner;
    }
  }
  return n ? last + 1 : 0;
}

void wf__copy_form(wf_plan *plan) {
  dim dims[WF_MAX_DIMS];
  bool has_source = plan->operands > 1;
  int n = merge(dims, collect(plan, has_source, dims), has_source);
  plan->ndim = (uint8_t)n;
  for (int d = 0; d < n; d++) {
    plan->size[d] = dims[d].size;
    plan->operand[0].stride[d] = dims[d].to;
    if (has_source) plan->operand[1].stride[d] = dims[d].from;
    for (int o = 2; o < plan->operands; o++) plan->operand[o].stride[d] = dims[d].by;
  }
}

bool wf__copy_is_run(const wf_plan *plan) {
  int64_t size = (int64_t)wf_dtype_size(plan->operand[0].dtype);
  if (plan->operand[0].dtype != plan->operand[1].dtype || plan->ndim > 1) return false;
  return plan->ndim == 0 || (plan->operand[0].stride[0] == size && plan->operand[1].stride[0] == size);
}
