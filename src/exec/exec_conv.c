/* Convolution and its derivatives: f32 by oneDNN where input and output lie in the same of the two plain formats, else loops.
 *
 * Channels last is the fast one (32 to 64 channels, 3x3, 14x14, batch 128, 2 threads: 3.2 ms against 6.6 row-major). Activations are
 * read and written as they lie; weights are packed for each run, which is recorded. A tensor that fits both formats (one channel, one
 * pixel) is described in the one that its partner has: under the other, oneDNN takes its plain loops, 300 times slower. */
#include <string.h>

#include "base/convert.h"
#include "base/cpu.h"
#include "exec/dnnl_cache.h"
#include "exec/families.h"
#include "exec/format.h"
#include "exec/team.h"
#include "exec/threads.h"
#include "kernel/kernel.h"
#include "kernel/neural.h"

static int64_t at_least_one(int64_t n) { return n > 0 ? n : 1; }

#ifdef WF_HAVE_DNNL

/* Which operand is what; -1: there is none. */
typedef struct roles {
  int input, output, weight, bias;
} roles;

static roles roles_of(const wf_plan *plan) {
  switch (plan->op) {
    case WF__CONV_FORWARD: return (roles){1, 0, 2, plan->operand[3].data ? 3 : -1};
    case WF__CONV_BACKWARD_DATA: return (roles){0, 1, 2, -1};
    default: return (roles){3, 2, 0, plan->operand[1].data ? 1 : -1};
  }
}

/* The format that both activations have, channels last first. */
static bool common_format(const wf_plan *plan, roles r, dnnl_format_tag_t *tag) {
  *tag = dnnl_nhwc;
  if (wf__is_channels_last(plan, r.input) && wf__is_channels_last(plan, r.output)) return true;
  *tag = dnnl_nchw;
  return wf__is_row_major(plan, r.input) && wf__is_row_major(plan, r.output);
}

static bool is_dense_vector(const wf_plan *plan, int i) {
  return i < 0 || plan->shape[i][0] == 1 ||
         plan->operand[i].stride[0] == (int64_t)wf_dtype_size(plan->operand[i].dtype);
}

static bool is_empty(const wf_plan *plan, int i) {
  for (int d = 0; d < 4; d++)
    if (plan->shape[i][d] == 0) return true;
  return false;
}

/* Whether the plan goes to oneDNN, and under which key. */
static bool key_of(const wf_plan *plan, wf__dnnl_key *key, dnnl_format_tag_t *tag) {
  const wf_conv_param *c = &plan->param.conv;
  roles r = roles_of(plan);
  if (wf__cpu_isa() == WF__ISA_REF || plan->operand[0].dtype != WF_F32) return false;
  if (plan->op == WF__CONV_BACKWARD_DATA && plan->operand[3].data) return false;
  if (is_empty(plan, r.input) || is_empty(plan, r.output) || is_empty(plan, r.weight)) return false;
  if (!common_format(plan, r, tag) || !is_dense_vector(plan, r.bias)) return false;
  memset(key, 0, sizeof *key);
  int64_t *w = key->word;
  *w++ = WF_FAMILY_CONV;
  *w++ = plan->op;
  *w++ = *tag;
  *w++ = wf_num_threads();
  *w++ = r.bias >= 0;
  *w++ = c->groups;
  for (int d = 0; d < 2; d++) {
    *w++ = c->stride[d];
    *w++ = c->padding[d];
    *w++ = c->dilation[d];
  }
  for (int d = 0; d < 4; d++) {
    *w++ = plan->shape[r.input][d];
    *w++ = plan->shape[r.output][d];
    *w++ = plan->shape[r.weight][d];
    *w++ = plan->shape[r.weight][d] == 1 ? 0 : plan->operand[r.weight].stride[d];
  }
  return true;
}

/* The caller's weights, [groups, co/g, ci/g, kh, kw] when there are groups, and as oneDNN wants them. The stride of a dim of size 1 is made
 * what a dense layout would have, so that equal layouts compare equal. */
