/* Whether the program fits: its history is played again on the caching allocator with the memory that each GPU leaves to it. */
#include <stdio.h>
#include <stdlib.h>

#include "audit/dry_parts.h"
#include "base/host.h"
#include "report/units.h"

#define SEGMENT_BYTES ((uint64_t)20 << 20) /* what PyTorch's allocator asks the driver for at a time */

typedef struct looker {
  wf_dry_run *run;
  wf__replay_start start;
  const wf__history *h;
} looker;

static wf_status tell(wf_dry_run *run, double share) {
  if (run->options.progress && !run->options.progress(run->options.context, share))
    return wf__fail(WF_CANCELLED, "%s: stopped", run->folder);
  return WF_OK;
}

static bool go_on(void *context, int64_t done, int64_t all) {
  const wf_dry_run *run = context;
  return !run->options.progress || run->options.progress(run->options.context, (double)done / (double)(all ? all : 1));
}

static uint64_t room_of(const wf_dry_device *d) {
  return d->memory_bytes > d->context_bytes ? (uint64_t)(d->memory_bytes - d->context_bytes) : 0;
}

static uint64_t allowed_of(const wf__dry_place *place, const wf_dry_device *d) {
  return place->share < 1 ? (uint64_t)(place->share * (double)d->memory_bytes) : (uint64_t)d->memory_bytes;
}

bool wf__dry_is_limited(const wf__dry_place *place, const wf_dry_device *d) {
  return allowed_of(place, d) < room_of(d);
}

uint64_t wf__dry_whole_room(const wf__dry_place *place, const wf_dry_device *d) {
  return wf__dry_is_limited(place, d) ? allowed_of(place, d) : room_of(d);
}

/* What the device with the least memory leaves to PyTorch: where settings matter most. */
static uint64_t least_room(const wf_dry_run *run) {
  uint64_t least = room_of(&run->devices[0]);
  for (int i = 1; i < run->options.device_count; i++)
    if (room_of(&run->devices[i]) < least) least = room_of(&run->devices[i]);
  return least;
}

/* To the allocator's replay 0 is memory without a bound; in one byte nothing fits either. */
static uint64_t bound_of(uint64_t room) { return room ? room : 1; }

static uint64_t whole_room_of(const wf__dry_place *place, const wf__dry_process *p) {
  wf_dry_device own = {.memory_bytes = p->memory_bytes, .context_bytes = p->context_bytes};
  return wf__dry_whole_room(place, &own);
}

/* What the process had of its own device when it ran, at least: memory that other libraries asked for is taken off throughout. */
static uint64_t had(const looker *l, const wf__dry_place *place) {
  const wf__dry_process *p = &l->run->processes.at[place->process];
  wf_dry_device own = {.memory_bytes = p->memory_bytes - (int64_t)place->outside, .context_bytes = p->context_bytes};
  uint64_t left = room_of(&own), whole = whole_room_of(place, p);
  return left < whole ? left : whole;
}

/* In less than a segment no setting of the allocator helps. */
static wf_replay *replay(looker *l, const wf__dry_place *place, uint64_t room, bool search) {
  wf_replay_options o = {.device = l->h->device,
                         .memory = (int64_t)bound_of(room),
                         .recorded_memory = (int64_t)had(l, place),
                         .search = search && room >= SEGMENT_BYTES,
                         .progress = go_on,
                         .context = l->run};
  return wf_replay_history(l->h->snapshot, &o);
}

/* ---- one device of one process ---------------------------------------------------------------------------------------- */

static uint32_t count_deferred(const wf__history *h) {
  uint32_t n = 0;
  for (size_t i = 0; i < h->blocks.n; i++) n += h->blocks.at[i].deferred;
  return n;
}

static uint32_t count_failures(const wf__history *h) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < h->n; i++) n += h->events[i].action == WF__SNAP_OOM;
  return n;
}

int64_t wf__dry_asked_of_driver(const wf_dry_run *run, const wf__dry_process *p, int device) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < p->row_count; i++) {
    const wf__dry_row *row = &run->rows.at[p->first_row + i];
    bool pinned = strstr(wf__dry_string(run, row->what), "Host") != NULL; /* which is the host's */
    if (row->kind == WF__DRY_MALLOC && !pinned && (device < 0 || row->device == device)) bytes += row->bytes;
  }
  return bytes;
}

