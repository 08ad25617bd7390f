/* The broadcasting iterator, by the rules of PyTorch's TensorIterator: they decide the strides of every elementwise result, so they are
 * followed to the letter. Dims are kept fastest first while building and turned round when they go into the plan. */
#include "tensor/iterator.h"

#include <string.h>

/* What is being built: for each operand its byte strides over the broadcast shape. */
typedef struct walk {
  int ndim;
  int64_t size[WF_MAX_DIMS];                      /* permuted, then coalesced */
  int64_t stride[WF__ITER_OPERANDS][WF_MAX_DIMS]; /* bytes */
  uint8_t order[WF_MAX_DIMS];                     /* order[i]: dim of the shape that is i-th fastest */
} walk;

/* ---- checks ----------------------------------------------------------------------------------------------------------- */

static wf_status check_overlap(const wf__iter *it) {
  for (int i = 0; i < it->outputs; i++) {
    const wf_tensor *out = it->tensor[i];
    if (!out) continue;
    WF__TRY(wf__check_internal_overlap(out));
    for (int j = it->outputs; j < it->operands; j++)
      if (it->tensor[j] && it->tensor[j] != out) WF__TRY(wf__check_partial_overlap(out, it->tensor[j]));
  }
  return WF_OK;
}

static wf_status choose_device(wf__iter *it) {
  wf__device *common = NULL;
  for (int i = 0; i < it->operands; i++) { /* an accelerator goes before the cpu */
    if (!it->tensor[i]) continue;
    wf__device *device = wf__device_of(it->tensor[i]);
    if (!common || (common->id.type == WF_DEVICE_CPU && device->id.type != WF_DEVICE_CPU)) common = device;
  }
  for (int i = 0; i < it->operands && common; i++) {
    if (!it->tensor[i] || wf__device_of(it->tensor[i]) == common) continue;
    char a[32], b[32];
    return wf__fail(
        WF_RUNTIME, "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
        wf_device_name(common->id, a, sizeof a), wf_device_name(wf__device_of(it->tensor[i])->id, b, sizeof b));
  }
  if (common) it->device = common;
  return WF_OK;
}

/* ---- shape ------------------------------------------------------------------------------------------------------------ */

static bool has_shape(const wf_tensor *t, const wf__iter *it) {
  if (t->layout.ndim != it->ndim) return false;
  for (int d = 0; d < it->ndim; d++)
    if (t->layout.size[d] != it->shape[d]) return false;
  return true;
}

/* Whether all operands have the broadcast shape, numbers included. */
static bool broadcast(wf__iter *it, bool *same, wf_status *status) {
  bool first = true;
  *same = true;
  it->ndim = 0;
  for (int i = 0; i < it->operands; i++) {
    const wf_tensor *t = it->tensor[i];
    if (!t) continue;
    if (first) {
      it->ndim = t->layout.ndim;
      memcpy(it->shape, t->layout.size, sizeof it->shape);
      first = false;
    } else if (!has_shape(t, it)) {
      *same = false;
      *status = wf__broadcast(wf_dims_of(it->shape, it->ndim), wf__layout_sizes(&t->layout), it->shape, &it->ndim);
      if (*status) return false;
    }
  }
  for (int i = it->outputs; i < it->operands && it->ndim && !it->parameters; i++)
    if (!it->tensor[i]) *same = false;
  if (it->joins_number && it->ndim) *same = false;
  return true;
}

static wf_status check_output_shapes(const wf__iter *it) {
  char own[WF__DIMS_TEXT], common[WF__DIMS_TEXT];
  for (int i = 0; i < it->outputs && !it->reduction; i++)
    if (it->tensor[i] && !has_shape(it->tensor[i], it))
      return wf__fail(WF_RUNTIME, "output with shape %s doesn't match the broadcast shape %s",
                      wf__dims_text(wf__layout_sizes(&it->tensor[i]->layout), own),
                      wf__dims_text(wf_dims_of(it->shape, it->ndim), common));
  return WF_OK;
}

/* ---- outputs ----------------------------------------------------------------------------------------------------------- */

