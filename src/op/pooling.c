/* Max and average pooling with their derivatives. The maximum keeps a byte a result for its derivative: the place in the window, so that
 * the input isn't needed any more. With indices asked for, or windows of more than 255 places, int64 indices are kept instead. */
#include <string.h>

#include "op/network.h"

typedef struct pool {
  const char *name;
  bool is_max, batched;
  int64_t kernel[2], stride[2], padding[2], dilation[2];
  bool ceil_mode, count_include_pad, has_divisor;
  int64_t divisor;
  wf_memory_format format;
  int64_t size[4]; /* of the input, with a batch */
  bool input_channels_last;
} pool;

/* ---- checks, in PyTorch's order and words -------------------------------------------------------------------------------- */

static wf_status read_pair(const pool *p, const char *what, const char *rule, wf__ints given, int64_t otherwise,
                           int64_t *out) {
  WF__CHECK(wf__ints_expand(given, 2, otherwise, out), WF_RUNTIME,
            "%s: %s must %s a single int, or a tuple of two ints", p->name, what, rule);
  return WF_OK;
}

static wf_status read_numbers(pool *p, wf__ints kernel, wf__ints stride, wf__ints padding, wf__ints dilation) {
  WF__TRY(read_pair(p, "kernel_size", "either be", kernel, 0, p->kernel));
  if (stride.dims.n == 0) memcpy(p->stride, p->kernel, sizeof p->stride);
  else WF__TRY(read_pair(p, "stride", "either be omitted,", stride, 0, p->stride));
  for (int d = 0; d < 2; d++) WF__CHECK(p->stride[d] != 0, WF_RUNTIME, "stride should not be zero");
  WF__TRY(read_pair(p, "padding", "either be", padding, 0, p->padding));
  return read_pair(p, "dilation", p->is_max ? "be either" : "either be", dilation, 1, p->dilation);
}

