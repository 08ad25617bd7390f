/* The loader as its consumer sees it: queues slots ahead, hands batches out in order, measures the stages and chooses how far to load
 * ahead. */
#include "data/loader.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include "base/host.h"
#include "data/sampler.h"
#include "trace/trace.h"

#define MAX_AHEAD (WF__LOADER_SLOTS - 2) /* one slot is with the consumer, one is being retired */
#define MAX_WORKERS 64

wf_loader_options wf_loader_defaults(void) {
  return (wf_loader_options){.batch_size = 1, .pipeline = WF_PIPELINE_PREFETCH, .device = wf_cpu()};
}

wf_status wf_pipeline_parse(const char *text, wf_pipeline *pipeline) {
  static const char *const names[] = {"plain", "pinned", "async", "prefetch"};
  for (int i = 0; i < 4; i++)
    if (text && !strcmp(text, names[i])) return *pipeline = (wf_pipeline)i, WF_OK;
  return wf__fail(WF_VALUE, "unknown pipeline '%s': plain, pinned, async or prefetch", text ? text : "");
}

static wf_status check(const wf_dataset *d, const wf_loader_options *o) {
  WF__CHECK(d, WF_VALUE, "a loader needs a dataset");
  WF__CHECK(o->batch_size > 0, WF_VALUE, "batch_size should be a positive integer value, but got batch_size=%lld",
            (long long)o->batch_size);
  WF__CHECK(o->workers >= 0, WF_VALUE,
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.");
  WF__CHECK(o->workers <= MAX_WORKERS, WF_VALUE, "at most %d workers can load for one loader; got %d", MAX_WORKERS,
            o->workers);
  WF__CHECK(o->timeout_s >= 0, WF_VALUE, "timeout option should be non-negative");
  WF__CHECK(!o->timeout_s || o->workers, WF_VALUE, "timeout option needs workers > 0: without workers nothing waits");
  WF__CHECK(o->ahead >= 0 && o->ahead <= MAX_AHEAD, WF_VALUE, "ahead should lie between 0 and %d, but got ahead=%d",
            MAX_AHEAD, o->ahead);
  WF__CHECK((unsigned)o->pipeline <= WF_PIPELINE_PREFETCH, WF_VALUE, "unknown pipeline %d", (int)o->pipeline);
  return WF_OK;
}

/* ---- loading ahead ------------------------------------------------------------------------------------------------------------- */

/* Little's law: batches under way = time of one batch from start to device, over the time between two batches, plus the one that is being
 * consumed. Called with the lock held. */
static int choose_ahead(const wf_loader *l) {
  if (!l->ahead_of_time) return 1;
  if (l->options.ahead) return l->options.ahead;
  if (!l->loaded || !l->intervals) return 2;
  int64_t load = l->load_ns / l->loaded, copy = l->copies ? l->copy_ns / l->copies : 0,
          compute = l->compute_ns / l->intervals;
  int workers = l->threads ? l->threads : 1;
  int64_t step = compute > load / workers ? compute : load / workers;
  int64_t ahead = step > 0 ? (load + copy + step - 1) / step + 1 : MAX_AHEAD;
  return ahead < 2 ? 2 : ahead > MAX_AHEAD ? MAX_AHEAD : (int)ahead;
}

/* A free slot, in turn among as many as are needed: the one that was free for longest, so that its transfer is over and nobody waits. */
static wf__slot *free_slot(wf_loader *l) {
  int n = l->ahead + 2;
  for (int i = 0; i < n; i++) {
    wf__slot *s = &l->slot[(l->last_slot + 1 + i) % n];
    if (s->state != WF__SLOT_FREE || s == l->current) continue;
    l->last_slot = (int)(s - l->slot);
    return s;
  }
  return NULL;
}

/* Queues batches up to the chosen depth. Called with the lock held. */
static void queue_ahead(wf_loader *l) {
  l->ahead = choose_ahead(l);
  while (l->next_queued < l->batches && l->next_queued - l->next_out < l->ahead) {
    wf__slot *s = free_slot(l);
    if (!s) break;
    int64_t first = l->next_queued * l->options.batch_size, left = l->samples - first;
    s->batch = l->next_queued++;
    s->size = left < l->options.batch_size ? left : l->options.batch_size;
    s->state = WF__SLOT_QUEUED;
  }
  pthread_cond_broadcast(&l->work);
}

/* ---- life ------------------------------------------------------------------------------------------------------------------------ */

static wf_status open_loader(wf_loader *l) {
  l->device = wf__device_get(l->options.device);
  if (!l->device) return wf__self.pending;
  l->on_device = !l->device->backend->host_access;
  l->ahead_of_time = l->options.pipeline == WF_PIPELINE_PREFETCH;
  if (l->on_device && l->ahead_of_time && l->options.workers && !(l->copy_stream = wf_stream_new(l->options.device, 0)))
    return wf__self.pending;
  l->samples = l->dataset->count;
  if (l->options.drop_last) l->samples -= l->samples % l->options.batch_size;
  l->batches = l->samples / l->options.batch_size + (l->samples % l->options.batch_size != 0);
  WF__TRY(wf__workers_start(l));
  return wf_loader_start(l, 0);
}

wf_loader *wf_loader_new(wf_dataset *dataset, const wf_loader_options *options) {
  WF__OP("loader_new", NULL);
  wf_loader_options o = options ? *options : wf_loader_defaults();
  WF__TRY_OR(check(dataset, &o), NULL);
  wf_loader *l = wf__calloc(1, sizeof *l);
  if (!l) return NULL;
  l->dataset = dataset;
  l->options = o;
  pthread_mutex_init(&l->lock, NULL);
  pthread_cond_init(&l->work, NULL);
  pthread_cond_init(&l->done, NULL);
  if (!open_loader(l)) return l;
  wf_loader_free(l);
  return NULL;
}

void wf_loader_free(wf_loader *l) {
  if (!l) return;
  wf_status kept = wf__error_suspend();
  if (!wf__workers_stop(l)) { /* a stuck worker keeps its loader */
    if (l->current) wf__slot_retire(l, l->current);
    if (l->copy_stream) wf_stream_sync(l->copy_stream);
    if (l->on_device) wf_device_sync(l->options.device);
    for (int i = 0; i < WF__LOADER_SLOTS; i++) wf__slot_free(l, &l->slot[i]);
    wf_stream_free(l->copy_stream);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->done);
    pthread_mutex_destroy(&l->lock);
    wf__release(l->order);
    wf__release(l);
  }
  if (kept) wf_error_take();
  wf__error_resume(kept);
}