/* What was asked of the driver beyond the segments of PyTorch's allocator: by NCCL, by other libraries. */
static uint64_t outside_bytes(const wf_dry_run *run, const wf__dry_process *p, const wf__history *h) {
  int64_t bytes = wf__dry_asked_of_driver(run, p, h->device);
  for (uint32_t i = 0; i < h->n; i++)
    if (h->events[i].action == WF__SNAP_SEGMENT_ALLOC || h->events[i].action == WF__SNAP_SEGMENT_MAP)
      bytes -= (int64_t)h->events[i].size;
  return bytes > 0 ? (uint64_t)bytes : 0;
}

static wf_status play(const looker *l, const wf__dry_place *place, wf_allocator_ties ties, uint64_t memory,
                      wf__replay_result *result) {
  return wf__replay_play(
      l->h, &l->start,
      &(wf__replay_setup){.conf = place->conf, .ties = ties, .memory = memory, .total = memory, .had = had(l, place)},
      result);
}

static wf_status measure(const looker *l, wf__dry_place *place, const wf_replay *replayed) {
  wf__replay_result result;
  place->conf = wf__strdup(replayed->recorded_conf);
  place->needs = replayed->rows.at[0].needs;
  place->ties = replayed->ties;
  place->exact = wf__replay_exact(&replayed->follow);
  if (!place->conf) return WF_NO_MEMORY;
  for (int ties = 0; ties < 3; ties++) {
    WF__TRY(play(l, place, (wf_allocator_ties)ties, 0, &result));
    place->by_ties[ties] = result.peak_reserved;
  }
  return WF_OK;
}

/* ---- answers ---------------------------------------------------------------------------------------------------------- */

static bool ended_before(const wf_dry_run *run, const wf__dry_place *a, const wf__dry_place *b) {
  int64_t end = run->processes.at[a->process].end_us;
  return end && end < b->begin_us;
}

bool wf__dry_shares(const wf_dry_run *run, const wf__dry_place *a, const wf__dry_place *b) {
  return a->number == b->number && !ended_before(run, a, b) && !ended_before(run, b, a);
}

/* Processes that share a device share its memory, and each has a context of its own. */
static uint64_t room_for(const wf_dry_run *run, const wf_dry_device *d, const wf__dry_place *place) {
  uint64_t whole = wf__dry_whole_room(place, d);
  int64_t left = (int64_t)room_of(d) - (int64_t)place->outside;
  for (size_t i = 0; i < run->places.n; i++) {
    const wf__dry_place *other = &run->places.at[i];
    if (other != place && wf__dry_shares(run, place, other))
      left -= (int64_t)(other->needs + other->outside) + d->context_bytes;
  }
  return left <= 0 ? 0 : (uint64_t)left < whole ? (uint64_t)left : whole;
}

/* The last event at which the program, as it ran, was out of memory, whether it ended there or caught that; WF__NO_LIFE: none. */
static uint32_t event_without_memory(const looker *l) {
  for (uint32_t i = l->h->n; i-- > 0;)
    if (l->h->events[i].action == WF__SNAP_OOM) return i;
  return WF__NO_LIFE;
}

bool wf__dry_ran_as(const wf__dry_process *p, const wf_dry_device *d) {
  bool same_kind = !d->major || (p->major == d->major && p->minor == d->minor);
  return same_kind && p->memory_bytes == d->memory_bytes && p->context_bytes == d->context_bytes;
}

const char *wf__dry_own_name(const wf_dry_run *run, char text[WF__DRY_NAME]) {
  const wf__dry_process *p = wf__dry_main(run);
  char bytes[WF__UNIT_TEXT];
  for (int i = 0; i < run->options.device_count; i++)
    if (wf__dry_ran_as(p, &run->devices[i])) return run->devices[i].name;
  if (!p->memory_bytes) return run->devices[0].name; /* it asked nothing of CUDA */
  snprintf(text, WF__DRY_NAME, "%.40s with %s", wf__dry_string(run, p->gpu), wf__bytes_text(p->memory_bytes, bytes));
  return text;
}

/* It ran in the room of this device, whatever was added up of memory beside PyTorch's. */
static void take_room_it_ran_in(const wf__dry_place *place, wf__dry_answer *a) {
  uint64_t whole = wf__dry_whole_room(place, a->device), needs = a->needs < whole ? a->needs : whole;
  if (a->room < needs) a->room = needs;
}

