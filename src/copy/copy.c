/* Copies and fills within one device: shapes, overlap of source and destination, accounting. Methods are exec/'s, by form. */
#include "copy/internal.h"

#include <stddef.h>
#include <string.h>
#include <weft/trace.h>
#include "base/log.h"

/* ---- shapes ---------------------------------------------------------------------------------------------------------------- */

static wf_status check_broadcast(const wf_tensor *dst, const wf_tensor *src) {
  wf_dims to = wf__layout_sizes(&dst->layout), from = wf__layout_sizes(&src->layout);
  int64_t shape[WF_MAX_DIMS];
  int n;
  WF__TRY(wf__broadcast(to, from, shape, &n));
  bool same = n == to.n;
  for (int d = 0; same && d < n; d++) same = shape[d] == to.at[d];
  if (same) return WF_OK;
  char a[WF__DIMS_TEXT], b[WF__DIMS_TEXT];
  return wf__fail(WF_RUNTIME, "output with shape %s doesn't match the broadcast shape %s", wf__dims_text(to, a),
                  wf__dims_text(wf_dims_of(shape, n), b));
}

/* Clears what a copy's plan uses and others may look at: not the 2 KB of strides, shapes and parameters that it has no use for. */
static void begin_plan(wf_plan *plan, int ndim) {
  memset(plan, 0, offsetof(wf_plan, operand));
  for (int o = 0; o < WF_PLAN_OPERANDS; o++) plan->operand[o].data = NULL;
  memset(plan->rank, 0, sizeof plan->rank);
  plan->tag = (wf_tag){0};
  plan->family = WF_FAMILY_COPY;
  plan->operands = 2;
  plan->outputs = 1;
  plan->ndim = (uint8_t)ndim;
}

wf_status wf__copy_plan(wf_plan *plan, const wf_tensor *dst, const wf_tensor *src) {
  WF__TRY(check_broadcast(dst, src));
  begin_plan(plan, dst->layout.ndim);
  wf_operand *to = &plan->operand[0];
  to->data = wf__data(dst);
  to->dtype = (wf_dtype)dst->dtype;
  for (int d = 0; d < dst->layout.ndim; d++) to->stride[d] = dst->layout.stride[d] * (int64_t)wf__itemsize(dst);
  wf_operand *from = &plan->operand[1];
  from->data = wf__data(src);
  from->dtype = (wf_dtype)src->dtype;
  int missing = dst->layout.ndim - src->layout.ndim;
  for (int d = 0; d < dst->layout.ndim; d++) {
    plan->size[d] = dst->layout.size[d];
    bool varies = d >= missing && (src->layout.size[d - missing] != 1 || plan->size[d] == 1);
    from->stride[d] = varies ? src->layout.stride[d - missing] * (int64_t)wf__itemsize(src) : 0;
  }
  return WF_OK;
}

static int64_t elements(const wf_plan *plan) {
  int64_t count = 1;
  for (int d = 0; d < plan->ndim; d++) count *= plan->size[d];
  return count;
}

/* ---- accounting -------------------------------------------------------------------------------------------------------------- */

int64_t wf__copy_distinct(const wf_plan *plan, int o) {
  int64_t count = 1;
  for (int d = 0; d < plan->ndim; d++)
    if (plan->operand[o].stride[d] != 0 || plan->size[d] == 0) count *= plan->size[d];
  return count;
}

