// Operators of Weft and libtorch in one process, in turn: bench/peer.py builds and runs this as its suite `ops`.
//
//   operators THREADS RUNS [FILTER]     FILTER: a regular expression over names
//
// Prints a line a case: name, microseconds of Weft and of libtorch (medians of RUNS), and how many times as fast Weft was (median of the
// runs' ratios). A run is as many calls as take half a millisecond. libtorch writes elementwise results to a tensor that it is given; Weft
// makes its own, in memory that it kept from the call before, and gives it back within the time: so neither pays for fresh pages.
//
// A name is operator_dtype_bytes of one operand, or operator_dtype[sizes]_dim. Values lie between 0.1 and 4, of either sign for operators
// that take it; integers between 1 and 99.
#include <torch/types.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <weft/weft.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <regex>
#include <string>
#include <vector>

using at::Tensor;

namespace {

struct Type {
  const char *name;
  wf_dtype weft;
  at::ScalarType torch;
};
constexpr Type kF32{"f32", WF_F32, at::kFloat}, kF64{"f64", WF_F64, at::kDouble}, kF16{"f16", WF_F16, at::kHalf},
    kBF16{"bf16", WF_BF16, at::kBFloat16}, kI64{"i64", WF_I64, at::kLong}, kI32{"i32", WF_I32, at::kInt},
    kU8{"u8", WF_U8, at::kByte}, kBool{"bool", WF_BOOL, at::kBool};

bool isFloat(const Type &t) { return at::isFloatingType(t.torch); }

// One operand on both sides: the same memory.
struct Pair {
  Tensor torch;
  wf_tensor *weft;
};

Pair wrap(const Tensor &t, const Type &type) {
  auto sizes = t.sizes().vec();
  wf_dims size{sizes.data(), static_cast<int>(sizes.size())};
  return {t, wf_from_memory(t.data_ptr(), t.nbytes(), size, wf_dims{nullptr, 0}, type.weft, nullptr, nullptr)};
}

Pair numbers(const std::vector<int64_t> &size, const Type &type, bool positive) {
  at::manual_seed(1);
  Tensor t;
  if (type.torch == at::kBool) t = at::randint(0, 2, size, at::kLong);
  else if (!isFloat(type)) t = at::randint(1, 100, size, at::kLong);
  else t = at::rand(size, at::kDouble) * 3.9 + 0.1;
  if (isFloat(type) && !positive) t = t * (at::randint(0, 2, size, at::kDouble) * 2 - 1);
  return wrap(t.to(type.torch).contiguous(), type);
}

using Call = std::function<void()>;

// With one thread the time it had the processor: what other programs take isn't the libraries'.
bool oneThread = true;
double now() {
  timespec t;
  clock_gettime(oneThread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

double timed(const Call &call, int times) {
  double start = now();
  for (int i = 0; i < times; i++) call();
  return (now() - start) / times * 1e6;
}

int calls(const Call &call) {
  call();
  int times = 1;
  while (timed(call, times) * times < 500 && times < 1 << 20) times *= 2;
  return times;
}

struct Bench {
  int runs;
  std::regex filter;

  bool wants(const std::string &name) const { return std::regex_search(name, filter); }

  void run(const std::string &name, const Call &weft, const Call &torch) const {
    weft();
    if (wf_error_peek().status != WF_OK) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), wf_error_take().text);
      return;
    }
    int ours = calls(weft), theirs = calls(torch);
    std::vector<double> a, b, ratio;
    for (int r = 0; r < runs; r++) {
      a.push_back(timed(weft, ours));
      b.push_back(timed(torch, theirs));
      ratio.push_back(b.back() / a.back());
    }
    std::printf("%s %.2f %.2f %.2f\n", name.c_str(), median(a), median(b), median(ratio));
    std::fflush(stdout);
  }
};

std::string bytesName(int64_t bytes) {
  return bytes >= 1 << 20 ? std::to_string(bytes >> 20) + "MiB" : std::to_string(bytes >> 10) + "KiB";
}

void drop(wf_tensor *t) { wf_free(t); }

// ---- the cases ------------------------------------------------------------------------------------------------------

