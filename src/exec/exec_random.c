/* Random draws and permutations: functions of seed, offset and element index. */
#include <string.h>

#include "base/convert.h"
#include "base/rng.h"
#include "exec/families.h"
#include "exec/generate.h"
#include "exec/walk.h"
#include "kernel/tables.h"

typedef struct draw {
  const wf_plan *plan;
  wf__random_kernel_fn fn;
  wf__random_args args;
  wf__walk probability; /* BERNOULLI with a tensor of them: operand 1 in the plan's own dims */
  wf__convert_fn to_double;
} draw;

static bool has_probabilities(const wf_plan *plan) {
  return plan->op == WF__RANDOM_BERNOULLI && plan->operands > 1 && plan->operand[1].data;
}

static void load_probabilities(const draw *d, double *p, int64_t first, int64_t n) {
  wf__cursor at;
  wf__walk_seek(&d->probability, first, &at);
  for (int64_t k = 0; k < n; k++) {
    d->to_double(&p[k], at.at[1], 1);
    if (k + 1 < n) wf__walk_next(&d->probability, &at);
  }
}

static void make(const void *context, void *block, int64_t first, int64_t n) {
  const draw *d = context;
  double p[WF__GENERATE_BLOCK];
  if (d->to_double) load_probabilities(d, p, first, n);
  d->fn(&d->args, d->to_double ? p : NULL, block, first, n);
}

static wf_status check_probabilities(const draw *d) {
  double p[WF__GENERATE_BLOCK];
  for (int64_t i = 0; i < d->probability.count; i += WF__GENERATE_BLOCK) {
    int64_t n = d->probability.count - i < WF__GENERATE_BLOCK ? d->probability.count - i : WF__GENERATE_BLOCK;
    load_probabilities(d, p, i, n);
    for (int64_t k = 0; k < n; k++)
      WF__CHECK(
          p[k] >= 0 && p[k] <= 1, WF_RUNTIME,
          "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, please "
          "report an enhancement request to PyTorch.)");
  }
  return WF_OK;
}

/* ---- permutations ---------------------------------------------------------------------------------------------------------- */

/* Fisher and Yates from the front: place i is exchanged with one of the places from i on. Serial by nature. */
static void permute(const wf_plan *plan) {
  wf_dtype dtype = plan->operand[0].dtype;
  size_t size = wf_dtype_size(dtype);
  int64_t n = plan->size[0], stride = plan->operand[0].stride[0];
  char *data = plan->operand[0].data, kept[8];
  for (int64_t i = 0; i < n; i++) wf__scalar_store(wf_int(i), dtype, data + i * stride);
  for (int64_t i = 0; i + 1 < n; i++) {
    uint32_t word[4];
    wf__philox(plan->param.random.seed, plan->param.random.offset + (uint64_t)i, 0, word);
    uint64_t bits = (uint64_t)word[0] << 32 | word[1];
    int64_t other = i + (int64_t)(uint64_t)((unsigned __int128)bits * (uint64_t)(n - i) >> 64);
    memcpy(kept, data + i * stride, size);
    memcpy(data + i * stride, data + other * stride, size);
    memcpy(data + other * stride, kept, size);
  }
}

/* ---- the plan --------------------------------------------------------------------------------------------------------------- */

wf_status wf__exec_random(const wf_plan *plan) {
  static const char *const names[] = {"check_uniform_bounds", "normal_kernel_cpu", "bernoulli_scalar_cpu_",
                                      "random_from_to", "randperm"};
  wf_dtype dtype = plan->operand[0].dtype;
  if (plan->op > WF__RANDOM_PERMUTATION) return wf__no_kernel("random_cpu", dtype);
  bool needs_float = plan->op == WF__RANDOM_UNIFORM || plan->op == WF__RANDOM_NORMAL;
  if ((needs_float && !wf_dtype_is_float(dtype)) || (plan->op == WF__RANDOM_PERMUTATION && dtype == WF_BOOL))
    return wf__no_kernel(names[plan->op], dtype);
  if (plan->op == WF__RANDOM_PERMUTATION) {
    if (plan->ndim == 1) permute(plan);
    else if (plan->ndim == 0) wf__scalar_store(wf_int(0), dtype, plan->operand[0].data);
    return WF_OK;
  }
  const wf_scalar *s = plan->scalar;
  draw d = {.plan = plan,
            .fn = wf__kernels_now()->random[plan->op],
            .args = {.dtype = dtype,
                     .seed = plan->param.random.seed,
                     .offset = plan->param.random.offset,
                     .low = wf__scalar_double(s[0]),
                     .high = wf__scalar_double(s[1]),
                     .first_integer = wf__scalar_int(s[0]),
                     .span = (uint64_t)wf__scalar_int(s[1]) - (uint64_t)wf__scalar_int(s[0])}};
  if (has_probabilities(plan)) {
    wf__walk_of(&d.probability, plan, 2, 0);
    d.to_double = wf__kernels_now()->convert[plan->operand[1].dtype][WF_F64];
    WF__TRY(check_probabilities(&d));
  }
  wf__generate(plan, make, &d);
  return WF_OK;
}
