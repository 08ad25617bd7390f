/* Batch normalisation, with relu fused on request, and its derivative. What the derivative needs of the forward is in `stats`: mean,
 * inverse deviation, scale and shift of each channel. */
#include <string.h>

#include "copy/copy.h"
#include "op/network.h"

typedef struct norm {
  const char *name;
  bool training, relu;
  double momentum, eps;
} norm;

/* ---- checks, in PyTorch's order and words -------------------------------------------------------------------------------- */

static wf_status check_vector(const wf_tensor *t, const char *what, int64_t channels) {
  WF__CHECK(!t || t->layout.numel == channels, WF_RUNTIME, "%s should contain %lld elements not %lld", what,
            (long long)channels, (long long)(t ? t->layout.numel : 0));
  return WF_OK;
}

/* Halves may have float32 parameters; all others those of their own dtype. */
static wf_status check_dtype(const wf_tensor *input, const wf_tensor *t) {
  if (!t || t->dtype == input->dtype) return WF_OK;
  bool half = input->dtype == WF_F16 || input->dtype == WF_BF16;
  WF__CHECK(half && t->dtype == WF_F32, WF_RUNTIME, "mixed dtype (CPU): expect parameter to have scalar type of Float");
  return WF_OK;
}

static wf_status check_count(const wf_tensor *input) {
  char text[WF__DIMS_TEXT];
  int64_t others = 1;
  for (int d = 0; d < input->layout.ndim; d++)
    if (d != 1) others *= input->layout.size[d];
  WF__CHECK(others != 1, WF_VALUE,
            "Expected more than 1 value per channel when training, got input size torch.Size(%s)",
            wf__dims_text(wf__layout_sizes(&input->layout), text));
  return WF_OK;
}

/* tensors: running_mean, running_var, weight, bias. */
static wf_status check(const norm *n, const wf_tensor *input, const wf_tensor *const tensors[4]) {
  static const char *const names[] = {"running_mean", "running_var", "weight", "bias"};
  WF__TRY(wf__require(n->name, input, "input", 1));
  WF__CHECK(input->layout.ndim >= 2, WF_INDEX,
            "Dimension out of range (expected to be in range of [%d, %d], but got 1)",
            input->layout.ndim ? -input->layout.ndim : -1, input->layout.ndim ? input->layout.ndim - 1 : 0);
  WF__CHECK(input->layout.ndim <= 5, WF_RUNTIME, "%s: at most 5 dims are supported, got %d", n->name,
            input->layout.ndim);
  if (n->training) WF__TRY(check_count(input));
  int64_t channels = input->layout.size[1];
  for (int i = 0; i < 4; i++) {
    if (i < 2 && !n->training) WF__CHECK(tensors[i], WF_RUNTIME, "%s must be defined in evaluation mode", names[i]);
    WF__TRY(check_vector(tensors[i], names[i], channels));
  }
  WF__CHECK(wf_dtype_is_float((wf_dtype)input->dtype), WF_NOT_IMPLEMENTED, "\"batch_norm\" not implemented for '%s'",
            wf__scalar_type_text((wf_dtype)input->dtype));
  const wf_tensor *devices[5] = {input};
  int count = 1;
  for (int i = 0; i < 4; i++) {
    WF__TRY(check_dtype(input, tensors[i]));
    if (tensors[i]) devices[count++] = tensors[i];
  }
  return wf__check_same_device(devices, count);
}

/* ---- derivative -------------------------------------------------------------------------------------------------------------- */

/* saved: 0 input, 1 weight (for the check of its version), 2 stats */
static wf_status norm_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const norm *n = node->payload;
  if (!grad[0]) return WF_OK;
  wf_tensor *input = wf__saved_get(node, 0), *weight = wf__saved_get(node, 1), *stats = wf__saved_get(node, 2);
  if (wf__self.pending) return wf__self.pending;
  wf_plan plan = {.family = WF_FAMILY_NORM, .op = WF__NORM_BATCH_BACKWARD, .outputs = 3};
  plan.param.norm.training = n->training;
  plan.param.norm.relu = n->relu;
  wf_memory_format format = wf__suggest_format(&input->layout);
  wf_tensor *x = wf__contiguous(input, format, true), *g = x ? wf__contiguous(grad[0], format, true) : NULL;
  wf_dims channels = wf_dims_of(&input->layout.size[1], 1);
  bool fine = g != NULL;
  if (fine && wf__node_wants(node, 0))
    fine = (out[0] = wf__give(wf__empty_in(x, wf__layout_sizes(&x->layout), format))) != NULL;
  wf_dtype dtype = weight ? (wf_dtype)weight->dtype : WF_F32;
  for (int i = 1; i < 3; i++)
    if (fine && wf__node_wants(node, i))
      fine = (out[i] = wf__give(wf__tensor_empty_sized(wf__device_of(x), dtype, channels))) != NULL;
  if (fine) wf__plan_run(&plan, (const wf_tensor *[]){out[0], out[1], out[2], g, x, stats}, 6);
  wf__drop(x);
  wf__drop(g);
  const wf_tensor *inputs[] = {grad[0], input, weight};
  for (int i = 0; i < 3; i++) wf__not_twice(out[i], inputs, 3, n->name);
  return wf__self.pending;
}