using WeftUnary = wf_tensor *(*)(const wf_tensor *);
using WeftBinary = wf_tensor *(*)(const wf_tensor *, const wf_tensor *);
using TorchUnary = Tensor &(*)(Tensor &, const Tensor &);
using TorchBinary = Tensor &(*)(Tensor &, const Tensor &, const Tensor &);

struct Unary {
  const char *name;
  WeftUnary weft;
  TorchUnary torch;
  bool positive, integers;
};
struct Binary {
  const char *name;
  WeftBinary weft;
  TorchBinary torch;
  bool integers, truth;
};

#define TORCH1(op) [](Tensor &o, const Tensor &x) -> Tensor & { return at::op##_out(o, x); }
#define TORCH2(op) [](Tensor &o, const Tensor &x, const Tensor &y) -> Tensor & { return at::op##_out(o, x, y); }
#define WEFT1(expression) [](const wf_tensor *x) -> wf_tensor * { return expression; }
#define WEFT2(expression) [](const wf_tensor *x, const wf_tensor *y) -> wf_tensor * { return expression; }

const Unary kUnary[] = {
    {"neg", wf_neg, TORCH1(neg), false, true},
    {"abs", wf_abs, TORCH1(abs), false, true},
    {"sign", wf_sign, TORCH1(sign), false, true},
    {"square", wf_square, TORCH1(square), false, true},
    {"sqrt", wf_sqrt, TORCH1(sqrt), true, false},
    {"rsqrt", wf_rsqrt, TORCH1(rsqrt), true, false},
    {"reciprocal", wf_reciprocal, TORCH1(reciprocal), true, false},
    {"exp", wf_exp, TORCH1(exp), false, false},
    {"expm1", wf_expm1, TORCH1(expm1), false, false},
    {"log", wf_log, TORCH1(log), true, false},
    {"log1p", wf_log1p, TORCH1(log1p), true, false},
    {"log2", wf_log2, TORCH1(log2), true, false},
    {"sin", wf_sin, TORCH1(sin), false, false},
    {"cos", wf_cos, TORCH1(cos), false, false},
    {"tan", wf_tan, TORCH1(tan), false, false},
    {"atan", wf_atan, TORCH1(atan), false, false},
    {"tanh", wf_tanh, TORCH1(tanh), false, false},
    {"sigmoid", wf_sigmoid, TORCH1(sigmoid), false, false},
    {"erf", wf_erf, TORCH1(erf), false, false},
    {"floor", wf_floor, TORCH1(floor), false, false},
    {"round", wf_round, TORCH1(round), false, false},
    {"trunc", wf_trunc, TORCH1(trunc), false, false},
    {"silu", wf_silu, TORCH1(silu), false, false},
    {"gelu", WEFT1(wf_gelu(x, "none")),
     [](Tensor &o, const Tensor &x) -> Tensor & { return at::gelu_out(o, x, "none"); }, false, false},
    {"gelu_tanh", WEFT1(wf_gelu(x, "tanh")),
     [](Tensor &o, const Tensor &x) -> Tensor & { return at::gelu_out(o, x, "tanh"); }, false, false},
    {"relu", wf_relu, TORCH1(relu), false, true},
    {"leaky_relu", WEFT1(wf_leaky_relu(x, 0.01)),
     [](Tensor &o, const Tensor &x) -> Tensor & { return at::leaky_relu_out(o, x, 0.01); }, false, false},
    {"elu", WEFT1(wf_elu(x, 1.0)), [](Tensor &o, const Tensor &x) -> Tensor & { return at::elu_out(o, x); }, false,
     false},
    {"softplus", WEFT1(wf_softplus(x, 1.0, 20.0)), TORCH1(softplus), false, false},
    {"clamp", WEFT1(wf_clamp(x, wf_int(1), wf_int(3))),
     [](Tensor &o, const Tensor &x) -> Tensor & { return at::clamp_out(o, x, 1, 3); }, false, true},
    {"add_number", WEFT1(wf_add_scalar(x, wf_int(2))),
     [](Tensor &o, const Tensor &x) -> Tensor & { return at::add_out(o, x, at::scalar_tensor(2, at::kLong)); }, false,
     true},
    {"mul_number", WEFT1(wf_mul_scalar(x, wf_int(3))),
     [](Tensor &o, const Tensor &x) -> Tensor & { return at::mul_out(o, x, at::scalar_tensor(3, at::kLong)); }, false,
     true},
    {"pow_2.5", WEFT1(wf_pow_scalar(x, wf_float(2.5))),
     [](Tensor &o, const Tensor &x) -> Tensor & { return at::pow_out(o, x, 2.5); }, true, false},
    {"pow_3", WEFT1(wf_pow_scalar(x, wf_int(3))),
     [](Tensor &o, const Tensor &x) -> Tensor & { return at::pow_out(o, x, 3); }, true, true},
};
const Unary kTruth[] = {
    {"isnan", wf_isnan, [](Tensor &o, const Tensor &x) -> Tensor & { return o = at::isnan(x); }, false, true},
    {"isfinite", wf_isfinite, [](Tensor &o, const Tensor &x) -> Tensor & { return o = at::isfinite(x); }, false, false},
    {"logical_not", wf_logical_not, TORCH1(logical_not), false, true},
    {"eq_number", WEFT1(wf_eq_scalar(x, wf_int(2))),
     [](Tensor &o, const Tensor &x) -> Tensor & { return at::eq_out(o, x, 2); }, false, true},
};
const Binary kBinary[] = {
    {"add", wf_add, TORCH2(add), true, false},
    {"sub", wf_sub, TORCH2(sub), true, false},
    {"mul", wf_mul, TORCH2(mul), true, false},
    {"div", wf_div, TORCH2(div), false, false},
    {"floor_divide", wf_floor_divide, TORCH2(floor_divide), true, false},
    {"fmod", wf_fmod, TORCH2(fmod), true, false},
    {"remainder", wf_remainder, TORCH2(remainder), true, false},
    {"pow", wf_pow, TORCH2(pow), false, false},
    {"atan2", wf_atan2, TORCH2(atan2), false, false},
    {"maximum", wf_maximum, TORCH2(maximum), true, false},
    {"minimum", wf_minimum, TORCH2(minimum), true, false},
    {"eq", wf_eq, TORCH2(eq), true, true},
    {"lt", wf_lt, TORCH2(lt), true, true},
    {"logical_and", wf_logical_and, TORCH2(logical_and), true, true},
};

