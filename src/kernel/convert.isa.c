/* Conversions of consecutive elements, one loop a pair, by the rules of ref/convert_ref.c. Loops are written for the compiler's vectoriser:
 * no branches, one operation an element. f16 has no type that loops can use, so it goes through f32 in blocks that stay in L1. */
#include "kernel/half.h"
#include "kernel/tables.h"

typedef uint8_t t_U8;
typedef int8_t t_I8;
typedef int16_t t_I16;
typedef int32_t t_I32;
typedef int64_t t_I64;
typedef uint16_t t_BF16;
typedef float t_F32;
typedef double t_F64;
typedef uint8_t t_BOOL;

/* Loads give a C number of a type that holds the element exactly. */
#define LOAD_U8(x) (x)
#define LOAD_I8(x) (x)
#define LOAD_I16(x) (x)
#define LOAD_I32(x) (x)
#define LOAD_I64(x) (x)
#define LOAD_F32(x) (x)
#define LOAD_F64(x) (x)
#define LOAD_BF16(x) wf__bf16_to_f32(x)
#define LOAD_BOOL(x) ((x) != 0)

static inline int32_t cut32f(float f) { return f >= -0x1p31f && f < 0x1p31f ? (int32_t)f : INT32_MIN; }
static inline int32_t cut32(double f) { return f >= -0x1p31 && f < 0x1p31 ? (int32_t)f : INT32_MIN; }
static inline int64_t cut64f(float f) { return f >= -0x1p63f && f < 0x1p63f ? (int64_t)f : INT64_MIN; }
static inline int64_t cut64(double f) { return f >= -0x1p63 && f < 0x1p63 ? (int64_t)f : INT64_MIN; }

/* A float out of 32 bits has zeros in its low 8 bits, so f32 to u8 needs no 64. */
#define STORE_INT(T, x) _Generic((x), float : (T)cut32f((float)(x)), double : (T)cut32((double)(x)), default : (T)(x))
#define STORE_U8(x) \
  _Generic((x), float : (uint8_t)cut32f((float)(x)), double : (uint8_t)cut64((double)(x)), default : (uint8_t)(x))
#define STORE_I8(x) STORE_INT(int8_t, x)
#define STORE_I16(x) STORE_INT(int16_t, x)
#define STORE_I32(x) STORE_INT(int32_t, x)
#define STORE_I64(x) _Generic((x), float : cut64f((float)(x)), double : cut64((double)(x)), default : (int64_t)(x))
#define STORE_F32(x) ((float)(x))
#define STORE_F64(x) ((double)(x))
#define STORE_BF16(x) wf__bfloat_narrow((float)(x))
#define STORE_BOOL(x) ((x) != 0)

/* clang-format off */
#define FROM_EACH(X, T) X(U8, T) X(I8, T) X(I16, T) X(I32, T) X(I64, T) X(BF16, T) X(F32, T) X(F64, T) X(BOOL, T)
#define EACH(X) X(U8) X(I8) X(I16) X(I32) X(I64) X(BF16) X(F32) X(F64) X(BOOL)
#define TO_EACH(X) \
  FROM_EACH(X, U8) FROM_EACH(X, I8) FROM_EACH(X, I16) FROM_EACH(X, I32) FROM_EACH(X, I64) FROM_EACH(X, BF16) \
  FROM_EACH(X, F32) FROM_EACH(X, F64) FROM_EACH(X, BOOL)
/* clang-format on */

#define WF_PAIR(F, T)                                                        \
  static void F##_to_##T(void *dst, const void *src, int64_t n) {            \
    t_##T *d = dst;                                                          \
    const t_##F *s = src;                                                    \
    WF__VECTOR_LOOP                                                          \
    for (int64_t i = 0; i < n; i++) d[i] = (t_##T)STORE_##T(LOAD_##F(s[i])); \
  }
TO_EACH(WF_PAIR)
#undef WF_PAIR

#define BLOCK 512

static void F16_to_F32(void *dst, const void *src, int64_t n) { wf__half_to_float(dst, src, n); }
static void F32_to_F16(void *dst, const void *src, int64_t n) { wf__float_to_half(dst, src, n); }

static void to_BF16(void *dst, const void *src, int64_t n) { wf__float_to_bfloat(dst, src, n); }

static inline void through_f32(char *dst, size_t dst_size, const char *src, size_t src_size, int64_t n,
                               wf__convert_fn in, wf__convert_fn out) {
  float block[BLOCK];
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t count = n - i < BLOCK ? n - i : BLOCK;
    in(block, src + i * (int64_t)src_size, count);
    out(dst + i * (int64_t)dst_size, block, count);
  }
}

#define WF_TYPE(T)                                                      \
  static void F16_through_##T(void *dst, const void *src, int64_t n) {  \
    through_f32(dst, sizeof(t_##T), src, 2, n, F16_to_F32, F32_to_##T); \
  }                                                                     \
  static void T##_through_F16(void *dst, const void *src, int64_t n) {  \
    through_f32(dst, 2, src, sizeof(t_##T), n, T##_to_F32, F32_to_F16); \
  }
EACH(WF_TYPE)
#undef WF_TYPE

static void scale(float *out, const float *in, const float *factor, const float *shift, int64_t n, int64_t step) {
  if (step == 0) {
    float by = *factor, more = *shift;
    WF__VECTOR_LOOP
    for (int64_t i = 0; i < n; i++) out[i] = in[i] * by + more;
    return;
  }
  WF__VECTOR_LOOP
  for (int64_t i = 0; i < n; i++) out[i] = in[i] * factor[i] + shift[i];
}

/* Moves within one dtype stay memmove's: entries of ref/. */
void WFK(wf__convert)(wf__kernels *table) {
  table->scale = scale;
  wf__convert_fn same[WF_DTYPE_COUNT];
  for (int d = 0; d < WF_DTYPE_COUNT; d++) same[d] = table->convert[d][d];
#define WF_PAIR(F, T) table->convert[WF_##F][WF_##T] = F##_to_##T;
  TO_EACH(WF_PAIR)
#undef WF_PAIR
#define WF_TYPE(T)                                  \
  table->convert[WF_F16][WF_##T] = F16_through_##T; \
  table->convert[WF_##T][WF_F16] = T##_through_F16;
  EACH(WF_TYPE)
#undef WF_TYPE
  table->convert[WF_F16][WF_F32] = F16_to_F32;
  table->convert[WF_F32][WF_F16] = F32_to_F16;
  table->convert[WF_F32][WF_BF16] = to_BF16;
  for (int d = 0; d < WF_DTYPE_COUNT; d++) table->convert[d][d] = same[d];
}