static wf_status check_input(pool *p, const wf_tensor *input) {
  const wf__layout *l = &input->layout;
  char text[WF__DIMS_TEXT];
  int rank = l->ndim;
  WF__CHECK(rank == 3 || rank == 4, WF_RUNTIME, "non-empty 3D or 4D (batch mode) tensor expected for input");
  p->batched = rank == 4;
  p->size[0] = 1;
  for (int d = 0; d < rank; d++) p->size[d + 4 - rank] = l->size[d];
  return p->size[1] && p->size[2] && p->size[3] && (p->batched || l->size[0])
             ? WF_OK
             : wf__fail(WF_RUNTIME,
                        "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:%s",
                        wf__dims_text(wf__layout_sizes(l), text));
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

static wf_status output_size(const pool *p, int d, int64_t *out) {
  int64_t kernel = p->kernel[d], padding = p->padding[d], stride = p->stride[d], dilation = p->dilation[d],
          in = p->size[2 + d];
  WF__CHECK(padding >= 0, WF_RUNTIME, "pad must be non-negative, but got pad: %lld", (long long)padding);
  WF__CHECK(padding <= ((kernel - 1) * dilation + 1) / 2, WF_RUNTIME,
            "pad should be at most half of effective kernel size, but got pad=%lld, kernel_size=%lld and dilation=%lld",
            (long long)padding, (long long)kernel, (long long)dilation);
  int64_t n = floor_div(in + 2 * padding - dilation * (kernel - 1) - 1 + (p->ceil_mode ? stride - 1 : 0), stride) + 1;
  if (p->ceil_mode && (n - 1) * stride >= in + padding)
    n--; /* the last window starts inside of the input or its left padding */
  *out = n;
  return WF_OK;
}

static wf_status check_numbers(const pool *p) {
  WF__CHECK(p->kernel[0] > 0 && p->kernel[1] > 0, WF_RUNTIME,
            "kernel size should be greater than zero, but got kH: %lld kW: %lld", (long long)p->kernel[0],
            (long long)p->kernel[1]);
  WF__CHECK(p->stride[0] > 0 && p->stride[1] > 0, WF_RUNTIME,
            "stride should be greater than zero, but got dH: %lld dW: %lld", (long long)p->stride[0],
            (long long)p->stride[1]);
  WF__CHECK(p->dilation[0] > 0 && p->dilation[1] > 0, WF_RUNTIME,
            "dilation should be greater than zero, but got dilationH: %lld dilationW: %lld", (long long)p->dilation[0],
            (long long)p->dilation[1]);
  return WF_OK;
}

static wf_status check(pool *p, const wf_tensor *input, wf__ints kernel, wf__ints stride, wf__ints padding,
                       wf__ints dilation, int64_t out[4]) {
  WF__TRY(wf__require(p->name, input, "input", 1));
  WF__TRY(read_numbers(p, kernel, stride, padding, dilation));
  if (!p->is_max && p->has_divisor) WF__CHECK(p->divisor != 0, WF_RUNTIME, "divisor must be not zero");
  WF__TRY(check_input(p, input));
  out[0] = p->size[0];
  out[1] = p->size[1];
  for (int d = 0; d < 2; d++) {
    if (p->stride[d] > 0 && p->dilation[d] > 0) WF__TRY(output_size(p, d, &out[2 + d]));
  }
  WF__TRY(check_numbers(p));
  WF__CHECK(out[2] >= 1 && out[3] >= 1, WF_RUNTIME,
            "Given input size: (%lldx%lldx%lld). Calculated output size: (%lldx%lldx%lld). Output size is too small",
            (long long)p->size[1], (long long)p->size[2], (long long)p->size[3], (long long)out[1], (long long)out[2],
            (long long)out[3]);
  return WF_OK;
}

/* ---- plans ------------------------------------------------------------------------------------------------------------------- */

static void fill_param(const pool *p, wf_conv_param *c) {
  *c = (wf_conv_param){.groups = 1,
                       .spatial = 2,
                       .ceil_mode = p->ceil_mode,
                       .count_include_pad = p->count_include_pad,
                       .divisor = p->divisor};
  memcpy(c->kernel, p->kernel, sizeof p->kernel);
  memcpy(c->stride, p->stride, sizeof p->stride);
  memcpy(c->padding, p->padding, sizeof p->padding);
  memcpy(c->dilation, p->dilation, sizeof p->dilation);
}

static wf_tensor *with_batch(const wf_tensor *t, bool batched) {
  if (batched) return wf_retain((wf_tensor *)t);
  wf__layout l = {.ndim = 4,
                  .numel = t->layout.numel,
                  .offset = t->layout.offset,
                  .size = {1},
                  .stride = {t->layout.size[0] * t->layout.stride[0]}};
  for (int d = 0; d < 3; d++) {
    l.size[d + 1] = t->layout.size[d];
    l.stride[d + 1] = t->layout.stride[d];
  }
  return wf__tensor_alias(t, (wf_dtype)t->dtype, &l);
}
static wf_tensor *without_batch(wf_tensor *t, bool batched) {
  if (!t || batched) return t;
  for (int d = 0; d < 3; d++) {
    t->layout.size[d] = t->layout.size[d + 1];
    t->layout.stride[d] = t->layout.stride[d + 1];
  }
  t->layout.ndim = 3;
  return t;
}

static wf_tensor *empty_index(const wf_tensor *on, wf_dtype dtype, wf_dims size, wf_memory_format format) {
  wf__layout l;
  WF__TRY_OR(wf__layout_contiguous(&l, size, wf_dtype_size(dtype)), NULL);
  WF__TRY_OR(wf__layout_restride(&l, format), NULL);
  return wf__tensor_empty(wf__device_of(on), dtype, &l);
}

/* ---- derivatives --------------------------------------------------------------------------------------------------------------- */

static wf_tensor *spread(const pool *p, const wf_tensor *grad, const wf_tensor *index) {
  wf_plan plan = {
      .family = WF_FAMILY_POOL, .op = p->is_max ? WF__POOL_MAX_BACKWARD : WF__POOL_AVG_BACKWARD, .outputs = 1};
  fill_param(p, &plan.param.conv);
  wf_tensor *g = with_batch(grad, p->batched), *i = index ? with_batch(index, p->batched) : NULL, *dx = NULL;
  if (g && (i || !index))
    dx = wf__empty_in(g, wf_dims_of(p->size, 4),
                      p->input_channels_last ? WF_FORMAT_CHANNELS_LAST : WF_FORMAT_CONTIGUOUS);
  if (dx && wf__plan_run(&plan, (const wf_tensor *[]){dx, g, i}, index ? 3 : 2) != WF_OK) {
    wf__drop(dx);
    dx = NULL;
  }
  wf__drop(g);
  wf__drop(i);
  return without_batch(dx, p->batched);
}

static wf_status pool_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const pool *p = node->payload;
  if (!grad[0]) return WF_OK;
  wf_tensor *index = p->is_max ? wf__saved_get(node, 0) : NULL;
  if (p->is_max && !index) return wf__self.pending;
  out[0] = wf__give(spread(p, grad[0], index));
  return wf__not_twice(out[0], (const wf_tensor *[]){grad[0]}, 1, p->name);
}

