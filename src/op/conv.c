/* conv1d, conv2d and their derivative. One-dimensional convolutions run as two-dimensional ones of height 1, unbatched ones as a batch
 * of one: the plan sees aliases with the dims put in.
 *
 * The result is channels last when input or weight look so, else row-major. oneDNN takes an activation that is dense in that format as
 * it lies; one that isn't is copied, which the ledger shows as implicit. */
#include <stdio.h>
#include <string.h>

#include "copy/copy.h"
#include "op/network.h"

/* Everything that isn't a tensor. */
typedef struct conv {
  const char *name;
  int spatial; /* 1 or 2 */
  bool batched, channels_last, has_bias;
  int64_t stride[2], padding[2], dilation[2], groups; /* of `spatial` dims */
  int64_t behind[2];                                  /* padding="same" with an even kernel pads one more behind */
} conv;

/* ---- checks, in PyTorch's order and words ------------------------------------------------------------------------------- */

static wf_status read_list(const char *what, wf__ints given, int spatial, int64_t otherwise, int64_t *out) {
  char text[WF__DIMS_TEXT];
  WF__CHECK(
      wf__ints_expand(given, spatial, otherwise, out), WF_RUNTIME,
      "expected %s to be a single integer value or a list of %d values to match the convolution dimensions, but got %s=%s",
      what, spatial, what, wf__dims_text(given.dims, text));
  return WF_OK;
}

static wf_status read_padding(conv *c, wf__ints padding, const wf_tensor *weight) {
  if (!padding.word) return read_list("padding", padding, c->spatial, 0, c->padding);
  if (!strcmp(padding.word, "valid")) return WF_OK;
  WF__CHECK(!strcmp(padding.word, "same"), WF_RUNTIME, "Invalid padding string: '%s'", padding.word);
  for (int d = 0; d < c->spatial; d++) {
    WF__CHECK(c->stride[d] == 1, WF_RUNTIME, "padding='same' is not supported for strided convolutions");
    int64_t total = c->dilation[d] * (weight->layout.size[2 + d] - 1);
    c->padding[d] = total / 2;
    c->behind[d] = total % 2;
  }
  return WF_OK;
}

static wf_status check_numbers(const conv *c) {
  char text[WF__DIMS_TEXT];
  for (int d = 0; d < c->spatial; d++) {
    WF__CHECK(c->padding[d] >= 0, WF_RUNTIME, "negative padding is not supported");
    WF__CHECK(c->stride[d] > 0, WF_RUNTIME, "non-positive stride is not supported");
    WF__CHECK(c->dilation[d] > 0, WF_RUNTIME, "dilation should be greater than zero, but got %s",
              wf__dims_text(wf_dims_of(c->dilation, c->spatial), text));
  }
  WF__CHECK(c->groups > 0, WF_RUNTIME, "non-positive groups is not supported");
  return WF_OK;
}

static void spatial_text(const int64_t *at, int n, char *out, size_t size) {
  if (n == 1) snprintf(out, size, "(%lld)", (long long)at[0]);
  else snprintf(out, size, "(%lld x %lld)", (long long)at[0], (long long)at[1]);
}

static wf_status check_kernel(const conv *c, const int64_t *input, const int64_t *weight) {
  int64_t padded[2], kernel[2];
  char a[48], b[48];
  bool fits = true;
  for (int d = 0; d < c->spatial; d++) {
    padded[d] = input[2 + d] + 2 * c->padding[d] + c->behind[d];
    kernel[d] = c->dilation[d] * (weight[2 + d] - 1) + 1;
    fits = fits && padded[d] >= kernel[d];
  }
  spatial_text(padded, c->spatial, a, sizeof a);
  spatial_text(kernel, c->spatial, b, sizeof b);
  WF__CHECK(
      fits, WF_RUNTIME,
      "Calculated padded input size per channel: %s. Kernel size: %s. Kernel size can't be greater than actual input size",
      a, b);
  if (c->spatial == 2)
    WF__CHECK(weight[2] > 0 && weight[3] > 0, WF_RUNTIME,
              "kernel size should be greater than zero, but got kernel_height: %lld kernel_width: %lld",
              (long long)weight[2], (long long)weight[3]);
  return WF_OK;
}

