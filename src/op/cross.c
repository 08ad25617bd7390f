/* Cross products of vectors in dims of 3. Component by component, by the kernels of mul and sub: rounded where PyTorch rounds. */
#include <string.h>
#include <weft/linalg.h>
#include "op/op.h"
#include "op/place.h"
#include "op/view_make.h"
#include "tensor/iterator.h"

/* A call whose arguments fit; the payload of the node. */
typedef struct cross {
  const wf_tensor *in[2]; /* for the call alone */
  int64_t dim;            /* wrapped */
  wf__sizes own[2], size; /* of the inputs, of the result */
} cross;

/* ---- checks, in PyTorch's order and words ----------------------------------------------------------------------------------- */

/* torch.cross without a dim takes the first of 3. */
static wf_status choose_dim(const wf_tensor *self, int64_t *dim) {
  for (int d = 0; d < self->layout.ndim && *dim == WF_NONE; d++)
    if (self->layout.size[d] == 3) *dim = d;
  WF__CHECK(*dim != WF_NONE, WF_RUNTIME, "no dimension of size 3 in input");
  return WF_OK;
}

static wf_status fit(cross *c, const wf_tensor *self, const wf_tensor *other, int64_t dim) {
  WF__TRY(wf__given(self, "input"));
  WF__TRY(wf__given(other, "other"));
  *c = (cross){.in = {self, other}, .own = {wf__sizes_of(self), wf__sizes_of(other)}};
  WF__TRY(wf__check_same_device(c->in, 2));
  WF__TRY(choose_dim(self, &dim));
  WF__CHECK(self->layout.ndim == other->layout.ndim, WF_RUNTIME,
            "linalg.cross: inputs must have the same number of dimensions.");
  c->dim = dim;
  WF__TRY(wf__wrap_dim(&c->dim, self->layout.ndim, false));
  int64_t a = self->layout.size[c->dim], b = other->layout.size[c->dim];
  WF__CHECK(a == 3 && b == 3, WF_RUNTIME, "linalg.cross: inputs dimension %lld must have length 3. Got %lld and %lld",
            (long long)dim, (long long)a, (long long)b);
  return wf__broadcast(wf_sizes(self), wf_sizes(other), c->size.at, &c->size.n);
}

static wf_status check_dtypes(const cross *c) {
  WF__CHECK(c->in[0]->dtype != WF_BOOL, WF_NOT_IMPLEMENTED, "\"cross\" not implemented for 'Bool'");
  WF__CHECK(c->in[0]->dtype == c->in[1]->dtype, WF_RUNTIME, "expected scalar type %s but found %s",
            wf__scalar_type_text((wf_dtype)c->in[0]->dtype), wf__scalar_type_text((wf_dtype)c->in[1]->dtype));
  return WF_OK;
}

/* ---- computing ------------------------------------------------------------------------------------------------------------------ */

/* Element k of each vector. */
static wf_tensor *component(const wf_tensor *t, int64_t dim, int k) {
  wf__layout l = t->layout;
  l.offset += k * l.stride[dim];
  wf__layout_drop(&l, dim);
  l.numel /= 3;
  return wf__tensor_alias(t, (wf_dtype)t->dtype, &l);
}

static wf_status run(uint16_t op, wf_tensor *out, wf_tensor *x, wf_tensor *y) {
  const wf_tensor *read[] = {x, y};
  wf_plan plan = {0};
  wf__iter it = {.outputs = 1, .operands = 3, .tensor = {out, x, y}, .no_overlap_check = true};
  WF__TRY(wf__iter_build(&it, &plan));
  plan.family = WF_FAMILY_POINTWISE;
  plan.op = op;
  plan.compute = out->dtype;
  return wf__launch_counted(&plan, out, read, 2);
}

