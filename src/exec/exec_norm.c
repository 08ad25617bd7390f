/* Batch normalisation: f32 with channels last by kernels over rows of channels, the rest channel by channel by loops.
 *
 * Rows are cut into blocks by their number alone, each block has sums of its own in the workspace, and the blocks are added up in order:
 * the result doesn't depend on the number of threads. Within a block, sums are taken from the block's first row on, so that a large mean
 * costs no digits. Measured against oneDNN's (fused with relu, one thread, 128 x 32 x 28 x 28): forward 1.6 to 2.8 ms, derivative 2.9
 * to 4.3; and oneDNN's relu turns NaN into 0. */
#include <string.h>

#include "exec/families.h"
#include "exec/format.h"
#include "exec/threads.h"
#include "kernel/neural.h"
#include "kernel/tables.h"

#define BLOCK_BYTES 32768 /* of one operand in a block: what the second reading finds in L2 */
#define MOST_BLOCKS 256
#define MOST_CHANNELS 4096

static int64_t at_least_one(int64_t n) { return n > 0 ? n : 1; }

/* rows x channels, and how they are cut. */
typedef struct job {
  const wf_plan *plan;
  const wf__kernels *kernels;
  int64_t rows, channels, block, blocks;
  double *sums; /* [blocks][2][channels] */
  const float *stats[4];
  const float *slope, *offset;
} job;

/* Rows [*from, *to) of a block are worked through in runs of this many, so that f32 sums stay short. */
static int64_t run_length(const job *j) { return at_least_one(BLOCK_BYTES / 4 / j->channels); }

static bool takes(const wf_plan *plan, job *j) {
  static const int forward[] = {0, 4, -1}, backward[] = {3, 4, 0, -1};
  *j = (job){.plan = plan, .kernels = wf__kernels_now(), .rows = 1, .channels = plan->shape[4][1]};
  if (!j->kernels->norm_sums || plan->rank[4] < 2 || j->channels > MOST_CHANNELS) return false;
  for (const int *i = plan->op == WF__NORM_BATCH ? forward : backward; *i >= 0; i++)
    if (plan->operand[*i].data && (plan->operand[*i].dtype != WF_F32 || !wf__is_channels_last(plan, *i))) return false;
  for (int d = 0; d < plan->rank[4]; d++) j->rows *= d == 1 ? 1 : plan->shape[4][d];
  if (j->rows == 0 || j->channels == 0) return false;
  int64_t run = run_length(j), runs = (j->rows + run - 1) / run;
  j->block = (runs + MOST_BLOCKS - 1) / MOST_BLOCKS * run;
  j->blocks = (j->rows + j->block - 1) / j->block;
  return true;
}

static void bind(job *j, int stats) {
  const wf_operand *o = &j->plan->operand[stats];
  for (int i = 0; i < 4; i++) j->stats[i] = (const float *)((char *)o->data + i * o->stride[0]);
  j->sums = j->plan->operand[j->plan->operands].data;
}

static float *rows_of(const job *j, int operand, int64_t row) {
  return (float *)j->plan->operand[operand].data + row * j->channels;
}

/* ---- forward -------------------------------------------------------------------------------------------------------------- */

/* Mean and squared deviations of a run join those of `count` values before it. */
static void join(double *mean, double *squares, int64_t count, double run_mean, double run_squares, int64_t run_count) {
  double delta = run_mean - *mean, n = (double)(count + run_count);
  *mean += delta * (double)run_count / n;
  *squares += run_squares + delta * delta * (double)count * (double)run_count / n;
}

/* Blocks [begin, end): mean and squared deviations of each. */
static void sum_blocks(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  float sum[MOST_CHANNELS], square[MOST_CHANNELS];
  for (int64_t b = begin; b < end; b++) {
    double *mean = j->sums + b * 2 * j->channels, *squares = mean + j->channels;
    memset(mean, 0, (size_t)(2 * j->channels) * sizeof *mean);
    int64_t first = b * j->block, last = first + j->block < j->rows ? first + j->block : j->rows, run = run_length(j);
    for (int64_t r = first; r < last; r += run) {
      int64_t n = last - r < run ? last - r : run;
      const float *x = rows_of(j, 4, r);
      j->kernels->norm_sums(x, n, j->channels, x, sum, square);
      for (int64_t c = 0; c < j->channels; c++) {
        double of_run = sum[c] / (double)n;
        join(&mean[c], &squares[c], r - first, x[c] + of_run, square[c] - of_run * sum[c], n);
      }
    }
  }
}

