/* Matrix products: the plan over [batch…, m, k] and [batch…, k, n], and the operators that are one such plan. matmul and linear, which
 * choose among them by rank, are in op/matmul_forms.c.
 *
 * Derivatives are made of these operators themselves, so they are differentiable again. As PyTorch does, the gradient of a factor that
 * lies by columns is computed transposed, so that it lies so as well. */
#include "op/matmul.h"

#include <string.h>

#include <weft/math.h>
#include <weft/view.h>
#include "copy/copy.h"
#include "op/op.h"

/* ---- the plan ---------------------------------------------------------------------------------------------------------------- */

/* Multiplications from which on a copy of an awkward factor costs less than loops over it do. */
#define WORTH_A_COPY 4096

/* Whether BLAS can read the last two dims: a unit stride in one of them, a step of at least that dim's size in the other. */
static bool lies_well(const wf__layout *l) {
  int64_t rows = l->size[l->ndim - 2], columns = l->size[l->ndim - 1], row = l->stride[l->ndim - 2],
          column = l->stride[l->ndim - 1];
  bool by_rows = (columns <= 1 || column == 1) && (rows <= 1 || row >= (columns > 1 ? columns : 1));
  bool by_columns = (rows <= 1 || row == 1) && (columns <= 1 || column >= (rows > 1 ? rows : 1));
  return by_rows || by_columns;
}

/* A factor that lies well: the same, or a copy of what isn't broadcast. One reference in x->t, the caller's; NULL on error. */
static void make_readable(wf__factor *x, bool worth) {
  bool copies = worth && (x->t->dtype == WF_F32 || x->t->dtype == WF_F64) && !lies_well(&x->layout);
  if (!copies) {
    x->t = wf_retain((wf_tensor *)x->t);
    return;
  }
  wf__layout once = x->layout;
  for (int d = 0; d < once.ndim - 2; d++)
    if (once.stride[d] == 0) once.size[d] = 1;
  once.numel = 1;
  for (int d = 0; d < once.ndim; d++) once.numel *= once.size[d];
  wf_tensor *alias = wf__tensor_alias(x->t, (wf_dtype)x->t->dtype, &once);
  wf_tensor *copy = alias ? wf__contiguous(alias, WF_FORMAT_CONTIGUOUS, true) : NULL;
  wf__drop(alias);
  x->t = copy;
  if (!copy) return;
  for (int d = 0; d < once.ndim; d++)
    x->layout.stride[d] = d < once.ndim - 2 && once.size[d] == 1 ? 0 : copy->layout.stride[d];
  x->layout.offset = 0;
}

static void put(wf_plan *plan, int i, const wf__factor *x) {
  if (!x->t) return;
  int64_t item = (int64_t)wf__itemsize(x->t);
  plan->operand[i] =
      (wf_operand){.data = (char *)x->t->storage->memory.address + x->layout.offset * item, .dtype = x->t->dtype};
  for (int d = 0; d < plan->ndim; d++) plan->operand[i].stride[d] = x->layout.stride[d] * item;
  *(i ? &plan->tag.bytes_read : &plan->tag.bytes_written) += x->t->layout.numel * item;
}

wf_status wf__product(wf__factor out, wf__factor a, wf__factor b, wf__factor addend, wf_scalar beta, wf_scalar alpha) {
  wf_plan plan = {
      .family = WF_FAMILY_MATMUL, .op = WF__MATMUL, .operands = 4, .outputs = 1, .ndim = (uint8_t)out.layout.ndim};
  memcpy(plan.size, out.layout.size, sizeof plan.size);
  plan.param.matmul.k = a.layout.size[a.layout.ndim - 1];
  plan.param.matmul.m = out.layout.size[out.layout.ndim - 2];
  plan.param.matmul.n = out.layout.size[out.layout.ndim - 1];
  plan.scalar[0] = alpha;
  plan.scalar[1] = beta;
  bool worth = out.layout.numel >= WORTH_A_COPY || out.layout.numel * plan.param.matmul.k >= WORTH_A_COPY;
  make_readable(&a, worth);
  if (a.t) make_readable(&b, worth);
  wf_status status = wf__self.pending;
  if (a.t && status == WF_OK) {
    const wf__factor *operands[] = {&out, &a, &b, &addend};
    for (int i = 0; i < 4; i++) put(&plan, i, operands[i]);
    status = wf__launch(wf__device_of(out.t), &plan);
    wf__drop((wf_tensor *)b.t);
  }
  wf__drop((wf_tensor *)a.t);
  return status;
}