const std::vector<Type> kFloats{kF32, kF64, kF16, kBF16}, kAll{kF32, kF64, kF16, kBF16, kI64, kI32, kU8};
constexpr int64_t kSizes[] = {64 << 10, 1 << 20, 32 << 20};

int64_t count(int64_t bytes, const Type &type) { return bytes / static_cast<int64_t>(c10::elementSize(type.torch)); }

template <typename Table>
void unaries(const Bench &b, const Table &table, bool truth) {
  for (const Unary &op : table)
    for (const Type &type : op.integers ? kAll : kFloats)
      for (int64_t bytes : kSizes) {
        std::string name = std::string(op.name) + "_" + type.name + "_" + bytesName(bytes);
        if (!b.wants(name)) continue;
        Pair x = numbers({count(bytes, type)}, type, op.positive);
        Tensor out = truth ? at::empty_like(x.torch, at::kBool) : at::empty_like(x.torch);
        b.run(
            name, [&] { drop(op.weft(x.weft)); }, [&] { op.torch(out, x.torch); });
        wf_free(x.weft);
      }
}

void binaries(const Bench &b) {
  for (const Binary &op : kBinary)
    for (const Type &type : op.integers ? kAll : kFloats)
      for (int64_t bytes : kSizes) {
        std::string name = std::string(op.name) + "_" + type.name + "_" + bytesName(bytes);
        if (!b.wants(name)) continue;
        Pair x = numbers({count(bytes, type)}, type, true), y = numbers({count(bytes, type)}, type, true);
        Tensor out = op.truth ? at::empty_like(x.torch, at::kBool) : at::empty_like(x.torch);
        b.run(
            name, [&] { drop(op.weft(x.weft, y.weft)); }, [&] { op.torch(out, x.torch, y.torch); });
        wf_free(x.weft);
        wf_free(y.weft);
      }
}