static const wf__node_class max_class = {"MaxPool2DWithIndicesBackward0", pool_apply, NULL};
static const wf__node_class avg_class = {"AvgPool2DBackward0", pool_apply, NULL};

static wf_status record(const pool *p, wf_tensor *y, const wf_tensor *input, const wf_tensor *index) {
  if (!wf__needs_grad(&input, 1)) return WF_OK;
  wf__node *node = wf__node_new(p->is_max ? &max_class : &avg_class, &input, 1, 1, sizeof *p);
  if (!node) return wf__self.pending;
  memcpy(node->payload, p, sizeof *p);
  if (index) wf__save(node, 0, index);
  wf_status status = wf__set_history(y, node, 0);
  wf__node_release(node);
  return status;
}

/* ---- forward --------------------------------------------------------------------------------------------------------------------- */

/* The index kept for the derivative follows the input, whatever format the values are given in. */
static wf_max_pool2d_result run(pool *p, const wf_tensor *input, const int64_t size[4], bool want_indices) {
  wf_max_pool2d_result r = {NULL, NULL};
  wf_tensor *x = with_batch(input, p->batched);
  if (!x) return r;
  wf_memory_format of_input = wf__suggest_format(&x->layout);
  wf_memory_format format = p->format == WF_FORMAT_PRESERVE ? of_input : p->format;
  p->input_channels_last = of_input == WF_FORMAT_CHANNELS_LAST;
  bool recorded = wf__needs_grad(&input, 1), needs_index = p->is_max && (want_indices || recorded);
  bool narrow = !want_indices && p->kernel[0] * p->kernel[1] <= 255;
  wf_plan plan = {
      .family = WF_FAMILY_POOL, .op = p->is_max ? WF__POOL_MAX : WF__POOL_AVG, .outputs = p->is_max ? 2 : 1};
  fill_param(p, &plan.param.conv);
  wf_dims sizes = wf_dims_of(size, 4);
  r.values = wf__empty_in(x, sizes, format);
  if (r.values && needs_index)
    r.indices = empty_index(x, narrow ? WF_U8 : WF_I64, sizes, want_indices ? format : of_input);
  bool fine = r.values && (r.indices || !needs_index);
  if (fine) {
    const wf_tensor *of_max[] = {r.values, r.indices, x}, *of_avg[] = {r.values, x};
    fine = wf__plan_run(&plan, p->is_max ? of_max : of_avg, p->is_max ? 3 : 2) == WF_OK;
  }
  wf__drop(x);
  if (fine) {
    without_batch(r.values, p->batched);
    without_batch(r.indices, p->batched);
    fine = record(p, r.values, input, r.indices) == WF_OK;
  }
  if (!fine || !want_indices) {
    wf__drop(r.indices);
    r.indices = NULL;
  }
  if (!fine) {
    wf__drop(r.values);
    r.values = NULL;
  }
  return r;
}