/* input: the sizes with a batch. */
static wf_status check_shapes(const conv *c, wf_dims input, const wf_tensor *weight, const wf_tensor *bias) {
  char w[WF__DIMS_TEXT], x[WF__DIMS_TEXT];
  const int64_t *size = weight->layout.size;
  long long groups = c->groups;
  wf__dims_text(wf__layout_sizes(&weight->layout), w);
  wf__dims_text(input, x);
  WF__CHECK(size[0] >= c->groups, WF_RUNTIME,
            "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got weight of size %s instead",
            groups, groups, w);
  WF__CHECK(
      size[0] % c->groups == 0, WF_RUNTIME,
      "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got weight of size [%s] instead",
      groups, groups, w);
  WF__CHECK(
      input.at[1] == size[1] * c->groups, WF_RUNTIME,
      "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, but got %lld channels instead",
      groups, w, x, (long long)(size[1] * c->groups), (long long)input.at[1]);
  if (bias && (bias->layout.ndim != 1 || bias->layout.size[0] != size[0]))
    return wf__fail(
        WF_RUNTIME,
        "Given weight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias of size %s instead",
        w, (long long)size[0], wf__dims_text(wf__layout_sizes(&bias->layout), x));
  return check_kernel(c, input.at, size);
}

static wf_status check(conv *c, const wf_tensor *input, const wf_tensor *weight, const wf_tensor *bias, wf__ints stride,
                       wf__ints padding, wf__ints dilation) {
  char text[WF__DIMS_TEXT];
  WF__TRY(wf__require(c->name, input, "input", 1));
  WF__TRY(wf__require(c->name, weight, "weight", 2));
  int rank = input->layout.ndim, full = c->spatial + 2;
  WF__CHECK(rank == full || rank == full - 1, WF_RUNTIME,
            "Expected %dD (unbatched) or %dD (batched) input to %s, but got input of size: %s", full - 1, full, c->name,
            wf__dims_text(wf__layout_sizes(&input->layout), text));
  WF__CHECK(!bias || bias->dtype == input->dtype, WF_RUNTIME, "Input type (%s) and bias type (%s) should be the same",
            wf__cpp_type_text((wf_dtype)input->dtype), wf__cpp_type_text((wf_dtype)bias->dtype));
  c->batched = rank == full;
  if (weight->layout.ndim != full) {
    int64_t given[2] = {0};
    wf__ints_expand(stride, c->spatial, 1, given);
    return wf__fail(
        WF_RUNTIME,
        "expected stride to be a single integer value or a list of %d values to match the convolution dimensions, but got stride=%s",
        weight->layout.ndim - 2, wf__dims_text(wf_dims_of(given, c->spatial), text));
  }
  WF__TRY(read_list("stride", stride, c->spatial, 1, c->stride));
  WF__TRY(read_list("dilation", dilation, c->spatial, 1, c->dilation));
  WF__TRY(read_padding(c, padding, weight));
  WF__TRY(check_numbers(c));
  int64_t size[4] = {1};
  for (int d = 0; d < rank; d++) size[c->batched ? d : d + 1] = input->layout.size[d];
  WF__TRY(check_shapes(c, wf_dims_of(size, full), weight, bias));
  WF__TRY(wf__same_scalar_type(input, weight));
  WF__CHECK(input->dtype != WF_BOOL, WF_NOT_IMPLEMENTED, "\"slow_conv2d_cpu\" not implemented for 'Bool'");
  return wf__check_same_device((const wf_tensor *[]){input, weight, bias}, bias ? 3 : 2);
}

/* ---- from the tensors' own ranks to four dims and back -------------------------------------------------------------------- */

static void insert_dim(wf__layout *l, int at) {
  int64_t stride = at < l->ndim ? l->size[at] * l->stride[at] : 1;
  for (int d = l->ndim++; d > at; d--) {
    l->size[d] = l->size[d - 1];
    l->stride[d] = l->stride[d - 1];
  }
  l->size[at] = 1;
  l->stride[at] = stride;
}
static void remove_dim(wf__layout *l, int at) {
  for (int d = at; d + 1 < l->ndim; d++) {
    l->size[d] = l->size[d + 1];
    l->stride[d] = l->stride[d + 1];
  }
  l->ndim--;
}

