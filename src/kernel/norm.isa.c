/* Batch normalisation of f32 with consecutive channels: sums over rows, and the two maps with a scale and a shift a channel.
 *
 * Bound by memory, so each loop reads its operands once: rows are taken in groups that stay in L1, and within a group a stripe of two
 * vectors of channels at a time keeps its numbers in registers. The mask of a fused relu isn't kept: the derivative finds it again from
 * the input by the very operations that the forward used. relu passes NaN on, as PyTorch's. */
#include "kernel/lanes.h"
#include "kernel/tables.h"

#define GROUP 32             /* rows */
#define WIDE (2 * WF__LANES) /* channels of a stripe */

/* Numbers of each channel of a stripe of `n` vectors. */
typedef struct stripe {
  wf__f32s v[2];
} stripe;
static inline stripe take(const float *p, int n) {
  stripe s = {{{0}, {0}}};
  for (int i = 0; i < n; i++) s.v[i] = wf__load_f32(p + i * WF__LANES);
  return s;
}
static inline void give(float *p, stripe s, int n) {
  for (int i = 0; i < n; i++) wf__store_f32(p + i * WF__LANES, s.v[i]);
}

/* Calls STRIPE(c, 2) for each full stripe of channels, STRIPE(c, 1) for a vector left over, ONE(c) for single channels. */
#define OVER_CHANNELS(STRIPE, ONE)                      \
  do {                                                  \
    int64_t c = 0;                                      \
    for (; c + WIDE <= channels; c += WIDE) {           \
      STRIPE(c, 2);                                     \
    }                                                   \
    for (; c + WF__LANES <= channels; c += WF__LANES) { \
      STRIPE(c, 1);                                     \
    }                                                   \
    for (; c < channels; c++) {                         \
      ONE(c);                                           \
    }                                                   \
  } while (0)

/* ---- sums of the forward -------------------------------------------------------------------------------------------------- */

static inline void sums_stripe(const float *x, int64_t rows, int64_t channels, const float *origin, float *sum,
                               float *square, int n) {
  stripe o = take(origin, n), s[2] = {{{{0}, {0}}}, {{{0}, {0}}}}, q[2] = {{{{0}, {0}}}, {{{0}, {0}}}};
  int64_t r = 0;
  for (; r + 2 <= rows; r += 2)
    for (int k = 0; k < 2; k++)
      for (int i = 0; i < n; i++) {
        wf__f32s a = wf__load_f32(x + (r + k) * channels + i * WF__LANES) - o.v[i];
        s[k].v[i] += a;
        q[k].v[i] += a * a;
      }
  for (; r < rows; r++)
    for (int i = 0; i < n; i++) {
      wf__f32s a = wf__load_f32(x + r * channels + i * WF__LANES) - o.v[i];
      s[0].v[i] += a;
      q[0].v[i] += a * a;
    }
  for (int i = 0; i < n; i++) {
    s[0].v[i] += s[1].v[i];
    q[0].v[i] += q[1].v[i];
  }
  give(sum, s[0], n);
  give(square, q[0], n);
}

static void sums(const float *x, int64_t rows, int64_t channels, const float *origin, float *sum, float *square) {
#define STRIPE(c, n) sums_stripe(x + c, rows, channels, origin + c, sum + c, square + c, n)
#define ONE(c)                                 \
  float s = 0, q = 0;                          \
  for (int64_t r = 0; r < rows; r++) {         \
    float a = x[r * channels + c] - origin[c]; \
    s += a;                                    \
    q += a * a;                                \
  }                                            \
  sum[c] = s;                                  \
  square[c] = q
  OVER_CHANNELS(STRIPE, ONE);
#undef STRIPE
#undef ONE
}

/* ---- the map of the forward ------------------------------------------------------------------------------------------------ */

static inline void map_stripe(const float *x, float *y, int64_t rows, int64_t channels, const float *scale,
                              const float *shift, bool relu, int n) {
  stripe a = take(scale, n), b = take(shift, n);
  for (int64_t r = 0; r < rows; r++)
    for (int i = 0; i < n; i++) {
      wf__f32s t = wf__load_f32(x + r * channels + i * WF__LANES) * a.v[i] + b.v[i];
      wf__store_f32(y + r * channels + i * WF__LANES, relu ? wf__where_f32(~(t <= (wf__f32s){0}), t) : t);
    }
}

static inline void map_rows(const float *x, float *y, int64_t rows, int64_t channels, const float *scale,
                            const float *shift, bool relu) {
  for (int64_t first = 0; first < rows; first += GROUP, x += GROUP * channels, y += GROUP * channels) {
    int64_t group = rows - first < GROUP ? rows - first : GROUP;
#define STRIPE(c, n) map_stripe(x + c, y + c, group, channels, scale + c, shift + c, relu, n)
#define ONE(c)                                           \
  for (int64_t r = 0; r < group; r++) {                  \
    float t = x[r * channels + c] * scale[c] + shift[c]; \
    y[r * channels + c] = relu && t <= 0 ? 0 : t;        \
  }
    OVER_CHANNELS(STRIPE, ONE);
#undef STRIPE
#undef ONE
  }
}

