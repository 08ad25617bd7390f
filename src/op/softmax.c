/* softmax and log_softmax with their derivatives. Results are row-major whatever the input's strides, which are read as they are. */
#include <stdio.h>
#include <weft/copy.h>
#include <weft/math.h>
#include <weft/reduce.h>

#include "copy/copy.h"
#include "op/network.h"

typedef struct softmax {
  bool logs;
  int64_t dim;
  wf_dtype from; /* dtype of the input before the cast; NONE: no cast */
} softmax;

static const wf__node_class soft_class, log_class;

/* Fills size and strides with `dim` moved last. A number counts as one element. */
static void fill_dims(wf_plan *plan, const wf_tensor *like, int64_t dim) {
  int n = like->layout.ndim, at = 0;
  plan->ndim = (uint8_t)(n ? n : 1);
  plan->size[0] = 1;
  for (int d = 0; d < n; d++)
    if (d != dim) plan->size[at++] = like->layout.size[d];
  if (n) plan->size[at] = like->layout.size[dim];
}
static void move_dim_last(wf_operand *o, int n, int64_t dim) {
  if (!n) return;
  int64_t stride = o->stride[dim];
  for (int64_t d = dim; d + 1 < n; d++) o->stride[d] = o->stride[d + 1];
  o->stride[n - 1] = stride;
}

static wf_status run(int op, const wf_tensor *const *tensors, int n, int64_t dim) {
  wf_plan plan = {.family = WF_FAMILY_SOFTMAX, .op = (uint16_t)op, .operands = (uint8_t)n, .outputs = 1};
  fill_dims(&plan, tensors[0], dim);
  for (int i = 0; i < n; i++) {
    wf__plan_tensor(&plan, i, tensors[i]);
    move_dim_last(&plan.operand[i], tensors[i]->layout.ndim, dim);
  }
  return wf__launch(wf__device_of(tensors[0]), &plan);
}

/* The derivative in operators that can be recorded themselves. */
static wf_tensor *written_out(const softmax *s, wf_tensor *g, wf_tensor *y) {
  wf_dims dim = y->layout.ndim ? wf_dims_of(&s->dim, 1) : WF_SHAPE0;
  wf_tensor *dx = s->logs ? wf_sub(g, wf_mul(wf_exp(y), wf_sum_dims(g, dim, true, WF_DTYPE_NONE)))
                          : wf_mul(y, wf_sub(g, wf_sum_dims(wf_mul(g, y), dim, true, WF_DTYPE_NONE)));
  return s->from ? wf_to(dx, s->from) : dx;
}

/* Derivatives by pointwise operators would read and write several times as much, so there is a plan for them. */
static wf_status softmax_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const softmax *s = node->payload;
  if (!grad[0]) return WF_OK;
  wf_tensor *y = wf__saved_get(node, 0);
  if (!y) return wf__self.pending;
  if (wf_grad_enabled()) {
    out[0] = written_out(s, grad[0], y);
    return wf__self.pending;
  }
  wf_tensor *dx = wf__empty_in(y, wf__layout_sizes(&y->layout), WF_FORMAT_CONTIGUOUS);
  if (!dx) return wf__self.pending;
  if (run(s->logs ? WF__LOG_SOFTMAX_BACKWARD : WF__SOFTMAX_BACKWARD, (const wf_tensor *[]){dx, grad[0], y}, 3,
          s->dim) != WF_OK) {
    wf__drop(dx);
    return wf__self.pending;
  }
  if (s->from) {
    wf_tensor *cast = wf__to(dx, s->from, NULL, false, false);
    wf__drop(dx);
    dx = cast;
  }
  out[0] = wf__give(dx);
  return wf__self.pending;
}
static const wf__node_class soft_class = {"SoftmaxBackward0", softmax_apply, NULL};
static const wf__node_class log_class = {"LogSoftmaxBackward0", softmax_apply, NULL};

static wf_status record(const softmax *s, wf_tensor *y, const wf_tensor *input) {
  if (!wf__needs_grad(&input, 1)) return WF_OK;
  wf__node *node = wf__node_new(s->logs ? &log_class : &soft_class, &input, 1, 1, sizeof *s);
  if (!node) return wf__self.pending;
  *(softmax *)node->payload = *s;
  wf_status status = wf__set_history(y, node, 0);
  if (status == WF_OK) wf__save_output(node, 0, y, 0);
  wf__node_release(node);
  return status;
}

static wf_status check_dtype(const wf_tensor *x, const softmax *s) {
  if (wf_dtype_is_float((wf_dtype)x->dtype)) return WF_OK;
  const char *kernel = s->logs                        ? "log_softmax_kernel_impl"
                       : s->dim == x->layout.ndim - 1 ? "softmax_lastdim_kernel_impl"
                                                      : "softmax_kernel_impl";
  return wf__fail(WF_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", kernel,
                  wf__scalar_type_text((wf_dtype)x->dtype));
}

static wf_tensor *along(softmax s, const char *name, const wf_tensor *input, int64_t dim, wf_dtype dtype) {
  WF__TRY_OR(wf__require(name, input, "input", 1), NULL);
  WF__TRY_OR(wf__wrap_dim(&dim, input->layout.ndim, true), NULL);
  s.dim = dim;
  s.from = dtype && dtype != (wf_dtype)input->dtype ? (wf_dtype)input->dtype : WF_DTYPE_NONE;
  wf_tensor *x = wf__to(input, dtype, NULL, false, false), *y = NULL;
  if (!x) return NULL;
  if (check_dtype(x, &s) == WF_OK) y = wf__empty_in(x, wf__layout_sizes(&x->layout), WF_FORMAT_CONTIGUOUS);
  bool fine = y && run(s.logs ? WF__LOG_SOFTMAX : WF__SOFTMAX, (const wf_tensor *[]){y, x}, 2, dim) == WF_OK;
  if (fine) record(&s, y, input);
  wf__drop(x);
  if (!fine) {
    wf__drop(y);
    y = NULL;
  }
  return wf__give(y);
}

wf_tensor *wf_softmax(const wf_tensor *input, int64_t dim, wf_dtype dtype) {
  WF__OP("softmax", NULL);
  return along((softmax){.logs = false}, "softmax", input, dim, dtype);
}
wf_tensor *wf_log_softmax(const wf_tensor *input, int64_t dim, wf_dtype dtype) {
  WF__OP("log_softmax", NULL);
  return along((softmax){.logs = true}, "log_softmax", input, dim, dtype);
}