static wf_status make_output(wf__iter *it, int i, const wf__layout *layout) {
  if (it->into) {
    memcpy(it->into->layout.stride, layout->stride, sizeof layout->stride);
    it->tensor[i] = it->into;
    return WF_OK;
  }
  it->tensor[i] = wf__tensor_empty(it->device, it->dtype[i], layout);
  if (!it->tensor[i]) return wf__self.pending;
  it->made |= 1 << i;
  return WF_OK;
}

static wf_status make_outputs_in(wf__iter *it, wf_memory_format format) {
  wf__layout layout;
  for (int i = 0; i < it->outputs; i++) {
    if (it->tensor[i]) continue;
    WF__TRY(wf__layout_contiguous(&layout, wf_dims_of(it->shape, it->ndim), wf_dtype_size(it->dtype[i])));
    if (format != WF_FORMAT_CONTIGUOUS) WF__TRY(wf__layout_restride(&layout, format));
    WF__TRY(make_output(it, i, &layout));
  }
  return WF_OK;
}

static wf_status make_outputs_like(wf__iter *it, const wf__layout *layout) {
  wf__layout same = *layout;
  same.offset = 0;
  for (int i = 0; i < it->outputs; i++)
    if (!it->tensor[i]) WF__TRY(make_output(it, i, &same));
  return WF_OK;
}

/* ---- fast setup: one run over all elements ------------------------------------------------------------------------------- */

typedef enum setup { SETUP_FULL, SETUP_CONTIGUOUS, SETUP_CHANNELS_LAST, SETUP_SAME_STRIDES } setup;

/* Whether operand i is seen with other strides than its own. */
static bool repacked(const wf__iter *it, int i) {
  const wf_tensor *t = it->tensor[i];
  if (!t || i < it->outputs) return false;
  return (it->dtype[i] && it->dtype[i] != (wf_dtype)t->dtype && !wf__is_dense(&t->layout)) || it->joins_number;
}

/* The layout by which operand i takes part in choosing strides; `room` where it has to be made. */
static const wf__layout *seen(const wf__iter *it, int i, wf__layout *room) {
  const wf__layout *own = &it->tensor[i]->layout;
  if (WF__LIKELY(!repacked(it, i))) return own;
  wf__layout_preserve(own, room);
  if (it->joins_number) { /* the result of an operator of one input: its first step */
    if (wf__is_contiguous(own, WF_FORMAT_CONTIGUOUS)) wf__layout_restride(room, WF_FORMAT_CONTIGUOUS);
    else if (wf__is_contiguous(own, WF_FORMAT_CHANNELS_LAST)) wf__layout_restride(room, WF_FORMAT_CHANNELS_LAST);
  }
  return room;
}

static bool equal_strides(const wf__layout *a, const wf__layout *b) {
  for (int d = 0; d < a->ndim; d++)
    if (a->stride[d] != b->stride[d]) return false;
  return true;
}

static bool all_contiguous(const wf__iter *it) {
  wf__layout room;
  for (int i = 0; i < it->operands; i++)
    if (it->tensor[i] && !wf__is_contiguous(seen(it, i, &room), WF_FORMAT_CONTIGUOUS)) return false;
  return true;
}

/* All operands have the same shape here. `last`: the strides that outputs take in the third case. */
static setup choose_setup(const wf__iter *it, wf__layout *last) {
  bool channels_last = true, alike = true, first = true;
  wf__layout room;
  if (all_contiguous(it)) return SETUP_CONTIGUOUS;
  if (it->linear || it->row_major) return SETUP_FULL;
  for (int i = 0; i < it->operands; i++) {
    if (!it->tensor[i]) continue;
    const wf__layout *l = seen(it, i, &room);
    channels_last = channels_last && wf__is_contiguous(l, WF_FORMAT_CHANNELS_LAST);
    alike = alike && wf__is_dense(l) && (first || equal_strides(l, last));
    if (alike && first) *last = *l;
    first = false;
  }
  if (channels_last) return SETUP_CHANNELS_LAST;
  return alike ? SETUP_SAME_STRIDES : SETUP_FULL;
}

static void plan_one_run(const wf__iter *it, wf_plan *plan) {
  int64_t numel = 1;
  for (int d = 0; d < it->ndim; d++) numel *= it->shape[d];
  plan->ndim = it->ndim ? 1 : 0;
  plan->size[0] = numel;
  for (int i = 0; i < it->operands; i++) {
    const wf_tensor *t = it->tensor[i];
    if (!t) continue;
    plan->operand[i].data = wf__data(t);
    plan->operand[i].dtype = (wf_dtype)t->dtype;
    plan->operand[i].stride[0] = (int64_t)wf__itemsize(t);
  }
}

