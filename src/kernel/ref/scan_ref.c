/* Cumulative sums and products, and a stable sort, in plain C. */
#include "kernel/indexing.h"

#include <string.h>

#include "kernel/ref/ref_types.h"

/* ---- cumulation --------------------------------------------------------------------------------------------------------------------- */

/* X(NAME, stored, kept, member, load, store): what each dtype is added up in. */
static double f16_load(uint16_t h) { return wf__f16_to_f32(h); }
static double bf16_load(uint16_t h) { return wf__bf16_to_f32(h); }
static uint16_t f16_store(double f) { return wf__f32_to_f16((float)f); }
static uint16_t bf16_store(double f) { return wf__f32_to_bf16((float)f); }
static uint8_t bool_store(int64_t i) { return i != 0; }
/* clang-format off */
#define CUMULATED(X)                                                                                        \
  X(F16, uint16_t, float, f, f16_load, f16_store) X(BF16, uint16_t, float, f, bf16_load, bf16_store)        \
  X(F32, float, double, f, (double), (float)) X(F64, double, double, f, (double), (double))                 \
  X(U8, uint8_t, uint64_t, i, (uint64_t), (uint8_t)) X(I8, int8_t, uint64_t, i, (uint64_t), (int8_t))       \
  X(I16, int16_t, uint64_t, i, (uint64_t), (int16_t)) X(I32, int32_t, uint64_t, i, (uint64_t), (int32_t))   \
  X(I64, int64_t, uint64_t, i, (uint64_t), (int64_t)) X(BOOL, uint8_t, uint64_t, i, (uint64_t), bool_store)
/* clang-format on */

#define CUMULATE(NAME, T, KEPT, MEMBER, LOAD, STORE)                                   \
  static void cumulate_##NAME(bool product, void *data, int64_t n, wf__carry *carry) { \
    KEPT kept = (KEPT)carry->MEMBER;                                                   \
    T *x = data;                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                  \
      KEPT v = (KEPT)LOAD(x[i]);                                                       \
      kept = product ? kept * v : kept + v;                                            \
      x[i] = STORE(kept);                                                              \
    }                                                                                  \
    carry->MEMBER = kept;                                                              \
  }
CUMULATED(CUMULATE)
#undef CUMULATE

void wf__ref_cumulate(wf_dtype dtype, bool product, void *data, int64_t n, wf__carry *carry) {
#define ENTRY(NAME, ...) [WF_##NAME] = cumulate_##NAME,
  static void (*const of[WF_DTYPE_COUNT])(bool, void *, int64_t, wf__carry *) = {CUMULATED(ENTRY)};
#undef ENTRY
  of[dtype](product, data, n, carry);
}

/* ---- sorting ------------------------------------------------------------------------------------------------------------------------ */

/* Bits of a float as an integer that orders alike: NaN is the greatest whatever its sign, the zeros are equal. */
static inline uint64_t float_key(uint64_t bits, int width, uint64_t infinity) {
  uint64_t sign = 1ull << (width - 1), ones = width == 64 ? UINT64_MAX : (1ull << width) - 1,
           size = bits & ~sign & ones;
  if (size > infinity) return ones;
  if (size == 0) return sign;
  return bits & sign ? ~bits & ones : bits | sign;
}
static inline uint64_t key_F16(uint16_t v) { return float_key(v, 16, 0x7c00); }
static inline uint64_t key_BF16(uint16_t v) { return float_key(v, 16, 0x7f80); }
static inline uint64_t key_F32(uint32_t v) { return float_key(v, 32, 0x7f800000); }
static inline uint64_t key_F64(uint64_t v) { return float_key(v, 64, 0x7ff0000000000000ull); }
static inline uint64_t key_U8(uint8_t v) { return v; }
static inline uint64_t key_BOOL(uint8_t v) { return v != 0; }
static inline uint64_t key_I8(uint8_t v) { return v ^ 0x80u; }
static inline uint64_t key_I16(uint16_t v) { return v ^ 0x8000u; }
static inline uint64_t key_I32(uint32_t v) { return v ^ 0x80000000u; }
static inline uint64_t key_I64(uint64_t v) { return v ^ 0x8000000000000000ull; }
/* clang-format off */
#define SORTED(X)                                                                                                   \
  X(F16, uint16_t) X(BF16, uint16_t) X(F32, uint32_t) X(F64, uint64_t) X(U8, uint8_t) X(BOOL, uint8_t)              \
  X(I8, uint8_t) X(I16, uint16_t) X(I32, uint32_t) X(I64, uint64_t)
/* clang-format on */

#define KEYS(NAME, T)                                                                                          \
  static void keys_##NAME(const char *from, int64_t stride, int64_t n, uint64_t flip, wf__sort_entry *entry) { \
    for (int64_t i = 0; i < n; i++) {                                                                          \
      T v;                                                                                                     \
      memcpy(&v, from + i * stride, sizeof v);                                                                 \
      entry[i] = (wf__sort_entry){key_##NAME(v) ^ flip, i};                                                    \
    }                                                                                                          \
  }
SORTED(KEYS)
#undef KEYS

void wf__ref_sort_keys(wf_dtype dtype, const char *from, int64_t stride, int64_t n, bool descending,
                       wf__sort_entry *entry) {
#define ENTRY(NAME, ...) [WF_##NAME] = keys_##NAME,
  static void (*const of[WF_DTYPE_COUNT])(const char *, int64_t, int64_t, uint64_t, wf__sort_entry *) = {SORTED(ENTRY)};
#undef ENTRY
  of[dtype](from, stride, n, descending ? UINT64_MAX : 0, entry);
}

#define SHORT 48 /* entries below which insertion beats counting */

static void insert_all(wf__sort_entry *e, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    wf__sort_entry new = e[i];
    int64_t at = i;
    for (; at > 0 && e[at - 1].key > new.key; at--) e[at] = e[at - 1];
    e[at] = new;
  }
}

/* One counting pass over byte `byte`; false when all entries agree in it and nothing was moved. */
static bool distribute(const wf__sort_entry *from, wf__sort_entry *to, int64_t n, int byte) {
  int64_t place[256] = {0}, sum = 0;
  int shift = 8 * byte;
  for (int64_t i = 0; i < n; i++) place[from[i].key >> shift & 255]++;
  if (place[from[0].key >> shift & 255] == n) return false;
  for (int b = 0; b < 256; b++) {
    int64_t count = place[b];
    place[b] = sum;
    sum += count;
  }
  for (int64_t i = 0; i < n; i++) to[place[from[i].key >> shift & 255]++] = from[i];
  return true;
}

const wf__sort_entry *wf__ref_sort(wf__sort_entry *entry, wf__sort_entry *spare, int64_t n, int bytes) {
  if (n < SHORT) {
    insert_all(entry, n);
    return entry;
  }
  for (int b = 0; b < bytes; b++) {
    if (!distribute(entry, spare, n, b)) continue;
    wf__sort_entry *filled = spare;
    spare = entry;
    entry = filled;
  }
  return entry;
}