static void describe_weights(const wf_plan *plan, int i, wf__dnnl_layout *ours, wf__dnnl_layout *theirs) {
  int64_t groups = plan->param.conv.groups, item = (int64_t)wf_dtype_size(plan->operand[i].dtype);
  dnnl_dims_t size, stride;
  int n = 0;
  if (groups > 1) {
    size[n] = groups;
    stride[n++] = plan->operand[i].stride[0] / item * (plan->shape[i][0] / groups);
  }
  for (int d = 0; d < 4; d++) {
    size[n] = d == 0 ? plan->shape[i][0] / groups : plan->shape[i][d];
    stride[n++] = plan->operand[i].stride[d] / item;
  }
  for (int d = n - 1; d >= 0; d--)
    if (size[d] == 1) stride[d] = d + 1 < n ? size[d + 1] * stride[d + 1] : 1;
  *ours = wf__dnnl_layout_strided(n, size, stride);
  *theirs = wf__dnnl_layout_tagged(n, size, dnnl_format_tag_any);
}

/* `weights`: as the caller has them. Free it whatever comes back. */
static bool describe(const wf_plan *plan, wf__dnnl_conv *conv, wf__dnnl_layout *weights) {
  const wf_conv_param *c = &plan->param.conv;
  roles r = roles_of(plan);
  dnnl_format_tag_t tag;
  common_format(plan, r, &tag);
  for (int i = 0; i < 2; i++) {
    conv->stride[i] = c->stride[i];
    conv->dilation[i] = c->dilation[i] - 1;
    conv->padding[i] = c->padding[i];
  }
  conv->input = wf__dnnl_layout_tagged(4, plan->shape[r.input], tag);
  conv->output = wf__dnnl_layout_tagged(4, plan->shape[r.output], tag);
  conv->bias = r.bias >= 0 ? wf__dnnl_layout_tagged(1, plan->shape[r.bias], dnnl_a) : NULL;
  describe_weights(plan, r.weight, weights, &conv->weight);
  return conv->input && conv->output && conv->weight && *weights && (conv->bias || r.bias < 0);
}

static void free_layouts(wf__dnnl_conv *conv, wf__dnnl_layout weights) {
  wf__dnnl_layout all[] = {conv->input, conv->output, conv->weight, conv->bias, weights};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) wf__dnnl_layout_free(all[i]);
}

static bool backward_desc(const wf_plan *plan, const wf__dnnl_conv *conv, dnnl_primitive_desc_t *made) {
  dnnl_primitive_desc_t forward;
  wf__dnnl_conv hint = *conv;
  if (plan->op == WF__CONV_BACKWARD_DATA) hint.bias = NULL;
  if (!wf__dnnl_conv_forward(&hint, &forward)) return false;
  bool fine = plan->op == WF__CONV_BACKWARD_DATA ? wf__dnnl_conv_backward_data(conv, forward, made)
                                                 : wf__dnnl_conv_backward_weights(conv, forward, made);
  dnnl_primitive_desc_destroy(forward);
  return fine;
}

/* Arguments in the order input, output, weight, bias. Takes `made` over. */
static bool fill(wf__dnnl_entry *entry, const wf_plan *plan, const wf__dnnl_conv *conv, wf__dnnl_const_layout weights,
                 dnnl_primitive_desc_t made) {
  static const int arguments[3][4] = {
      [WF__CONV_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS},
      [WF__CONV_BACKWARD_DATA] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, 0},
      [WF__CONV_BACKWARD_WEIGHT] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS}};
  const int *argument = arguments[plan->op];
  bool to_weights = plan->op == WF__CONV_BACKWARD_WEIGHT;
  wf__dnnl_const_layout packed =
      dnnl_primitive_desc_query_md(made, to_weights ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
  if (packed && wf__dnnl_add(&entry->work, argument[0], conv->input) &&
      wf__dnnl_add(&entry->work, argument[1], conv->output) && wf__dnnl_add(&entry->work, argument[2], packed) &&
      (!conv->bias || wf__dnnl_add(&entry->work, argument[3], conv->bias)) &&
      wf__dnnl_set_pack(entry, weights, packed, !to_weights))
    return wf__dnnl_set_primitive(entry, &entry->work, made);
  dnnl_primitive_desc_destroy(made);
  return false;
}

