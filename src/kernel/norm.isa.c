/* Batch normalisation of f32 with consecutive channels: sums over rows, and the two maps with a scale and a shift a channel.
 *
 * Bound by memory, so each loop reads its operands once. The mask of a fused relu isn't kept: the derivative finds it again from the
 * input by the very operations that the forward used. relu passes NaN on, as PyTorch's. */
#include "kernel/lanes.h"
#include "kernel/tables.h"

static void sums(const float *x, int64_t rows, int64_t channels, const float *origin, float *sum, float *square) {
  int64_t c = 0;
  for (; c + WF__LANES <= channels; c += WF__LANES) {
    wf__f32s o = wf__load(origin + c), s0 = {0}, s1 = {0}, q0 = {0}, q1 = {0};
    int64_t r = 0;
    for (; r + 2 <= rows; r += 2) {
      wf__f32s a = wf__load(x + r * channels + c) - o, b = wf__load(x + (r + 1) * channels + c) - o;
      s0 += a;
      s1 += b;
      q0 += a * a;
      q1 += b * b;
    }
    if (r < rows) {
      wf__f32s a = wf__load(x + r * channels + c) - o;
      s0 += a;
      q0 += a * a;
    }
    wf__store(sum + c, s0 + s1);
    wf__store(square + c, q0 + q1);
  }
  for (; c < channels; c++) {
    float s = 0, q = 0;
    for (int64_t r = 0; r < rows; r++) {
      float a = x[r * channels + c] - origin[c];
      s += a;
      q += a * a;
    }
    sum[c] = s;
    square[c] = q;
  }
}

static inline void map_rows(const float *x, float *y, int64_t rows, int64_t channels, const float *scale, const float *shift, bool relu) {
  for (int64_t r = 0; r < rows; r++, x += channels, y += channels) {
    int64_t c = 0;
    for (; c + WF__LANES <= channels; c += WF__LANES) {
      wf__f32s t = wf__load(x + c) * wf__load(scale + c) + wf__load(shift + c);
      wf__store(y + c, relu ? wf__where(~(t <= (wf__f32s){0}), t) : t);
    }
    for (; c < channels; c++) {
      float t = x[c] * scale[c] + shift[c];
      y[c] = relu && t <= 0 ? 0 : t;
    }
  }
}

static void map(const float *x, float *y, int64_t rows, int64_t channels, const float *scale, const float *shift, bool relu) {
  if (relu) map_rows(x, y, rows, channels, scale, shift, true);
  else map_rows(x, y, rows, channels, scale, shift, false);
}

/* The gradient of y at one vector of places, behind the relu if there is one. */
static inline wf__f32s gradient(wf__f32s x, wf__f32s dy, wf__f32s scale, wf__f32s shift, bool relu) {
  if (!relu) return dy;
  wf__f32s t = x * scale + shift;
  return wf__where(~(t <= (wf__f32s){0}), dy);
}
static inline float gradient_one(float x, float dy, float scale, float shift, bool relu) {
  float t = x * scale + shift;
  return relu && t <= 0 ? 0 : dy;
}

static inline void back_sums_of(const float *x, const float *dy, int64_t rows, int64_t channels, const float *const stats[4], bool relu,
                                float *sum, float *product) {
  const float *mean = stats[0], *scale = stats[2], *shift = stats[3];
  int64_t c = 0;
  for (; c + WF__LANES <= channels; c += WF__LANES) {
    wf__f32s m = wf__load(mean + c), a = wf__load(scale + c), b = wf__load(shift + c), s = {0}, p = {0};
    for (int64_t r = 0; r < rows; r++) {
      wf__f32s v = wf__load(x + r * channels + c), g = gradient(v, wf__load(dy + r * channels + c), a, b, relu);
      s += g;
      p += g * (v - m);
    }
    wf__store(sum + c, s);
    wf__store(product + c, p);
  }
  for (; c < channels; c++) {
    float s = 0, p = 0;
    for (int64_t r = 0; r < rows; r++) {
      float v = x[r * channels + c], g = gradient_one(v, dy[r * channels + c], scale[c], shift[c], relu);
      s += g;
      p += g * (v - mean[c]);
    }
    sum[c] = s;
    product[c] = p;
  }
}

static void back_sums(const float *x, const float *dy, int64_t rows, int64_t channels, const float *const stats[4], bool relu, float *sum,
                      float *product) {
  if (relu) back_sums_of(x, dy, rows, channels, stats, true, sum, product);
  else back_sums_of(x, dy, rows, channels, stats, false, sum, product);
}

static inline void back_rows(const float *x, const float *dy, float *dx, int64_t rows, int64_t channels, const float *const stats[4],
                             bool relu, const float *slope, const float *offset) {
  const float *mean = stats[0], *scale = stats[2], *shift = stats[3];
  for (int64_t r = 0; r < rows; r++, x += channels, dy += channels, dx += channels) {
    int64_t c = 0;
    for (; c + WF__LANES <= channels; c += WF__LANES) {
      wf__f32s v = wf__load(x + c), a = wf__load(scale + c), g = gradient(v, wf__load(dy + c), a, wf__load(shift + c), relu);
      wf__store(dx + c, g * a - (v - wf__load(mean + c)) * wf__load(slope + c) - wf__load(offset + c));
    }
    for (; c < channels; c++) {
      float g = gradient_one(x[c], dy[c], scale[c], shift[c], relu);
      dx[c] = g * scale[c] - (x[c] - mean[c]) * slope[c] - offset[c];
    }
  }
}

static void back_map(const float *x, const float *dy, float *dx, int64_t rows, int64_t channels, const float *const stats[4], bool relu,
                     const float *slope, const float *offset) {
  if (relu) back_rows(x, dy, dx, rows, channels, stats, true, slope, offset);
  else back_rows(x, dy, dx, rows, channels, stats, false, slope, offset);
}

void WFK(wf__norm)(wf__kernels *table) {
  table->norm_sums = sums;
  table->norm_map = map;
  table->norm_back_sums = back_sums;
  table->norm_back_map = back_map;
}
