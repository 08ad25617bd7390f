/* Random tensors: each call takes its counters from the generator and runs one plan. */
#include <float.h>
#include <math.h>

#include "autograd/node.h"
#include "base/convert.h"
#include "kernel/kernel.h"
#include "op/check.h"
#include "op/factory.h"
#include "op/generator.h"

/* ---- plans ---------------------------------------------------------------------------------------------------------------------- */

static wf_plan random_plan(wf__random_op op, wf_scalar a, wf_scalar b) {
  return (wf_plan){.family = WF_FAMILY_RANDOM, .op = op, .scalar = {a, b}};
}

static wf_status draw(wf_tensor *t, wf_plan *plan) {
  if (!t->layout.numel) return WF_OK;
  wf_random_state from = wf__random_take(wf__random_counters(t->layout.numel));
  plan->param.random.seed = from.seed;
  plan->param.random.offset = from.offset;
  return wf__launch_on(t, plan);
}

static wf_tensor *drawn(wf_tensor *t, wf_plan *plan, const wf_tensor_options *options) {
  if (!t) return NULL;
  if (draw(t, plan) == WF_OK) return wf__factory_give(t, options);
  wf__tensor_release(t);
  return NULL;
}

static wf_status need_float(wf_dtype dtype, const char *kernel) {
  WF__CHECK(wf_dtype_is_float(dtype), WF_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", kernel,
            wf__scalar_type_text(dtype));
  return WF_OK;
}

/* ---- checks of ranges ---------------------------------------------------------------------------------------------------------------- */

static double largest(wf_dtype dtype) {
  switch (dtype) {
    case WF_F16: return 65504.0;
    case WF_BF16: return 0x1.fep127;
    case WF_F32: return FLT_MAX;
    default: return DBL_MAX;
  }
}

static wf_status check_uniform(wf_dtype dtype, double low, double high) {
  WF__TRY(need_float(dtype, "check_uniform_bounds"));
  double most = largest(dtype);
  WF__CHECK(low >= -most && low <= most, WF_RUNTIME, "from is out of bounds for %s", wf__cpp_type_text(dtype));
  WF__CHECK(high >= -most && high <= most, WF_RUNTIME, "to is out of bounds for %s", wf__cpp_type_text(dtype));
  WF__CHECK(low <= high, WF_RUNTIME, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", low,
            high);
  WF__CHECK(
      high - low <= most, WF_RUNTIME,
      "uniform_ expects to-from <= std::numeric_limits<%s>::max(), but found to=%g and from=%g which result in to-from to exceed the "
      "limit",
      wf__scalar_type_text(dtype), high, low);
  return WF_OK;
}

static wf_status check_normal(wf_dtype dtype, int64_t numel, double deviation) {
  WF__CHECK(deviation >= 0, WF_RUNTIME, "normal expects std >= 0.0, but found std %g", deviation);
  return numel ? need_float(dtype, "normal_kernel_cpu") : WF_OK;
}

/* Whether every integer of the range is one of the dtype's numbers, or lies between its extremes. */
static bool holds(wf_dtype dtype, int64_t v) {
  if (dtype == WF_BOOL) return v == 0 || v == 1;
  if (wf_dtype_is_float(dtype)) return fabs((double)v) <= largest(dtype);
  return (dtype != WF_U8 || v >= 0) && wf__scalar_load(dtype, &(int64_t){v}).as.i == v;
}

static wf_status check_integers(wf_dtype dtype, int64_t low, int64_t high) {
  WF__CHECK(low < high, WF_RUNTIME, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
            (long long)low, (long long)high);
  WF__CHECK(holds(dtype, low), WF_RUNTIME, "from is out of bounds for %s", wf__cpp_type_text(dtype));
  WF__CHECK(holds(dtype, high - 1), WF_RUNTIME, "to - 1 is out of bounds for %s", wf__cpp_type_text(dtype));
  return WF_OK;
}

/* ---- new tensors ---------------------------------------------------------------------------------------------------------------------- */

wf_tensor *wf_rand(wf_dims size, const wf_tensor_options *options) {
  WF__OP("rand", NULL);
  wf_tensor_options o;
  wf_plan plan = random_plan(WF__RANDOM_UNIFORM, wf_float(0), wf_float(1));
  WF__TRY_OR(wf__factory_options(options, WF_F32, &o), NULL);
  wf_tensor *t = wf__factory_sized(size, &o);
  if (t) need_float(o.dtype, "check_uniform_bounds");
  return wf__self.pending ? wf__give(t) : drawn(t, &plan, &o);
}

wf_tensor *wf_randn(wf_dims size, const wf_tensor_options *options) {
  WF__OP("randn", NULL);
  wf_tensor_options o;
  wf_plan plan = random_plan(WF__RANDOM_NORMAL, wf_float(0), wf_float(1));
  WF__TRY_OR(wf__factory_options(options, WF_F32, &o), NULL);
  wf_tensor *t = wf__factory_sized(size, &o);
  if (t) check_normal(o.dtype, t->layout.numel, 1);
  return wf__self.pending ? wf__give(t) : drawn(t, &plan, &o);
}

wf_tensor *wf_randint(int64_t low, int64_t high, wf_dims size, const wf_tensor_options *options) {
  WF__OP("randint", NULL);
  wf_tensor_options o;
  wf_plan plan = random_plan(WF__RANDOM_INT, wf_int(low), wf_int(high));
  WF__TRY_OR(wf__factory_options(options, WF_I64, &o), NULL);
  wf_tensor *t = wf__factory_sized(size, &o);
  if (t) check_integers(o.dtype, low, high);
  return wf__self.pending ? wf__give(t) : drawn(t, &plan, &o);
}