static wf_status make_fast(wf__iter *it, setup how, const wf__layout *last) {
  if (how == SETUP_CONTIGUOUS) return make_outputs_in(it, WF_FORMAT_CONTIGUOUS);
  if (how == SETUP_CHANNELS_LAST) return make_outputs_in(it, WF_FORMAT_CHANNELS_LAST);
  return make_outputs_like(it, last);
}

/* ---- full setup: order of dims, strides of outputs, coalescing ----------------------------------------------------------- */

/* Byte strides over the broadcast shape, in its order of dims: 0 where the operand is broadcast. */
static void stride_of(const wf__iter *it, const wf__layout *l, int64_t itemsize, int64_t *stride) {
  int lead = it->ndim - l->ndim;
  for (int d = 0; d < it->ndim; d++) {
    int own = d - lead;
    bool repeats = own < 0 || (l->size[own] == 1 && it->shape[d] != 1);
    stride[d] = repeats ? 0 : l->stride[own] * itemsize;
  }
}

/* 1: `a`, at present the faster, must change places with `b`; -1: it stays; 0: no operand decides. */
static int compare_dims(const wf__iter *it, const walk *w, int a, int b) {
  for (int i = 0; i < it->operands; i++) {
    if (!it->tensor[i]) continue;
    int64_t x = w->stride[i][a], y = w->stride[i][b];
    if (it->reduction && i < it->outputs && (x == 0) != (y == 0))
      return y == 0 ? 1 : -1; /* reduced dims are the fastest */
    if (x == 0 || y == 0) continue;
    if (x != y) return x < y ? -1 : 1;
    if (it->shape[a] > it->shape[b]) return 1;
  }
  return 0;
}

static void choose_order(const wf__iter *it, walk *w) {
  for (int i = 0; i < w->ndim; i++) w->order[i] = (uint8_t)(w->ndim - 1 - i);
  if (it->linear) return;
  for (int i = 1; i < w->ndim; i++) {
    int at = i;
    for (int j = i - 1; j >= 0; j--) {
      int c = compare_dims(it, w, w->order[j], w->order[at]);
      if (c < 0) break;
      if (c == 0) continue; /* no decision: stay, and compare with the next faster one */
      uint8_t moved = w->order[j];
      w->order[j] = w->order[at];
      w->order[at] = moved;
      at = j;
    }
  }
}

static void permute(const wf__iter *it, walk *w) {
  int64_t old[WF_MAX_DIMS];
  for (int i = 0; i < w->ndim; i++) w->size[i] = it->shape[w->order[i]];
  for (int k = 0; k < it->operands; k++) {
    if (!it->tensor[k]) continue;
    memcpy(old, w->stride[k], sizeof old);
    for (int i = 0; i < w->ndim; i++) w->stride[k][i] = old[w->order[i]];
  }
}

/* New outputs are packed in the order of the walk; where that is row-major they are plain contiguous tensors. */
static wf_status make_ordered_outputs(wf__iter *it, walk *w) {
  bool row_major = true;
  for (int i = 0; i < w->ndim; i++) row_major &= w->order[i] == w->ndim - 1 - i;
  row_major |= it->row_major;
  for (int k = 0; k < it->outputs; k++) {
    if (it->tensor[k]) continue;
    wf__layout layout;
    int64_t packed[WF_MAX_DIMS];
    uint64_t step = 1;
    WF__TRY(wf__layout_contiguous(&layout, wf_dims_of(it->shape, it->ndim), wf_dtype_size(it->dtype[k])));
    for (int i = 0; i < w->ndim; i++) {
      packed[i] = (int64_t)step;
      step *= (uint64_t)w->size[i];
      if (!row_major) layout.stride[w->order[i]] = packed[i];
    }
    WF__TRY(make_output(it, k, &layout));
    int64_t itemsize = (int64_t)wf__itemsize(it->tensor[k]); /* of what is given, in its dtype */
    for (int i = 0; i < w->ndim; i++)
      w->stride[k][i] = (it->row_major ? layout.stride[w->order[i]] : packed[i]) * itemsize;
  }
  return WF_OK;
}