static void put_matrix(wf_operand *operand, const wf_tensor *t) {
  int64_t item = (int64_t)wf__itemsize(t);
  operand->data = wf__data(t);
  operand->dtype = (wf_dtype)t->dtype;
  operand->stride[0] = t->layout.stride[0] * item;
  operand->stride[1] = t->layout.stride[1] * item;
}

/* y := a @ b for matrices that need no copy: the plan straight from the tensors. */
static wf_status plain_product(wf_tensor *y, const wf_tensor *a, const wf_tensor *b) {
  wf_plan plan;
  wf__plan_begin(&plan, WF_FAMILY_MATMUL, WF__MATMUL, 1, 4);
  plan.ndim = 2;
  plan.size[0] = plan.param.matmul.m = y->layout.size[0];
  plan.size[1] = plan.param.matmul.n = y->layout.size[1];
  plan.param.matmul.k = a->layout.size[1];
  plan.param.matmul.bias_first = false;
  plan.scalar[0] = wf_int(1);
  plan.scalar[1] = wf_int(0);
  put_matrix(&plan.operand[0], y);
  put_matrix(&plan.operand[1], a);
  put_matrix(&plan.operand[2], b);
  plan.operand[3].data = NULL;
  plan.operand[3].dtype = WF_DTYPE_NONE;
  plan.tag.bytes_read = (a->layout.numel + b->layout.numel) * (int64_t)wf__itemsize(a);
  plan.tag.bytes_written = y->layout.numel * (int64_t)wf__itemsize(y);
  return wf__launch(wf__device_of(y), &plan);
}

wf__factor wf__factor_of(const wf_tensor *t) { return (wf__factor){t, t->layout}; }
static wf__factor column_of(const wf_tensor *t) {
  wf__factor x = wf__factor_of(t);
  x.layout.size[1] = 1;
  x.layout.stride[1] = 1;
  x.layout.ndim = 2;
  return x;
}
static wf__factor row_of(const wf_tensor *t) {
  wf__factor x = wf__factor_of(t);
  x.layout.size[1] = x.layout.size[0];
  x.layout.stride[1] = x.layout.stride[0];
  x.layout.size[0] = 1;
  x.layout.ndim = 2;
  return x;
}
static const wf__factor no_factor;
static wf_scalar zero(void) { return wf_int(0); }
static wf_scalar one(void) { return wf_int(1); }

/* ---- checks --------------------------------------------------------------------------------------------------------------------- */

static wf_status given(const char *name, const wf_tensor *a, const char *as, const wf_tensor *b, const char *bs) {
  WF__TRY(wf__require(name, a, as, 1));
  WF__TRY(wf__require(name, b, bs, 2));
  return wf__check_same_device((const wf_tensor *[]){a, b}, 2);
}

static wf_status supported(const wf_tensor *t, const char *kernel) {
  WF__CHECK(t->dtype != WF_BOOL, WF_NOT_IMPLEMENTED, "\"%s\" not implemented for 'Bool'", kernel);
  return WF_OK;
}

