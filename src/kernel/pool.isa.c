/* Max pooling of f32 with consecutive channels: one output place at a time, as many channels at once as a vector holds. */
#include "kernel/lanes.h"
#include "kernel/tables.h"

static inline void max_of(float *out, uint8_t *index, const float *const *place, const uint8_t *number, int places,
                          int64_t channels) {
  int64_t c = 0;
  for (; c + WF__LANES <= channels; c += WF__LANES) {
    wf__f32s best = wf__load_f32(place[0] + c);
    wf__i32s at = (wf__i32s){0} + number[0];
    for (int i = 1; i < places; i++) {
      wf__f32s v = wf__load_f32(place[i] + c);
      wf__i32s better = (v > best) | (v != v);
      best = wf__choose_f32(better, v, best);
      at = (((wf__i32s){0} + number[i]) & better) | (at & ~better);
    }
    wf__store_f32(out + c, best);
    if (!index) continue;
    wf__u8s narrow = __builtin_convertvector(at, wf__u8s);
    memcpy(index + c, &narrow, sizeof narrow);
  }
  for (; c < channels; c++) {
    float best = place[0][c];
    uint8_t at = number[0];
    for (int i = 1; i < places; i++)
      if (place[i][c] > best || place[i][c] != place[i][c]) {
        best = place[i][c];
        at = number[i];
      }
    out[c] = best;
    if (index) index[c] = at;
  }
}

/* 2x2 windows are the usual ones: unrolled. */
static void pool_max(float *out, uint8_t *index, const float *const *place, const uint8_t *number, int places,
                     int64_t channels) {
  if (places == 4) max_of(out, index, place, number, 4, channels);
  else max_of(out, index, place, number, places, channels);
}

static inline void spread_to(float *const *place, const uint8_t *number, int places, const float *grad,
                             const uint8_t *index, int64_t channels, bool add) {
  int64_t c = 0;
  for (; c + WF__LANES <= channels; c += WF__LANES) {
    wf__f32s g = wf__load_f32(grad + c);
    wf__u8s narrow;
    memcpy(&narrow, index + c, sizeof narrow);
    wf__i32s at = __builtin_convertvector(narrow, wf__i32s);
    for (int i = 0; i < places; i++) {
      wf__f32s share = wf__where_f32(at == number[i], g);
      wf__store_f32(place[i] + c, add ? wf__load_f32(place[i] + c) + share : share);
    }
  }
  for (; c < channels; c++)
    for (int i = 0; i < places; i++) {
      float share = index[c] == number[i] ? grad[c] : 0;
      place[i][c] = add ? place[i][c] + share : share;
    }
}

static void pool_spread(float *const *place, const uint8_t *number, int places, const float *grad, const uint8_t *index,
                        int64_t channels, bool add) {
  if (places == 4 && !add) spread_to(place, number, 4, grad, index, channels, false);
  else spread_to(place, number, places, grad, index, channels, add);
}

void WFK(wf__pool)(wf__kernels *table) {
  table->pool_max = pool_max;
  table->pool_spread = pool_spread;
}
