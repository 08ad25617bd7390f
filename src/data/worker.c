/* Worker threads: each takes the queued slot with the lowest batch number and fills it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/host.h"
#include "base/log.h"
#include "data/loader.h"
#include "trace/trace.h"

#define STOP_TIMEOUT_S 10 /* as long as PyTorch's loader waits for its workers */

typedef struct worker {
  wf_loader *loader;
  int number;
} worker;

static wf__slot *lowest_queued(wf_loader *l) {
  wf__slot *lowest = NULL;
  for (int i = 0; i < WF__LOADER_SLOTS; i++) {
    wf__slot *s = &l->slot[i];
    if (s->state == WF__SLOT_QUEUED && (!lowest || s->batch < lowest->batch)) lowest = s;
  }
  return lowest;
}

void wf__slot_fill(wf_loader *l, wf__slot *s, int worker) {
  s->state = WF__SLOT_LOADING;
  pthread_mutex_unlock(&l->lock);
  int64_t start = wf_clock_ns();
  wf__slot_load(l, s, worker);
  int64_t took = wf_clock_ns() - start - s->blocked_ns;
  pthread_mutex_lock(&l->lock);
  l->load_ns += took;
  l->loaded++;
  s->state = s->failure ? WF__SLOT_FAILED : WF__SLOT_READY;
  pthread_cond_broadcast(&l->done);
}

/* The same on a worker's thread, as what the consumer's last call asked for. Called and returns with the lock held. */
static void fill(wf_loader *l, wf__slot *s, int number) {
  wf__frame frame;
  wf__frame *guard __attribute__((cleanup(wf__frame_leave), unused)) =
      wf__frame_enter(&frame, "loader_worker", l->site);
  wf__slot_fill(l, s, number);
}

static void *run(void *argument) {
  worker w = *(worker *)argument;
  wf__release(argument);
  wf_loader *l = w.loader;
  char name[16]; /* in reports and debuggers */
  snprintf(name, sizeof name, "worker %d", w.number);
  pthread_setname_np(pthread_self(), name);
  if (l->copy_stream) wf_stream_set(l->copy_stream);
  pthread_mutex_lock(&l->lock);
  while (!l->stopping) {
    wf__slot *s = lowest_queued(l);
    if (s) fill(l, s, w.number);
    else pthread_cond_wait(&l->work, &l->lock);
  }
  l->running--;
  pthread_cond_broadcast(&l->done);
  pthread_mutex_unlock(&l->lock);
  return NULL;
}

wf_status wf__workers_start(wf_loader *l) {
  for (int i = 0; i < l->options.workers; i++) {
    worker *w = wf__malloc(sizeof *w);
    if (!w) return wf__self.pending;
    *w = (worker){l, i};
    pthread_mutex_lock(&l->lock);
    int failed = pthread_create(&l->thread[i], NULL, run, w);
    if (!failed) l->threads++, l->running++;
    pthread_mutex_unlock(&l->lock);
    if (failed) {
      wf__release(w);
      return wf__fail(WF_RUNTIME, "worker thread %d of %d could not be started (error %d)", i, l->options.workers,
                      failed);
    }
  }
  return WF_OK;
}

int wf__workers_stop(wf_loader *l) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += STOP_TIMEOUT_S;
  pthread_mutex_lock(&l->lock);
  __atomic_store_n(&l->stopping, true, __ATOMIC_RELAXED);
  pthread_cond_broadcast(&l->work);
  pthread_mutex_unlock(&l->lock);
  int stuck = 0;
  for (int i = 0; i < l->threads; i++) {
    if (!pthread_timedjoin_np(l->thread[i], NULL, &until)) continue;
    pthread_detach(l->thread[i]);
    wf__log(WF_LOG_WARNING, "loader: worker %d did not end within %d s: it is still inside the dataset's fetch", i,
            STOP_TIMEOUT_S);
    stuck++;
  }
  return stuck;
}