/* An alias of four dims; one reference, the caller's. */
static wf_tensor *widen(const conv *c, const wf_tensor *t, bool batched) {
  wf__layout l = t->layout;
  if (!batched) insert_dim(&l, 0);
  if (c->spatial == 1) insert_dim(&l, 2);
  return wf__tensor_alias(t, (wf_dtype)t->dtype, &l);
}
/* A fresh result of four dims gets back the rank that the caller knows. */
static wf_tensor *narrow(const conv *c, wf_tensor *t, bool batched) {
  if (!t) return NULL;
  if (c->spatial == 1) remove_dim(&t->layout, 2);
  if (!batched) remove_dim(&t->layout, 0);
  return t;
}

static void fill_param(const conv *c, wf_conv_param *p) {
  *p = (wf_conv_param){.stride = {1, 1}, .dilation = {1, 1}, .groups = c->groups, .spatial = 2};
  for (int d = 0; d < c->spatial; d++) {
    int to = c->spatial == 1 ? 1 : d;
    p->stride[to] = c->stride[d];
    p->padding[to] = c->padding[d];
    p->dilation[to] = c->dilation[d];
  }
}

static wf_memory_format format_of(const conv *c) {
  return c->channels_last ? WF_FORMAT_CHANNELS_LAST : WF_FORMAT_CONTIGUOUS;
}

/* What oneDNN can read as it lies, else a copy. Loops read any strides. */
static wf_tensor *readable(const wf_tensor *t, wf_memory_format format) {
  if (t->dtype != WF_F32) return wf_retain((wf_tensor *)t);
  return wf__contiguous(t, format, true);
}
static wf_tensor *readable_weight(const wf_tensor *t) {
  if (wf__is_dense(&t->layout)) return wf_retain((wf_tensor *)t);
  return readable(t, WF_FORMAT_CONTIGUOUS);
}

/* The input with the row and column behind it that padding="same" asks for; itself when there are none. Takes the reference over. */
static wf_tensor *pad_behind(const conv *c, wf_tensor *x) {
  if (!x || (!c->behind[0] && !c->behind[1])) return x;
  int64_t size[4];
  for (int d = 0; d < 4; d++) size[d] = x->layout.size[d];
  for (int d = 0; d < c->spatial; d++) size[4 - c->spatial + d] += c->behind[d];
  wf_tensor *padded = wf__empty_in(x, wf_dims_of(size, 4), format_of(c)), *inside = NULL;
  if (padded && wf__fill(padded, wf_int(0)) == WF_OK) {
    wf__layout l = padded->layout;
    for (int d = 0; d < 4; d++) l.size[d] = x->layout.size[d];
    l.numel = x->layout.numel;
    inside = wf__tensor_alias(padded, (wf_dtype)x->dtype, &l);
  }
  bool fine = inside && wf__copy(inside, x, false, true) == WF_OK;
  wf__drop(inside);
  wf__drop(x);
  if (!fine) {
    wf__drop(padded);
    return NULL;
  }
  return padded;
}

/* The input as the plans take it. */
static wf_tensor *wide_input(const conv *c, const wf_tensor *input) {
  wf_tensor *alias = widen(c, input, c->batched);
  if (!alias) return NULL;
  wf_tensor *x = readable(alias, format_of(c));
  wf__drop(alias);
  return pad_behind(c, x);
}
static wf_tensor *wide_weight(const conv *c, const wf_tensor *weight) {
  wf_tensor *alias = widen(c, weight, true);
  if (!alias) return NULL;
  wf_tensor *w = readable_weight(alias);
  wf__drop(alias);
  return w;
}

/* ---- forward ---------------------------------------------------------------------------------------------------------------- */