static void map(const float *x, float *y, int64_t rows, int64_t channels, const float *scale, const float *shift,
                bool relu) {
  if (relu) map_rows(x, y, rows, channels, scale, shift, true);
  else map_rows(x, y, rows, channels, scale, shift, false);
}

/* ---- sums of the derivative ------------------------------------------------------------------------------------------------- */

/* The gradient of y at one vector of places, behind the relu if there is one. */
static inline wf__f32s gradient(wf__f32s x, wf__f32s dy, wf__f32s scale, wf__f32s shift, bool relu) {
  if (!relu) return dy;
  wf__f32s t = x * scale + shift;
  return wf__where_f32(~(t <= (wf__f32s){0}), dy);
}
static inline float gradient_one(float x, float dy, float scale, float shift, bool relu) {
  float t = x * scale + shift;
  return relu && t <= 0 ? 0 : dy;
}

static inline void back_sums_stripe(const float *x, const float *dy, int64_t rows, int64_t channels,
                                    const float *const stats[4], int64_t c, bool relu, float *sum, float *product,
                                    int n) {
  stripe m = take(stats[0] + c, n), a = take(stats[2] + c, n), b = take(stats[3] + c, n), s = {{{0}, {0}}},
         p = {{{0}, {0}}};
  for (int64_t r = 0; r < rows; r++)
    for (int i = 0; i < n; i++) {
      wf__f32s v = wf__load_f32(x + r * channels + c + i * WF__LANES);
      wf__f32s g = gradient(v, wf__load_f32(dy + r * channels + c + i * WF__LANES), a.v[i], b.v[i], relu);
      s.v[i] += g;
      p.v[i] += g * (v - m.v[i]);
    }
  give(sum + c, s, n);
  give(product + c, p, n);
}

static inline void back_sums_of(const float *x, const float *dy, int64_t rows, int64_t channels,
                                const float *const stats[4], bool relu, float *sum, float *product) {
#define STRIPE(c, n) back_sums_stripe(x, dy, rows, channels, stats, c, relu, sum, product, n)
#define ONE(c)                                                                       \
  float s = 0, p = 0;                                                                \
  for (int64_t r = 0; r < rows; r++) {                                               \
    float v = x[r * channels + c];                                                   \
    float g = gradient_one(v, dy[r * channels + c], stats[2][c], stats[3][c], relu); \
    s += g;                                                                          \
    p += g * (v - stats[0][c]);                                                      \
  }                                                                                  \
  sum[c] = s;                                                                        \
  product[c] = p
  OVER_CHANNELS(STRIPE, ONE);
#undef STRIPE
#undef ONE
}

static void back_sums(const float *x, const float *dy, int64_t rows, int64_t channels, const float *const stats[4],
                      bool relu, float *sum, float *product) {
  if (relu) back_sums_of(x, dy, rows, channels, stats, true, sum, product);
  else back_sums_of(x, dy, rows, channels, stats, false, sum, product);
}

/* ---- the map of the derivative ------------------------------------------------------------------------------------------------ */

static inline void back_stripe(const float *x, const float *dy, float *dx, int64_t rows, int64_t channels,
                               const float *const stats[4], int64_t c, bool relu, const float *slope,
                               const float *offset, int n) {
  stripe m = take(stats[0] + c, n), a = take(stats[2] + c, n), b = take(stats[3] + c, n), k = take(slope + c, n),
         o = take(offset + c, n);
  for (int64_t r = 0; r < rows; r++)
    for (int i = 0; i < n; i++) {
      int64_t at = r * channels + c + i * WF__LANES;
      wf__f32s v = wf__load_f32(x + at), g = gradient(v, wf__load_f32(dy + at), a.v[i], b.v[i], relu);
      wf__store_f32(dx + at, g * a.v[i] - (v - m.v[i]) * k.v[i] - o.v[i]);
    }
}

static inline void back_rows(const float *x, const float *dy, float *dx, int64_t rows, int64_t channels,
                             const float *const stats[4], bool relu, const float *slope, const float *offset) {
  for (int64_t first = 0; first < rows;
       first += GROUP, x += GROUP * channels, dy += GROUP * channels, dx += GROUP * channels) {
    int64_t group = rows - first < GROUP ? rows - first : GROUP;
#define STRIPE(c, n) back_stripe(x, dy, dx, group, channels, stats, c, relu, slope, offset, n)
#define ONE(c)                                                               \
  for (int64_t r = 0; r < group; r++) {                                      \
    int64_t at = r * channels + c;                                           \
    float g = gradient_one(x[at], dy[at], stats[2][c], stats[3][c], relu);   \
    dx[at] = g * stats[2][c] - (x[at] - stats[0][c]) * slope[c] - offset[c]; \
  }
    OVER_CHANNELS(STRIPE, ONE);
#undef STRIPE
#undef ONE
  }
}

static void back_map(const float *x, const float *dy, float *dx, int64_t rows, int64_t channels,
                     const float *const stats[4], bool relu, const float *slope, const float *offset) {
  if (relu) back_rows(x, dy, dx, rows, channels, stats, true, slope, offset);
  else back_rows(x, dy, dx, rows, channels, stats, false, slope, offset);
}

void WFK(wf__norm)(wf__kernels *table) {
  table->norm_sums = sums;
  table->norm_map = map;
  table->norm_back_sums = back_sums;
  table->norm_back_map = back_map;
}
