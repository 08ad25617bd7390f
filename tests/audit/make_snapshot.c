/* The project's generator of memory snapshots: trains a made-up transformer on batches of changing length, over the allocator policy.
 *   make_snapshot FILE [EVENTS [SEED [MIB [CONF [SKIP]]]]]
 * EVENTS: about how many (10000). MIB: the device's memory, 0 without end; training stops when it is out. SKIP: events lost at the start. */
#include "snapshot_maker.h"

enum { LAYERS = 12, LIVE = 4096 };

typedef struct site {
  const char *function, *file;
  int line;
} site;

static const site sites[] = {
    {"forward", "train/model.py", 41},   {"attention", "train/model.py", 67}, {"attention", "train/model.py", 71},
    {"mlp", "train/model.py", 88},       {"loss", "train/train.py", 112},     {"collate", "train/data.py", 30},
    {"step", "train/optim.py", 19},      {"log", "train/metrics.py", 8},      {"__init__", "train/model.py", 15},
    {"backward", "train/train.py", 118},
};
enum { FORWARD, QKV, SCORES, MLP, LOSS, BATCH, OPTIMIZER, METRICS, PARAMETER, BACKWARD, SITES };

static uint32_t seed;
static uint32_t random_below(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

static int stack_of[SITES];

static void add_stacks(maker *m) {
  for (int i = 0; i < SITES; i++) {
    maker_frame f[] = {{"_call_impl", "/usr/lib/python3/site-packages/torch/nn/modules/module.py", 1784},
                       {sites[i].function, sites[i].file, sites[i].line},
                       {"forward", "train/model.py", i < LOSS ? 52 : 0},
                       {"_call_impl", "/usr/lib/python3/site-packages/torch/nn/modules/module.py", 1784},
                       {"train_step", "train/train.py", 109},
                       {"main", "train/train.py", 160},
                       {"<module>", "train/train.py", 171}};
    if (i == MLP) f[0] = (maker_frame){"forward", "/usr/lib/python3/site-packages/torch/nn/modules/linear.py", 134};
    stack_of[i] = maker_add_stack(m, f, 7);
  }
}

static wf_block *live[LIVE];
static int live_count;
static bool out;

static wf_block *take(maker *m, size_t bytes, int where) {
  if (out) return NULL;
  wf_block *b = maker_alloc(m, bytes, 0, stack_of[where]);
  if (!b) out = true;
  return b;
}
static void keep(maker *m, size_t bytes, int where) {
  wf_block *b = take(m, bytes, where);
  if (b && live_count < LIVE) live[live_count++] = b;
}
static void temporary(maker *m, size_t bytes, int where) { maker_free(m, take(m, bytes, where), stack_of[where]); }

static void step(maker *m, int number) {
  size_t tokens = 64 * (8 + random_below(24)), width = 512, bytes = tokens * width * 4;
  int base = live_count;
  keep(m, tokens * 8, BATCH);
  for (int l = 0; l < LAYERS && !out; l++) {
    keep(m, 3 * bytes, QKV);
    temporary(m, tokens * tokens * 4 / 8, SCORES);
    keep(m, tokens * tokens * 2, SCORES);
    keep(m, 4 * bytes, MLP);
    temporary(m, bytes, FORWARD);
    keep(m, bytes + random_below(4096), FORWARD);
  }
  keep(m, 4, LOSS);
  while (live_count > base && !out) {
    temporary(m, bytes, BACKWARD);
    maker_free(m, live[--live_count], stack_of[BACKWARD]);
  }
  if (number == 0)
    for (int l = 0; l < 8 * LAYERS; l++) keep(m, width * width * 4 * (1 + l % 4), OPTIMIZER);
  temporary(m, width * width * 4, OPTIMIZER);
  if (number % 7 == 0) keep(m, 200 + 8 * random_below(40), METRICS); /* a leak: never freed */
}

int main(int argc, char **argv) {
  long numbers[4] = {10000, 1, 0, 0};
  if (argc < 2) {
    fprintf(stderr, "usage: %s FILE [EVENTS [SEED [MIB [CONF [SKIP]]]]]\n", argv[0]);
    return 2;
  }
  for (int i = 0; i < 3 && i + 2 < argc; i++) numbers[i] = atol(argv[i + 2]);
  if (argc > 6) numbers[3] = atol(argv[6]);
  seed = (uint32_t)numbers[1];
  maker m;
  maker_open(&m, argc > 5 ? argv[5] : "", (uint64_t)numbers[2] << 20, WF_TIES_AGE);
  add_stacks(&m);
  for (int l = 0; l < LAYERS; l++)
    for (int k = 0; k < 4; k++) keep(&m, 512 * 512 * 4 * (k < 2 ? 3 - 2 * k : 4), PARAMETER);
  for (int i = 0; !out && m.event_count < (size_t)numbers[0]; i++) step(&m, i);
  m.skip = (size_t)numbers[3] < m.event_count ? (size_t)numbers[3] : 0;
  maker_write(&m, argv[1]);
  printf("%zu events\n", m.event_count - m.skip);
  maker_close(&m);
  return 0;
}