static bool can_merge(const wf__iter *it, const walk *w, int fast, int slow) {
  if (w->size[fast] == 1 || w->size[slow] == 1) return true;
  for (int k = 0; k < it->operands; k++)
    if (it->tensor[k] && w->size[fast] * w->stride[k][fast] != w->stride[k][slow]) return false;
  return true;
}

static void take_strides(const wf__iter *it, walk *w, int to, int from) {
  for (int k = 0; k < it->operands; k++)
    if (it->tensor[k]) w->stride[k][to] = w->stride[k][from];
}

static void coalesce(const wf__iter *it, walk *w) {
  if (w->ndim <= 1) return;
  int last = 0;
  for (int d = 1; d < w->ndim; d++) {
    if (can_merge(it, w, last, d)) {
      if (w->size[last] == 1) take_strides(it, w, last, d);
      w->size[last] *= w->size[d];
    } else if (++last != d) {
      take_strides(it, w, last, d);
      w->size[last] = w->size[d];
    }
  }
  w->ndim = last + 1;
}

static void plan_walk(const wf__iter *it, const walk *w, wf_plan *plan) {
  plan->ndim = (uint8_t)w->ndim;
  for (int i = 0; i < w->ndim; i++) plan->size[w->ndim - 1 - i] = w->size[i];
  for (int k = 0; k < it->operands; k++) {
    const wf_tensor *t = it->tensor[k];
    if (!t) continue;
    plan->operand[k].data = wf__data(t);
    plan->operand[k].dtype = (wf_dtype)t->dtype;
    for (int i = 0; i < w->ndim; i++) plan->operand[k].stride[w->ndim - 1 - i] = w->stride[k][i];
  }
}

static void take_own_strides(const wf__iter *it, walk *w) {
  for (int k = 0; k < it->operands; k++)
    if (it->tensor[k]) stride_of(it, &it->tensor[k]->layout, (int64_t)wf__itemsize(it->tensor[k]), w->stride[k]);
}

/* otherwise: some operand is repacked. The order follows from what is seen, the walk goes over what is there. */
static wf_status set_up_full(wf__iter *it, wf_plan *plan, bool otherwise) {
  walk w;
  wf__layout room;
  w.ndim = it->ndim;
  take_own_strides(it, &w);
  for (int k = 0; otherwise && k < it->operands; k++)
    if (repacked(it, k)) stride_of(it, seen(it, k, &room), (int64_t)wf__itemsize(it->tensor[k]), w.stride[k]);
  choose_order(it, &w);
  if (otherwise) take_own_strides(it, &w);
  permute(it, &w);
  WF__TRY(make_ordered_outputs(it, &w));
  coalesce(it, &w);
  plan_walk(it, &w, plan);
  return WF_OK;
}

/* ---- building ------------------------------------------------------------------------------------------------------------ */

static wf_status set_up(wf__iter *it, bool same_shape, wf_plan *plan) {
  wf__layout last;
  bool otherwise = false;
  for (int k = it->outputs; k < it->operands; k++) otherwise |= repacked(it, k);
  setup how = same_shape && !it->reduction ? choose_setup(it, &last) : SETUP_FULL;
  if (how != SETUP_FULL) WF__TRY(make_fast(it, how, &last));
  if (how == SETUP_FULL || otherwise) return set_up_full(it, plan, otherwise);
  plan_one_run(it, plan);
  return WF_OK;
}

wf_status wf__iter_build(wf__iter *it, wf_plan *plan) {
  bool same_shape;
  wf_status status = WF_OK;
  it->made = 0;
  if (!it->no_overlap_check) WF__TRY(check_overlap(it));
  if (!broadcast(it, &same_shape, &status)) return status;
  WF__TRY(check_output_shapes(it));
  WF__TRY(choose_device(it));
  plan->operands = (uint8_t)it->operands;
  plan->outputs = (uint8_t)it->outputs;
  memset(plan->operand, 0, sizeof plan->operand);
  status = set_up(it, same_shape, plan);
  if (status == WF_OK) return WF_OK;
  for (int i = 0; i < it->outputs; i++) {
    if (!(it->made >> i & 1)) continue;
    wf__tensor_release(it->tensor[i]);
    it->tensor[i] = NULL;
  }
  it->made = 0;
  return status;
}
