/* weft bench loader: the four ways of getting batches to a device, one after the other over the same images.
 *
 * Images are 3 x 224 x 224 bytes that a worker turns into normalised floats, which is what loaders do behind the decoder. The device computes
 * STEP_KERNELS small kernels a batch; how long each occupies its stream, and how fast the link is, WEFT_SIM says. What comes out is emulated:
 * it shows how the stages overlap, not how fast a device is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define CHANNELS 3
#define SIDE 224
#define PIXELS (CHANNELS * SIDE * SIDE)
#define IMAGES 64 /* different ones; samples go around */
#define BATCH 32
#define BATCHES 30
#define WARM 5
#define STEP_KERNELS 40

/* Pixel to float without a division: as a table a channel. */
typedef struct source {
  uint8_t *pixels;
  float table[CHANNELS][256];
} source;

static wf_status fetch(void *context, int64_t index, void *const *field) {
  const source *s = context;
  const uint8_t *image = s->pixels + (size_t)(index % IMAGES) * PIXELS;
  float *to = field[0];
  for (int c = 0; c < CHANNELS; c++)
    for (int i = 0; i < SIDE * SIDE; i++) to[c * SIDE * SIDE + i] = s->table[c][image[i * CHANNELS + c]];
  return WF_OK;
}

static void fill_source(source *s) {
  static const float mean[CHANNELS] = {0.485f, 0.456f, 0.406f}, deviation[CHANNELS] = {0.229f, 0.224f, 0.225f};
  uint32_t state = 1;
  for (size_t i = 0; i < (size_t)IMAGES * PIXELS; i++) {
    state = state * 1664525u + 1013904223u;
    s->pixels[i] = (uint8_t)(state >> 24);
  }
  for (int c = 0; c < CHANNELS; c++)
    for (int v = 0; v < 256; v++) s->table[c][v] = ((float)v / 255.0f - mean[c]) / deviation[c];
}

/* The work on one batch: kernels in a row on a small tensor, and one that reads the batch. */
static wf_status step(const wf_batch *batch, wf_tensor *small) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *row = wf_select(wf_select(wf_select(batch->field[0], 0, 0), 0, 0), 0, 0);
  wf_status status = wf_add_(small, row);
  for (int i = 1; i < STEP_KERNELS && !status; i++) status = wf_mul_scalar_(small, wf_float(0.5));
  wf_scope_end(scope, NULL);
  return status;
}

/* Seconds for BATCHES batches behind WARM ones; below 0 on error, or when that was stopped. */
static double run_epoch(wf_loader *loader, wf_tensor *small, wf_device device) {
  wf_batch batch;
  int64_t start = 0;
  if (wf_loader_start(loader, 0)) return -1;
  for (int i = 0; i < WARM + BATCHES; i++) {
    if (i == WARM) {
      if (wf_device_sync(device)) return -1;
      start = wf_clock_ns();
    }
    if (bench_stopped() || wf_loader_next(loader, &batch) != 1 || step(&batch, small)) return -1;
  }
  if (wf_device_sync(device)) return -1;
  return (double)(wf_clock_ns() - start) / 1e9;
}

static bool run_pipeline(bench *b, wf_dataset *dataset, wf_pipeline pipeline, const char *name, wf_tensor *small) {
  wf_loader_options o = wf_loader_defaults();
  o.batch_size = BATCH;
  o.workers = 1;
  o.pipeline = pipeline;
  o.device = wf_sim(0);
  wf_loader *loader = wf_loader_new(dataset, &o);
  double rate[BENCH_MOST_RUNS];
  bool good = loader != NULL;
  for (int i = 0; i < b->runs && good; i++) {
    double seconds = run_epoch(loader, small, o.device);
    good = seconds > 0;
    rate[i] = BATCH * BATCHES / seconds;
  }
  if (good) {
    wf_loader_stats s = wf_loader_get_stats(loader);
    int64_t slowest = s.load_ns > s.copy_ns ? s.load_ns : s.copy_ns;
    bench_print(b, (bench_row){.name = name,
                               .unit = "images/s",
                               .value = bench_median(rate, b->runs),
                               .limit = slowest > 0 ? BATCH * 1e9 / (double)slowest : 0,
                               .emulated = true});
  }
  wf_loader_free(loader);
  return good;
}

static bool run_all(bench *b, wf_dataset *dataset) {
  static const char *const names[] = {"plain", "pinned", "async", "prefetch"};
  wf_tensor_options o = wf_tensor_defaults();
  o.device = wf_sim(0);
  wf_tensor *small = wf_zeros(WF_SHAPE(SIDE), &o);
  bool good = small != NULL;
  for (int p = WF_PIPELINE_PLAIN; p <= WF_PIPELINE_PREFETCH && good; p++)
    if (bench_wants(b, names[p])) good = run_pipeline(b, dataset, (wf_pipeline)p, names[p], small);
  wf_free(small);
  return good;
}

bool bench_loader(bench *b) {
  static const wf_dataset_ops ops = {fetch, NULL};
  const wf_field field = {.name = "image", .dtype = WF_F32, .ndim = 3, .size = {CHANNELS, SIDE, SIDE}};
  source s = {.pixels = malloc((size_t)IMAGES * PIXELS)};
  if (!s.pixels) return wf_dataset_fail(WF_NO_MEMORY, "no memory for the images"), false;
  fill_source(&s);
  wf_dataset *dataset = wf_dataset_new(&ops, &s, (int64_t)BATCH * (BATCHES + WARM), &field, 1);
  bool good = dataset && run_all(b, dataset);
  wf_dataset_free(dataset);
  free(s.pixels);
  return good;
}