static wf_status check_matrices(const char *name, const wf_tensor *a, const wf_tensor *b) {
  WF__CHECK(a->layout.ndim == 2, WF_RUNTIME, "%s: self must be a matrix, got %d-D tensor", name, a->layout.ndim);
  WF__CHECK(b->layout.ndim == 2, WF_RUNTIME, "%s: mat2 must be a matrix, got %d-D tensor", name, b->layout.ndim);
  const int64_t *x = a->layout.size, *y = b->layout.size;
  if (x[1] == y[0]) return WF_OK;
  wf_status status = wf__fail(WF_RUNTIME, "%s: mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                              name, (long long)x[0], (long long)x[1], (long long)y[0], (long long)y[1]);
  char s[WF__DESC_TEXT], t[WF__DESC_TEXT];
  wf__hint("%s and %s: the columns of the first must be as many as the rows of the second", wf__describe(a, s),
           wf__describe(b, t));
  return status;
}

static wf_status check_batches(const wf_tensor *a, const wf_tensor *b) {
  WF__CHECK(a->layout.ndim == 3, WF_RUNTIME, "batch1 must be a 3D tensor");
  WF__CHECK(b->layout.ndim == 3, WF_RUNTIME, "batch2 must be a 3D tensor");
  const int64_t *x = a->layout.size, *y = b->layout.size;
  WF__CHECK(y[0] == x[0] && y[1] == x[2], WF_RUNTIME,
            "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: [%lld, %lld].",
            (long long)x[0], (long long)x[2], (long long)y[0], (long long)y[1]);
  return WF_OK;
}

/* ---- derivatives ------------------------------------------------------------------------------------------------------------------ */

/* What is kept besides the factors (slots 0 and 1). addend: edge 0 is the addend, the factors are edges 1 and 2. */
typedef struct numbers {
  wf_scalar alpha, beta;
  bool addend;
  bool columns
      [2]; /* the factor lies by columns; kept apart, since a factor itself is kept only for the other one's gradient */
  int ndim;
  int64_t size[WF_MAX_DIMS]; /* of the addend */
} numbers;

static bool is_one(wf_scalar s) { return s.kind == WF_SCALAR_FLOAT ? s.as.f == 1 : s.as.i == 1; }
static wf_tensor *times(wf_tensor *t, wf_scalar s) { return is_one(s) ? t : wf_mul_scalar(t, s); }
static bool by_columns(const wf_tensor *t) {
  return t->layout.stride[0] == 1 && t->layout.stride[1] == t->layout.size[0];
}
static wf_tensor *turned(const wf_tensor *t) { return wf_transpose(t, -2, -1); }

/* Gradients of a [m, k] and b [k, n]; columns: how the factor in question lies. */
static wf_tensor *left_gradient(wf_tensor *g, wf_tensor *b, bool columns) {
  return columns ? wf_t(wf_mm(b, wf_t(g))) : wf_mm(g, wf_t(b));
}
static wf_tensor *right_gradient(wf_tensor *g, wf_tensor *a, bool columns) {
  return columns ? wf_t(wf_mm(wf_t(g), a)) : wf_mm(wf_t(a), g);
}

static wf_status addend_gradient(wf__node *node, wf_tensor *g, wf_tensor **out) {
  const numbers *n = node->payload;
  if (n->addend && wf__node_wants(node, 0)) out[0] = wf__sum_to(times(g, n->beta), wf_dims_of(n->size, n->ndim));
  return wf__self.pending;
}

typedef wf_tensor *(*gradient_fn)(wf_tensor *g, wf_tensor *other, bool columns);

static wf_status product_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out, gradient_fn left,
                               gradient_fn right) {
  const numbers *n = node->payload;
  if (!grad[0]) return WF_OK;
  WF__TRY(addend_gradient(node, grad[0], out));
  int edge = n->addend ? 1 : 0;
  for (int i = 0; i < 2; i++) {
    if (!wf__node_wants(node, edge + i)) continue;
    wf_tensor *other = wf__saved_get(node, 1 - i);
    if (!other) return wf__self.pending;
    out[edge + i] = times((i ? right : left)(grad[0], other, n->columns[i]), n->alpha);
  }
  return wf__self.pending;
}

/* The engine sums what was broadcast. */
static wf_tensor *batch_left(wf_tensor *g, wf_tensor *b, bool columns) { return wf_matmul(g, turned(b)); }
static wf_tensor *batch_right(wf_tensor *g, wf_tensor *a, bool columns) { return wf_matmul(turned(a), g); }
static wf_tensor *vector_left(wf_tensor *g, wf_tensor *b, bool columns) { return wf_outer(g, b); }
static wf_tensor *vector_right(wf_tensor *g, wf_tensor *a, bool columns) { return wf_mv(wf_t(a), g); }
static wf_tensor *dot_of(wf_tensor *g, wf_tensor *other, bool columns) { return wf_mul(g, other); }