static bool make(wf__dnnl_entry *entry, const wf_plan *plan) {
  wf__dnnl_conv conv;
  wf__dnnl_layout weights;
  dnnl_primitive_desc_t made;
  bool fine =
      describe(plan, &conv, &weights) &&
      (plan->op == WF__CONV_FORWARD ? wf__dnnl_conv_forward(&conv, &made) : backward_desc(plan, &conv, &made)) &&
      fill(entry, plan, &conv, weights, made);
  free_layouts(&conv, weights);
  return fine;
}

/* false: the loops must do it. */
static bool run_library(const wf_plan *plan, wf_status *status) {
  wf__dnnl_key key;
  dnnl_format_tag_t tag;
  if (!key_of(plan, &key, &tag)) return false;
  int team = wf__team_enter();
  wf__dnnl_entry *entry = wf__dnnl_take(&key, make, plan);
  void *workspace = plan->operand[plan->operands].data;
  bool able = entry && !entry->declined && (workspace || !wf__dnnl_workspace(entry));
  if (able) {
    roles r = roles_of(plan);
    wf__dnnl_point(&entry->work, 0, plan->operand[r.input].data);
    wf__dnnl_point(&entry->work, 1, plan->operand[r.output].data);
    wf__dnnl_point_weights(entry, 2, plan->operand[r.weight].data, workspace);
    if (r.bias >= 0) wf__dnnl_point(&entry->work, 3, plan->operand[r.bias].data);
    bool unpack = plan->op == WF__CONV_BACKWARD_WEIGHT;
    bool fine = (unpack || wf__dnnl_run_pack(entry, &plan->tag, workspace)) && wf__dnnl_run(entry, workspace) &&
                (!unpack || wf__dnnl_run_pack(entry, &plan->tag, workspace));
    *status = fine ? WF_OK : wf__fail(WF_RUNTIME, "could not execute a primitive");
  } else if (!entry) {
    *status = wf__self.pending;
  }
  if (entry) wf__dnnl_return(entry);
  wf__team_leave(team);
  return able || !entry;
}

size_t wf__exec_conv_workspace(const wf_plan *plan) {
  wf__dnnl_key key;
  dnnl_format_tag_t tag;
  if (!key_of(plan, &key, &tag)) return 0;
  int team = wf__team_enter();
  wf__dnnl_entry *entry = wf__dnnl_take(&key, make, plan);
  size_t bytes = entry && !entry->declined ? wf__dnnl_workspace(entry) : 0;
  if (entry) wf__dnnl_return(entry);
  wf__team_leave(team);
  return bytes;
}

#else

static bool run_library(const wf_plan *plan, wf_status *status) { return false; }
size_t wf__exec_conv_workspace(const wf_plan *plan) { return 0; }

#endif

static void forward_planes(void *context, int64_t begin, int64_t end) { wf__ref_conv_forward(context, begin, end); }
static void data_planes(void *context, int64_t begin, int64_t end) { wf__ref_conv_backward_data(context, begin, end); }
static void weight_pairs(void *context, int64_t begin, int64_t end) {
  wf__ref_conv_backward_weight(context, begin, end);
}
static void bias_channels(void *context, int64_t begin, int64_t end) {
  wf__ref_conv_backward_bias(context, begin, end);
}

wf_status wf__exec_conv(const wf_plan *plan) {
  wf_status status = WF_OK;
  wf_dtype dtype = (wf_dtype)plan->operand[0].dtype;
  if (dtype == WF_BOOL) return wf__no_kernel("slow_conv2d_cpu", dtype);
  if (run_library(plan, &status)) return status;
  const int64_t *size = plan->shape[0];
  int64_t pieces = size[0] * size[1], work = at_least_one(size[2] * size[3]) * at_least_one(plan->shape[2][1]);
  wf__range_fn fn = plan->op == WF__CONV_FORWARD         ? forward_planes
                    : plan->op == WF__CONV_BACKWARD_DATA ? data_planes
                                                         : weight_pairs;
  wf__parallel(pieces, at_least_one(WF__GRAIN / 8 / work), fn, (void *)plan);
  if (plan->op == WF__CONV_BACKWARD_WEIGHT && plan->operand[1].data)
    wf__parallel(size[0], 1, bias_channels, (void *)plan);
  return WF_OK;
}