void masks(const Bench &b) {
  for (const Type &type : kAll)
    for (int64_t bytes : kSizes) {
      std::string tail = std::string("_") + type.name + "_" + bytesName(bytes);
      if (!b.wants("where" + tail) && !b.wants("masked_fill" + tail) && !b.wants("lerp" + tail) &&
          !b.wants("addcmul" + tail))
        continue;
      int64_t n = count(bytes, type);
      Pair x = numbers({n}, type, true), y = numbers({n}, type, true), z = numbers({n}, type, true),
           c = numbers({n}, kBool, true);
      Tensor out = at::empty_like(x.torch);
      if (b.wants("where" + tail))
        b.run(
            "where" + tail, [&] { drop(wf_where(c.weft, x.weft, y.weft)); },
            [&] { at::where_out(out, c.torch, x.torch, y.torch); });
      if (b.wants("masked_fill" + tail))
        b.run(
            "masked_fill" + tail, [&] { drop(wf_masked_fill(x.weft, c.weft, wf_int(2))); },
            [&] { at::masked_fill_out(out, x.torch, c.torch, 2); });
      if (b.wants("addcmul" + tail))
        b.run(
            "addcmul" + tail, [&] { drop(wf_addcmul(x.weft, y.weft, z.weft, wf_int(2))); },
            [&] { at::addcmul_out(out, x.torch, y.torch, z.torch, 2); });
      if (isFloat(type) && b.wants("lerp" + tail))
        b.run(
            "lerp" + tail, [&] { drop(wf_lerp_tensor(x.weft, y.weft, z.weft)); },
            [&] { at::lerp_out(out, x.torch, y.torch, z.torch); });
      for (Pair *p : {&x, &y, &z, &c}) wf_free(p->weft);
    }
}

// A reduction over dims (none: all) of a tensor of some sizes.
struct Reduction {
  const char *name;
  std::function<void(const wf_tensor *, wf_dims)> weft;
  std::function<void(const Tensor &, at::IntArrayRef)> torch;
  bool integers, floats, one_dim;
};

int64_t first(wf_dims d) { return d.at[0]; }

const Reduction kReductions[] = {
    {"sum", [](const wf_tensor *x, wf_dims d) { drop(wf_sum_dims(x, d, false, WF_DTYPE_NONE)); },
     [](const Tensor &x, at::IntArrayRef d) { at::sum(x, d); }, true, true, false},
    {"mean", [](const wf_tensor *x, wf_dims d) { drop(wf_mean_dims(x, d, false, WF_DTYPE_NONE)); },
     [](const Tensor &x, at::IntArrayRef d) { at::mean(x, d); }, false, true, false},
    {"amax", [](const wf_tensor *x, wf_dims d) { drop(wf_amax(x, d, false)); },
     [](const Tensor &x, at::IntArrayRef d) { at::amax(x, d); }, true, true, false},
    {"var", [](const wf_tensor *x, wf_dims d) { drop(wf_var(x, d, wf_int(1), false)); },
     [](const Tensor &x, at::IntArrayRef d) { at::var(x, d, at::Scalar(1), false); }, false, true, false},
    {"norm", [](const wf_tensor *x, wf_dims d) { drop(wf_norm(x, wf_int(2), d, false)); },
     [](const Tensor &x, at::IntArrayRef d) { at::norm(x, 2, d, false); }, false, true, false},
    {"logsumexp", [](const wf_tensor *x, wf_dims d) { drop(wf_logsumexp(x, d, false)); },
     [](const Tensor &x, at::IntArrayRef d) { at::logsumexp(x, d); }, false, true, false},
    {"prod", [](const wf_tensor *x, wf_dims d) { drop(wf_prod_dim(x, first(d), false, WF_DTYPE_NONE)); },
     [](const Tensor &x, at::IntArrayRef d) { at::prod(x, d[0]); }, true, true, true},
    {"argmax", [](const wf_tensor *x, wf_dims d) { drop(wf_argmax(x, first(d), false)); },
     [](const Tensor &x, at::IntArrayRef d) { at::argmax(x, d[0]); }, true, true, true},
    {"max",
     [](const wf_tensor *x, wf_dims d) {
       wf_value_index p = wf_max_dim(x, first(d), false);
       drop(p.values), drop(p.indices);
     },
     [](const Tensor &x, at::IntArrayRef d) { at::max(x, d[0]); }, true, true, true},
    {"count_nonzero", [](const wf_tensor *x, wf_dims d) { drop(wf_count_nonzero(x, d)); },
     [](const Tensor &x, at::IntArrayRef d) { at::count_nonzero(x, d); }, true, true, false},
    {"cumsum", [](const wf_tensor *x, wf_dims d) { drop(wf_cumsum(x, first(d), WF_DTYPE_NONE)); },
     [](const Tensor &x, at::IntArrayRef d) { at::cumsum(x, d[0]); }, true, true, true},
    {"cumprod", [](const wf_tensor *x, wf_dims d) { drop(wf_cumprod(x, first(d), WF_DTYPE_NONE)); },
     [](const Tensor &x, at::IntArrayRef d) { at::cumprod(x, d[0]); }, false, true, true},
    {"sort",
     [](const wf_tensor *x, wf_dims d) {
       wf_sorted p = wf_sort(x, first(d), false, false);
       drop(p.values), drop(p.indices);
     },
     [](const Tensor &x, at::IntArrayRef d) { at::sort(x, d[0], false); }, true, true, true},
    {"topk",
     [](const wf_tensor *x, wf_dims d) {
       wf_sorted p = wf_topk(x, 3, first(d), true, true);
       drop(p.values), drop(p.indices);
     },
     [](const Tensor &x, at::IntArrayRef d) { at::topk(x, 3, d[0], true, true); }, true, true, true},
    {"softmax", [](const wf_tensor *x, wf_dims d) { drop(wf_softmax(x, first(d), WF_DTYPE_NONE)); },
     [](const Tensor &x, at::IntArrayRef d) { at::softmax(x, d[0]); }, false, true, true},
    {"log_softmax", [](const wf_tensor *x, wf_dims d) { drop(wf_log_softmax(x, first(d), WF_DTYPE_NONE)); },
     [](const Tensor &x, at::IntArrayRef d) { at::log_softmax(x, d[0]); }, false, true, true},
    {"any", [](const wf_tensor *x, wf_dims d) { drop(wf_any(x, d, false)); },
     [](const Tensor &x, at::IntArrayRef d) { at::any(x, d[0], false); }, true, false, true},
};