static bool any_loading(const wf_loader *l) {
  for (int i = 0; i < WF__LOADER_SLOTS; i++)
    if (l->slot[i].state == WF__SLOT_LOADING) return true;
  return false;
}

wf_status wf_loader_start(wf_loader *l, int64_t epoch) {
  WF__OP("loader_start", wf__self.pending);
  int64_t *order = wf__sample_order(l->dataset->count, l->options.shuffle, l->options.seed, epoch);
  if (!order) return wf__self.pending;
  if (l->current) wf__slot_retire(l, l->current);
  pthread_mutex_lock(&l->lock);
  l->site = wf__self.frame->site;
  for (int i = 0; i < WF__LOADER_SLOTS; i++)
    if (l->slot[i].state == WF__SLOT_QUEUED) l->slot[i].state = WF__SLOT_FREE;
  while (any_loading(l)) pthread_cond_wait(&l->done, &l->lock);
  for (int i = 0; i < WF__LOADER_SLOTS; i++) l->slot[i].state = WF__SLOT_FREE;
  wf__release(l->order);
  l->order = order;
  l->current = NULL;
  l->next_queued = l->next_out = 0;
  l->last_return_ns = 0;
  l->load_ns = l->copy_ns = l->compute_ns = l->wait_ns = 0;
  l->loaded = l->copies = l->returned = l->intervals = 0;
  if (l->ahead_of_time) queue_ahead(l);
  pthread_mutex_unlock(&l->lock);
  return WF_OK;
}

int64_t wf_loader_batches(const wf_loader *l) { return l ? l->batches : 0; }

wf_loader_stats wf_loader_get_stats(const wf_loader *loader) {
  wf_loader *l = (wf_loader *)loader;
  wf_loader_stats s = {0};
  if (!l) return s;
  pthread_mutex_lock(&l->lock);
  s.batches = l->returned;
  s.load_ns = l->loaded ? l->load_ns / l->loaded : 0;
  s.copy_ns = l->copies ? l->copy_ns / l->copies : 0;
  s.compute_ns = l->intervals ? l->compute_ns / l->intervals : 0;
  s.wait_ns = l->returned ? l->wait_ns / l->returned : 0;
  s.ahead = l->ahead;
  pthread_mutex_unlock(&l->lock);
  return s;
}

/* ---- the next batch ---------------------------------------------------------------------------------------------------------------- */

