/* First the recording itself, by each of the rules that PyTorch's releases had for equal blocks; then the settings; for each the least
 * memory that suffices, by halving between what was allocated and what is reserved when there is no end of it. */
#include "audit/replay_search.h"

#include <stdio.h>

#include "audit/memory_view.h"
#include "base/host.h"

/* Worth trying, the plainest first: a later one must be better to be recommended. */
static const char *const candidates[] = {
    "expandable_segments:True",    "max_split_size_mb:512",
    "max_split_size_mb:256",       "max_split_size_mb:128",
    "max_split_size_mb:64",        "max_split_size_mb:32",
    "roundup_power2_divisions:16", "roundup_power2_divisions:8",
    "roundup_power2_divisions:4",  "max_split_size_mb:128,roundup_power2_divisions:8"};
enum { CANDIDATES = sizeof candidates / sizeof *candidates, HALVINGS = 9 };

typedef struct searcher {
  wf_replay *r;
  const wf__history *h;
  const wf__replay_start *start;
  const wf_replay_options *o;
  int64_t done, all;
  uint64_t had; /* by the process; 0: not known */
} searcher;

static wf_status tell(searcher *s, int64_t steps) {
  s->done += steps;
  if (s->o->progress && !s->o->progress(s->o->context, s->done < s->all ? s->done : s->all, s->all))
    return wf__fail(WF_CANCELLED, "%s: the replay was stopped", s->r->name);
  return WF_OK;
}

static wf_status play(searcher *s, const char *conf, uint64_t memory, wf__replay_result *result) {
  WF__TRY(tell(s, 1));
  return wf__replay_play(
      s->h, s->start,
      &(wf__replay_setup){
          .conf = conf, .ties = s->r->ties, .memory = memory, .total = memory ? memory : s->r->memory, .had = s->had},
      result);
}

/* Beside the recording. */
static wf_status follow(searcher *s) {
  static const wf_allocator_ties rules[] = {WF_TIES_ADDRESS, WF_TIES_AGE, WF_TIES_BLOCK};
  bool any = false;
  for (size_t i = 0; i < 3; i++) {
    wf__replay_result result;
    wf__replay_setup setup = {
        .conf = s->r->recorded_conf, .ties = rules[i], .total = s->r->memory, .had = s->had, .follow = true};
    WF__TRY(tell(s, 1));
    WF__TRY(wf__replay_play(s->h, s->start, &setup, &result));
    bool better = !any || result.same > s->r->follow.same ||
                  (result.same == s->r->follow.same && result.other_driver < s->r->follow.other_driver);
    if (better) {
      s->r->follow = result;
      s->r->ties = rules[i];
    }
    any = true;
    if (wf__replay_exact(&result)) break;
  }
  return WF_OK;
}

/* Least memory with which nothing fails, to 2 MiB or a thousandth. */
static wf_status find_need(searcher *s, wf__replay_row *row) {
  uint64_t low = row->free_run.peak_allocated, high = row->free_run.peak_reserved;
  int64_t before = s->done;
  wf__replay_result least;
  low = (low + WF__SEGMENT_STEP - 1) / WF__SEGMENT_STEP * WF__SEGMENT_STEP;
  if (low < high) WF__TRY(play(s, row->conf, low, &least));
  if (low < high && !least.failures) high = low;
  for (int i = 0; i < HALVINGS && high - low > WF__SEGMENT_STEP && high - low > high / 1000; i++) {
    uint64_t middle = (low + (high - low) / 2) / WF__SEGMENT_STEP * WF__SEGMENT_STEP;
    wf__replay_result result;
    if (middle <= low) break;
    WF__TRY(play(s, row->conf, middle, &result));
    if (result.failures) low = middle;
    else high = middle;
  }
  row->needs = high;
  return tell(s, before + HALVINGS + 1 - s->done);
}

static wf_status add_row(searcher *s, const char *conf, bool recorded) {
  for (size_t i = 0; i < s->r->rows.n; i++)
    if (!strcmp(s->r->rows.at[i].conf, conf)) return WF_OK;
  wf__replay_row *row = WF__SNAP_ADD(s->r->rows);
  if (!row) return WF_NO_MEMORY;
  *row = (wf__replay_row){.conf = wf__strdup(conf), .recorded = recorded};
  if (!row->conf) return WF_NO_MEMORY;
  WF__TRY(play(s, conf, 0, &row->free_run));
  if (s->r->memory) WF__TRY(play(s, conf, s->r->memory, &row->limited));
  return find_need(s, row);
}

/* The memory that the process had: what an out of memory found free, and what was reserved then. */
static void see_memory(searcher *s) {
  for (uint32_t i = 0; i < s->h->n; i++) {
    const wf__snap_event *e = &s->h->events[i];
    if (e->action != WF__SNAP_OOM || s->r->is_log) continue;
    s->r->memory = e->address + wf__sums_at(s->h, i).reserved;
    s->r->memory_seen = true;
    break;
  }
  s->had = s->o->recorded_memory > 0 ? (uint64_t)s->o->recorded_memory : s->r->memory;
}

/* The first that needs clearly less than the recorded settings do; 2 % is noise. Settings under which requests fail that need no more
 * memory (expandable segments on a device without room for one) need nothing, and help nobody. */