#define DERIVATIVE(name, left, right)                                                      \
  static wf_status name##_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) { \
    return product_apply(node, grad, out, left, right);                                    \
  }
DERIVATIVE(matrix, left_gradient, right_gradient)
DERIVATIVE(batch, batch_left, batch_right)
DERIVATIVE(vector, vector_left, vector_right)
DERIVATIVE(dot, dot_of, dot_of)
#undef DERIVATIVE

static const wf__node_class mm_class = {"MmBackward0", matrix_apply, NULL};
static const wf__node_class addmm_class = {"AddmmBackward0", matrix_apply, NULL};
static const wf__node_class bmm_class = {"BmmBackward0", batch_apply, NULL};
static const wf__node_class baddbmm_class = {"BaddbmmBackward0", batch_apply, NULL};
static const wf__node_class mv_class = {"MvBackward0", vector_apply, NULL};
static const wf__node_class addmv_class = {"AddmvBackward0", vector_apply, NULL};
static const wf__node_class dot_class = {"DotBackward0", dot_apply, NULL};

/* The node of a product, or NULL without an error when no gradient is wanted. */
static wf__node *node_of(const wf__node_class *cls, const wf_tensor *addend, const wf_tensor *a, const wf_tensor *b,
                         wf_scalar beta, wf_scalar alpha) {
  const wf_tensor *inputs[3] = {a, b};
  int n = 2;
  if (addend) {
    const wf_tensor *with[] = {addend, a, b};
    memcpy(inputs, with, sizeof with);
    n = 3;
  }
  if (!wf__needs_grad(inputs, n)) return NULL;
  wf__node *node = wf__node_new(cls, inputs, n, 2, sizeof(numbers));
  if (!node) return NULL;
  numbers *p = node->payload;
  *p = (numbers){.alpha = alpha, .beta = beta, .addend = addend != NULL};
  if (addend) {
    p->ndim = addend->layout.ndim;
    memcpy(p->size, addend->layout.size, sizeof p->size);
  }
  p->columns[0] = a->layout.ndim == 2 && by_columns(a);
  p->columns[1] = b->layout.ndim == 2 && by_columns(b);
  if (wf__node_wants(node, n - 1)) wf__save(node, 0, a);
  if (wf__node_wants(node, n - 2)) wf__save(node, 1, b);
  return node;
}

/* ---- from tensors to a new tensor ----------------------------------------------------------------------------------------------------- */

/* Fills y (NULL: an earlier step failed), records, and hands it out. */
static wf_tensor *finish(wf_tensor *y, wf_status status, const wf__node_class *cls, const wf_tensor *addend,
                         const wf_tensor *a, const wf_tensor *b, wf_scalar beta, wf_scalar alpha) {
  if (!y) return NULL;
  bool recording = wf__may_need_grad(a) || wf__may_need_grad(b) || (addend && wf__may_need_grad(addend));
  if (WF__UNLIKELY(recording) && status == WF_OK) {
    wf__node *node = node_of(cls, addend, a, b, beta, alpha);
    if (node) wf__set_history(y, node, 0);
    if (node) wf__node_release(node);
  }
  return wf__give(y);
}

/* The addend broadcast to `size`. */
static wf_status spread(const wf_tensor *addend, wf_dims size, wf__factor *out) {
  out->t = addend;
  return wf__layout_expand(&addend->layout, size, wf__type_text(addend), &out->layout);
}

static wf_status check_mm(const wf_tensor *self, const wf_tensor *mat2) {
  WF__TRY(given("mm", self, "input", mat2, "mat2"));
  WF__TRY(check_matrices("mm", self, mat2));
  WF__CHECK(self->dtype == mat2->dtype, WF_RUNTIME, "expected m1 and m2 to have the same dtype, but got: %s != %s",
            wf__cpp_type_text((wf_dtype)self->dtype), wf__cpp_type_text((wf_dtype)mat2->dtype));
  return supported(self, "addmm_impl_cpu_");
}