/* What happened on the run's own device is known; for the others the history is played, as far as it goes. */
static wf_status judge(const looker *l, const wf__dry_place *place, int which, uint64_t room, wf__dry_answer *a) {
  const wf__dry_process *p = &l->run->processes.at[place->process];
  const wf_dry_device *d = &l->run->devices[which];
  wf__replay_result result = {0};
  uint32_t failed = event_without_memory(l);
  *a = (wf__dry_answer){.device = d,
                        .needs = place->needs,
                        .room = room,
                        .failure = failed,
                        .other_kind = l->run->answers[which].other_kind};
  bool alone = wf__dry_whole_room(place, d) <= room + place->outside, known = alone && wf__dry_ran_as(p, d);
  if (!known) WF__TRY(play(l, place, place->ties, bound_of(room), &result));
  if (result.failures) {
    a->fit = WF__DRY_FITS_NOT;
    a->failure = result.first_failure;
  } else if (failed != WF__NO_LIFE) {
    bool no_larger = wf__dry_whole_room(place, d) <= whole_room_of(place, p);
    a->fit = no_larger ? WF__DRY_FITS_NOT : WF__DRY_FIT_UNKNOWN;
  } else if (known) {
    take_room_it_ran_in(place, a);
  }
  if (a->fit == WF__DRY_FITS && a->needs > a->room) a->needs = a->room; /* which suffices */
  return WF_OK;
}

static int64_t spare(const wf__dry_answer *a) { return (int64_t)a->room - (int64_t)a->needs; }

static wf_status answer(const looker *l, uint32_t number, int which) {
  static const int gravity[] = {[WF__DRY_FITS] = 0, [WF__DRY_FIT_UNKNOWN] = 1, [WF__DRY_FITS_NOT] = 2};
  const wf__dry_place *place = &l->run->places.at[number];
  wf__dry_answer *worst = &l->run->answers[which], one;
  WF__TRY(judge(l, place, which, room_for(l->run, worst->device, place), &one));
  one.place = number;
  one.looked_at = true;
  bool worse = gravity[one.fit] > gravity[worst->fit] || (one.fit == worst->fit && spare(&one) < spare(worst));
  if (!worst->looked_at || worse) *worst = one;
  return WF_OK;
}

/* ---- histories -------------------------------------------------------------------------------------------------------- */

/* Which of the machine's devices it is, by the list that the process was given; one that says nothing of that has them as they come. */
static int number_of(const wf_dry_run *run, const wf__dry_process *p, int device) {
  const char *at = wf__dry_string(run, p->numbers);
  for (int i = 0; i < device && *at; i++) {
    at += strcspn(at, ",");
    at += *at == ',';
  }
  return *at ? atoi(at) : device;
}

static double share_of(const wf_dry_run *run, uint32_t process, const wf__history *h) {
  for (size_t i = run->shares.n; i-- > 0;)
    if (run->shares.at[i].process == process && run->shares.at[i].device == h->device)
      return run->shares.at[i].of_memory;
  return h->conf.fraction >= 0 ? h->conf.fraction : 1;
}

static wf_status add_place(wf_dry_run *run, uint32_t process, const wf__history *h) {
  looker l = {.run = run, .h = h};
  wf__dry_place *place = WF__SNAP_ADD(run->places);
  if (!place) return WF_NO_MEMORY;
  *place = (wf__dry_place){.process = process,
                           .device = h->device,
                           .number = number_of(run, &run->processes.at[process], h->device),
                           .events = h->n,
                           .begin_us = h->n ? h->events[0].time_us : 0,
                           .peak = h->peak,
                           .reserved = h->reserved_peak,
                           .share = share_of(run, process, h),
                           .out_of_memory = count_failures(h),
                           .deferred = count_deferred(h),
                           .outside = outside_bytes(run, &run->processes.at[process], h)};
  wf_replay *replayed = replay(&l, place, least_room(run), false);
  wf_status status = replayed ? wf__replay_start_make(&l.start, h) : wf_error_peek().status;
  if (!status) status = measure(&l, place, replayed);
  wf__replay_start_release(&l.start);
  wf_replay_free(replayed);
  return status;
}

static wf_status answer_place(wf_dry_run *run, uint32_t process, const wf__history *h) {
  looker l = {.run = run, .h = h};
  uint32_t number = 0;
  while (run->places.at[number].process != process || run->places.at[number].device != h->device) number++;
  wf_status status = wf__replay_start_make(&l.start, h);
  for (int i = 0; !status && i < run->options.device_count; i++) status = answer(&l, number, i);
  wf__replay_start_release(&l.start);
  return status;
}

