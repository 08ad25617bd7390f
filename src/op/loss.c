/* Negative log likelihood with its derivative, and cross-entropy, which is made of log_softmax, it and pointwise operators. */
#include <string.h>

#include <weft/math.h>
#include <weft/reduce.h>
#include <weft/view.h>
#include "copy/copy.h"
#include "op/network.h"

typedef struct nll {
  wf_reduction reduction;
  int64_t ignore;
} nll;

/* ---- checks, in PyTorch's order and words -------------------------------------------------------------------------------- */

static wf_status check_weight(const wf_tensor *weight, const wf_tensor *input, int64_t classes) {
  char text[WF__DIMS_TEXT];
  if (!weight) return WF_OK;
  WF__CHECK(
      weight->layout.ndim == 1 && weight->layout.numel == classes, WF_RUNTIME,
      "weight tensor should be defined either for all %lld classes or no classes but got weight tensor of shape: %s",
      (long long)classes, wf__dims_text(wf__layout_sizes(&weight->layout), text));
  return wf__same_scalar_type(input, weight);
}

/* Targets [n, …] for input [n, c, …]. */
static wf_status check_spatial(const wf_tensor *input, const wf_tensor *target) {
  const wf__layout *x = &input->layout, *t = &target->layout;
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
  int64_t expected[WF_MAX_DIMS] = {x->size[0]};
  for (int d = 2; d < x->ndim; d++) expected[d - 1] = x->size[d];
  bool equal = t->ndim == x->ndim - 1 && !memcmp(t->size, expected, (size_t)t->ndim * sizeof *expected);
  if (equal) return WF_OK;
  wf__dims_text(wf__layout_sizes(t), b);
  if (x->ndim != 4)
    return wf__fail(WF_RUNTIME, "Expected target size %s, got %s", wf__dims_text(wf_dims_of(expected, x->ndim - 1), a),
                    b);
  WF__CHECK(t->ndim == 3, WF_RUNTIME,
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: %d", t->ndim);
  return wf__fail(WF_RUNTIME, "size mismatch (got input: %s , target: %s", wf__dims_text(wf__layout_sizes(x), a), b);
}

static wf_status check(const wf_tensor *input, const wf_tensor *target, const wf_tensor *weight) {
  WF__TRY(wf__require("nll_loss_nd", input, "input", 1));
  WF__TRY(wf__require("nll_loss_nd", target, "target", 2));
  const wf__layout *x = &input->layout, *t = &target->layout;
  WF__CHECK(x->ndim >= 1, WF_VALUE, "Expected 1 or more dimensions (got %d)", x->ndim);
  WF__CHECK(x->ndim == 1 || x->size[0] == (t->ndim ? t->size[0] : 1), WF_VALUE,
            "Expected input batch_size (%lld) to match target batch_size (%lld).", (long long)x->size[0],
            (long long)(t->ndim ? t->size[0] : 1));
  if (x->ndim <= 2) {
    WF__CHECK(t->ndim <= 1, WF_RUNTIME, "0D or 1D target tensor expected, multi-target not supported");
    char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
    WF__CHECK(x->ndim == 2 ? t->numel == x->size[0] : t->numel == 1, WF_RUNTIME,
              "size mismatch (got input: %s, target: %s)", wf__dims_text(wf__layout_sizes(x), a),
              wf__dims_text(wf__layout_sizes(t), b));
  } else {
    WF__TRY(check_spatial(input, target));
  }
  WF__TRY(check_weight(weight, input, x->size[x->ndim == 1 ? 0 : 1]));
  WF__CHECK(target->dtype == WF_I64 || target->dtype == WF_U8, WF_RUNTIME,
            "expected target dtype to be Long or Byte, but got %s", wf__scalar_type_text((wf_dtype)target->dtype));
  WF__CHECK(wf_dtype_is_float((wf_dtype)input->dtype), WF_NOT_IMPLEMENTED,
            "\"nll_loss_out_frame\" not implemented for '%s'", wf__scalar_type_text((wf_dtype)input->dtype));
  return wf__check_same_device((const wf_tensor *[]){input, target, weight}, weight ? 3 : 2);
}

/* ---- plans over [n, c, s] ------------------------------------------------------------------------------------------------------ */

/* t as [n, c, s] or, without classes, [n, s]; a copy where its strides don't allow that. One reference, the caller's. */
static wf_tensor *flat(const wf_tensor *t, bool classes, bool batched) {
  const wf__layout *l = &t->layout;
  int first = (batched ? 1 : 0) + (classes ? 1 : 0); /* dims before the places */
  int64_t size[3], places = 1, stride[3];
  for (int d = first; d < l->ndim; d++) places *= l->size[d];
  int n = 0;
  size[n++] = batched && l->ndim ? l->size[0] : 1;
  if (classes) size[n++] = l->size[batched ? 1 : 0];
  if (!batched || first > l->ndim) places = 1;
  size[n++] = places;
  wf__layout out = {.ndim = n, .numel = l->numel, .offset = l->offset};
  memcpy(out.size, size, sizeof *size * (size_t)n);
  if (wf__view_strides(l, wf_dims_of(size, n), stride)) {
    memcpy(out.stride, stride, sizeof *stride * (size_t)n);
    return wf__tensor_alias(t, (wf_dtype)t->dtype, &out);
  }
  wf_tensor *copy = wf__contiguous(t, WF_FORMAT_CONTIGUOUS, true);
  if (!copy) return NULL;
  wf_tensor *alias = flat(copy, classes, batched);
  wf__drop(copy);
  return alias;
}

static wf_status launch(int op, const nll *p, const wf_tensor *const operands[5]) {
  wf_plan plan = {.family = WF_FAMILY_LOSS, .op = (uint16_t)op, .outputs = op == WF__LOSS_NLL ? 2 : 1};
  plan.param.index.count = p->reduction;
  plan.param.index.step = p->ignore;
  return wf__plan_run(&plan, operands, 5);
}

/* saved: 0 input, 1 target, 2 weight, 3 total weight */
static wf_status nll_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const nll *p = node->payload;
  if (!grad[0]) return WF_OK;
  wf_tensor *input = wf__saved_get(node, 0), *target = wf__saved_get(node, 1), *weight = wf__saved_get(node, 2);
  wf_tensor *total = wf__saved_get(node, 3);
  if (wf__self.pending) return wf__self.pending;
  bool batched = input->layout.ndim > 1;
  wf_tensor *dx = wf__empty_in(input, wf__layout_sizes(&input->layout), WF_FORMAT_CONTIGUOUS);
  wf_tensor *x = dx ? flat(dx, true, batched) : NULL, *t = x ? flat(target, false, batched) : NULL;
  wf_tensor *g = !t ? NULL : p->reduction ? wf_retain(grad[0]) : flat(grad[0], false, batched);
  if (g) launch(WF__LOSS_NLL_BACKWARD, p, (const wf_tensor *[]){x, g, total, t, weight});
  wf__drop(x);
  wf__drop(t);
  wf__drop(g);
  out[0] = wf__give(dx);
  return wf__not_twice(out[0], (const wf_tensor *[]){grad[0]}, 1, "nll_loss");
}
static const wf__node_class nll_class = {"NllLossBackward0", nll_apply, NULL};
static const wf__node_class nll_2d_class = {"NllLoss2DBackward0", nll_apply, NULL};