/* An operator started a copy that its caller didn't ask for. */
static wf_status meet_policy(const wf_tensor *src, const wf_plan *plan) {
  char text[WF__DESC_TEXT];
  const char *op = wf__self.frame ? wf__self.frame->op : "copy";
  const char *wanted = wf_dtype_name(plan->operand[0].dtype);
  if (wf__self.copy_policy == WF_COPY_WARN) {
    wf__log(WF_LOG_WARNING, "%s copies %s implicitly: %lld bytes", op, wf__describe(src, text),
            (long long)plan->tag.bytes_written);
    return WF_OK;
  }
  wf__fail(WF_RUNTIME, "%s would copy %s implicitly, and the copy policy forbids it", op, wf__describe(src, text));
  char strides[WF__DIMS_TEXT];
  int64_t stride[WF_MAX_DIMS];
  for (int d = 0; d < plan->ndim; d++)
    stride[d] = plan->operand[0].stride[d] / (int64_t)wf_dtype_size(plan->operand[0].dtype);
  wf__hint(
      "%s wants %s with strides %s over the merged dims; make it so once with contiguous, clone or to, outside the loop, or allow the "
      "copy with wf_copy_policy_set(WF_COPY_ALLOW)",
      op, wanted, wf__dims_text(wf_dims_of(stride, plan->ndim), strides));
  return WF_RUNTIME;
}

wf_status wf__copy_account(wf_plan *plan, const wf_tensor *src, bool implicit) {
  bool has_source = plan->operands > 1;
  plan->tag.kind = !has_source                                        ? WF_EVENT_FILL
                   : plan->operand[0].dtype != plan->operand[1].dtype ? WF_EVENT_CAST
                                                                      : WF_EVENT_COPY;
  plan->tag.implicit = implicit && !wf__self.asked;
  plan->tag.bytes_written = wf__copy_distinct(plan, 0) * (int64_t)wf_dtype_size(plan->operand[0].dtype);
  plan->tag.bytes_read = has_source ? wf__copy_distinct(plan, 1) * (int64_t)wf_dtype_size(plan->operand[1].dtype) : 0;
  if (WF__LIKELY(!plan->tag.implicit || wf__self.copy_policy == WF_COPY_ALLOW)) return WF_OK;
  return has_source ? meet_policy(src, plan) : WF_OK;
}

/* ---- overlap ----------------------------------------------------------------------------------------------------------------- */

/* Bytes from an operand's first element to the end of its last. */
static int64_t extent(const wf_plan *plan, int o) {
  int64_t last = 0;
  for (int d = 0; d < plan->ndim; d++) last += (plan->size[d] - 1) * plan->operand[o].stride[d];
  return last + (int64_t)wf_dtype_size(plan->operand[o].dtype);
}

/* Whether the distance is a sum of steps of dims d…, each taken less often than the dim is long, but for less than `size` bytes. Right for
 * dims in which each stride reaches beyond all faster dims together; others are answered with yes. */
static bool reaches(const wf_plan *plan, int d, int64_t distance, int64_t size) {
  if (d == plan->ndim) return distance > -size && distance < size;
  int64_t stride = plan->operand[0].stride[d], steps = stride ? distance / stride : 0;
  for (int64_t k = steps - 1; k <= steps + 1; k++)
    if (k > -plan->size[d] && k < plan->size[d] && reaches(plan, d + 1, distance - k * stride, size)) return true;
  return false;
}

static bool is_nested(const wf_plan *plan, int64_t size) {
  int64_t inside = size;
  for (int d = plan->ndim - 1; d >= 0; d--) {
    if (plan->operand[0].stride[d] < inside) return false;
    inside += plan->operand[0].stride[d] * (plan->size[d] - 1);
  }
  return true;
}

static bool has_same_steps(const wf_plan *plan) {
  const wf_operand *to = &plan->operand[0], *from = &plan->operand[1];
  for (int d = 0; d < plan->ndim; d++)
    if (to->stride[d] != from->stride[d]) return false;
  return wf_dtype_size(to->dtype) == wf_dtype_size(from->dtype);
}

bool wf__copy_disturbs_source(const wf_plan *plan) {
  const wf_operand *to = &plan->operand[0], *from = &plan->operand[1];
  int64_t distance = (char *)from->data - (char *)to->data, size = (int64_t)wf_dtype_size(to->dtype);
  if (distance >= extent(plan, 0) || -distance >= extent(plan, 1)) return false;
  bool same_steps = has_same_steps(plan);
  if (same_steps && distance == 0) return false; /* each element onto itself */
  return !same_steps || !is_nested(plan, size) || reaches(plan, 0, distance, size);
}