/* Adds up the blocks, in order, into the first. */
static void join_blocks(const job *j) {
  for (int64_t b = 1; b < j->blocks; b++) {
    const double *block = j->sums + b * 2 * j->channels;
    int64_t before = b * j->block, n = j->rows - before < j->block ? j->rows - before : j->block;
    for (int64_t c = 0; c < j->channels; c++)
      join(&j->sums[c], &j->sums[j->channels + c], before, block[c], block[j->channels + c], n);
  }
}

static void map_rows(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  j->kernels->norm_map(rows_of(j, 4, begin), rows_of(j, 0, begin), end - begin, j->channels, j->stats[2], j->stats[3],
                       j->plan->param.norm.relu);
}

static void forward(job *j) {
  if (j->plan->param.norm.training) {
    wf__parallel(j->blocks, at_least_one(WF__GRAIN / (j->block * j->channels)), sum_blocks, j);
    join_blocks(j);
    wf__norm_finish_stats(j->plan, j->sums, j->sums + j->channels, j->rows);
  } else {
    wf__norm_finish_stats(j->plan, NULL, NULL, j->rows);
  }
  wf__parallel(j->rows, at_least_one(WF__GRAIN / j->channels), map_rows, j);
}

/* ---- derivative ----------------------------------------------------------------------------------------------------------- */

static void back_sum_blocks(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  float sum[MOST_CHANNELS], product[MOST_CHANNELS];
  for (int64_t b = begin; b < end; b++) {
    double *sums = j->sums + b * 2 * j->channels, *products = sums + j->channels;
    memset(sums, 0, (size_t)(2 * j->channels) * sizeof *sums);
    int64_t first = b * j->block, last = first + j->block < j->rows ? first + j->block : j->rows, run = run_length(j);
    for (int64_t r = first; r < last; r += run) {
      int64_t n = last - r < run ? last - r : run;
      j->kernels->norm_back_sums(rows_of(j, 4, r), rows_of(j, 3, r), n, j->channels, j->stats, j->plan->param.norm.relu,
                                 sum, product);
      for (int64_t c = 0; c < j->channels; c++) {
        sums[c] += sum[c];
        products[c] += product[c];
      }
    }
  }
}

static void back_map_rows(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  j->kernels->norm_back_map(rows_of(j, 4, begin), rows_of(j, 3, begin), rows_of(j, 0, begin), end - begin, j->channels,
                            j->stats, j->plan->param.norm.relu, j->slope, j->offset);
}

static void backward(job *j) {
  float slope[MOST_CHANNELS], offset[MOST_CHANNELS];
  wf__parallel(j->blocks, at_least_one(WF__GRAIN / (j->block * j->channels)), back_sum_blocks, j);
  for (int64_t b = 1; b < j->blocks; b++)
    for (int64_t c = 0; c < 2 * j->channels; c++) j->sums[c] += j->sums[b * 2 * j->channels + c];
  wf__norm_finish_backward(j->plan, j->sums, j->sums + j->channels, j->rows, slope, offset);
  if (!j->plan->operand[0].data) return;
  j->slope = slope;
  j->offset = offset;
  wf__parallel(j->rows, at_least_one(WF__GRAIN / j->channels), back_map_rows, j);
}

/* ---- dispatch -------------------------------------------------------------------------------------------------------------- */

static void ref_forward(void *context, int64_t begin, int64_t end) { wf__ref_norm_batch(context, begin, end); }
static void ref_backward(void *context, int64_t begin, int64_t end) {
  wf__ref_norm_batch_backward(context, begin, end);
}

size_t wf__exec_norm_workspace(const wf_plan *plan) {
  job j;
  return takes(plan, &j) ? (size_t)(j.blocks * 2 * j.channels) * sizeof(double) : 0;
}

wf_status wf__exec_norm(const wf_plan *plan) {
  wf_dtype dtype = (wf_dtype)plan->operand[4].dtype;
  bool is_forward = plan->op == WF__NORM_BATCH;
  if (!wf_dtype_is_float(dtype) || (!is_forward && plan->op != WF__NORM_BATCH_BACKWARD))
    return wf__no_kernel("batch_norm", dtype);
  job j;
  if (takes(plan, &j) && plan->operand[plan->operands].data) {
    bind(&j, is_forward ? 1 : 5);
    if (is_forward) forward(&j);
    else backward(&j);
    return WF_OK;
  }
  wf__parallel(plan->shape[4][1], 1, is_forward ? ref_forward : ref_backward, (void *)plan);
  return WF_OK;
}