static void choose(wf_replay *r) {
  uint64_t best = r->rows.at[0].needs;
  r->best = 0;
  for (size_t i = 1; i < r->rows.n; i++)
    if (!r->rows.at[i].free_run.failures && r->rows.at[i].needs < best - best / 50) {
      best = r->rows.at[i].needs;
      r->best = (int)i;
    }
}

static wf_status run(searcher *s) {
  int rows = 1 + s->o->conf_count + (s->o->search ? CANDIDATES + 1 : 0);
  s->all = 3 + rows * (int64_t)(HALVINGS + 3);
  see_memory(s);
  if (!s->r->is_log) WF__TRY(follow(s));
  if (s->o->memory > 0) {
    s->r->memory = (uint64_t)s->o->memory;
    s->r->memory_seen = false;
  }
  WF__TRY(add_row(s, s->r->recorded_conf, true));
  for (int i = 0; i < s->o->conf_count; i++) WF__TRY(add_row(s, s->o->confs[i], false));
  if (s->o->search) WF__TRY(add_row(s, "", false));
  for (int i = 0; s->o->search && i < CANDIDATES; i++) WF__TRY(add_row(s, candidates[i], false));
  choose(s->r);
  return WF_OK;
}

/* Takes the share of the memory out of settings: whoever says what could be had means what the share left. */
static void drop_fraction(char *conf) {
  static const char key[] = "per_process_memory_fraction";
  for (char *at = conf ? strstr(conf, key) : NULL; at; at = strstr(conf, key)) {
    size_t n = strcspn(at, ",");
    if (at[n]) n++;
    else if (at > conf) at--, n++;
    memmove(at, at + n, strlen(at + n) + 1);
  }
}

/* The text as it was set; else one made of the fields. */
static char *recorded_conf(const wf__history *h) {
  const wf__snap_settings *s = &h->snapshot->settings;
  char text[160] = "";
  const char *given = wf__snap_text(h->snapshot, s->conf);
  if (*given && !h->conf_bad) return wf__strdup(given);
  if (s->max_split > 0) snprintf(text, sizeof text, "max_split_size_mb:%lld", (long long)(s->max_split >> 20));
  if (s->expandable)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%sexpandable_segments:True", *text ? "," : "");
  return wf__strdup(text);
}

static wf_status check_confs(const wf_replay_options *o) {
  for (int i = 0; i < o->conf_count; i++) {
    wf__conf conf;
    if (wf__conf_parse(&conf, o->confs[i])) return wf_error_peek().status;
  }
  return WF_OK;
}

wf_replay *wf_replay_history(const wf_snapshot *snapshot, const wf_replay_options *options) {
  wf_replay_options o = options ? *options : (wf_replay_options){.device = -1};
  wf__history h;
  wf__replay_start start = {0};
  if (check_confs(&o)) return NULL;
  if (wf__history_make(&h, snapshot, o.device < 0 ? wf__main_device(snapshot) : o.device)) return NULL;
  wf_replay *r = wf__calloc(1, sizeof *r);
  wf_status status = r ? WF_OK : WF_NO_MEMORY;
  if (!status && !h.n) {
    status = wf__fail(WF_VALUE, "%s: no history was recorded, so there is nothing to replay", snapshot->name);
    wf__hint("call torch.cuda.memory._record_memory_history() before what should be looked at");
  }
  if (!status) status = wf__replay_start_make(&start, &h);
  if (!status) {
    r->name = wf__strdup(snapshot->name);
    r->recorded_conf = recorded_conf(&h);
    if (o.recorded_memory > 0 && h.conf.garbage_collection <= 0)
      drop_fraction(r->recorded_conf); /* which garbage goes by */
    r->is_log = snapshot->is_log;
    r->conf_known = h.conf_known;
    r->conf_bad = h.conf_bad;
    r->events = h.n;
    r->unmatched = h.unmatched;
    r->guessed = start.guessed;
    r->private_segments = start.private_segments;
    r->from_start = !start.segments.n;
    r->expandable_start = start.expandable;
    r->recorded_peak = h.peak;
    r->recorded_reserved = h.reserved_peak;
    searcher s = {.r = r, .h = &h, .start = &start, .o = &o};
    status = r->name && r->recorded_conf ? run(&s) : WF_NO_MEMORY;
  }
  wf__replay_start_release(&start);
  wf__history_release(&h);
  if (!status) return r;
  wf_replay_free(r);
  return NULL;
}

void wf_replay_free(wf_replay *r) {
  if (!r) return;
  for (size_t i = 0; i < r->rows.n; i++) wf__release(r->rows.at[i].conf);
  wf__release(r->rows.at);
  wf__release(r->name);
  wf__release(r->recorded_conf);
  wf__release(r);
}

const char *wf__replay_why(const char *conf) {
  if (strstr(conf, "expandable_segments:True"))
    return "Segments grow where they are, so blocks of any size share one stretch of memory and none is left over between segments.";
  if (strstr(conf, "max_split_size_mb") && strstr(conf, "roundup"))
    return "Large blocks stay whole and sizes fall into few classes, so that what is freed fits what is asked for next.";
  if (strstr(conf, "max_split_size_mb"))
    return "Larger blocks are no longer cut for small requests, so that they can be used again, or go back, as a whole.";
  if (strstr(conf, "roundup_power2_divisions"))
    return "Sizes fall into few classes, so that what is freed fits what is asked for next.";
  return "";
}
