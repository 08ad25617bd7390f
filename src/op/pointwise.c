/* The road of every pointwise operator: promote, build the iterator, record, launch. */
#include <stdio.h>
#include <string.h>

#include "base/convert.h"
#include "base/log.h"
#include "copy/copy.h"
#include "op/op.h"
#include "tensor/iterator.h"
#include "trace/trace.h"

typedef struct job {
  const wf__pw_def *def;
  const wf_tensor *in[3]; /* NULL: a number */
  wf_dtype compute, result;
  wf_tensor *into; /* given, but to be laid out as a new one */
  wf__iter it;
  wf_plan plan; /* its scalar[i + 1]: the number in place of input i */
} job;

/* ---- dtypes ------------------------------------------------------------------------------------------------------------- */

static wf_status check_dtype(const wf__pw_def *def, wf_dtype d) {
  bool good = true;
  switch ((wf__pw_allow)def->allow) {
    case WF__PW_ANY: break;
    case WF__PW_NO_BOOL: good = d != WF_BOOL; break;
    case WF__PW_ONLY_FLOAT: good = wf__dtype_floats(d); break;
    case WF__PW_ONLY_INT: good = !wf__dtype_floats(d); break;
  }
  if (WF__LIKELY(good)) return WF_OK;
  if (strchr(def->kernel, ' ')) return wf__fail(WF_NOT_IMPLEMENTED, "%s", def->kernel);
  return wf__fail(WF_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", def->kernel, wf__scalar_type_text(d));
}

/* Tensors of one dtype promote to it. */
static bool are_alike(const wf__pw_def *def, const wf__operand_arg *in) {
  if (def->unpromoted || def->promotes_number) return false;
  for (int i = 0; i < def->inputs; i++)
    if (!in[i].tensor || in[i].tensor->dtype != in[0].tensor->dtype) return false;
  return true;
}

static wf_dtype common_dtype(const job *j, const wf__operand_arg *in) {
  if (are_alike(j->def, in)) return (wf_dtype)in[0].tensor->dtype;
  wf__promotion p = {0};
  for (int i = 0; i < j->def->inputs; i++)
    if (!(j->def->unpromoted >> i & 1)) wf__promote_arg(&p, in[i]);
  for (int i = 0; i < 2 && j->def->promotes_number; i++) wf__promote_number(&p, j->plan.scalar[i]);
  return wf__promoted(&p);
}

static void choose_dtypes(job *j, const wf__operand_arg *in) {
  wf_dtype common = common_dtype(j, in);
  switch ((wf__pw_rule)j->def->rule) {
    case WF__PW_COMMON: j->compute = j->result = common; break;
    case WF__PW_FLOATING: j->compute = j->result = wf__float_of(common); break;
    case WF__PW_TRUTH: j->compute = common, j->result = WF_BOOL; break;
    case WF__PW_OWN: j->compute = j->result = in[0].tensor ? (wf_dtype)in[0].tensor->dtype : common; break;
  }
}

/* A refusal in words of its own is that of PyTorch's front, which looks at nothing else first. */
static wf_status check_front(const job *j) {
  bool talks = WF__UNLIKELY(j->compute == WF_BOOL) && j->def->kernel && strchr(j->def->kernel, ' ');
  return talks ? check_dtype(j->def, j->compute) : WF_OK;
}

static wf_status start(job *j, const wf__pw_def *def, const wf__operand_arg *in, const wf_scalar *number) {
  j->def = def;
  j->into = NULL;
  wf__plan_begin(&j->plan, WF_FAMILY_POINTWISE, def->op, 1, 1 + def->inputs);
  if (number) memcpy(j->plan.scalar, number, sizeof j->plan.scalar);
  choose_dtypes(j, in);
  for (int i = 0; i < def->inputs; i++) {
    j->in[i] = in[i].tensor;
    if (in[i].tensor) continue;
    bool exact = def->wide_numbers && wf__dtype_floats(j->compute);
    j->plan.scalar[i + 1] = exact ? in[i].scalar : wf__number_as(in[i].scalar, j->compute);
  }
  return check_front(j);
}

static wf_status check_call(const job *j) {
  WF__TRY(check_dtype(j->def, j->compute));
  return j->def->check ? j->def->check(j->plan.scalar, j->compute) : WF_OK;
}

/* ---- plan ----------------------------------------------------------------------------------------------------------------- */

/* A tensor of rank 0 on the host joins device tensors as the number that it holds. */
static const wf_tensor *on_device(job *j, int i, int operand, bool accelerated) {
  const wf_tensor *t = j->in[i];
  if (!t || !accelerated) return t;
  wf_scalar s = wf__known_number(wf__tensor_arg(t));
  if (!s.kind) return t;
  j->plan.scalar[operand] = j->def->wide_numbers && wf__dtype_floats(j->compute) ? s : wf__number_as(s, j->compute);
  return NULL;
}

static bool any_accelerated(const job *j, const wf_tensor *out) {
  if (out && wf__device_of(out)->id.type != WF_DEVICE_CPU) return true;
  for (int i = 0; i < j->def->inputs; i++)
    if (j->in[i] && wf__device_of(j->in[i])->id.type != WF_DEVICE_CPU) return true;
  return false;
}

static wf_tensor *empty_like(const wf_tensor *t, wf_dtype dtype) {
  wf__layout layout;
  WF__TRY_OR(wf__layout_like(&t->layout, WF_FORMAT_PRESERVE, wf_dtype_size(dtype), &layout), NULL);
  return wf__tensor_empty(wf__device_of(t), dtype, &layout);
}

static int operand_of(const wf__pw_def *def, int input) { return def->order[0] ? def->order[input] : input + 1; }

/* ---- one run: all operands packed alike --------------------------------------------------------------------------------- */

static bool has_layout(const wf_tensor *t, const wf__layout *l) {
  if (t->layout.ndim != l->ndim) return false;
  for (int d = 0; d < l->ndim; d++)
    if (t->layout.size[d] != l->size[d] || t->layout.stride[d] != l->stride[d]) return false;
  return true;
}

/* What the iterator would find out at length: all tensors are row-major, of one shape, on one device, and what is written lies apart
 * from what is read or is the same tensor. The first of them in *like. */
static bool is_one_run(const job *j, const wf_tensor *out, const wf_tensor **like) {
  const wf_tensor *first = out;
  if (WF__UNLIKELY(j->into != NULL)) return false;
  for (int i = 0; i < j->def->inputs; i++) {
    const wf_tensor *t = j->in[i];
    if (!t || t == first) continue;
    if (!first) {
      first = t;
      continue;
    }
    if (wf__device_of(t) != wf__device_of(first) || !has_layout(t, &first->layout)) return false;
    if (out && t->storage == out->storage) return false;
  }
  *like = first;
  return first && first->layout.numel && wf__is_packed(&first->layout);
}

static inline __attribute__((always_inline)) void put_run(wf_operand *operand, const wf_tensor *t) {
  operand->data = t ? wf__data(t) : NULL;
  operand->dtype = t ? (wf_dtype)t->dtype : WF_DTYPE_NONE;
  operand->stride[0] = t ? (int64_t)wf__itemsize(t) : 0;
}

static wf_status build_one_run(job *j, wf_tensor *out, const wf_tensor *like) {
  const wf__layout *l = &like->layout;
  j->it.device = wf__device_of(like);
  j->it.operands = 1 + j->def->inputs;
  if (!out) out = wf__tensor_empty_sized(j->it.device, j->result, wf__layout_sizes(l));
  if (!out) return wf__self.pending;
  j->it.tensor[0] = out;
  j->plan.ndim = l->ndim ? 1 : 0;
  j->plan.size[0] = l->numel;
  put_run(&j->plan.operand[0], out);
  for (int i = 0; i < j->def->inputs; i++) {
    int operand = operand_of(j->def, i);
    j->it.tensor[operand] = (wf_tensor *)j->in[i];
    put_run(&j->plan.operand[operand], j->in[i]);
  }
  return WF_OK;
}

/* ---- any operands ----------------------------------------------------------------------------------------------------------- */

static wf_status build_by_iterator(job *j, wf_tensor *out) {
  bool accelerated = any_accelerated(j, out);
  j->it = (wf__iter){.outputs = 1, .operands = 1 + j->def->inputs, .into = j->into};
  j->it.tensor[0] = out;
  j->it.dtype[0] = j->result;
  j->it.row_major = j->def->row_major;
  j->it.parameters = j->def->parameters;
  j->it.joins_number = j->def->joins_number;
  j->it.no_overlap_check = j->def->warns_only;
  if (j->def->warns_only && out) wf__warn_of_overlap(out, "masked_fill_", "tensor[mask] = scalar");
  if (j->def->warns_only && out) WF__TRY(wf__check_partial_overlap(out, j->in[1]));
  for (int i = 0; i < j->def->inputs; i++) {
    int operand = operand_of(j->def, i);
    j->it.tensor[operand] = (wf_tensor *)on_device(j, i, operand, accelerated);
    if (!(j->def->unpromoted >> i & 1)) j->it.dtype[operand] = j->compute;
  }
  bool made = !out && !j->into && j->in[0] && j->def->like_self &&
              (j->def->like_self == WF__LIKE_SELF || !wf__dtype_floats((wf_dtype)j->in[0]->dtype));
  if (made && !(j->it.tensor[0] = out = empty_like(j->in[0], j->result))) return wf__self.pending;
  if (wf__iter_build(&j->it, &j->plan)) {
    if (made) wf__tensor_release(out);
    return wf__self.pending;
  }
  return WF_OK;
}

/* out NULL: made here, then one reference that is the caller's, in it.tensor[0]. */
static wf_status build(job *j, wf_tensor *out) {
  const wf_tensor *like;
  WF__TRY(WF__LIKELY(is_one_run(j, out, &like)) ? build_one_run(j, out, like) : build_by_iterator(j, out));
  j->plan.compute = (uint8_t)j->compute;
  return WF_OK;
}

static void count_bytes(job *j) {
  for (int i = 0; i < j->it.operands; i++) {
    if (!j->it.tensor[i]) continue;
    int64_t bytes = j->it.tensor[i]->layout.numel * (int64_t)wf__itemsize(j->it.tensor[i]);
    *(i ? &j->plan.tag.bytes_read : &j->plan.tag.bytes_written) += bytes;
  }
}

static wf_status launch(job *j) {
  if (!j->it.tensor[0]->layout.numel) return WF_OK;
  if (wf__tracing()) count_bytes(j);
  return wf__launch(j->it.device, &j->plan);
}

/* ---- recording ------------------------------------------------------------------------------------------------------------- */

static bool wanted(const wf__node *node, uint8_t keep) {
  for (int e = 0; keep; e++, keep >>= 1)
    if ((keep & 1) && wf__node_wants(node, e)) return true;
  return false;
}

/* A node for the job, or NULL: nothing to record, or an error. self_copy: what stands for input 0, which is being overwritten. */
static wf__node *record(job *j, const wf_tensor *self_copy) {
  const wf__pw_def *def = j->def;
  wf__node *node = wf__node_new(def->derivative, j->in, def->inputs, def->inputs + 1, sizeof j->plan.scalar);
  if (!node) return NULL;
  memcpy(node->payload, j->plan.scalar, sizeof j->plan.scalar);
  for (int i = 0; i < def->inputs; i++)
    if (wanted(node, def->keep[i])) {
      wf__save(node, i, i == 0 && self_copy ? self_copy : j->in[i]);
      node->keeps_number |= !j->in[i];
    }
  return node;
}

static bool records(const job *j) {
  return j->def->derivative && wf__needs_grad(j->in, j->def->inputs) && wf__dtype_floats(j->result);
}

/* Whether the derivative will ask for input 0: decided before there is a node. */
static bool will_keep_self(const job *j) {
  for (int e = 0; e < j->def->inputs; e++)
    if ((j->def->keep[0] >> e & 1) && wf__requires_grad(j->in[e])) return true;
  return false;
}

/* ---- hints ------------------------------------------------------------------------------------------------------------------- */

/* Adds the operands to an error that has no hint yet: "f32[2,3] cpu, f32[4] cpu, the number 2". Returns the pending status. */
static wf_status with_operands(const wf__pw_def *def, const wf__operand_arg *in, const wf_tensor *out) {
  char text[3 * WF__DESC_TEXT + 64] = "", one[WF__DESC_TEXT];
  size_t at = 0;
  wf_error e = wf_error_peek();
  if (!e.status || (e.hint && *e.hint) || e.status == WF_NO_MEMORY) return e.status;
  for (int i = 0; i < def->inputs && at < sizeof text; i++) {
    const char *comma = i ? ", " : "";
    wf_scalar s = in[i].scalar;
    if (in[i].tensor)
      at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", comma, wf__describe(in[i].tensor, one));
    else if (s.kind == WF_SCALAR_FLOAT)
      at += (size_t)snprintf(text + at, sizeof text - at, "%sthe number %g", comma, s.as.f);
    else if (s.kind) at += (size_t)snprintf(text + at, sizeof text - at, "%sthe number %lld", comma, (long long)s.as.i);
  }
  if (out) wf__hint("operands: %s; result: %s", text, wf__describe(out, one));
  else wf__hint("operands: %s", text);
  return e.status;
}

/* ---- the three forms ----------------------------------------------------------------------------------------------------------- */

wf_tensor *wf__pw(const wf__pw_def *def, const wf__operand_arg *in, const wf_scalar *number) {
  job j;
  wf__node *node = NULL;
  if (start(&j, def, in, number) || build(&j, NULL)) return with_operands(def, in, NULL), NULL;
  wf_tensor *out = j.it.tensor[0];
  bool recording = !check_call(&j) && records(&j);
  if (recording) node = record(&j, NULL);
  if (WF__LIKELY(!wf__self.pending) && !launch(&j) && node && !wf__set_history(out, node, 0) &&
      wanted(node, def->keep_result))
    wf__save_output(node, def->inputs, out, 0);
  if (node) wf__node_release(node);
  if (WF__UNLIKELY(wf__self.pending)) with_operands(def, in, NULL);
  return wf__give(out);
}

static wf_status check_cast(const wf__pw_def *def, wf_dtype from, wf_dtype to) {
  if (WF__LIKELY(from == to)) return WF_OK;
  WF__CHECK(wf_can_cast(from, to), WF_RUNTIME, "result type %s can't be cast to the desired output type %s",
            wf__scalar_type_text(from), def->cpp_names ? wf__cpp_type_text(to) : wf__scalar_type_text(to));
  return WF_OK;
}

static wf_status over_self(const wf__pw_def *def, const wf__operand_arg *in, const wf_scalar *number) {
  job j;
  wf__node *node = NULL;
  wf_tensor *self = in[0].tensor, *copy = NULL;
  WF__TRY(start(&j, def, in, number));
  bool apart = wf__inplace_is_free(self, j.in, def->inputs); /* from any graph */
  bool recording =
      !apart && def->derivative && wf__dtype_floats((wf_dtype)self->dtype) && wf__needs_grad(j.in, def->inputs);
  if (!apart) WF__TRY(wf__inplace_check(self, j.in, def->untracked ? 0 : def->inputs));
  if (def->cpp_names)
    WF__TRY(check_cast(def, j.result, (wf_dtype)self->dtype)); /* those look at it before overlaps and sizes */
  WF__TRY(build(&j, self));
  WF__TRY(check_cast(def, j.result, (wf_dtype)self->dtype));
  WF__TRY(check_call(&j));
  if (WF__LIKELY(!recording)) {
    WF__TRY(launch(&j));
    wf__bump(self);
    return WF_OK;
  }
  wf_scope scope = wf_scope_begin();
  if (will_keep_self(&j)) copy = wf__cloned(self, WF_FORMAT_PRESERVE, true);
  if (!wf__self.pending) node = record(&j, copy);
  wf_scope_end(scope, NULL);
  if (!wf__self.pending && !launch(&j) && !wf__inplace_done(self, node) && node && wanted(node, def->keep_result))
    wf__save_output(node, def->inputs, self, 0);
  wf__node_release(node);
  return wf__self.pending;
}

wf_status wf__fill_check(const wf_tensor *t, wf_scalar value) {
  if (t->layout.numel == 1 && (t->dtype == WF_F16 || t->dtype == WF_BF16)) return WF_OK;
  return wf__scalar_check_fits(value, (wf_dtype)t->dtype);
}

void wf__warn_of_overlap(const wf_tensor *self, const char *op, const char *example) {
  if (WF__LIKELY(wf__overlap_within(&self->layout) != WF__OVERLAP_YES)) return;
  wf__log(WF_LOG_WARNING,
          "Use of %s on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
          "This also applies to advanced indexing e.g. %s",
          op, example);
}

wf_status wf__refused_over(const wf_tensor *self, const wf_tensor *const *inputs, int n) {
  if (!self) return wf__self.pending;
  wf_status argument = wf__error_suspend();
  if (!wf__inplace_check(self, inputs, n)) wf__error_resume(argument);
  return wf__self.pending;
}

wf_status wf__pw_inplace(const wf__pw_def *def, const wf__operand_arg *in, const wf_scalar *number) {
  return over_self(def, in, number) ? with_operands(def, in, NULL) : WF_OK;
}

/* What the iterator checks of a given result before all else, and before that is resized. */
static wf_status check_places(const job *j, const wf_tensor *dst) {
  char a[32], b[32];
  WF__TRY(wf__check_internal_overlap(dst));
  for (int i = 0; i < j->def->inputs; i++) {
    if (!j->in[i]) continue;
    if (j->in[i] != dst) WF__TRY(wf__check_partial_overlap(dst, j->in[i]));
    wf__device *mine = wf__device_of(dst), *other = wf__device_of(j->in[i]);
    WF__CHECK(mine == other, WF_RUNTIME,
              "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
              wf_device_name(mine->id, a, sizeof a), wf_device_name(other->id, b, sizeof b));
  }
  return WF_OK;
}

/* Operators that keep the dtype want it of their result, others cast. */
static wf_status check_into_dtype(const wf__pw_def *def, const wf_tensor *dst, wf_dtype result) {
  bool keeps = def->inputs == 1 && def->rule == WF__PW_COMMON && !def->promotes_number;
  WF__CHECK(!keeps || dst->dtype == result, WF_RUNTIME, "Found dtype %s but expected %s",
            wf__scalar_type_text((wf_dtype)dst->dtype), wf__scalar_type_text(result));
  return wf__into_cast(dst, result);
}

/* A result that is read as well keeps its sizes. */
static wf_status check_read_too(const job *j, const wf_tensor *dst, wf_dims size) {
  char own[WF__DIMS_TEXT], common[WF__DIMS_TEXT];
  for (int i = 0; i < j->def->inputs; i++)
    WF__CHECK(j->in[i] != dst, WF_RUNTIME, "output with shape %s doesn't match the broadcast shape %s",
              wf__dims_text(wf__layout_sizes(&dst->layout), own), wf__dims_text(size, common));
  return WF_OK;
}

static bool shares_with_input(const job *j, const wf_tensor *dst) {
  for (int i = 0; i < j->def->inputs; i++)
    if (j->in[i] && j->in[i]->storage == dst->storage) return true;
  return false;
}

/* Computed in a tensor of its own first: with other sizes dst might reach into what is still to be read. */
static wf_status beside(job *j, wf_tensor *dst) {
  WF__TRY(build(j, NULL));
  wf_tensor *out = j->it.tensor[0];
  const wf__layout before = dst->layout;
  if (!launch(j) && !wf__into_resize(dst, wf__layout_sizes(&out->layout))) {
    memcpy(dst->layout.stride, out->layout.stride, sizeof out->layout.stride);
    if (wf__copy(dst, out, false, true)) dst->layout = before;
    else wf__bump(dst);
  }
  wf__tensor_release(out);
  return wf__self.pending;
}

static wf_status into_given(const char *name, const wf__pw_def *def, wf_tensor *dst, const wf__operand_arg *in,
                            const wf_scalar *number) {
  job j;
  int64_t size[WF_MAX_DIMS];
  int n = 0;
  WF__TRY(start(&j, def, in, number));
  WF__TRY(wf__into_given(name, dst, j.in, def->inputs));
  WF__TRY(check_places(&j, dst));
  for (int i = 0; i < def->inputs; i++)
    if (j.in[i]) WF__TRY(wf__broadcast(wf_dims_of(size, n), wf__layout_sizes(&j.in[i]->layout), size, &n));
  const wf__layout before = dst->layout;
  bool resized = before.ndim != n || (n && memcmp(before.size, size, (size_t)n * sizeof *size));
  if (resized) WF__TRY(check_read_too(&j, dst, wf_dims_of(size, n)));
  WF__TRY(check_into_dtype(def, dst, j.result));
  WF__TRY(check_call(&j));
  if (resized && shares_with_input(&j, dst)) return beside(&j, dst);
  WF__TRY(wf__into_resize(dst, wf_dims_of(size, n)));
  if (resized) j.into = dst; /* laid out as a new result would be */
  if (build(&j, resized ? NULL : dst) || launch(&j)) {
    dst->layout = before;
    return wf__self.pending;
  }
  wf__bump(dst);
  return WF_OK;
}

wf_status wf__pw_into(const char *name, const wf__pw_def *def, wf_tensor *dst, const wf__operand_arg *in,
                      const wf_scalar *number) {
  return into_given(name, def, dst, in, number) ? with_operands(def, in, dst) : WF_OK;
}

wf_status wf__require_tensors(const char *name, const wf_tensor *const *tensors, int n) {
  for (int i = 0; i < n; i++) WF__CHECK(tensors[i], WF_TYPE, "%s(): argument %d must be Tensor, not None", name, i + 1);
  return WF_OK;
}

/* ---- in derivatives ------------------------------------------------------------------------------------------------------------------ */

wf__operand_arg wf__kept(wf__node *node, int input) {
  wf_tensor *t = wf__saved_get(node, input);
  return t ? wf__tensor_arg(t) : wf__number_arg(wf__numbers(node)[input + 1]);
}

wf_tensor *wf__kept_result(wf__node *node) { return wf__saved_get(node, (int)node->saves - 1); }

wf_tensor *wf__mul(const wf_tensor *g, wf__operand_arg x) {
  return x.tensor ? wf_mul(g, x.tensor) : wf_mul_scalar(g, x.scalar);
}
wf_tensor *wf__div(const wf_tensor *g, wf__operand_arg x) {
  return x.tensor ? wf_div(g, x.tensor) : wf_div_scalar(g, x.scalar);
}

wf_tensor *wf__zeros_of(const wf_tensor *t) {
  wf__layout layout;
  if (!t || wf__layout_like(&t->layout, WF_FORMAT_PRESERVE, wf__itemsize(t), &layout)) return NULL;
  wf_tensor *zeros = wf__give(wf__tensor_empty(wf__device_of(t), (wf_dtype)t->dtype, &layout));
  return zeros && !wf__fill(zeros, wf_int(0)) ? zeros : NULL;
}
