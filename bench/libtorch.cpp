// The cases of `weft bench micro` and `weft bench copy` in libtorch: bench/peer.py builds this, runs it in turn with weft, and compares.
//
//   libtorch list                   prints the names
//   libtorch THREADS warm|cold      reads a case a line: its name, or "layout f32 3,5,7 2,0,1" (dtype, sizes, order)
//
// Answers with a line a case: value and what memcpy reached beside it (0 for calls, which are in ns). Buffers, order of runs, number of runs
// and what counts as a run are those of weft bench, so that a difference is the libraries'.
#include <torch/types.h>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using at::Tensor;

namespace {

constexpr int kRuns = 15;
constexpr size_t kBlock = size_t{64} << 20;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

// ---- memory ------------------------------------------------------------------------------------------------------------------

// Values that every dtype but bool finds ordinary.
void fill(void *to, size_t bytes) {
  auto *at = static_cast<uint16_t *>(to);
  uint32_t state = 1;
  for (size_t i = 0; i < bytes / 2; i++) {
    state = state * 1664525u + 1013904223u;
    at[i] = static_cast<uint16_t>(0x3c00 | state >> 22);
  }
}

// Buffers in turn: whoever takes one gets the one that was unused for longest.
class Arena {
 public:
  Arena(bool cold, int threads) : threads_(threads) {
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    size_t between = 4 * (cache > 0 ? static_cast<size_t>(cache) : size_t{32} << 20);
    size_ = (cold ? 3 * kBlock + std::min(between, freeBytes() / 4) : 2 * kBlock) + 8192;
    memory_ = static_cast<char *>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    madvise(memory_, size_, MADV_HUGEPAGE);
    fill(memory_, size_);
  }

  void *take(size_t bytes) {
    if (at_ + bytes > size_) at_ = 0;
    void *taken = memory_ + at_;
    at_ += (bytes + 127) & ~size_t{127};
    return taken;
  }
  void rewind() { at_ = 0; }
  size_t size() const { return size_; }

  // A copy past the cache, as weft bench makes one before each run: so that none of what memcpy wrote is still to be written back.
  void stream(size_t bytes) {
    auto *from = static_cast<char *>(take(bytes)), *to = static_cast<char *>(take(bytes));
#ifdef __x86_64__
    for (size_t i = 0; i + 16 <= bytes; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i *>(to + i), _mm_loadu_si128(reinterpret_cast<__m128i *>(from + i)));
    _mm_sfence();
#else
    memcpy(to, from, bytes);
#endif
  }

