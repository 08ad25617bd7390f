/* One optimiser step on one parameter, in one pass. Halves and tensors with gaps go through blocks on the stack. */
#include <math.h>
#include <string.h>

#include "base/convert.h"
#include "exec/families.h"
#include "exec/threads.h"
#include "exec/walk.h"
#include "kernel/tables.h"

#define OPERANDS 5
#define GRADIENT 4
#define BLOCK 512
#define CHUNK 16384

typedef struct job {
  wf__walk walk;
  const wf__kernels *kernels;
  wf__optim_fn fn;
  wf__optim_args args;
  bool present[OPERANDS];
  wf__convert_fn widen, narrow; /* NULL: the dtype is the class's */
  int64_t size;
  int log_size;
  int64_t n, chunks, stride[OPERANDS];
  bool direct; /* kernels work on the operands themselves */
} job;

static void run_direct(const job *j, char *const *at, int64_t n) {
  void *state[3] = {at[1], at[2], at[3]};
  j->fn(&j->args, at[0], state, at[GRADIENT], n);
}

static void load(const job *j, int o, const char *src, char *block, int64_t n) {
  char raw[BLOCK * 8];
  char *packed = j->widen ? raw : block;
  j->kernels->gather[j->log_size](packed, src, j->stride[o], n);
  if (j->widen) j->widen(block, raw, n);
}

static void store(const job *j, int o, char *dst, const char *block, int64_t n) {
  char raw[BLOCK * 8];
  if (j->narrow) j->narrow(raw, block, n);
  j->kernels->scatter[j->log_size](dst, j->stride[o], j->narrow ? raw : block, n);
}

static void run_by_block(const job *j, char *const *at, int64_t n) {
  char block[OPERANDS][BLOCK * 8] __attribute__((aligned(64)));
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t count = n - i < BLOCK ? n - i : BLOCK;
    void *state[3];
    for (int o = 0; o < OPERANDS; o++)
      if (j->present[o]) load(j, o, at[o] + i * j->stride[o], block[o], count);
    for (int o = 1; o <= 3; o++) state[o - 1] = j->present[o] ? block[o] : NULL;
    j->fn(&j->args, block[0], state, block[GRADIENT], count);
    for (int o = 0; o < GRADIENT; o++)
      if (j->present[o]) store(j, o, at[o] + i * j->stride[o], block[o], count);
  }
}

static void do_rows(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  wf__cursor at;
  wf__walk_seek(&j->walk, begin / j->chunks, &at);
  for (int64_t unit = begin, piece = begin % j->chunks; unit < end; unit++) {
    int64_t first = piece * CHUNK, n = j->n - first < CHUNK ? j->n - first : CHUNK;
    char *row[OPERANDS];
    for (int o = 0; o < OPERANDS; o++) row[o] = j->present[o] ? at.at[o] + first * j->stride[o] : NULL;
    (j->direct ? run_direct : run_by_block)(j, row, n);
    if (++piece < j->chunks) continue;
    piece = 0;
    wf__walk_next(&j->walk, &at);
  }
}

static wf__optim_args args_of(const wf_plan *plan) {
  wf__optim_args a = {.lr = wf__scalar_double(plan->scalar[0]),
                      .beta1 = plan->param.optim.beta1,
                      .beta2 = plan->param.optim.beta2,
                      .eps = plan->param.optim.eps,
                      .weight_decay = plan->param.optim.weight_decay,
                      .momentum = plan->param.optim.momentum,
                      .dampening = plan->param.optim.dampening,
                      .nesterov = plan->param.optim.nesterov,
                      .maximize = plan->param.optim.maximize,
                      .first = plan->param.optim.first};
  double step = (double)plan->param.optim.step;
  a.step_size = a.lr / (1 - pow(a.beta1, step));
  a.root_of_correction2 = sqrt(1 - pow(a.beta2, step));
  return a;
}

wf_status wf__exec_optim(const wf_plan *plan) {
  wf_dtype dtype = plan->operand[0].dtype;
  if (plan->op > WF__OPTIM_ADAMW || !wf_dtype_is_float(dtype)) return wf__no_kernel("optimizer_step_cpu", dtype);
  wf__class class = dtype == WF_F64 ? WF__CLASS_F64 : WF__CLASS_F32;
  wf_dtype wide = class == WF__CLASS_F64 ? WF_F64 : WF_F32;
  job j = {.kernels = wf__kernels_now(), .args = args_of(plan), .size = (int64_t)wf_dtype_size(dtype)};
  j.fn = j.kernels->optim[class][plan->op];
  j.log_size = __builtin_ctz((unsigned)j.size);
  j.widen = dtype != wide ? j.kernels->convert[dtype][wide] : NULL;
  j.narrow = dtype != wide ? j.kernels->convert[wide][dtype] : NULL;
  j.direct = dtype == wide;
  int last = plan->ndim - 1;
  j.n = last >= 0 ? plan->size[last] : 1;
  for (int o = 0; o < OPERANDS; o++) {
    j.present[o] = o < plan->operands && plan->operand[o].data;
    j.stride[o] = last >= 0 ? plan->operand[o].stride[last] : j.size;
    j.direct = j.direct && (!j.present[o] || j.stride[o] == j.size);
  }
  for (int d = 0; d < plan->ndim; d++)
    if (plan->size[d] == 0) return WF_OK;
  j.chunks = (j.n + CHUNK - 1) / CHUNK;
  wf__walk_of(&j.walk, plan, OPERANDS, last >= 0 ? 1u << last : 0);
  int64_t unit = j.n < CHUNK ? j.n : CHUNK;
  wf__parallel(j.walk.count * j.chunks, (WF__GRAIN + unit - 1) / unit, do_rows, &j);
  return WF_OK;
}
