/* Pooling: max pooling of f32 with channels last by kernels that go through all channels of a place at once, the rest by loops.
 *
 * Not by oneDNN: for an output in another format than its input it has only its plain loop (128 x 64 x 14 x 14 to row-major: 31 ms
 * on two threads, here 0.9 on one), its maximum passes over NaN, and where it is fast it is slower (docs/decisions.md).
 * A result that isn't channels last (so that flatten is a view) is made in blocks on the stack and turned there. */
#include <string.h>

#include "exec/families.h"
#include "exec/format.h"
#include "exec/threads.h"
#include "kernel/neural.h"
#include "kernel/tables.h"

#define BLOCK_CHANNELS 64 /* a block on the stack: 64 channels of 64 places, 16 KiB */
#define BLOCK_PLACES 64
#define MOST_PLACES 64 /* of a window; larger ones take the loops */

static int64_t at_least_one(int64_t n) { return n > 0 ? n : 1; }

typedef struct job {
  const wf_plan *plan;
  const wf__kernels *kernels;
  int large, small; /* operands: input (or its gradient), output (or its) */
  int index;
  bool turn;    /* the small side is row-major */
  bool overlap; /* windows overlap: gradients are added up */
} job;

/* The places of the window of output (oh, ow) that are inside of the input. */
typedef struct window {
  int n;
  uint8_t number[MOST_PLACES];
  float *place[MOST_PLACES]; /* at channel 0 */
} window;

static void find_window(const job *j, int64_t n, int64_t oh, int64_t ow, window *v) {
  const wf_conv_param *p = &j->plan->param.conv;
  const wf_operand *o = &j->plan->operand[j->large];
  const int64_t *size = j->plan->shape[j->large];
  v->n = 0;
  for (int64_t kh = 0; kh < p->kernel[0]; kh++)
    for (int64_t kw = 0; kw < p->kernel[1]; kw++) {
      int64_t h = oh * p->stride[0] - p->padding[0] + kh * p->dilation[0],
              w = ow * p->stride[1] - p->padding[1] + kw * p->dilation[1];
      if (h < 0 || w < 0 || h >= size[2] || w >= size[3]) continue;
      v->number[v->n] = (uint8_t)(kh * p->kernel[1] + kw);
      v->place[v->n++] = (float *)((char *)o->data + n * o->stride[0] + h * o->stride[2] + w * o->stride[3]);
    }
}

/* NULL for an absent operand. */
static char *address(const wf_plan *plan, int i, int64_t n, int64_t c, int64_t h, int64_t w) {
  const wf_operand *o = &plan->operand[i];
  if (!o->data) return NULL;
  return (char *)o->data + n * o->stride[0] + c * o->stride[1] + h * o->stride[2] + w * o->stride[3];
}

/* Rows [begin, end) of all n · oh rows of output places, in the format of the input. */
static void max_rows(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  const int64_t *size = j->plan->shape[j->small];
  window v;
  for (int64_t r = begin; r < end; r++)
    for (int64_t ow = 0; ow < size[3]; ow++) {
      int64_t n = r / size[2], oh = r % size[2];
      find_window(j, n, oh, ow, &v);
      j->kernels->pool_max((float *)address(j->plan, j->small, n, 0, oh, ow),
                           (uint8_t *)address(j->plan, j->index, n, 0, oh, ow), (const float *const *)v.place, v.number,
                           v.n, size[1]);
    }
}

static void spread_one(const job *j, int64_t n, int64_t place, int64_t c, int64_t channels, const float *grad) {
  int64_t width = j->plan->shape[j->small][3];
  window v;
  find_window(j, n, place / width, place % width, &v);
  for (int i = 0; i < v.n; i++) v.place[i] += c;
  j->kernels->pool_spread(v.place, v.number, v.n, grad,
                          (const uint8_t *)address(j->plan, j->index, n, c, place / width, place % width), channels,
                          j->overlap);
}

static void max_one(const job *j, int64_t n, int64_t place, int64_t c, int64_t channels, float *out) {
  int64_t width = j->plan->shape[j->small][3];
  window v;
  find_window(j, n, place / width, place % width, &v);
  for (int i = 0; i < v.n; i++) v.place[i] += c;
  j->kernels->pool_max(out, (uint8_t *)address(j->plan, j->index, n, c, place / width, place % width),
                       (const float *const *)v.place, v.number, v.n, channels);
}

/* A block of places x channels between a buffer with channels fastest and the row-major small side. */
static void turn_block(const job *j, float *block, int64_t n, int64_t place, int64_t places, int64_t c,
                       int64_t channels, bool out) {
  const wf_operand *o = &j->plan->operand[j->small];
  char *rows = (char *)o->data + n * o->stride[0] + c * o->stride[1] + place * 4;
  if (out) j->kernels->transpose[2](rows, o->stride[1], block, channels * 4, channels, places);
  else j->kernels->transpose[2](block, channels * 4, rows, o->stride[1], places, channels);
}

