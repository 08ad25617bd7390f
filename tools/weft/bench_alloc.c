/* weft bench alloc: ns of a cached allocate + free pair on the allocator policy while 10,000 other blocks are in use, over a driver that
 * does nothing: what a device's allocator costs on the host. `same_size`: one size, given back at once. `random`: sizes and victims at
 * random, so that best fits are searched, blocks cut and merged. */
#include <stdlib.h>
#include <time.h>
#include <weft/sys/allocator.h>

#include "bench_machine.h"

enum { LIVE = 10000, PAIRS = 200000, DRAWS = 1 << 16 };

typedef struct load {
  wf_allocator *allocator;
  wf_block *live[LIVE];
  uint32_t victims[DRAWS];
  size_t sizes[DRAWS];
  uint32_t at; /* in the draws */
} load;

static bool give_address(void *context, size_t bytes, uintptr_t *address) {
  uintptr_t *next = context;
  *address = *next;
  *next += bytes;
  return true;
}
static void take_back(void *context, uintptr_t address, size_t bytes) { (void)context, (void)address, (void)bytes; }

static uint32_t draw(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

/* Sizes as of a training: most below 64 KiB, some up to 8 MiB. */
static size_t draw_size(uint64_t *seed) {
  uint32_t kind = draw(seed) % 8;
  return 1 + draw(seed) % (kind < 5 ? 64 << 10 : kind < 7 ? 1 << 20 : 8 << 20);
}

static bool fill(load *l) {
  uint64_t seed = 1;
  for (int i = 0; i < DRAWS; i++) {
    l->sizes[i] = draw_size(&seed);
    l->victims[i] = draw(&seed) % LIVE;
  }
  for (int i = 0; i < LIVE; i++)
    if (!(l->live[i] = wf_block_new(l->allocator, l->sizes[i], 0))) return false;
  for (int i = 0; i < 4 * LIVE; i++) { /* until holes are as they stay */
    wf_block **victim = &l->live[l->victims[i % DRAWS]];
    wf_block_free(l->allocator, *victim);
    if (!(*victim = wf_block_new(l->allocator, l->sizes[(i * 7) % DRAWS], 0))) return false;
  }
  return true;
}

static double since(const struct timespec *from) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec);
}

static double same_size(load *l) {
  struct timespec begun;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  for (int i = 0; i < PAIRS; i++) wf_block_free(l->allocator, wf_block_new(l->allocator, 4096, 0));
  return since(&begun) / PAIRS;
}

static double random_pairs(load *l) {
  struct timespec begun;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  for (int i = 0; i < PAIRS; i++) {
    uint32_t at = l->at++ % DRAWS;
    wf_block **victim = &l->live[l->victims[at]];
    wf_block_free(l->allocator, *victim);
    *victim = wf_block_new(l->allocator, l->sizes[at], 0);
  }
  return since(&begun) / PAIRS;
}

static void measure(bench *b, load *l, const char *name, double (*run)(load *l)) {
  double values[BENCH_MOST_RUNS];
  if (!bench_wants(b, name)) return;
  run(l);
  for (int i = 0; i < b->runs && !bench_stopped(); i++) values[i] = run(l);
  if (bench_stopped()) return;
  bench_print(b,
              (bench_row){.name = name, .unit = "ns", .value = bench_median(values, b->runs), .lower_is_better = true});
}

bool bench_alloc(bench *b) {
  uintptr_t next = (uintptr_t)1 << 40;
  load *l = calloc(1, sizeof *l);
  if (!l) return bench_no_memory();
  l->allocator =
      wf_allocator_new(&(wf_allocator_driver){.context = &next, .get = give_address, .give = take_back}, NULL);
  bool good = l->allocator && fill(l);
  if (good) {
    measure(b, l, "same_size_10000_live", same_size);
    measure(b, l, "random_10000_live", random_pairs);
  }
  wf_allocator_free(l->allocator);
  free(l);
  return good;
}