static wf_tensor *run_forward(const conv *c, const wf_tensor *x, const wf_tensor *w, const wf_tensor *bias) {
  wf_plan plan = {.family = WF_FAMILY_CONV, .op = WF__CONV_FORWARD, .outputs = 1};
  fill_param(c, &plan.param.conv);
  const wf_conv_param *p = &plan.param.conv;
  int64_t size[4] = {x->layout.size[0], w->layout.size[0]};
  for (int d = 0; d < 2; d++)
    size[2 + d] =
        (x->layout.size[2 + d] + 2 * p->padding[d] - p->dilation[d] * (w->layout.size[2 + d] - 1) - 1) / p->stride[d] +
        1;
  wf_tensor *y = wf__empty_in(x, wf_dims_of(size, 4), format_of(c));
  if (!y) return NULL;
  const wf_tensor *operands[] = {y, x, w, bias};
  if (wf__plan_run(&plan, operands, 4) == WF_OK) return y;
  wf__drop(y);
  return NULL;
}

static const wf__node_class conv_class;

static wf_status record(const conv *c, wf_tensor *y, const wf_tensor *input, const wf_tensor *weight,
                        const wf_tensor *bias) {
  const wf_tensor *inputs[] = {input, weight, bias};
  if (!wf__needs_grad(inputs, 3)) return WF_OK;
  wf__node *node = wf__node_new(&conv_class, inputs, 3, 2, sizeof *c);
  if (!node) return wf__self.pending;
  memcpy(node->payload, c, sizeof *c);
  wf__save(node, 0, input);
  wf__save(node, 1, weight);
  wf_status status = wf__set_history(y, node, 0);
  wf__node_release(node);
  return status;
}

static wf_tensor *convolution(conv c, const wf_tensor *input, const wf_tensor *weight, const wf_tensor *bias,
                              wf__ints stride, wf__ints padding, wf__ints dilation) {
  WF__TRY_OR(check(&c, input, weight, bias, stride, padding, dilation), NULL);
  c.has_bias = bias != NULL;
  wf_tensor *alias = widen(&c, input, c.batched), *y = NULL;
  wf_tensor *w = alias ? wide_weight(&c, weight) : NULL, *b = bias && w ? readable(bias, WF_FORMAT_CONTIGUOUS) : NULL;
  if (w && (b || !bias)) {
    c.channels_last = wf__suggest_format(&alias->layout) == WF_FORMAT_CHANNELS_LAST ||
                      wf__suggest_format(&w->layout) == WF_FORMAT_CHANNELS_LAST;
    wf_tensor *x = wide_input(&c, input);
    if (x) y = narrow(&c, run_forward(&c, x, w, b), c.batched);
    wf__drop(x);
  }
  wf__drop(alias);
  wf__drop(w);
  wf__drop(b);
  if (y) record(&c, y, input, weight, bias);
  return wf__give(y);
}

/* ---- derivative --------------------------------------------------------------------------------------------------------------- */

/* Gradient of the input: of the padded one when there is padding behind, cut to its place. */
static wf_tensor *input_gradient(const conv *c, const wf_tensor *x, const wf_tensor *w, const wf_tensor *g) {
  wf_plan plan = {.family = WF_FAMILY_CONV, .op = WF__CONV_BACKWARD_DATA, .outputs = 1};
  fill_param(c, &plan.param.conv);
  wf_tensor *dx = wf__empty_in(x, wf__layout_sizes(&x->layout), format_of(c));
  if (!dx) return NULL;
  const wf_tensor *operands[] = {dx, g, w, NULL};
  if (wf__plan_run(&plan, operands, 4) != WF_OK) {
    wf__drop(dx);
    return NULL;
  }
  for (int d = 0; d < c->spatial; d++) {
    int at = 4 - c->spatial + d;
    dx->layout.size[at] -= c->behind[d];
  }
  dx->layout.numel = dx->layout.size[0] * dx->layout.size[1] * dx->layout.size[2] * dx->layout.size[3];
  return dx;
}

/* Gradient of the weight, and of the bias when asked for. */
static wf_tensor *weight_gradient(const conv *c, const wf_tensor *x, const wf_tensor *weight, const wf_tensor *g,
                                  wf_tensor *bias) {
  wf_plan plan = {.family = WF_FAMILY_CONV, .op = WF__CONV_BACKWARD_WEIGHT, .outputs = 2};
  fill_param(c, &plan.param.conv);
  wf_tensor *alias = widen(c, weight, true);
  if (!alias) return NULL;
  wf_tensor *dw = wf__empty_in(alias, wf__layout_sizes(&alias->layout), wf__suggest_format(&alias->layout));
  wf__drop(alias);
  if (!dw) return NULL;
  const wf_tensor *operands[] = {dw, bias, g, x};
  if (wf__plan_run(&plan, operands, 4) == WF_OK) return dw;
  wf__drop(dw);
  return NULL;
}