static const wf__node_class norm_class = {"NativeBatchNormBackward0", norm_apply, NULL};

static wf_status record(const norm *n, wf_tensor *y, const wf_tensor *input, const wf_tensor *weight,
                        const wf_tensor *bias, const wf_tensor *stats) {
  const wf_tensor *inputs[] = {input, weight, bias};
  if (!wf__needs_grad(inputs, 3)) return WF_OK;
  wf__node *node = wf__node_new(&norm_class, inputs, 3, 3, sizeof *n);
  if (!node) return wf__self.pending;
  memcpy(node->payload, n, sizeof *n);
  wf__save(node, 0, input);
  if (weight) wf__save(node, 1, weight);
  wf__save(node, 2, stats);
  wf_status status = wf__set_history(y, node, 0);
  wf__node_release(node);
  return status;
}

/* ---- forward -------------------------------------------------------------------------------------------------------------------- */

static wf_tensor *run(const norm *n, const wf_tensor *input, wf_tensor *mean, wf_tensor *var, const wf_tensor *weight,
                      const wf_tensor *bias) {
  wf_plan plan = {.family = WF_FAMILY_NORM, .op = WF__NORM_BATCH, .outputs = n->training ? 4 : 2};
  plan.param.norm.training = n->training;
  plan.param.norm.relu = n->relu;
  plan.param.norm.momentum = n->momentum;
  plan.param.norm.eps = n->eps;
  wf_memory_format format = wf__suggest_format(&input->layout);
  wf_tensor *x = wf__contiguous(input, format, true);
  if (!x) return NULL;
  wf_dtype dtype = input->dtype == WF_F64 ? WF_F64 : WF_F32;
  wf_tensor *y = wf__empty_in(x, wf__layout_sizes(&x->layout), format);
  wf_tensor *stats = y ? wf__tensor_empty_sized(wf__device_of(x), dtype, WF_SHAPE(4, x->layout.size[1])) : NULL;
  bool fine = stats && wf__plan_run(&plan, (const wf_tensor *[]){y, stats, mean, var, x, weight, bias}, 7) == WF_OK;
  if (fine && n->training && mean) wf__bump(mean);
  if (fine && n->training && var) wf__bump(var);
  fine = fine && record(n, y, input, weight, bias, stats) == WF_OK;
  wf__drop(x);
  wf__drop(stats);
  if (fine) return y;
  wf__drop(y);
  return NULL;
}

static wf_tensor *batch_norm(norm n, const wf_tensor *input, wf_tensor *mean, wf_tensor *var, const wf_tensor *weight,
                             const wf_tensor *bias) {
  WF__TRY_OR(check(&n, input, (const wf_tensor *[]){mean, var, weight, bias}), NULL);
  return wf__give(run(&n, input, mean, var, weight, bias));
}

/* ---- entries --------------------------------------------------------------------------------------------------------------------- */

wf_batch_norm_options wf_batch_norm_defaults(void) { return (wf_batch_norm_options){.momentum = 0.1, .eps = 1e-5}; }

static norm by_options(const char *name, const wf_batch_norm_options *options, bool relu) {
  wf_batch_norm_options o = options ? *options : wf_batch_norm_defaults();
  return (norm){.name = name, .training = o.training, .relu = relu, .momentum = o.momentum, .eps = o.eps};
}

wf_tensor *wf_batch_norm(const wf_tensor *input, wf_tensor *running_mean, wf_tensor *running_var,
                         const wf_tensor *weight, const wf_tensor *bias, const wf_batch_norm_options *options) {
  WF__OP("batch_norm", NULL);
  return batch_norm(by_options("batch_norm", options, false), input, running_mean, running_var, weight, bias);
}
wf_tensor *wf_batch_norm_relu(const wf_tensor *input, wf_tensor *running_mean, wf_tensor *running_var,
                              const wf_tensor *weight, const wf_tensor *bias, const wf_batch_norm_options *options) {
  WF__OP("batch_norm_relu", NULL);
  return batch_norm(by_options("batch_norm_relu", options, true), input, running_mean, running_var, weight, bias);
}

wf_tensor *wf__op_batch_norm(wf_tensor *input, wf_tensor *running_mean, wf_tensor *running_var, wf_tensor *weight,
                             wf_tensor *bias, bool training, double momentum, double eps) {
  WF__OP("batch_norm", NULL);
  return batch_norm((norm){.name = "batch_norm", .training = training, .momentum = momentum, .eps = eps}, input,
                    running_mean, running_var, weight, bias);
}
