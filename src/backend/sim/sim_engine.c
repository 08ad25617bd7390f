/* The engines: one thread for kernels, one for each direction of copies. Each runs the first item of the stream that has been due
 * longest, so streams take turns; streams of high priority go first.
 *
 * Emulated time: an item occupies its stream and its engine until the model's deadline, which passes asleep; real work that takes longer
 * than the model says ends when it ends. */
#define _GNU_SOURCE /* names of threads */
#include "backend/sim/sim.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/host.h"
#include "exec/exec.h"
#include "trace/trace.h"

#define SLEEP_MOST_NS ((int64_t)50000000) /* between two looks at whether the device is being stopped */

static bool stopping(wf__sim_device *device) { return __atomic_load_n(&device->stopped, __ATOMIC_RELAXED); }

static void sleep_until(wf__sim_device *device, int64_t deadline_ns) {
  for (int64_t now = wf_clock_ns(); now < deadline_ns && !stopping(device); now = wf_clock_ns()) {
    int64_t until = deadline_ns - now > SLEEP_MOST_NS ? now + SLEEP_MOST_NS : deadline_ns;
    struct timespec t = {until / 1000000000, until % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
  }
}

/* ---- one item ------------------------------------------------------------------------------------------------------ */

static void keep_fault(wf__sim_device *device, const wf_tag *tag, wf_status status, const char *text,
                       const char *hint) {
  pthread_mutex_lock(&wf__sim_lock);
  wf__sim_set_fault(device, tag, status, text, hint);
  pthread_mutex_unlock(&wf__sim_lock);
}

static void injected_fault(wf__sim_device *device, const wf_tag *tag, const char *what) {
  char text[96];
  snprintf(text, sizeof text, "sim:%d: a %s failed (fault injected by WEFT_SIM)", device->index, what);
  keep_fault(device, tag, WF_DEVICE, text, "");
}

static void translate(wf_plan *plan) {
  int n = plan->operands < WF_PLAN_OPERANDS ? plan->operands + 1
                                            : WF_PLAN_OPERANDS; /* workspace lies behind the plan's own */
  for (int i = 0; i < n; i++)
    if (plan->operand[i].data) plan->operand[i].data = wf__sim_memory_at(plan->operand[i].data);
}

static void run_kernel(wf__sim_device *device, uint32_t stream, wf_plan *plan, bool fails) {
  int64_t start = wf_clock_ns();
  translate(plan);
  if (fails) {
    injected_fault(device, &plan->tag, "kernel");
  } else if (wf__exec(plan) != WF_OK) {
    wf_error e = wf_error_take();
    keep_fault(device, &plan->tag, e.status, e.text, e.hint);
  }
  if (device->settings.kernel_ns) sleep_until(device, start + device->settings.kernel_ns);
  wf__trace_ran(&plan->tag, wf__sim_id(device), stream, start, wf_clock_ns());
}

static void run_copy(wf__sim_device *device, uint32_t stream, const wf__sim_copy *copy, bool fails) {
  const wf__sim_settings *s = &device->settings;
  int64_t start = wf_clock_ns();
  if (fails) injected_fault(device, &copy->tag, "copy");
  else memmove(copy->dst, copy->src, copy->bytes);
  if (copy->link && s->link_bytes_per_ns > 0)
    sleep_until(device, start + s->link_latency_ns + (int64_t)((double)copy->bytes / s->link_bytes_per_ns));
  wf__trace_ran(&copy->tag, wf__sim_id(device), stream, start, wf_clock_ns());
}

/* ---- the threads --------------------------------------------------------------------------------------------------- */

static wf__sim_stream *next_due(wf__sim_engine *engine) {
  for (int rank = 0; rank < 2; rank++) {
    wf__sim_stream *s = engine->first[rank];
    if (!s) continue;
    engine->first[rank] = s->next_due;
    if (!s->next_due) engine->last[rank] = NULL;
    return s;
  }
  return NULL;
}

/* Runs the first item of the stream. The ring may move while it runs, so the item is copied out. */
static void run_first(wf__sim_stream *s, wf__sim_item *item) {
  wf__sim_device *device = s->device;
  const wf__sim_item *first = &s->ring[s->first];
  item->kind = first->kind;
  item->fails = first->fails;
  if (item->kind == WF__SIM_KERNEL) item->as.plan = first->as.plan;
  else item->as.copy = first->as.copy;
  pthread_mutex_unlock(&wf__sim_lock);
  if (item->kind == WF__SIM_KERNEL) run_kernel(device, s->id, &item->as.plan, item->fails);
  else run_copy(device, s->id, &item->as.copy, item->fails);
  pthread_mutex_lock(&wf__sim_lock);
  if (item->kind == WF__SIM_COPY && item->as.copy.staging >= 0) device->buffer_taken[item->as.copy.staging] = false;
  wf__sim_finish(s);
}

static void *engine_main(void *argument) {
  static const char *const names[WF__SIM_ENGINES] = {"kernels", "to device", "to host"};
  wf__sim_engine *engine = argument;
  wf__sim_device *device = engine->device;
  char name[16];
  snprintf(name, sizeof name, "sim%d %s", device->index, names[engine - device->engine]);
  pthread_setname_np(pthread_self(), name);
  prctl(PR_SET_TIMERSLACK, 1UL); /* ns: deadlines of the model are met to a few microseconds */
  wf__sim_item item;
  pthread_mutex_lock(&wf__sim_lock);
  while (!device->stopped) {
    wf__sim_stream *s = next_due(engine);
    if (s) {
      run_first(s, &item);
      continue;
    }
    engine->idle = true;
    pthread_cond_wait(&engine->wake, &wf__sim_lock);
    engine->idle = false;
  }
  pthread_mutex_unlock(&wf__sim_lock);
  return NULL;
}

/* Signals are for the program's own threads, but for those that a thread brings on itself: handlers of theirs must run. */
static int start_thread(wf__sim_engine *engine) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF};
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&blocked, own[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  int failure = pthread_create(&engine->thread, NULL, engine_main, engine);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failure;
}

wf_status wf__sim_engines_start(wf__sim_device *device) {
  for (int i = 0; i < WF__SIM_ENGINES; i++) {
    wf__sim_engine *engine = &device->engine[i];
    engine->device = device;
    pthread_cond_init(&engine->wake, NULL);
    int failure = start_thread(engine);
    if (failure) {
      pthread_cond_destroy(&engine->wake);
      wf__sim_engines_stop(device);
      return wf__fail(WF_DEVICE, "sim:%d couldn't start a thread: %s", device->index, strerror(failure));
    }
    engine->started = true;
  }
  return WF_OK;
}

void wf__sim_engines_stop(wf__sim_device *device) {
  pthread_mutex_lock(&wf__sim_lock);
  __atomic_store_n(&device->stopped, true, __ATOMIC_RELAXED);
  for (int i = 0; i < WF__SIM_ENGINES; i++)
    if (device->engine[i].started) pthread_cond_signal(&device->engine[i].wake);
  wf__sim_wake();
  pthread_mutex_unlock(&wf__sim_lock);
  for (int i = 0; i < WF__SIM_ENGINES; i++) {
    if (!device->engine[i].started) continue;
    pthread_join(device->engine[i].thread, NULL);
    pthread_cond_destroy(&device->engine[i].wake);
    device->engine[i].started = false;
  }
}