static wf_status record(const nll *p, wf_tensor *y, const wf_tensor *input, const wf_tensor *target,
                        const wf_tensor *weight, const wf_tensor *total) {
  if (!wf__needs_grad(&input, 1)) return WF_OK;
  wf__node *node = wf__node_new(input->layout.ndim > 2 ? &nll_2d_class : &nll_class, &input, 1, 4, sizeof *p);
  if (!node) return wf__self.pending;
  *(nll *)node->payload = *p;
  const wf_tensor *saved[] = {input, target, weight, total};
  for (int i = 0; i < 4; i++)
    if (saved[i]) wf__save(node, i, saved[i]);
  wf_status status = wf__set_history(y, node, 0);
  wf__node_release(node);
  return status;
}

/* The loss and, in *total if that isn't NULL, the total weight. Caller's references. */
static wf_tensor *run(const nll *p, const wf_tensor *input, const wf_tensor *target, const wf_tensor *weight,
                      wf_tensor **total) {
  WF__TRY_OR(check(input, target, weight), NULL);
  bool batched = input->layout.ndim > 1;
  wf_dims shape = p->reduction ? WF_SHAPE0 : wf__layout_sizes(&target->layout);
  wf_tensor *y = wf__empty_in(input, shape, WF_FORMAT_CONTIGUOUS),
            *weights = y ? wf__empty_in(input, WF_SHAPE0, WF_FORMAT_CONTIGUOUS) : NULL;
  wf_tensor *out = !weights ? NULL : p->reduction ? wf_retain(y) : flat(y, false, batched);
  wf_tensor *x = out ? flat(input, true, batched) : NULL, *t = x ? flat(target, false, batched) : NULL;
  bool fine = t && launch(WF__LOSS_NLL, p, (const wf_tensor *[]){out, weights, x, t, weight}) == WF_OK &&
              record(p, y, input, target, weight, weights) == WF_OK;
  wf__drop(out);
  wf__drop(x);
  wf__drop(t);
  if (total) {
    *total = fine ? weights : NULL;
    if (fine) weights = NULL;
  }
  wf__drop(weights);
  if (fine) return y;
  wf__drop(y);
  return NULL;
}

