/* Cumulative sums and products, and a stable sort, in plain C. */
#include "kernel/indexing.h"

#include <string.h>

#include "kernel/ref/ref_types.h"
#include "kernel/tables.h"

/* ---- cumulation --------------------------------------------------------------------------------------------------------------------- */

/* Elements of type T, kept as KEPT. */
#define CUMULATE(NAME, T, KEPT)                                                                 \
  static inline void cumulate_##NAME(bool product, const wf__runs *r, void *carry) {            \
    for (int64_t k = 0; k < r->runs; k++) {                                                     \
      KEPT *kept = (KEPT *)carry + k;                                                           \
      for (int64_t i = 0; i < r->n; i++) {                                                      \
        KEPT v = (KEPT)WF__AT(const T, r->in, k * r->in_run + i * r->in_step);                  \
        *kept = product ? *kept * v : *kept + v;                                                \
        WF__AT(T, r->out, k * r->out_run + i * r->out_step) = (T)*kept;                         \
      }                                                                                         \
    }                                                                                           \
  }                                                                                             \
  static void sums_##NAME(const wf__runs *r, void *carry) { cumulate_##NAME(false, r, carry); } \
  static void products_##NAME(const wf__runs *r, void *carry) { cumulate_##NAME(true, r, carry); }
CUMULATE(F32, float, double)
CUMULATE(F16, float, float)
CUMULATE(F64, double, double)
CUMULATE(I64, int64_t, uint64_t)
CUMULATE(I32, int32_t, uint32_t)
CUMULATE(I16, int16_t, uint32_t)
CUMULATE(U8, uint8_t, uint32_t)

void wf__scan_ref(wf__kernels *table) {
#define WF_SCAN(DTYPE, NAME)                    \
  table->cumulate[WF_##DTYPE][0] = sums_##NAME; \
  table->cumulate[WF_##DTYPE][1] = products_##NAME;
  WF_SCAN(F32, F32)
  WF_SCAN(F16, F16)
  WF_SCAN(BF16, F16)
  WF_SCAN(F64, F64)
  WF_SCAN(I64, I64)
  WF_SCAN(BOOL, I64)
  WF_SCAN(I32, I32)
  WF_SCAN(I16, I16)
  WF_SCAN(I8, U8)
  WF_SCAN(U8, U8)
#undef WF_SCAN
}

/* ---- sorting ------------------------------------------------------------------------------------------------------------------------ */

/* Bits of a float as an integer that orders alike: NaN is the greatest whatever its sign, the zeros are equal. */
static inline uint64_t float_key(uint64_t bits, int width, uint64_t infinity) {
  uint64_t sign = 1ull << (width - 1), ones = width == 64 ? UINT64_MAX : (1ull << width) - 1,
           size = bits & ~sign & ones;
  if (size > infinity) return ones;
  if (size == 0) return sign;
  return (bits ^ ((0 - (bits >> (width - 1))) | sign)) &
         ones; /* all bits of what is negative, the sign of the others */
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

/* Goes through the elements once and keeps the k first, in order: an element is compared with the last of them, and seldom goes before it. */
#define SELECT(NAME, T)                                                                            \
  static void select_##NAME(const char *from, int64_t stride, int64_t n, uint64_t flip, int64_t k, \
                            wf__sort_entry *e) {                                                   \
    uint64_t last = UINT64_MAX;                                                                    \
    int64_t kept = 0;                                                                              \
    for (int64_t i = 0; i < n; i++) {                                                              \
      T v;                                                                                         \
      memcpy(&v, from + i * stride, sizeof v);                                                     \
      uint64_t key = key_##NAME(v) ^ flip;                                                         \
      if (kept == k && key >= last) continue;                                                      \
      int64_t at = kept < k ? kept++ : k - 1;                                                      \
      for (; at > 0 && e[at - 1].key > key; at--) e[at] = e[at - 1];                               \
      e[at] = (wf__sort_entry){key, i};                                                            \
      last = e[kept - 1].key;                                                                      \
    }                                                                                              \
  }
SORTED(SELECT)
#undef SELECT

void wf__ref_select(wf_dtype dtype, const char *from, int64_t stride, int64_t n, bool descending, int64_t k,
                    wf__sort_entry *entry) {
#define ENTRY(NAME, ...) [WF_##NAME] = select_##NAME,
  static void (*const of[WF_DTYPE_COUNT])(const char *, int64_t, int64_t, uint64_t, int64_t,
                                          wf__sort_entry *) = {SORTED(ENTRY)};
#undef ENTRY
  of[dtype](from, stride, n, descending ? UINT64_MAX : 0, k, entry);
}

#define FEW 16   /* entries that are compared each with each: no branch depends on them */
#define SHORT 48 /* below so many insertion beats counting */

static void place_all(const wf__sort_entry *from, wf__sort_entry *to, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int64_t before = 0;
    for (int64_t k = 0; k < i; k++) before += from[k].key <= from[i].key;
    for (int64_t k = i + 1; k < n; k++) before += from[k].key < from[i].key;
    to[before] = from[i];
  }
}

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
  if (n <= FEW) {
    place_all(entry, spare, n);
    return spare;
  }
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