static wf_max_pool2d_result pooling(pool p, const wf_tensor *input, wf__ints kernel, wf__ints stride, wf__ints padding,
                                    wf__ints dilation, bool want_indices) {
  int64_t size[4];
  if (check(&p, input, kernel, stride, padding, dilation, size) != WF_OK) return (wf_max_pool2d_result){NULL, NULL};
  wf_max_pool2d_result r = run(&p, input, size, want_indices);
  r.values = wf__give(r.values);
  r.indices = wf__give(r.indices);
  return r;
}

/* ---- entries ------------------------------------------------------------------------------------------------------------------- */

wf_pool_options wf_pool_defaults(void) {
  return (wf_pool_options){.dilation = {1, 1}, .count_include_pad = true, .format = WF_FORMAT_PRESERVE};
}

static wf_max_pool2d_result by_options(pool p, const wf_tensor *input, wf_dims kernel, const wf_pool_options *options,
                                       bool want_indices) {
  wf_pool_options o = options ? *options : wf_pool_defaults();
  p.ceil_mode = o.ceil_mode;
  p.count_include_pad = o.count_include_pad;
  p.has_divisor = o.divisor != 0;
  p.divisor = o.divisor;
  p.format = o.format;
  bool own_stride = o.stride[0] || o.stride[1];
  return pooling(p, input, wf__ints_of(kernel.at, kernel.n), wf__ints_of(o.stride, own_stride ? 2 : 0),
                 wf__ints_of(o.padding, 2), wf__ints_of(o.dilation, 2), want_indices);
}

wf_tensor *wf_max_pool2d(const wf_tensor *input, wf_dims kernel, const wf_pool_options *options) {
  WF__OP("max_pool2d", NULL);
  return by_options((pool){.name = "max_pool2d", .is_max = true}, input, kernel, options, false).values;
}
wf_max_pool2d_result wf_max_pool2d_with_indices(const wf_tensor *input, wf_dims kernel,
                                                const wf_pool_options *options) {
  WF__OP("max_pool2d_with_indices", ((wf_max_pool2d_result){NULL, NULL}));
  return by_options((pool){.name = "max_pool2d", .is_max = true}, input, kernel, options, true);
}
wf_tensor *wf_avg_pool2d(const wf_tensor *input, wf_dims kernel, const wf_pool_options *options) {
  WF__OP("avg_pool2d", NULL);
  return by_options((pool){.name = "avg_pool2d"}, input, kernel, options, false).values;
}

wf_max_pool2d_result wf__op_max_pool2d(wf_tensor *input, wf__ints kernel_size, wf__ints stride, wf__ints padding,
                                       wf__ints dilation, bool ceil_mode, bool return_indices) {
  WF__OP("max_pool2d", ((wf_max_pool2d_result){NULL, NULL}));
  pool p = {.name = "max_pool2d", .is_max = true, .ceil_mode = ceil_mode, .format = WF_FORMAT_PRESERVE};
  return pooling(p, input, kernel_size, stride, padding, dilation, return_indices);
}
wf_tensor *wf__op_avg_pool2d(wf_tensor *input, wf__ints kernel_size, wf__ints stride, wf__ints padding, bool ceil_mode,
                             bool count_include_pad, wf_scalar divisor_override) {
  WF__OP("avg_pool2d", NULL);
  pool p = {.name = "avg_pool2d",
            .ceil_mode = ceil_mode,
            .count_include_pad = count_include_pad,
            .format = WF_FORMAT_PRESERVE};
  p.has_divisor = divisor_override.kind != WF_SCALAR_NONE;
  p.divisor = p.has_divisor ? divisor_override.as.i : 0;
  return pooling(p, input, kernel_size, stride, padding, wf__ints_of(NULL, 0), false).values;
}