/* ---- cross-entropy ----------------------------------------------------------------------------------------------------------- */

/* weight as [1, c, 1, …] against `like`. */
static wf_tensor *per_class(const wf_tensor *weight, const wf_tensor *like, int64_t dim) {
  int64_t shape[WF_MAX_DIMS];
  for (int d = 0; d < like->layout.ndim; d++) shape[d] = d == dim ? weight->layout.numel : 1;
  return wf_view(weight, wf_dims_of(shape, like->layout.ndim));
}

static wf_tensor *reduced(wf_tensor *loss, wf_reduction reduction, const wf_tensor *divisor) {
  if (reduction == WF_REDUCE_NONE) return loss;
  wf_tensor *sum = wf_sum(loss);
  return reduction == WF_REDUCE_MEAN ? wf_div(sum, divisor) : sum;
}

/* target holds probabilities. In a scope of the caller. */
static wf_tensor *of_probabilities(const wf_tensor *logits, const wf_tensor *target, const wf_tensor *weight,
                                   const wf_loss_options *o, int64_t dim) {
  int64_t classes = logits->layout.ndim ? logits->layout.size[dim] : 1;
  const wf_tensor *t = target;
  if (o->label_smoothing > 0)
    t = wf_add_scalar(wf_mul_scalar(target, wf_float(1 - o->label_smoothing)),
                      wf_float(o->label_smoothing / (double)classes));
  wf_tensor *product = wf_mul(wf_log_softmax(logits, dim, WF_DTYPE_NONE), t);
  if (weight) product = wf_mul(product, per_class(weight, logits, dim));
  if (o->reduction == WF_REDUCE_NONE) return wf_neg(wf_sum_dims(product, WF_SHAPE(dim), false, WF_DTYPE_NONE));
  wf_tensor *sum = wf_neg(wf_sum(product));
  if (o->reduction == WF_REDUCE_SUM) return sum;
  return wf_div_scalar(sum, wf_float((double)logits->layout.numel / (double)classes));
}

/* target holds classes; the loss is mixed with that of a uniform distribution. In a scope of the caller. */
static wf_tensor *smoothed(const wf_tensor *logits, const wf_tensor *target, const wf_tensor *weight,
                           const wf_loss_options *o, int64_t dim) {
  nll p = {o->reduction, o->ignore_index};
  wf_tensor *logs = wf_log_softmax(logits, dim, WF_DTYPE_NONE), *total = NULL;
  if (!logs) return NULL;
  wf_tensor *loss = wf__give(run(&p, logs, target, weight, &total));
  total = wf__give(total);
  wf_tensor *uniform = wf_neg(
      wf_sum_dims(weight ? wf_mul(logs, per_class(weight, logs, dim)) : logs, WF_SHAPE(dim), false, WF_DTYPE_NONE));
  uniform = wf_masked_fill(uniform, wf_eq_scalar(target, wf_int(o->ignore_index)), wf_float(0));
  uniform = reduced(uniform, o->reduction, total);
  double share = o->label_smoothing / (double)logits->layout.size[dim];
  return wf_add(wf_mul_scalar(loss, wf_float(1 - o->label_smoothing)), wf_mul_scalar(uniform, wf_float(share)));
}

