/* Whose memory it is. The watching Python wrote addresses of storages and when it saw them; the block of the history that lay there then has
 * that role. Gradients are made anew in each step and are looked up in some steps only: a block that lives on when a step ends, of the
 * same size and from the same stack as a known gradient, is one. What is left goes by who asked: autograd's own threads have no Python
 * stack, the optimizer is in its stack. */
#include <stdlib.h>

#include "audit/dry_parts.h"
#include "base/host.h"

#define WORKSPACE_BYTES \
  8519680 /* 4096 KiB * 2 + 16 KiB * 8: PyTorch's default for cuBLAS, by no chance a tensor's size */
#define WORKSPACE_9_0_BYTES (32 << 20) /* on capability 9.0 and later */
#define WORKSPACE_EVENTS 8 /* of which the workspace lives this long at most: one product, one convolution */
#define UNKNOWN WF__DRY_ROLES

static const struct {
  const char *name, *key;
} roles[WF__DRY_ROLES] = {
    [WF__DRY_PARAMETERS] = {"parameters", "parameters"},
    [WF__DRY_GRADIENTS] = {"gradients", "gradients"},
    [WF__DRY_BUCKETS] = {"gradient buckets", "gradient_buckets"},
    [WF__DRY_OPTIMIZER] = {"optimizer state", "optimizer_state"},
    [WF__DRY_BUFFERS] = {"buffers", "buffers"},
    [WF__DRY_FORWARD] = {"activations", "activations"},
    [WF__DRY_BACKWARD] = {"backward pass", "backward"},
    [WF__DRY_STEP] = {"optimizer's step", "optimizer_step"},
    [WF__DRY_WORKSPACE] = {"workspace", "workspace"},
};

const char *wf__dry_role_name(wf__dry_role role) { return role < WF__DRY_ROLES ? roles[role].name : "?"; }
const char *wf__dry_role_key(wf__dry_role role) { return role < WF__DRY_ROLES ? roles[role].key : "?"; }

/* ---- roles of lives --------------------------------------------------------------------------------------------------- */

typedef struct placed {
  uint64_t address;
  uint32_t born, life;
} placed;

typedef struct finder {
  wf_dry_run *run;
  wf__dry_detail *d;
  const wf__history *h;
  placed *at;       /* the lives, by address and birth */
  uint32_t *module; /* by life: path of the module that ran, or whose parameter it is or belongs to */
  int64_t *asked;   /* sizes of work space that libraries asked for, the smallest first */
  size_t asked_count;
} finder;

static int by_address(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->address != y->address) return x->address < y->address ? -1 : 1;
  return x->born < y->born ? -1 : x->born > y->born;
}