/* The snapshot of a process; the one read last stays at hand, since a run mostly has one process. */
static wf_snapshot *snapshot_of(wf_dry_run *run, uint32_t process) {
  wf__dry_detail *d = &run->detail;
  char path[4096];
  if (d->snapshot && d->process == process) return d->snapshot;
  wf_snapshot_free(d->snapshot);
  snprintf(path, sizeof path, "%s/snapshot.%lld.pickle", run->folder, (long long)run->processes.at[process].pid);
  d->process = process;
  d->snapshot = wf_snapshot_read(path, NULL);
  return d->snapshot;
}

static bool has_allocations(const wf_snapshot *s, int device) {
  wf__snap_trace t = wf__snap_trace_of(s, device);
  for (uint32_t i = 0; i < t.count; i++)
    if (s->events.at[t.first + i].action == WF__SNAP_ALLOC || s->events.at[t.first + i].action == WF__SNAP_OOM)
      return true;
  return false;
}

/* Calls `fn` with the history of each device that the process used. */
static wf_status each_history(wf_dry_run *run, uint32_t process,
                              wf_status (*fn)(wf_dry_run *, uint32_t, const wf__history *)) {
  const wf_snapshot *s = snapshot_of(run, process);
  wf_status status = s ? WF_OK : wf_error_peek().status;
  for (uint32_t device = 0; !status && device < s->trace_count; device++) {
    wf__history h;
    if (!has_allocations(s, (int)device)) continue;
    WF__TRY(wf__history_make(&h, s, (int)device));
    status = fn(run, process, &h);
    wf__history_release(&h);
  }
  return status;
}

static wf_status each_process(wf_dry_run *run, double from, double to,
                              wf_status (*fn)(wf_dry_run *, uint32_t, const wf__history *)) {
  for (uint32_t i = 0; i < run->processes.n; i++) {
    WF__TRY(tell(run, from + (to - from) * i / (double)run->processes.n));
    if (run->processes.at[i].has_snapshot) WF__TRY(each_history(run, i, fn));
  }
  return tell(run, to);
}

/* ---- the detail ------------------------------------------------------------------------------------------------------- */

static wf_status look_closely(wf_dry_run *run) {
  const wf__dry_place *place = &run->places.at[run->main_place];
  wf__dry_detail *d = &run->detail;
  wf_memory_options o = wf_memory_defaults();
  o.device = place->device;
  o.rows = run->options.rows;
  if (!snapshot_of(run, place->process)) return wf_error_peek().status;
  run->snapshot_path = wf__strdup(d->snapshot->name);
  if (!run->snapshot_path) return WF_NO_MEMORY;
  WF__TRY(wf__memory_view_make(&d->view, d->snapshot, &o));
  run->has_detail = true;
  looker l = {.run = run, .h = &d->view.history};
  d->settings = replay(&l, place, least_room(run), run->options.search);
  if (!d->settings) return wf_error_peek().status;
  return wf__dry_find_roles(run);
}

static bool runs_torch(const wf_dry_run *run, const wf__dry_process *p) {
  return p->state && strcmp(wf__dry_string(run, p->state), "no torch");
}

/* The process to speak of: the one whose device holds most; without any, the one that ran torch and did most. */
static void choose_main(wf_dry_run *run) {
  for (uint32_t i = 0; i < run->places.n; i++)
    if (run->places.at[i].reserved > run->places.at[run->main_place].reserved) run->main_place = i;
  if (run->places.n) run->main_process = run->places.at[run->main_place].process;
  for (uint32_t i = 0; i < run->processes.n && !run->places.n; i++) {
    const wf__dry_process *best = wf__dry_main(run), *p = &run->processes.at[i];
    bool does = runs_torch(run, p), did = runs_torch(run, best);
    if (does != did ? does : p->row_count > best->row_count) run->main_process = i;
  }
}

wf_status wf__dry_find_places(wf_dry_run *run) {
  WF__TRY(each_process(run, 0, 0.3, add_place));
  choose_main(run);
  const wf__dry_process *own = wf__dry_main(run);
  for (int i = 0; i < run->options.device_count; i++) {
    const wf_dry_device *d = &run->devices[i];
    run->answers[i] = (wf__dry_answer){.device = d,
                                       .fit = run->places.n ? WF__DRY_FITS : WF__DRY_FIT_UNKNOWN,
                                       .failure = WF__NO_LIFE,
                                       .other_kind = d->major && own->major && d->major != own->major};
  }
  if (!run->places.n) return WF_OK;
  WF__TRY(each_process(run, 0.3, 0.5, answer_place));
  for (int i = 0; i < run->options.device_count; i++)
    run->answers[i].no_code = !wf__dry_has_code(run, &run->devices[i]);
  return look_closely(run);
}