static wf_status conv_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const conv *c = node->payload;
  if (!grad[0]) return WF_OK;
  wf_tensor *input = wf__saved_get(node, 0), *weight = wf__saved_get(node, 1);
  if (!input || !weight) return wf__self.pending;
  wf_tensor *alias = widen(c, grad[0], c->batched), *g = alias ? readable(alias, format_of(c)) : NULL;
  wf_tensor *x = g ? wide_input(c, input) : NULL, *w = x ? wide_weight(c, weight) : NULL;
  if (w) {
    if (wf__node_wants(node, 0)) out[0] = wf__give(narrow(c, input_gradient(c, x, w, g), c->batched));
    bool bias = c->has_bias && wf__node_wants(node, 2);
    wf_tensor *db =
        bias ? wf__tensor_empty_sized(wf__device_of(w), (wf_dtype)w->dtype, wf_dims_of(w->layout.size, 1)) : NULL;
    if ((wf__node_wants(node, 1) || bias) && (db || !bias)) {
      wf_tensor *dw = wf__give(narrow(c, weight_gradient(c, x, weight, g, db), true));
      if (wf__node_wants(node, 1)) out[1] = dw;
    }
    out[2] = wf__give(db);
  }
  wf__drop(alias);
  wf__drop(g);
  wf__drop(x);
  wf__drop(w);
  const wf_tensor *inputs[] = {grad[0], input, weight};
  for (int i = 0; i < 3; i++) wf__not_twice(out[i], inputs, 3, c->name);
  return wf__self.pending;
}

static const wf__node_class conv_class = {"ConvolutionBackward0", conv_apply, NULL};

/* ---- entries ------------------------------------------------------------------------------------------------------------------- */

wf_conv_options wf_conv_defaults(void) { return (wf_conv_options){.stride = {1, 1}, .dilation = {1, 1}, .groups = 1}; }

static wf_tensor *by_options(const char *name, int spatial, const wf_tensor *input, const wf_tensor *weight,
                             const wf_tensor *bias, const wf_conv_options *options) {
  wf_conv_options o = options ? *options : wf_conv_defaults();
  conv c = {.name = name, .spatial = spatial, .groups = o.groups};
  return convolution(c, input, weight, bias, wf__ints_of(o.stride, spatial), wf__ints_of(o.padding, spatial),
                     wf__ints_of(o.dilation, spatial));
}

wf_tensor *wf_conv2d(const wf_tensor *input, const wf_tensor *weight, const wf_tensor *bias,
                     const wf_conv_options *options) {
  WF__OP("conv2d", NULL);
  return by_options("conv2d", 2, input, weight, bias, options);
}
wf_tensor *wf_conv1d(const wf_tensor *input, const wf_tensor *weight, const wf_tensor *bias,
                     const wf_conv_options *options) {
  WF__OP("conv1d", NULL);
  return by_options("conv1d", 1, input, weight, bias, options);
}

wf_tensor *wf__op_conv2d(wf_tensor *input, wf_tensor *weight, wf_tensor *bias, wf__ints stride, wf__ints padding,
                         wf__ints dilation, int64_t groups) {
  WF__OP("conv2d", NULL);
  return convolution((conv){.name = "conv2d", .spatial = 2, .groups = groups}, input, weight, bias, stride, padding,
                     dilation);
}
wf_tensor *wf__op_conv1d(wf_tensor *input, wf_tensor *weight, wf_tensor *bias, wf__ints stride, wf__ints padding,
                         wf__ints dilation, int64_t groups) {
  WF__OP("conv1d", NULL);
  return convolution((conv){.name = "conv1d", .spatial = 1, .groups = groups}, input, weight, bias, stride, padding,
                     dilation);
}