static bool finished(const wf__slot *s) { return s->state == WF__SLOT_READY || s->state == WF__SLOT_FAILED; }

static wf__slot *slot_of(wf_loader *l, int64_t batch) {
  for (int i = 0; i < WF__LOADER_SLOTS; i++)
    if (l->slot[i].state != WF__SLOT_FREE && l->slot[i].batch == batch) return &l->slot[i];
  return NULL;
}

/* Called and returns with the lock held. */
static wf_status wait_for(wf_loader *l, wf__slot *s) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  int64_t ns = until.tv_nsec + (int64_t)((l->options.timeout_s - (double)(int64_t)l->options.timeout_s) * 1e9);
  until.tv_sec += (int64_t)l->options.timeout_s + ns / 1000000000;
  until.tv_nsec = ns % 1000000000;
  while (!finished(s)) {
    if (!l->options.timeout_s) pthread_cond_wait(&l->done, &l->lock);
    else if (pthread_cond_timedwait(&l->done, &l->lock, &until) == ETIMEDOUT && !finished(s))
      return wf__fail(WF_RUNTIME, "DataLoader timed out after %g seconds", l->options.timeout_s);
  }
  return WF_OK;
}

/* Time of the slot's last transfer, once it is known to be over. */
static void count_copy(wf_loader *l, wf__slot *s) {
  double ms;
  if (!s->copied || !s->started || !wf_event_query(s->copied)) return;
  if (wf_event_elapsed_ms(s->started, s->copied, &ms)) {
    wf_error_take();
    return;
  }
  l->copy_ns += (int64_t)(ms * 1e6);
  l->copies++;
}

/* Gives back the batch handed out last and queues ahead. Returns the slot of the next batch, NULL at the end; the lock is held. */
static wf__slot *advance(wf_loader *l) {
  if (l->current) {
    count_copy(l, l->current);
    wf__slot_retire(l, l->current);
  }
  pthread_mutex_lock(&l->lock);
  l->site = wf__self.frame->site;
  if (l->current) l->current->state = WF__SLOT_FREE;
  l->current = NULL;
  queue_ahead(l);
  return l->next_out < l->batches ? slot_of(l, l->next_out) : NULL;
}

static wf_status obtain(wf_loader *l, wf__slot *s) {
  if (!l->threads) wf__slot_fill(l, s, -1);
  wf_zone_begin("load"); /* the consumer's part of that stage is to wait */
  int64_t start = wf_clock_ns();
  wf_status status = wait_for(l, s);
  if (l->threads && !status) {
    int64_t waited = wf_clock_ns() - start;
    l->wait_ns += waited;
    /* Who was late? A worker that itself waited for the device to let go of the slot wasn't. */
    bool for_device = s->blocked_ns > waited / 2;
    wf__trace_wait(for_device ? "device, all batches ahead are queued" : "loader",
                   for_device ? l->options.device : wf_cpu(), start);
  }
  wf_zone_end();
  WF__TRY(status);
  l->next_out++;
  return WF_OK;
}

/* Surfaces a worker's failure; the slot is free again. */
static wf_status report(wf_loader *l, wf__slot *s) {
  wf__fail(s->failure, "%s", s->text);
  if (s->worker >= 0 && s->failure != WF_DEVICE)
    wf__hint("raised by worker %d while it loaded batch %lld; the next call goes on behind it", s->worker,
             (long long)s->batch);
  pthread_mutex_lock(&l->lock);
  s->state = WF__SLOT_FREE;
  pthread_mutex_unlock(&l->lock);
  return wf__self.pending;
}

int wf_loader_next(wf_loader *l, wf_batch *batch) {
  WF__OP("loader_next", -1);
  int64_t now = wf_clock_ns();
  if (l->last_return_ns) {
    l->compute_ns += now - l->last_return_ns;
    l->intervals++;
  }
  wf__slot *s = advance(l);
  if (!s) {
    pthread_mutex_unlock(&l->lock);
    l->last_return_ns = 0;
    return 0;
  }
  wf_status status = obtain(l, s);
  pthread_mutex_unlock(&l->lock);
  if (status) return -1;
  if (s->failure) return report(l, s), -1;
  l->current = s;
  if (wf__slot_show(l, s)) return -1;
  *batch = (wf_batch){.fields = l->dataset->fields, .size = s->size, .number = s->batch};
  memcpy(batch->field, s->shown, sizeof batch->field);
  l->returned++;
  l->last_return_ns = wf_clock_ns();
  return 1;
}