static wf_tensor *cross_entropy(const wf_tensor *input, const wf_tensor *target, const wf_tensor *weight,
                                const wf_loss_options *o) {
  WF__TRY_OR(wf__require("cross_entropy_loss", input, "input", 1), NULL);
  WF__TRY_OR(wf__require("cross_entropy_loss", target, "target", 2), NULL);
  int64_t dim = input->layout.ndim == 1 ? 0 : 1;
  bool same = input->layout.ndim == target->layout.ndim &&
              !memcmp(input->layout.size, target->layout.size, sizeof(int64_t) * (size_t)input->layout.ndim);
  if (same) {
    if (!wf_dtype_is_float((wf_dtype)target->dtype)) {
      wf__fail(WF_RUNTIME, "Expected floating point type for target with class probabilities, got %s",
               wf__scalar_type_text((wf_dtype)target->dtype));
      return NULL;
    }
    if (o->ignore_index >= 0) {
      wf__fail(WF_RUNTIME, "ignore_index is not supported for floating point target");
      return NULL;
    }
  }
  if (o->label_smoothing < 0 || o->label_smoothing > 1) {
    wf__fail(WF_RUNTIME, "label_smoothing must be between 0.0 and 1.0. Got: %g", o->label_smoothing);
    return NULL;
  }
  if (same) return of_probabilities(input, target, weight, o, dim);
  if (o->label_smoothing > 0) return smoothed(input, target, weight, o, dim);
  nll p = {o->reduction, o->ignore_index};
  wf_tensor *logs = wf_log_softmax(input, dim, WF_DTYPE_NONE);
  return logs ? wf__give(run(&p, logs, target, weight, NULL)) : NULL;
}

/* ---- entries ------------------------------------------------------------------------------------------------------------------- */

wf_loss_options wf_loss_defaults(void) { return (wf_loss_options){.reduction = WF_REDUCE_MEAN, .ignore_index = -100}; }

wf_tensor *wf_nll_loss(const wf_tensor *input, const wf_tensor *target, const wf_tensor *weight,
                       const wf_loss_options *options) {
  WF__OP("nll_loss", NULL);
  wf_loss_options o = options ? *options : wf_loss_defaults();
  nll p = {o.reduction, o.ignore_index};
  return wf__give(run(&p, input, target, weight, NULL));
}

wf_tensor *wf_cross_entropy(const wf_tensor *input, const wf_tensor *target, const wf_tensor *weight,
                            const wf_loss_options *options) {
  WF__OP("cross_entropy", NULL);
  wf_loss_options o = options ? *options : wf_loss_defaults();
  wf_scope scope = wf_scope_begin();
  return wf_scope_end(scope, cross_entropy(input, target, weight, &o));
}

static wf_status reduction_of(const char *name, wf_reduction *out) {
  static const char *const names[] = {"none", "mean", "sum"};
  for (int i = 0; i < 3; i++)
    if (!strcmp(name, names[i])) {
      *out = (wf_reduction)i;
      return WF_OK;
    }
  return wf__fail(WF_VALUE, "%s is not a valid value for reduction", name);
}

wf_tensor *wf__op_nll_loss(wf_tensor *input, wf_tensor *target, wf_tensor *weight, int64_t ignore_index,
                           const char *reduction) {
  WF__OP("nll_loss", NULL);
  wf_loss_options o = {.ignore_index = ignore_index};
  WF__TRY_OR(reduction_of(reduction, &o.reduction), NULL);
  return wf_nll_loss(input, target, weight, &o);
}

wf_tensor *wf__op_cross_entropy(wf_tensor *input, wf_tensor *target, wf_tensor *weight, int64_t ignore_index,
                                const char *reduction, double label_smoothing) {
  WF__OP("cross_entropy", NULL);
  wf_loss_options o = {.ignore_index = ignore_index, .label_smoothing = label_smoothing};
  WF__TRY_OR(reduction_of(reduction, &o.reduction), NULL);
  return wf_cross_entropy(input, target, weight, &o);
}