wf_tensor *wf_mm(const wf_tensor *self, const wf_tensor *mat2) {
  WF__OP("mm", NULL);
  WF__TRY_OR(check_mm(self, mat2), NULL);
  wf_tensor *y = wf__tensor_empty_sized(wf__device_of(self), (wf_dtype)self->dtype,
                                        WF_SHAPE(self->layout.size[0], mat2->layout.size[1]));
  bool plain = lies_well(&self->layout) && lies_well(&mat2->layout);
  wf_status status =
      !y      ? wf__self.pending
      : plain ? plain_product(y, self, mat2)
              : wf__product(wf__factor_of(y), wf__factor_of(self), wf__factor_of(mat2), no_factor, zero(), one());
  return finish(y, status, &mm_class, NULL, self, mat2, zero(), one());
}

static wf_status check_bmm(const wf_tensor *self, const wf_tensor *mat2) {
  WF__TRY(given("bmm", self, "input", mat2, "mat2"));
  return check_batches(self, mat2);
}

static bool is_empty(const wf_tensor *a, const wf_tensor *b) { return !a->layout.numel || !b->layout.numel; }

wf_status wf__check_batched_dtypes(const wf_tensor *a, const wf_tensor *b) {
  if (is_empty(a, b)) return WF_OK;
  WF__TRY(supported(a, "bmm"));
  return wf__same_scalar_type(a, b);
}

wf_tensor *wf_bmm(const wf_tensor *self, const wf_tensor *mat2) {
  WF__OP("bmm", NULL);
  WF__TRY_OR(check_bmm(self, mat2), NULL);
  WF__TRY_OR(wf__check_batched_dtypes(self, mat2), NULL);
  return wf__batched_product(self, mat2);
}

wf_tensor *wf__batched_product(const wf_tensor *a, const wf_tensor *b) {
  const wf__layout *x = &a->layout, *y = &b->layout;
  int64_t size[WF_MAX_DIMS], factor[WF_MAX_DIMS];
  int n = 0;
  WF__TRY_OR(wf__broadcast(wf_dims_of(x->size, x->ndim - 2), wf_dims_of(y->size, y->ndim - 2), size, &n), NULL);
  int64_t m = x->size[x->ndim - 2], k = x->size[x->ndim - 1], columns = y->size[y->ndim - 1];
  wf__factor left = {a, {0}}, right = {b, {0}};
  memcpy(factor, size, sizeof size);
  factor[n] = m;
  factor[n + 1] = k;
  WF__TRY_OR(wf__layout_expand(x, wf_dims_of(factor, n + 2), wf__type_text(a), &left.layout), NULL);
  factor[n] = k;
  factor[n + 1] = columns;
  WF__TRY_OR(wf__layout_expand(y, wf_dims_of(factor, n + 2), wf__type_text(b), &right.layout), NULL);
  size[n] = m;
  size[n + 1] = columns;
  wf_tensor *out = wf__empty_in(b, wf_dims_of(size, n + 2), WF_FORMAT_CONTIGUOUS);
  wf_status status = !out             ? wf__self.pending
                     : is_empty(a, b) ? wf__fill(out, wf_int(0))
                                      : wf__product(wf__factor_of(out), left, right, no_factor, zero(), one());
  return finish(out, status, &bmm_class, NULL, a, b, zero(), one());
}

static wf_status check_vector_product(const wf_tensor *self, const wf_tensor *mat, const wf_tensor *vec) {
  const wf__layout *s = self ? &self->layout : NULL, *m = &mat->layout, *v = &vec->layout;
  int rank = s ? s->ndim : 1;
  WF__CHECK(m->ndim == 2 && v->ndim == 1 && rank <= 1, WF_RUNTIME, "vector + matrix @ vector expected, got %d, %d, %d",
            rank, m->ndim, v->ndim);
  int64_t size = s && s->ndim ? s->size[0] : m->size[0];
  WF__CHECK(m->size[1] == v->size[0] && (size == m->size[0] || size == 1), WF_RUNTIME,
            "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)", (long long)size, (long long)m->size[0],
            (long long)m->size[1], (long long)v->size[0]);
  const wf_tensor *first = self ? self : vec; /* mv is addmv of a vector of vec's dtype */
  WF__CHECK(mat->dtype == vec->dtype && mat->dtype == first->dtype, WF_RUNTIME,
            "addmv input tensors must have the same dtype, but got %s, %s, and %s",
            wf__scalar_type_text((wf_dtype)first->dtype), wf__scalar_type_text((wf_dtype)mat->dtype),
            wf__scalar_type_text((wf_dtype)vec->dtype));
  return supported(mat, "addmv_impl_cpu");
}