  // Seconds for one memcpy between two stretches.
  double timeMemcpy(size_t bytes) {
    auto *from = static_cast<char *>(take(bytes)), *to = static_cast<char *>(take(bytes));
    if (threads_ > 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // OpenMP's threads spin
    size_t piece = (bytes / threads_ + 63) & ~size_t{63};
    double start = now();
    std::vector<std::thread> others;
    for (size_t first = piece; first < bytes; first += piece)
      others.emplace_back([=] { memcpy(to + first, from + first, std::min(piece, bytes - first)); });
    memcpy(to, from, std::min(piece, bytes));
    for (auto &t : others) t.join();
    return now() - start;
  }

 private:
  static size_t freeBytes() {
    return static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }

  char *memory_;
  size_t size_, at_ = 0, threads_;
};

// ---- copies ------------------------------------------------------------------------------------------------------------------

struct Operand {
  at::ScalarType dtype;
  std::vector<int64_t> size;
  size_t bytes() const {
    size_t n = c10::elementSize(dtype);
    for (int64_t s : size) n *= static_cast<size_t>(s);
    return n;
  }
};

using Operands = std::vector<Tensor>;

struct CopyCase {
  const char *name;
  double bytes;
  std::vector<Operand> operands;              // the destination first, where there is one
  std::function<Tensor(const Operands &)> run;  // returns the result if it is a new tensor
};

std::vector<CopyCase> copyCases() {
  const auto f32 = at::kFloat, f16 = at::kHalf, bf16 = at::kBFloat16, u8 = at::kByte;
  const double square = 4096.0 * 4096, images = 32.0 * 3 * 224 * 224;
  const Operand full{f32, {4096, 4096}}, half{f32, {4096, 2048}};
  auto to = [](auto view) {
    return [view](const Operands &t) {
      const_cast<Tensor &>(t[0]).copy_(view(t[1]));
      return Tensor();
    };
  };
  auto same = to([](const Tensor &x) { return x; });
  auto turned = to([](const Tensor &x) { return x.t(); });
  auto channelsFirst = to([](const Tensor &x) { return x.permute({0, 3, 1, 2}); });
  return {
      {"copy_contig_4096", 8 * square, {full, full}, same},
      {"copy_transpose_4096", 8 * square, {full, full}, turned},
      {"copy_transpose_4080", 8.0 * 4080 * 4080, {{f32, {4080, 4080}}, {f32, {4080, 4080}}}, turned},
      {"contiguous_T_4096", 8 * square, {full}, [](const Operands &t) { return t[0].t().contiguous(); }},
      {"permute0231_32x64x56x56", 8.0 * 32 * 64 * 56 * 56, {{f32, {32, 56, 56, 64}}, {f32, {32, 64, 56, 56}}},
       to([](const Tensor &x) { return x.permute({0, 2, 3, 1}); })},
      {"nhwc_to_nchw_u8_32x224x224x3", 2 * images, {{u8, {32, 3, 224, 224}}, {u8, {32, 224, 224, 3}}}, channelsFirst},
      {"u8nhwc_to_f32nchw", 5 * images, {{f32, {32, 3, 224, 224}}, {u8, {32, 224, 224, 3}}}, channelsFirst},
      {"u8nhwc_to_f32nchw_scaled", 5 * images, {{u8, {32, 224, 224, 3}}, {f32, {3, 1, 1}}, {f32, {3, 1, 1}}},
       [](const Operands &t) {
         Tensor planes = t[0].permute({0, 3, 1, 2}).to(t[1].options(), false, true, at::MemoryFormat::Contiguous);
         return planes.mul_(t[1]).add_(t[2]);
       }},
      {"bthd_to_bhtd_8x512x12x64", 8.0 * 8 * 512 * 12 * 64, {{f32, {8, 12, 512, 64}}, {f32, {8, 512, 12, 64}}},
       to([](const Tensor &x) { return x.transpose(1, 2); })},
      {"reverse_dims_64^4", 8 * square, {{f32, {64, 64, 64, 64}}, {f32, {64, 64, 64, 64}}},
       to([](const Tensor &x) { return x.permute({3, 2, 1, 0}); })},
      {"f16_transpose_4096", 4 * square, {{f16, {4096, 4096}}, {f16, {4096, 4096}}}, turned},
      {"cast_transpose_f32_f16_4096", 6 * square, {{f16, {4096, 4096}}, full}, turned},
      {"cast_f32_bf16", 6 * square, {{bf16, {4096, 4096}}, full}, same},
      {"cast_f16_f32", 6 * square, {full, {f16, {4096, 4096}}}, same},
      {"slice_copy_stride2", 4 * square, {half, full}, to([](const Tensor &x) { return x.slice(1, 0, 4096, 2); })},
      {"expand_copy_row", 4 * square, {full, {f32, {1, 4096}}}, to([](const Tensor &x) { return x.expand({4096, 4096}); })},
      {"add_contig_4096", 12 * square, {full, full, full},
       [](const Operands &t) { return at::add_out(const_cast<Tensor &>(t[0]), t[1], t[2]), Tensor(); }},
      {"add_transposed_4096", 12 * square, {full, full, full},
       [](const Operands &t) { return at::add_out(const_cast<Tensor &>(t[0]), t[1], t[2].t()), Tensor(); }},
      {"sum_dim0_4096", 4 * square, {full}, [](const Operands &t) { return t[0].sum(0); }},
      {"sum_all_4096", 4 * square, {full}, [](const Operands &t) { return t[0].sum(); }},
      {"softmax_4096", 8 * square, {full}, [](const Operands &t) { return t[0].softmax(1); }},
      {"cat_dim1_2x4096x2048", 8 * square, {full, half, half},
       [](const Operands &t) { return at::cat_out(const_cast<Tensor &>(t[0]), {t[1], t[2]}, 1), Tensor(); }},
  };
}

Operands make(const CopyCase &c, Arena &arena, bool cold) {
  Operands made;
  for (const Operand &o : c.operands) {
    if (cold) {
      made.push_back(at::from_blob(arena.take(o.bytes()), o.size, o.dtype));
    } else {
      made.push_back(at::empty(o.size, o.dtype));
      fill(made.back().data_ptr(), o.bytes());
    }
  }
  return made;
}

// A new result is given back within the time.
double runOnce(const CopyCase &c, const Operands &t) {
  double start = now();
  c.run(t);
  return now() - start;
}

void timeCopy(const CopyCase &c, Arena &arena, bool cold) {
  std::vector<double> run, beside;
  auto neighbours = [&](int n) {
    for (int i = 0; i < n && !cold; i++) {
      arena.rewind();
      beside.push_back(arena.timeMemcpy(kBlock));
    }
  };
  neighbours(kRuns / 2);
  Operands t;
  if (!cold) t = make(c, arena, cold);
  for (int r = -2; r < kRuns; r++) {
    if (cold && r >= 0) beside.push_back(arena.timeMemcpy(kBlock));
    if (cold && r >= 0) arena.stream(kBlock);
    if (cold) t = make(c, arena, cold);
    double seconds = runOnce(c, t);
    if (r >= 0) run.push_back(seconds);
  }
  neighbours(kRuns - kRuns / 2);
  printf("%.6g %.6g\n", c.bytes * 1e-9 / median(run), 2e-9 * kBlock / median(beside));
}

// ---- layouts from outside ------------------------------------------------------------------------------------------------------

std::vector<int64_t> numbers(const std::string &list) {
  std::vector<int64_t> all;
  std::stringstream stream(list);
  for (std::string one; std::getline(stream, one, ',');) all.push_back(std::stoll(one));
  return all;
}

at::ScalarType dtypeOf(const std::string &name) {
  static const std::pair<const char *, at::ScalarType> table[] = {
      {"u8", at::kByte},  {"i8", at::kChar},      {"i16", at::kShort}, {"i32", at::kInt},    {"i64", at::kLong},
      {"f16", at::kHalf}, {"bf16", at::kBFloat16}, {"f32", at::kFloat}, {"f64", at::kDouble}, {"bool", at::kBool}};
  for (const auto &[known, dtype] : table)
    if (name == known) return dtype;
  throw std::invalid_argument("no dtype " + name);
}

// A permuted tensor to row-major order, beside memcpy of the same bytes.
void timeLayout(const std::string &line, Arena &arena) {
  std::stringstream words(line);
  std::string layout, dtype, sizes, order;
  words >> layout >> dtype >> sizes >> order;
  Operand from{dtypeOf(dtype), numbers(sizes)};
  std::vector<int64_t> dims = numbers(order), size;
  for (int64_t d : dims) size.push_back(from.size.at(static_cast<size_t>(d)));
  CopyCase c{"", 2.0 * static_cast<double>(from.bytes()), {{from.dtype, size}, from}, [&](const Operands &t) {
               const_cast<Tensor &>(t[0]).copy_(t[1].permute(dims));
               return Tensor();
             }};
  std::vector<double> run, beside;
  for (int r = -1; r < kRuns; r++) {
    double first = arena.timeMemcpy(from.bytes());
    Operands t = make(c, arena, true);
    double second = runOnce(c, t);
    if (r < 0) continue;
    beside.push_back(first);
    run.push_back(second);
  }
  printf("%.6g %.6g\n", c.bytes * 1e-9 / median(run), c.bytes * 1e-9 / median(beside));
}

// ---- calls -------------------------------------------------------------------------------------------------------------------

struct MicroCase {
  const char *name;
  int calls;
  bool recorded;
  std::function<void()> run;
};

std::vector<MicroCase> microCases() {
  Tensor matrix = torch::randn({1024, 1024}), small = torch::randn({4, 4}), other = torch::randn({4, 4});
  Tensor eight = torch::randn({8, 8}), rank4 = torch::randn({2, 3, 4, 5});
  Tensor recorded = torch::randn({1024, 1024}).requires_grad_(), leaf = torch::randn({4, 4}).requires_grad_();
  return {
      {"view", 20000, false, [=] { auto y = matrix.view({-1}); }},
      {"transpose", 20000, false, [=] { auto y = matrix.transpose(0, 1); }},
      {"slice", 20000, false, [=] { auto y = matrix.slice(0, 1, 9); }},
      {"permute4", 20000, false, [=] { auto y = rank4.permute({0, 2, 3, 1}); }},
      {"detach", 20000, false, [=] { auto y = matrix.detach(); }},
      {"empty_4x4", 20000, false, [] { auto y = torch::empty({4, 4}); }},
      {"add_4x4", 20000, false, [=] { auto y = small + other; }},
      {"add_inplace_4x4", 20000, false, [=] { Tensor(small).add_(other); }},
      {"mm_4x4", 20000, false, [=] { auto y = at::mm(small, other); }},
      {"clone_1024", 200, false, [=] { auto y = matrix.clone(); }},
      {"view(inference_mode)", 20000, false,
       [=] {
         // The tensor must be made in the mode, once; the mode itself is entered around all calls, see timeMicro.
         static Tensor inside = torch::randn({8, 8});
         auto y = inside.view({-1});
       }},
      {"fwd_bwd_mul_sum_4x4", 5000, true, [=] { (leaf * other).sum().backward(); }},
      {"view_autograd", 20000, true, [=] { auto y = recorded.view({-1}); }},
  };
}

void timeMicro(const MicroCase &c) {
  at::AutoGradMode mode(c.recorded);
  std::unique_ptr<c10::InferenceMode> inference;
  if (strstr(c.name, "inference_mode")) inference = std::make_unique<c10::InferenceMode>();
  std::vector<double> ns;
  for (int r = -1; r < kRuns; r++) {
    double start = now();
    for (int i = 0; i < c.calls; i++) c.run();
    if (r >= 0) ns.push_back((now() - start) * 1e9 / c.calls);
  }
  printf("%.6g 0\n", median(ns));
}

// ---- which -------------------------------------------------------------------------------------------------------------------

int list() {
  for (const MicroCase &c : microCases()) printf("micro %s\n", c.name);
  for (const CopyCase &c : copyCases()) printf("copy %s\n", c.name);
  return 0;
}

// One case; false when there is none of that name.
bool answer(const std::string &line, std::unique_ptr<Arena> &arena, bool cold, int threads) {
  for (const MicroCase &c : microCases())
    if (line == c.name) return timeMicro(c), true;
  if (!arena) arena = std::make_unique<Arena>(cold, threads);
  at::NoGradGuard guard;
  if (line.compare(0, 7, "layout ") == 0) return timeLayout(line, *arena), true;
  for (const CopyCase &c : copyCases())
    if (line == c.name) return timeCopy(c, *arena, cold), true;
  return false;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 2 && !strcmp(argv[1], "list")) return list();
  if (argc != 3) return fprintf(stderr, "usage: libtorch list | libtorch THREADS warm|cold\n"), 2;
  int threads = std::stoi(argv[1]);
  at::set_num_threads(threads);
  std::unique_ptr<Arena> arena;
  for (std::string line; std::getline(std::cin, line); fflush(stdout))
    if (!answer(line, arena, !strcmp(argv[2], "cold"), threads))
      return fprintf(stderr, "libtorch: there is no case '%s'\n", line.c_str()), 2;
  return 0;
}