bool wf__copy_is_onto_itself(const wf_plan *plan) {
  const wf_operand *to = &plan->operand[0], *from = &plan->operand[1];
  return to->data == from->data && to->dtype == from->dtype && has_same_steps(plan);
}

static wf_status copy_through_temporary(wf_tensor *dst, const wf_tensor *src, bool implicit) {
  wf_tensor *temporary = wf__clone(src, WF_FORMAT_PRESERVE, implicit);
  if (!temporary) return wf__self.pending;
  wf_status status = wf__copy(dst, temporary, false, implicit);
  wf__tensor_release(temporary);
  return status;
}

/* ---- the entries -------------------------------------------------------------------------------------------------------------- */

wf_status wf__copy(wf_tensor *dst, const wf_tensor *src, bool non_blocking, bool implicit) {
  wf_plan plan;
  WF__TRY(wf__copy_plan(&plan, dst, src));
  if (elements(&plan) == 0) return WF_OK;
  wf__copy_form(&plan);
  if (wf__device_of(dst) != wf__device_of(src)) return wf__copy_between(dst, src, &plan, non_blocking, implicit);
  if (wf__copy_is_onto_itself(&plan)) return WF_OK;
  if (dst->storage == src->storage && wf__copy_disturbs_source(&plan))
    return copy_through_temporary(dst, src, implicit);
  WF__TRY(wf__copy_account(&plan, src, implicit));
  return wf__launch(wf__device_of(dst), &plan);
}

void wf__copy_fill_plan(wf_plan *plan, const wf_tensor *dst) {
  *plan = (wf_plan){.family = WF_FAMILY_COPY, .operands = 1, .outputs = 1, .ndim = (uint8_t)dst->layout.ndim};
  wf__operand_of(dst, &plan->operand[0]);
  for (int d = 0; d < dst->layout.ndim; d++) plan->size[d] = dst->layout.size[d];
}

/* The i-th of the parts of `out` along dim, laid out as the part is; `start` is where it begins. */
static void part_plan(wf_plan *plan, const wf_tensor *out, int64_t dim, bool stacked, int64_t start,
                      const wf_tensor *part) {
  int64_t to_size = (int64_t)wf__itemsize(out), from_size = (int64_t)wf__itemsize(part);
  begin_plan(plan, part->layout.ndim);
  wf_operand *to = &plan->operand[0], *from = &plan->operand[1];
  to->data = (char *)wf__data(out) + start * out->layout.stride[dim] * to_size;
  to->dtype = (wf_dtype)out->dtype;
  from->data = wf__data(part);
  from->dtype = (wf_dtype)part->dtype;
  for (int d = 0; d < part->layout.ndim; d++) {
    plan->size[d] = part->layout.size[d];
    to->stride[d] = out->layout.stride[d + (stacked && d >= dim)] * to_size;
    from->stride[d] = part->layout.stride[d] * from_size;
  }
}

wf_status wf__copy_part(wf_tensor *out, int64_t dim, bool stacked, int64_t start, const wf_tensor *part) {
  if (part->layout.numel == 0) return WF_OK;
  wf_plan plan;
  part_plan(&plan, out, dim, stacked, start, part);
  wf__copy_form(&plan);
  WF__TRY(wf__copy_account(&plan, part, false));
  return wf__launch(wf__device_of(out), &plan);
}

wf_status wf__fill(wf_tensor *dst, wf_scalar value) {
  if (dst->layout.numel == 0) return WF_OK;
  wf_plan plan;
  wf__copy_fill_plan(&plan, dst);
  plan.scalar[0] = value;
  wf__copy_form(&plan);
  WF__TRY(wf__copy_account(&plan, dst, false));
  return wf__launch(wf__device_of(dst), &plan);
}