static wf_tensor *vector_product(const wf__node_class *cls, const wf_tensor *self, const wf_tensor *mat,
                                 const wf_tensor *vec, wf_scalar beta, wf_scalar alpha) {
  WF__TRY_OR(check_vector_product(self, mat, vec), NULL);
  wf__factor addend = {NULL, {0}};
  if (self) {
    WF__TRY_OR(spread(self, WF_SHAPE(mat->layout.size[0]), &addend), NULL);
    addend.layout.size[1] = 1;
    addend.layout.stride[1] = 1;
    addend.layout.ndim = 2;
  }
  wf_tensor *y = wf__empty_in(mat, WF_SHAPE(mat->layout.size[0]), WF_FORMAT_CONTIGUOUS);
  wf_status status =
      y ? wf__product(column_of(y), wf__factor_of(mat), column_of(vec), addend, beta, alpha) : wf__self.pending;
  return finish(y, status, cls, self, mat, vec, beta, alpha);
}

wf_tensor *wf_mv(const wf_tensor *self, const wf_tensor *vec) {
  WF__OP("mv", NULL);
  WF__TRY_OR(given("mv", self, "input", vec, "vec"), NULL);
  return vector_product(&mv_class, NULL, self, vec, zero(), one());
}

wf_tensor *wf_addmv(const wf_tensor *self, const wf_tensor *mat, const wf_tensor *vec, wf_scalar beta,
                    wf_scalar alpha) {
  WF__OP("addmv", NULL);
  WF__TRY_OR(given("addmv", self, "input", mat, "mat"), NULL);
  WF__TRY_OR(given("addmv", self, "input", vec, "vec"), NULL);
  return vector_product(&addmv_class, self, mat, vec, beta, alpha);
}

wf_tensor *wf_dot(const wf_tensor *self, const wf_tensor *tensor) {
  WF__OP("dot", NULL);
  WF__TRY_OR(given("dot", self, "input", tensor, "tensor"), NULL);
  const wf__layout *a = &self->layout, *b = &tensor->layout;
  char s[WF__DIMS_TEXT], t[WF__DIMS_TEXT];
  if (a->ndim != 1 || b->ndim != 1)
    wf__fail(WF_RUNTIME, "1D tensors expected, but got %dD and %dD tensors", a->ndim, b->ndim);
  else if (self->dtype != tensor->dtype)
    wf__fail(WF_RUNTIME, "dot : expected both vectors to have same dtype, but found %s and %s",
             wf__scalar_type_text((wf_dtype)self->dtype), wf__scalar_type_text((wf_dtype)tensor->dtype));
  else if (a->numel != b->numel)
    wf__fail(
        WF_RUNTIME,
        "inconsistent tensor size, expected tensor %s and src %s to have the same number of elements, but got %lld and %lld elements "
        "respectively",
        wf__dims_text(wf__layout_sizes(a), s), wf__dims_text(wf__layout_sizes(b), t), (long long)a->numel,
        (long long)b->numel);
  if (wf__self.pending || supported(self, "dot")) return NULL;
  wf_tensor *y = wf__empty_in(self, WF_SHAPE0, WF_FORMAT_CONTIGUOUS);
  if (!y) return NULL;
  wf__factor out = {y, {.ndim = 2, .numel = 1, .size = {1, 1}, .stride = {1, 1}}};
  return finish(y, wf__product(out, row_of(self), column_of(tensor), no_factor, zero(), one()), &dot_class, NULL, self,
                tensor, zero(), one());
}