/* Images [begin, end) with a row-major small side, block by block. */
static void turned_images(const job *j, int64_t begin, int64_t end, bool backward) {
  const int64_t *size = j->plan->shape[j->small];
  float block[BLOCK_PLACES * BLOCK_CHANNELS];
  for (int64_t n = begin; n < end; n++)
    for (int64_t p = 0; p < size[2] * size[3]; p += BLOCK_PLACES)
      for (int64_t c = 0; c < size[1]; c += BLOCK_CHANNELS) {
        int64_t places = size[2] * size[3] - p < BLOCK_PLACES ? size[2] * size[3] - p : BLOCK_PLACES;
        int64_t channels = size[1] - c < BLOCK_CHANNELS ? size[1] - c : BLOCK_CHANNELS;
        if (backward) turn_block(j, block, n, p, places, c, channels, false);
        for (int64_t i = 0; i < places; i++) {
          if (backward) spread_one(j, n, p + i, c, channels, block + i * channels);
          else max_one(j, n, p + i, c, channels, block + i * channels);
        }
        if (!backward) turn_block(j, block, n, p, places, c, channels, true);
      }
}

static void max_turned_images(void *context, int64_t begin, int64_t end) { turned_images(context, begin, end, false); }

/* Whether some places of the input are in no window, so that nothing would write them. */
static bool leaves_gaps(const wf_plan *plan) {
  const wf_conv_param *p = &plan->param.conv;
  for (int d = 0; d < 2; d++) {
    int64_t reached = (plan->shape[1][2 + d] - 1) * p->stride[d] + p->kernel[d] - p->padding[d];
    if (p->stride[d] != p->kernel[d] || reached < plan->shape[0][2 + d]) return true;
  }
  return false;
}

static void spread_images(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  const int64_t *size = j->plan->shape[j->small], *large = j->plan->shape[j->large];
  size_t image = (size_t)(large[1] * large[2] * large[3]) * 4;
  if (leaves_gaps(j->plan)) memset(address(j->plan, j->large, begin, 0, 0, 0), 0, image * (size_t)(end - begin));
  if (j->turn) {
    turned_images(j, begin, end, true);
    return;
  }
  for (int64_t n = begin; n < end; n++)
    for (int64_t p = 0; p < size[2] * size[3]; p++)
      spread_one(j, n, p, 0, size[1], (const float *)address(j->plan, j->small, n, 0, p / size[3], p % size[3]));
}

/* Whether the kernels take the plan, and how. */
static bool takes(const wf_plan *plan, job *j) {
  bool backward = plan->op == WF__POOL_MAX_BACKWARD;
  const wf_conv_param *p = &plan->param.conv;
  *j = (job){.plan = plan,
             .kernels = wf__kernels_now(),
             .large = backward ? 0 : 2,
             .small = backward ? 1 : 0,
             .index = backward ? 2 : 1};
  if (!j->kernels->pool_max || plan->operand[j->large].dtype != WF_F32) return false;
  if (p->kernel[0] * p->kernel[1] > MOST_PLACES || p->dilation[0] != 1 || p->dilation[1] != 1 ||
      !wf__is_channels_last(plan, j->large))
    return false;
  if (plan->operand[j->index].data && (plan->operand[j->index].dtype != WF_U8 || !wf__is_channels_last(plan, j->index)))
    return false;
  j->turn = !wf__is_channels_last(plan, j->small);
  if (j->turn && !wf__is_row_major(plan, j->small)) return false;
  j->overlap = p->stride[0] < p->kernel[0] || p->stride[1] < p->kernel[1];
  return true;
}

static void ref_max(void *context, int64_t begin, int64_t end) { wf__ref_pool_max(context, begin, end); }
static void ref_max_backward(void *context, int64_t begin, int64_t end) {
  wf__ref_pool_max_backward(context, begin, end);
}
static void ref_avg(void *context, int64_t begin, int64_t end) { wf__ref_pool_avg(context, begin, end); }
static void ref_avg_backward(void *context, int64_t begin, int64_t end) {
  wf__ref_pool_avg_backward(context, begin, end);
}

static bool has_kernel(const wf_plan *plan) {
  wf_dtype dtype = (wf_dtype)plan->operand[0].dtype;
  if (plan->op == WF__POOL_MAX) return dtype != WF_BOOL;
  return wf_dtype_is_float(dtype) || (dtype == WF_I64 && plan->op != WF__POOL_MAX_BACKWARD);
}

wf_status wf__exec_pool(const wf_plan *plan) {
  static const wf__range_fn loops[] = {[WF__POOL_MAX] = ref_max,
                                       [WF__POOL_MAX_BACKWARD] = ref_max_backward,
                                       [WF__POOL_AVG] = ref_avg,
                                       [WF__POOL_AVG_BACKWARD] = ref_avg_backward};
  bool is_max = plan->op == WF__POOL_MAX || plan->op == WF__POOL_MAX_BACKWARD;
  const int64_t *size = plan->shape[0];
  if (!has_kernel(plan)) return wf__no_kernel(is_max ? "max_pool2d" : "avg_pool2d", (wf_dtype)plan->operand[0].dtype);
  if (size[0] == 0 || size[1] == 0 || size[2] == 0 || size[3] == 0) return WF_OK;
  job j;
  if (is_max && takes(plan, &j)) {
    int64_t row = at_least_one(plan->shape[j.small][3] * size[1]);
    if (plan->op == WF__POOL_MAX_BACKWARD)
      wf__parallel(size[0], at_least_one(WF__GRAIN / (row * size[2])), spread_images, &j);
    else if (j.turn) wf__parallel(size[0], at_least_one(WF__GRAIN / (row * size[2])), max_turned_images, &j);
    else wf__parallel(size[0] * size[2], at_least_one(WF__GRAIN / row), max_rows, &j);
    return WF_OK;
  }
  wf__parallel(size[0] * size[1], at_least_one(WF__GRAIN / (size[2] * size[3])), loops[plan->op], (void *)plan);
  return WF_OK;
}