std::string shapeName(const std::vector<int64_t> &size) {
  std::string s = "[";
  for (size_t i = 0; i < size.size(); i++) s += (i ? "," : "") + std::to_string(size[i]);
  return s + "]";
}

void reductions(const Bench &b) {
  struct Form {
    std::vector<int64_t> size, dim;
  };
  const Form forms[] = {{{1 << 18}, {0}},    {{1024, 256}, {1}},  {{1024, 256}, {0}},
                        {{4096, 10}, {1}},   {{65536, 3}, {1}},   {{512, 768}, {1}},
                        {{2048, 2048}, {1}}, {{2048, 2048}, {0}}, {{32, 64, 28, 28}, {0, 2, 3}}};
  for (const Reduction &op : kReductions)
    for (const Type &type : op.integers && !op.floats ? std::vector<Type>{kBool} : op.integers ? kAll : kFloats)
      for (const Form &form : forms) {
        if (op.one_dim && form.dim.size() > 1) continue;
        std::string name =
            std::string(op.name) + "_" + type.name + shapeName(form.size) + "_dim" + std::to_string(form.dim[0]);
        if (!b.wants(name)) continue;
        Pair x = numbers(form.size, type, std::string(op.name) == "prod" || std::string(op.name) == "cumprod");
        wf_dims dims{form.dim.data(), static_cast<int>(form.dim.size())};
        b.run(
            name, [&] { op.weft(x.weft, dims); }, [&] { op.torch(x.torch, form.dim); });
        wf_free(x.weft);
      }
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: operators THREADS RUNS [FILTER]\n");
    return 2;
  }
  c10::InferenceMode inference;
  at::set_num_threads(std::atoi(argv[1]));
  oneThread = std::atoi(argv[1]) == 1;
  Bench b{std::atoi(argv[2]), std::regex(argc > 3 ? argv[3] : "")};
  unaries(b, kUnary, false);
  unaries(b, kTruth, true);
  binaries(b);
  masks(b);
  reductions(b);
  return 0;
}