static wf_status check_addmm(const wf_tensor *self, const wf_tensor *mat1, const wf_tensor *mat2) {
  WF__TRY(given("addmm", self, "input", mat1, "mat1"));
  WF__TRY(given("addmm", self, "input", mat2, "mat2"));
  WF__CHECK(self->dtype == mat2->dtype, WF_RUNTIME, "self and mat2 must have the same dtype, but got %s and %s",
            wf__scalar_type_text((wf_dtype)self->dtype), wf__scalar_type_text((wf_dtype)mat2->dtype));
  WF__CHECK(mat1->dtype == mat2->dtype, WF_RUNTIME, "mat1 and mat2 must have the same dtype, but got %s and %s",
            wf__scalar_type_text((wf_dtype)mat1->dtype), wf__scalar_type_text((wf_dtype)mat2->dtype));
  WF__TRY(check_matrices("addmm", mat1, mat2));
  return supported(mat1, "addmm_impl_cpu_");
}

wf_tensor *wf_addmm(const wf_tensor *self, const wf_tensor *mat1, const wf_tensor *mat2, wf_scalar beta,
                    wf_scalar alpha) {
  WF__OP("addmm", NULL);
  WF__TRY_OR(check_addmm(self, mat1, mat2), NULL);
  wf__factor addend;
  int64_t size[2] = {mat1->layout.size[0], mat2->layout.size[1]};
  WF__TRY_OR(spread(self, wf_dims_of(size, 2), &addend), NULL);
  wf_tensor *y = wf__empty_in(mat1, wf_dims_of(size, 2), WF_FORMAT_CONTIGUOUS);
  wf_status status = y ? wf__product(wf__factor_of(y), wf__factor_of(mat1), wf__factor_of(mat2), addend, beta, alpha)
                       : wf__self.pending;
  return finish(y, status, &addmm_class, self, mat1, mat2, beta, alpha);
}

/* alpha · a @ b + beta · addend (NULL: 0) into dst; the factors fit each other. */
static wf_status product_into(const char *name, wf_tensor *dst, const wf_tensor *addend, const wf_tensor *a,
                              const wf_tensor *b, wf_scalar beta, wf_scalar alpha) {
  const wf_tensor *inputs[] = {a, b, addend};
  int n = a->layout.ndim;
  int64_t size[3] = {a->layout.size[0], a->layout.size[1], b->layout.size[2]};
  size[n - 1] = b->layout.size[n - 1];
  wf__layout layout;
  wf__factor onto = no_factor;
  wf__into into;
  WF__TRY(wf__into_given(name, dst, inputs, 3));
  WF__TRY(wf__into_dtype(dst, (wf_dtype)a->dtype));
  if (addend) WF__TRY(spread(addend, wf_dims_of(size, n), &onto));
  WF__TRY(wf__layout_contiguous(&layout, wf_dims_of(size, n), wf__itemsize(dst)));
  wf_tensor *out = wf__into_open(&into, dst, &layout, inputs, 3);
  if (!out) return wf__self.pending;
  wf__product(wf__factor_of(out), wf__factor_of(a), wf__factor_of(b), onto, beta, alpha);
  return wf__into_close(&into);
}

wf_status wf_mm_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *mat2) {
  WF__OP("mm", wf__self.pending);
  WF__TRY(check_mm(self, mat2));
  return product_into("mm", dst, NULL, self, mat2, zero(), one());
}

wf_status wf_bmm_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *mat2) {
  WF__OP("bmm", wf__self.pending);
  WF__TRY(check_bmm(self, mat2));
  WF__TRY(supported(self, "bmm"));
  WF__TRY(wf__same_scalar_type(self, mat2));
  return product_into("bmm", dst, NULL, self, mat2, zero(), one());
}

wf_status wf_addmm_into(wf_tensor *dst, const wf_tensor *self, const wf_tensor *mat1, const wf_tensor *mat2,
                        wf_scalar beta, wf_scalar alpha) {
  WF__OP("addmm", wf__self.pending);
  WF__TRY(check_addmm(self, mat1, mat2));
  return product_into("addmm", dst, self, mat1, mat2, beta, alpha);
}