/* out[k] := a[i] b[j] - a[j] b[i], with i and j the two that follow k round the circle. */
static wf_status put_component(const cross *c, wf_tensor *out, wf_tensor *product, int k) {
  int i = (k + 1) % 3, j = (k + 2) % 3;
  wf_tensor *part[] = {component(out, c->dim, k), component(c->in[0], c->dim, i), component(c->in[1], c->dim, j),
                       component(c->in[0], c->dim, j), component(c->in[1], c->dim, i)};
  wf_status status = wf__self.pending;
  if (!status) status = run(WF__PW_MUL, part[0], part[1], part[2]);
  if (!status) status = run(WF__PW_MUL, product, part[3], part[4]);
  if (!status) status = run(WF__PW_SUB, part[0], part[0], product);
  for (int p = 0; p < 5; p++) wf__tensor_release(part[p]);
  return status;
}

static wf_status put(const cross *c, wf_tensor *out) {
  if (!out->layout.numel) return WF_OK;
  wf__layout one = out->layout;
  wf__layout_drop(&one, c->dim);
  wf_tensor *product = wf__new(out, (wf_dtype)out->dtype, wf__layout_sizes(&one), WF_FORMAT_CONTIGUOUS);
  for (int k = 0; k < 3 && !wf__self.pending; k++) put_component(c, out, product, k);
  wf__tensor_release(product);
  return wf__self.pending;
}

/* ---- the operator ----------------------------------------------------------------------------------------------------------------- */

static wf_status apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  const cross *c = node->payload;
  for (int i = 0; i < 2; i++) {
    if (!wf__node_wants(node, i)) continue;
    wf_tensor *kept = wf__saved_get(node, 1 - i);
    wf_tensor *g = i ? wf_cross(grad[0], kept, c->dim) : wf_cross(kept, grad[0], c->dim);
    out[i] = g ? wf__sum_to(g, wf__sizes_dims(&c->own[i])) : NULL;
  }
  return wf__self.pending;
}
static const wf__node_class cross_class = {"LinalgCrossBackward0", apply, NULL};

static wf__node *record(const cross *c) {
  wf__node *node = wf__node_for(&cross_class, c->in, 2, 2, c, sizeof *c);
  for (int i = 0; i < 2 && node; i++)
    if (wf__node_wants(node, 1 - i)) wf__save(node, i, c->in[i]);
  return node;
}

wf_tensor *wf_cross(const wf_tensor *self, const wf_tensor *other, int64_t dim) {
  WF__OP("linalg_cross", NULL);
  cross c;
  WF__TRY_OR(fit(&c, self, other, dim), NULL);
  WF__TRY_OR(check_dtypes(&c), NULL);
  wf_tensor *out = wf__new(self, (wf_dtype)self->dtype, wf__sizes_dims(&c.size), WF_FORMAT_CONTIGUOUS);
  wf__node *node = out ? record(&c) : NULL;
  if (out && !wf__self.pending) put(&c, out);
  return wf__finish(out, node);
}

/* No part of the result may lie where an input still has to be read. */
static wf_status check_apart(const cross *c, const wf_tensor *dst) {
  WF__TRY(wf__check_no_overlap(dst, c->in[0]));
  return wf__check_no_overlap(dst, c->in[1]);
}

wf_status wf_cross_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *other, int64_t dim) {
  WF__OP("linalg_cross", wf__self.pending);
  cross c;
  const wf_tensor *inputs[] = {self, other};
  WF__TRY(wf__into_given("linalg_cross", dst, inputs, 2));
  WF__TRY(fit(&c, self, other, dim));
  WF__TRY(wf__into_dtype(dst, (wf_dtype)self->dtype));
  WF__TRY(check_dtypes(&c));
  WF__TRY(check_apart(&c, dst));
  wf__layout layout;
  wf__into into;
  WF__TRY(wf__layout_contiguous(&layout, wf__sizes_dims(&c.size), wf__itemsize(dst)));
  wf_tensor *out = wf__into_open(&into, dst, &layout, inputs, 2);
  if (!out) return wf__self.pending;
  put(&c, out);
  return wf__into_close(&into);
}
