/* Scaled copies: the factors of a plan, and blocks of elements multiplied and shifted in f32 on their way. */
#include "exec/copy_rows.h"

/* Factors that go round every few elements are repeated, so that loops over them are long. */
static void repeat(wf__copy_scale *s, int64_t channels) {
  const float *factor = s->factor, *shift = s->shift;
  s->period = WF__COPY_PERIOD / channels * channels;
  for (int64_t i = 0; i < s->period; i++) {
    s->repeated[0][i] = factor[i % channels];
    s->repeated[1][i] = shift[i % channels];
  }
  s->factor = s->repeated[0];
  s->shift = s->repeated[1];
}

void wf__copy_scale_of(wf__copy_scale *s, const wf__copy_method *m, const wf_plan *plan) {
  const wf__kernels *kernels = wf__kernels_now();
  s->widen = m->from == WF_F32 ? NULL : kernels->convert[m->from][WF_F32];
  s->narrow = m->to == WF_F32 ? NULL : kernels->convert[WF_F32][m->to];
  s->scale = kernels->scale;
  s->from_size = m->from_size;
  s->to_size = m->to_size;
  s->factor = plan->operand[2].data;
  s->shift = plan->operand[3].data;
  s->step = m->ndim && m->dim[m->ndim - 1].by ? 1 : 0;
  s->period = s->step ? m->channels : 1;
  if (s->step && s->period * 2 <= WF__COPY_PERIOD) repeat(s, s->period);
}

/* n elements whose factors follow each other, or are one. */
static void scale_block(const wf__copy_scale *s, char *dst, const char *src, int64_t n, int64_t first) {
  float in[WF__COPY_PERIOD], out[WF__COPY_PERIOD];
  const float *x = (const float *)(const void *)src;
  if (s->widen) {
    s->widen(in, src, n);
    x = in;
  }
  float *y = s->narrow ? out : (float *)(void *)dst;
  s->scale(y, x, s->factor + first, s->shift + first, n, s->step);
  if (s->narrow) s->narrow(dst, out, n);
}

void wf__copy_scaled(const wf__copy_scale *s, char *dst, const char *src, int64_t n, int64_t by) {
  int64_t first = by / (int64_t)sizeof(float);
  if (s->step) first %= s->period;
  for (int64_t i = 0; i < n;) {
    int64_t count = s->step && s->period - first < WF__COPY_PERIOD ? s->period - first : WF__COPY_PERIOD;
    if (count > n - i) count = n - i;
    scale_block(s, dst + i * s->to_size, src + i * s->from_size, count, first);
    i += count;
    if (s->step) first = first + count == s->period ? 0 : first + count;
  }
}