/* The state that the history is in at a time. */
static uint32_t state_at(const wf__history *h, int64_t time_us) {
  uint32_t low = 0, high = h->n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (h->events[middle].time_us <= time_us) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The first of `at` that isn't below an address. */
static size_t first_at(const finder *f, uint64_t address) {
  size_t low = 0, high = f->h->blocks.n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (f->at[middle].address < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static uint32_t distance(const wf__block_life *b, uint32_t state) {
  if (state < b->born) return b->born - state;
  return state < b->freed ? 0 : state - b->freed + 1;
}

/* The life that a storage was seen in. The clocks of events and of the watching Python agree to some microseconds only, so the nearest one
 * counts where none is exactly then. */
static uint32_t life_of(const finder *f, const wf__dry_storage *s) {
  uint32_t state = state_at(f->h, s->time_us), best = WF__NO_LIFE, least = UINT32_MAX;
  for (size_t i = first_at(f, s->address); i < f->h->blocks.n && f->at[i].address == s->address; i++) {
    const wf__block_life *b = &f->h->blocks.at[f->at[i].life];
    uint32_t away = distance(b, state);
    if (b->size < s->bytes || away >= least) continue;
    least = away;
    best = f->at[i].life;
  }
  return best;
}

static void take_seen(finder *f) {
  const wf__dry_place *place = &f->run->places.at[f->run->main_place];
  const wf__dry_process *p = &f->run->processes.at[place->process];
  static const uint8_t seen[] = {WF__DRY_PARAMETERS, WF__DRY_GRADIENTS, WF__DRY_OPTIMIZER, WF__DRY_BUFFERS};
  for (uint32_t i = 0; i < p->storage_count; i++) {
    const wf__dry_storage *s = &f->run->storages.at[p->first_storage + i];
    uint32_t life = s->device == place->device ? life_of(f, s) : WF__NO_LIFE;
    if (life == WF__NO_LIFE) continue;
    if (seen[s->role] < f->d->role[life]) f->d->role[life] = seen[s->role];
    if (s->module) f->module[life] = s->module;
  }
}

/* The module that ran when a block was asked for, where PyTorch noted it. */
static wf_status take_notes(finder *f) {
  const wf_snapshot *s = f->h->snapshot;
  uint32_t last = 0, own = 0;
  for (uint32_t i = 0; i < f->h->n; i++) {
    const wf__snap_event *e = &f->h->events[i];
    if (e->action != WF__SNAP_ALLOC || f->h->life_of[i] == WF__NO_LIFE) continue;
    if (e->note != last)
      own = wf__string_set_add(&f->run->strings, wf__snap_text(s, e->note), strlen(wf__snap_text(s, e->note)));
    if (own == UINT32_MAX) return WF_NO_MEMORY;
    last = e->note;
    f->module[f->h->life_of[i]] = own;
  }
  return WF_OK;
}

static const char *file_at(const wf_snapshot *s, uint32_t stack, uint32_t frame) {
  return wf__snap_text(s, wf__snap_frame_at(s, stack, frame).file);
}

/* Averages of weights live beside the optimizers and are none. */
static bool in_optimizer(const wf_snapshot *s, uint32_t stack) {
  for (uint32_t i = 0; i < wf__snap_depth(s, stack); i++) {
    const char *file = strstr(file_at(s, stack, i), "torch/optim/");
    if (file) return !strstr(file, "/swa_utils.py");
  }
  return false;
}

/* A backward function in Python: autograd's thread begins in it. What a checkpoint computes there again is the forward pass. */
static bool in_backward(const wf_snapshot *s, uint32_t stack) {
  uint32_t depth = wf__snap_depth(s, stack);
  if (!depth || !strstr(file_at(s, stack, depth - 1), "torch/autograd/function.py")) return false;
  for (uint32_t i = 0; i < depth; i++)
    if (strstr(file_at(s, stack, i), "torch/utils/checkpoint.py")) return false;
  return true;
}

/* DistributedDataParallel makes its buckets itself, in no module and no function beneath it. */
static bool in_ddp(const wf_snapshot *s, uint32_t stack) {
  return wf__snap_depth(s, stack) && strstr(file_at(s, stack, 0), "torch/nn/parallel/distributed.py");
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

static wf_status take_asked(finder *f) {
  const wf_dry_run *r = f->run;
  f->asked = wf__malloc((r->rows.n + 1) * sizeof *f->asked);
  if (!f->asked) return WF_NO_MEMORY;
  for (size_t i = 0; i < r->rows.n; i++)
    if (r->rows.at[i].kind == WF__DRY_ASKED && r->rows.at[i].count > 0)
      f->asked[f->asked_count++] = r->rows.at[i].bytes / r->rows.at[i].count;
  if (f->asked_count) qsort(f->asked, f->asked_count, sizeof *f->asked, by_size);
  return WF_OK;
}

static bool is_workspace(const finder *f, const wf__block_life *b) {
  if (b->requested == WORKSPACE_BYTES) return true;
  if (b->died - b->born > WORKSPACE_EVENTS) return false;
  int64_t size = (int64_t)b->requested;
  return b->requested == WORKSPACE_9_0_BYTES ||
         (f->asked_count && bsearch(&size, f->asked, f->asked_count, sizeof size, by_size));
}

/* A block that lives on when a step ends. The last of the steps is what came behind them, it ends with the program. */
static bool outlives_step(const wf__dry_detail *d, const wf__block_life *b) {
  for (size_t i = 0; i + 1 < d->steps.n && d->steps.at[i].state < b->freed; i++)
    if (b->born <= d->steps.at[i].state) return true;
  return false;
}

typedef struct kind_of_block {
  uint64_t size;
  uint32_t stack;
} kind_of_block;

static int by_kind(const void *a, const void *b) {
  const kind_of_block *x = a, *y = b;
  if (x->size != y->size) return x->size < y->size ? -1 : 1;
  return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Gradients of steps in which nobody looked. */
static wf_status infer_gradients(finder *f) {
  size_t n = 0;
  kind_of_block *known = wf__malloc((f->h->blocks.n + 1) * sizeof *known);
  if (!known) return WF_NO_MEMORY;
  for (size_t i = 0; i < f->h->blocks.n; i++)
    if (f->d->role[i] == WF__DRY_GRADIENTS)
      known[n++] = (kind_of_block){f->h->blocks.at[i].requested, f->h->blocks.at[i].stack};
  if (n) qsort(known, n, sizeof *known, by_kind);
  uint32_t last =
      WF__NO_LIFE; /* the gradient that lay there before: the watching Python writes nothing new of one in its place */
  for (size_t i = 0; n && i < f->h->blocks.n; i++) {
    uint32_t life = f->at[i].life;
    const wf__block_life *b = &f->h->blocks.at[life];
    kind_of_block kind = {b->requested, b->stack};
    if (i && f->at[i].address != f->at[i - 1].address) last = WF__NO_LIFE;
    if (f->d->role[life] == UNKNOWN && bsearch(&kind, known, n, sizeof *known, by_kind) && outlives_step(f->d, b)) {
      f->d->role[life] = WF__DRY_GRADIENTS;
      if (last != WF__NO_LIFE && f->h->blocks.at[last].requested == b->requested) f->module[life] = f->module[last];
    }
    if (f->d->role[life] == WF__DRY_GRADIENTS) last = life;
  }
  wf__release(known);
  return WF_OK;
}

static wf_status name_the_rest(finder *f) {
  const wf_snapshot *s = f->h->snapshot;
  uint8_t *by_stack = wf__malloc((size_t)s->stacks.count + 1);
  if (!by_stack) return WF_NO_MEMORY;
  for (uint32_t i = 0; i < s->stacks.count; i++)
    by_stack[i] = in_optimizer(s, i)  ? WF__DRY_STEP
                  : in_ddp(s, i)      ? WF__DRY_BUCKETS
                  : in_backward(s, i) ? WF__DRY_BACKWARD
                                      : WF__DRY_FORWARD;
  for (size_t i = 0; i < f->h->blocks.n; i++) {
    const wf__block_life *b = &f->h->blocks.at[i];
    if (f->d->role[i] != UNKNOWN) continue;
    f->d->role[i] = is_workspace(f, b) ? WF__DRY_WORKSPACE : !b->stack ? WF__DRY_BACKWARD : by_stack[b->stack];
  }
  wf__release(by_stack);
  return WF_OK;
}

/* ---- holders at the peak ---------------------------------------------------------------------------------------------- */

static int by_group(const void *a, const void *b) {
  const wf__dry_holder *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->role < y->role ? -1 : x->role > y->role;
}
static int by_bytes(const void *a, const void *b) {
  const wf__dry_holder *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return by_group(a, b);
}

static size_t join(wf__dry_holder *all, size_t n) {
  size_t to = 0;
  if (n) qsort(all, n, sizeof *all, by_group);
  for (size_t i = 0; i < n; i++) {
    if (to && !by_group(&all[to - 1], &all[i])) {
      all[to - 1].bytes += all[i].bytes;
      all[to - 1].blocks++;
    } else {
      all[to++] = all[i];
    }
  }
  if (to) qsort(all, to, sizeof *all, by_bytes);
  return to;
}

/* The frame of a stack that names its line, as a number that is the same for the same line. */
static uint64_t line_key(const wf__memory_view *v, uint32_t stack) {
  uint32_t number, at = v->sites.site[stack];
  if (at == WF__NO_FRAME) return UINT64_MAX;
  memcpy(&number, wf__string_set_text(&v->history.snapshot->stacks, stack) + at * sizeof number, sizeof number);
  return number;
}

static wf_status group_peak(finder *f) {
  wf__dry_detail *d = f->d;
  for (size_t i = 0; i < f->h->blocks.n; i++) {
    const wf__block_life *b = &f->h->blocks.at[i];
    if (!wf__allocated_at(b, f->h->peak_state)) continue;
    wf__dry_holder one = {.bytes = b->size, .blocks = 1, .stack = b->stack, .module = f->module[i], .role = d->role[i]};
    d->role_bytes[one.role] += one.bytes;
    d->role_blocks[one.role]++;
    wf__dry_holder *line = WF__SNAP_ADD(d->by_line), *module = WF__SNAP_ADD(d->by_module);
    if (!line || !module) return WF_NO_MEMORY;
    *line = *module = one;
    line->key = line_key(&d->view, b->stack);
    module->key = one.module;
    module->role = 0;
  }
  d->by_line.n = join(d->by_line.at, d->by_line.n);
  d->by_module.n = join(d->by_module.at, d->by_module.n);
  return WF_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------------------ */

static wf_status put_moments(finder *f) {
  const wf__dry_process *p = &f->run->processes.at[f->run->places.at[f->run->main_place].process];
  for (uint32_t i = 0; i <= p->step_count; i++) {
    wf__dry_moment *m = WF__SNAP_ADD(f->d->steps);
    if (!m) return WF_NO_MEMORY;
    *m = (wf__dry_moment){.step = i + 1, .state = f->h->n};
    if (i < p->step_count) m->state = state_at(f->h, f->run->steps.at[p->first_step + i]);
  }
  return WF_OK;
}

/* Bytes allocated and reserved after each event, as changes; then the most of each step. */
static wf_status measure_steps(finder *f) {
  const wf__history *h = f->h;
  int64_t *allocated = wf__calloc((size_t)h->n + 2, sizeof *allocated),
          *reserved = wf__calloc((size_t)h->n + 2, sizeof *reserved);
  wf_status status = allocated && reserved ? WF_OK : WF_NO_MEMORY;
  for (size_t i = 0; !status && i < h->blocks.n; i++) {
    allocated[h->blocks.at[i].born] += (int64_t)h->blocks.at[i].size;
    allocated[h->blocks.at[i].freed] -= (int64_t)h->blocks.at[i].size;
  }
  for (size_t i = 0; !status && i < h->segments.n; i++) {
    reserved[h->segments.at[i].born] += (int64_t)h->segments.at[i].size;
    reserved[h->segments.at[i].died] -= (int64_t)h->segments.at[i].size;
  }
  int64_t now = 0, held = 0;
  uint32_t state = 0;
  for (size_t i = 0; !status && i < f->d->steps.n; i++) {
    wf__dry_moment *m = &f->d->steps.at[i];
    m->peak = (uint64_t)now;
    m->reserved = (uint64_t)held;
    for (; state <= m->state; state++) {
      now += allocated[state];
      held += reserved[state];
      if ((uint64_t)now > m->peak) m->peak = (uint64_t)now;
      if ((uint64_t)held > m->reserved) m->reserved = (uint64_t)held;
      if (!state) continue;
      uint8_t action = h->events[state - 1].action;
      m->allocations += action == WF__SNAP_ALLOC;
      m->segments += action == WF__SNAP_SEGMENT_ALLOC || action == WF__SNAP_SEGMENT_MAP;
    }
    m->end = (uint64_t)now;
  }
  wf__release(allocated);
  wf__release(reserved);
  return status;
}

static wf_status find(finder *f) {
  size_t n = f->h->blocks.n;
  WF__TRY(put_moments(f));
  WF__TRY(measure_steps(f));
  f->at = wf__malloc((n + 1) * sizeof *f->at);
  f->module = wf__calloc(n + 1, sizeof *f->module);
  f->d->role = wf__malloc(n + 1);
  if (!f->at || !f->module || !f->d->role) return WF_NO_MEMORY;
  memset(f->d->role, UNKNOWN, n + 1);
  for (size_t i = 0; i < n; i++) f->at[i] = (placed){f->h->blocks.at[i].address, f->h->blocks.at[i].born, (uint32_t)i};
  if (n) qsort(f->at, n, sizeof *f->at, by_address);
  WF__TRY(take_notes(f));
  WF__TRY(take_asked(f));
  take_seen(f);
  WF__TRY(infer_gradients(f));
  WF__TRY(name_the_rest(f));
  return group_peak(f);
}

wf_status wf__dry_find_roles(wf_dry_run *run) {
  finder f = {.run = run, .d = &run->detail, .h = &run->detail.view.history};
  wf_status status = find(&f);
  wf__release(f.at);
  wf__release(f.module);
  wf__release(f.asked);
  return status;
}