wf_status wf_addmm_(wf_tensor *self, const wf_tensor *mat1, const wf_tensor *mat2, wf_scalar beta, wf_scalar alpha) {
  WF__OP("addmm_", wf__self.pending);
  WF__TRY(check_addmm(self, mat1, mat2));
  int64_t size[2] = {mat1->layout.size[0], mat2->layout.size[1]};
  char s[WF__DIMS_TEXT], t[WF__DIMS_TEXT];
  WF__CHECK(self->layout.ndim == 2 && self->layout.size[0] == size[0] && self->layout.size[1] == size[1], WF_RUNTIME,
            "Bad in-place call: input tensor size %s and output tensor size %s should match",
            wf__dims_text(wf__layout_sizes(&self->layout), s), wf__dims_text(wf_dims_of(size, 2), t));
  const wf_tensor *inputs[] = {self, mat1, mat2};
  WF__TRY(wf__inplace_check(self, inputs, 3));
  WF__TRY(wf__check_internal_overlap(self));
  WF__TRY(wf__check_no_overlap(self, mat1));
  WF__TRY(wf__check_no_overlap(self, mat2));
  wf__node *node = node_of(&addmm_class, self, mat1, mat2, beta, alpha);
  wf_status status = wf__self.pending;
  if (status == WF_OK)
    status = wf__product(wf__factor_of(self), wf__factor_of(mat1), wf__factor_of(mat2), no_factor, beta, alpha);
  if (status == WF_OK) status = wf__inplace_done(self, node);
  if (node) wf__node_release(node);
  return status;
}

wf_tensor *wf_baddbmm(const wf_tensor *self, const wf_tensor *batch1, const wf_tensor *batch2, wf_scalar beta,
                      wf_scalar alpha) {
  WF__OP("baddbmm", NULL);
  WF__TRY_OR(given("baddbmm", self, "input", batch1, "batch1"), NULL);
  WF__TRY_OR(given("baddbmm", self, "input", batch2, "batch2"), NULL);
  int n1 = batch1->layout.ndim, n2 = batch2->layout.ndim;
  int64_t size[3] = {batch1->layout.size[0], n1 > 1 ? batch1->layout.size[1] : 0,
                     n2 > 0 ? batch2->layout.size[n2 - 1] : 0};
  wf__factor addend;
  WF__TRY_OR(spread(self, wf_dims_of(size, 3), &addend), NULL);
  if (self->dtype != batch1->dtype) {
    wf__fail(WF_RUNTIME, "Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s",
             wf__cpp_type_text((wf_dtype)self->dtype), wf__cpp_type_text((wf_dtype)batch1->dtype),
             wf__cpp_type_text((wf_dtype)batch2->dtype));
    return NULL;
  }
  WF__TRY_OR(check_batches(batch1, batch2), NULL);
  WF__TRY_OR(wf__same_scalar_type(batch1, batch2), NULL);
  WF__TRY_OR(supported(batch1, "baddbmm"), NULL);
  wf_tensor *y = wf__empty_in(batch1, wf_dims_of(size, 3), WF_FORMAT_CONTIGUOUS);
  wf_status status =
      y ? wf__product(wf__factor_of(y), wf__factor_of(batch1), wf__factor_of(batch2), addend, beta, alpha)
        : wf__self.pending;
  return finish(y, status, &baddbmm_class, self, batch1, batch2, beta, alpha);
}

wf_tensor *wf_outer(const wf_tensor *self, const wf_tensor *vec2) {
  WF__OP("outer", NULL);
  WF__TRY_OR(given("outer", self, "input", vec2, "vec2"), NULL);
  const wf_tensor *both[] = {self, vec2};
  static const char *const names[] = {"self", "vec2"};
  for (int i = 0; i < 2; i++)
    if (both[i]->layout.ndim != 1) {
      wf__fail(WF_RUNTIME, "outer: Expected 1-D argument %s, but got %d-D", names[i], both[i]->layout.ndim);
      return NULL;
    }
  wf_scope scope = wf_scope_begin();
  return wf_scope_end(scope, wf_mul(wf_unsqueeze(self, 1), vec2));
}