/* Largest n whose permutation the dtype can write down. */
static wf_status check_permutation(int64_t n, wf_dtype dtype) {
  static const int64_t exact[WF_DTYPE_COUNT] = {
      [WF_F16] = 2049, [WF_BF16] = 257, [WF_F32] = 16777217, [WF_F64] = 9007199254740993};
  WF__CHECK(dtype != WF_BOOL, WF_NOT_IMPLEMENTED, "\"randperm\" not implemented for 'Bool'");
  if (n > 0 && !exact[dtype]) return wf__scalar_check_fits(wf_int(n - 1), dtype);
  WF__CHECK(!exact[dtype] || n <= exact[dtype], WF_RUNTIME, "n cannot be greater than %lld for %s type.",
            (long long)exact[dtype], wf__scalar_type_text(dtype));
  return WF_OK;
}

wf_tensor *wf_randperm(int64_t n, const wf_tensor_options *options) {
  WF__OP("randperm", NULL);
  wf_tensor_options o;
  WF__TRY_OR(wf__factory_options(options, WF_I64, &o), NULL);
  if (n >= 0) WF__TRY_OR(check_permutation(n, o.dtype), NULL);
  wf_tensor *t = wf__factory_sized(WF_SHAPE(n), &o);
  wf_plan plan = random_plan(WF__RANDOM_PERMUTATION, wf_no_scalar(), wf_no_scalar());
  if (!t || n == 0) return wf__factory_give(t, &o);
  wf_random_state from = wf__random_take((uint64_t)n);
  plan.param.random.seed = from.seed;
  plan.param.random.offset = from.offset;
  if (wf__launch_on(t, &plan) == WF_OK) return wf__factory_give(t, &o);
  wf__tensor_release(t);
  return NULL;
}

/* ---- bernoulli and the forms in place: their gradient is zero ------------------------------------------------------------------------- */

static wf_status zero_apply(wf__node *node, wf_tensor *const *grad, wf_tensor **out) {
  (void)node;
  out[0] = wf__ops.zeros(wf__device_of(grad[0]), (wf_dtype)grad[0]->dtype, wf_sizes(grad[0]));
  return wf__self.pending;
}
static const wf__node_class uniform_class = {"UniformBackward0", zero_apply, NULL};
static const wf__node_class normal_class = {"NormalBackward0", zero_apply, NULL};
static const wf__node_class bernoulli_class = {"BernoulliBackward0", zero_apply, NULL};
static const wf__node_class bernoulli_in_place_class = {"BernoulliBackward2", zero_apply, NULL};

static wf__node *zero_node(const wf_tensor *self, const wf__node_class *cls) {
  return wf__needs_grad(&self, 1) ? wf__node_new(cls, &self, 1, 0, 0) : NULL;
}

wf_tensor *wf_bernoulli(const wf_tensor *self) {
  WF__OP("bernoulli", NULL);
  WF__TRY_OR(wf__given(self, "self"), NULL);
  WF__TRY_OR(need_float((wf_dtype)self->dtype, "bernoulli_tensor_cpu_p_"), NULL);
  wf_tensor *t = wf__tensor_empty_sized(wf__device_of(self), (wf_dtype)self->dtype, wf_sizes(self));
  wf__node *node = t ? zero_node(self, &bernoulli_class) : NULL;
  if (t && t->layout.numel && !wf__self.pending) {
    wf_plan plan = random_plan(WF__RANDOM_BERNOULLI, wf_no_scalar(), wf_no_scalar());
    plan.operands = 2;
    wf__operand_of(self, &plan.operand[1]);
    draw(t, &plan);
  }
  if (node && !wf__self.pending) wf__set_history(t, node, 0);
  wf__node_release(node);
  return wf__give(t);
}

static wf_status begin(const wf_tensor *self) {
  WF__TRY(wf__inplace_check(self, &self, 1));
  return wf__check_internal_overlap(self);
}

static wf_status draw_in_place(wf_tensor *self, wf_plan *plan, const wf__node_class *cls) {
  wf__node *node = zero_node(self, cls);
  wf_status status = wf__self.pending ? wf__self.pending : draw(self, plan);
  if (!status) status = wf__inplace_done(self, node);
  wf__node_release(node);
  return status;
}

wf_status wf_uniform_(wf_tensor *self, double low, double high) {
  WF__OP("uniform_", wf__self.pending);
  wf_plan plan = random_plan(WF__RANDOM_UNIFORM, wf_float(low), wf_float(high));
  WF__TRY(wf__given(self, "self"));
  WF__TRY(begin(self));
  WF__TRY(check_uniform((wf_dtype)self->dtype, low, high));
  return draw_in_place(self, &plan, &uniform_class);
}

wf_status wf_normal_(wf_tensor *self, double mean, double deviation) {
  WF__OP("normal_", wf__self.pending);
  wf_plan plan = random_plan(WF__RANDOM_NORMAL, wf_float(mean), wf_float(deviation));
  WF__TRY(wf__given(self, "self"));
  WF__TRY(begin(self));
  WF__TRY(check_normal((wf_dtype)self->dtype, self->layout.numel, deviation));
  return draw_in_place(self, &plan, &normal_class);
}

wf_status wf_bernoulli_(wf_tensor *self, double probability) {
  WF__OP("bernoulli_", wf__self.pending);
  wf_plan plan = random_plan(WF__RANDOM_BERNOULLI, wf_float(probability), wf_no_scalar());
  WF__TRY(wf__given(self, "self"));
  WF__TRY(begin(self));
  WF__CHECK(probability >= 0 && probability <= 1, WF_RUNTIME, "bernoulli_ expects p to be in [0, 1], but got p=%g",
            probability);
  return draw_in_place(self, &plan, &bernoulli_in_place_class);
}
