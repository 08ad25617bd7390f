/* What happened, added up: one row for each kind, name, device, step and line of the program, so that a long run takes little memory. The rows are
 * written to events.PID.jsonl in WEFT_DRY_DIR: at the end of each of the first steps, later at most once in two seconds, at the end of the process, at a fatal signal. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/host.h"
#include "dryrun/locks.h"
#include "dryrun/python_frames.h"
#include "dryrun/stand_in.h"
#include "format/atomic_file.h"
#include "format/json_writer.h"
#include "format/string_set.h"

typedef struct row {
  const char *kind, *why;
  uint32_t what, line;
  int device, step;
  bool blocking;
  int64_t count, bytes;
} row;

static struct {
  row *rows;
  uint32_t *slots; /* row + 1 by hash; 0: free */
  size_t count, room;
  wf__string_set names;
  bool lost; /* the host had no memory for a row */
  _Atomic time_t written;
} counts;
static atomic_int steps;
static _Atomic uint64_t happenings;

/* ---- adding; the caller holds the lock ---- */

static size_t hash_of(const row *r) {
  uint64_t h = (uintptr_t)r->kind ^ ((uint64_t)r->what << 32 | r->line);
  h = (h ^ (uint64_t)r->device << 20 ^ (uint64_t)r->step << 40 ^ (uint64_t)r->blocking) * 0x9e3779b97f4a7c15u;
  return (size_t)(h ^ h >> 29);
}

static bool same(const row *a, const row *b) {
  return a->kind == b->kind && a->what == b->what && a->line == b->line && a->device == b->device &&
         a->step == b->step && a->blocking == b->blocking;
}

static bool grow(void) {
  size_t room = counts.room ? counts.room * 2 : 1024;
  row *rows = wf__realloc(counts.rows, room * sizeof *rows);
  if (rows) counts.rows = rows;
  uint32_t *slots = rows ? wf__calloc(room * 2, sizeof *slots) : NULL;
  if (!slots) return wf_error_take(), false;
  for (size_t i = 0; i < counts.count; i++) {
    size_t at = hash_of(&rows[i]) & (room * 2 - 1);
    while (slots[at]) at = (at + 1) & (room * 2 - 1);
    slots[at] = (uint32_t)i + 1;
  }
  wf__release(counts.slots);
  counts.slots = slots;
  counts.room = room;
  return true;
}

static row *row_for(const row *wanted) {
  if (counts.count == counts.room && !grow()) return NULL;
  size_t mask = counts.room * 2 - 1, at = hash_of(wanted) & mask;
  for (; counts.slots[at]; at = (at + 1) & mask)
    if (same(&counts.rows[counts.slots[at] - 1], wanted)) return &counts.rows[counts.slots[at] - 1];
  counts.rows[counts.count] = *wanted;
  counts.slots[at] = (uint32_t)++counts.count;
  return &counts.rows[counts.count - 1];
}

static void add(const wf__dry_happening *h, uint32_t line, int step) {
  uint32_t what = wf__string_set_add(&counts.names, h->what, strlen(h->what));
  row wanted = {.kind = h->kind,
                .why = h->why,
                .what = what,
                .line = line,
                .device = h->device,
                .step = step,
                .blocking = h->blocking};
  row *r = what == UINT32_MAX ? NULL : row_for(&wanted);
  if (what == UINT32_MAX) wf_error_take();
  if (!r) {
    counts.lost = true;
    return;
  }
  r->count++;
  if (!h->why) r->bytes += h->bytes;
  else if (r->bytes < h->bytes) r->bytes = h->bytes;
}

uint64_t wf__dry_happenings(void) { return atomic_load(&happenings); }

void wf__dry_count(const wf__dry_happening *happening) {
  uint32_t line = wf__dry_python_line();
  atomic_fetch_add(&happenings, 1);
  wf__dry_lock(DRY_LOCK_COUNTS);
  add(happening, line, atomic_load(&steps));
  wf__dry_unlock(DRY_LOCK_COUNTS);
}

void wf__dry_work_space(int64_t bytes) {
  char size[24]; /* rows are told apart by name */
  snprintf(size, sizeof size, "%lld", (long long)bytes);
  if (bytes > 0)
    wf__dry_count(
        &(wf__dry_happening){.kind = "workspace", .what = size, .bytes = bytes, .device = wf__dry_current_device()});
}

void wf__dry_limit(const char *what, const char *why) { wf__dry_limit_up_to(what, why, 0); }
void wf__dry_limit_up_to(const char *what, const char *why, int64_t bytes) {
  if (wf__dry_inside) return;
  wf__dry_count(&(wf__dry_happening){
      .kind = "limit", .what = what, .why = why, .bytes = bytes, .device = wf__dry_current_device()});
}

/* ---- writing ---- */

static void write_line(wf__json *json, FILE *stream) {
  wf__json_object_end(json);
  wf__json_end(json);
  fputc('\n', stream);
}

static void begin_line(wf__json *json, FILE *stream, const char *kind) {
  wf__json_begin(json, NULL, stream, 0);
  wf__json_object(json);
  wf__json_member_string(json, "kind", kind);
}

static void write_arguments(wf__json *json) {
  char text[4096];
  FILE *file = fopen("/proc/self/cmdline", "rb");
  size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file) fclose(file);
  text[n] = 0;
  wf__json_key(json, "argv");
  wf__json_array(json);
  for (size_t at = 0; at < n; at += strlen(text + at) + 1) wf__json_string(json, text + at);
  wf__json_array_end(json);
}

/* "1,0": the numbers on the machine of the devices that the program sees. */
static void write_numbers(wf__json *json) {
  char text[DRY_DEVICES * 4 + 1] = "";
  int n = 0;
  for (int i = 0; i < wf__dry_settings_get()->devices; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%s%d", i ? "," : "", wf__dry_number(i));
  wf__json_member_string(json, "numbers", text);
}

static void write_head(wf__json *json, FILE *stream, const char *ended) {
  const wf__dry_settings *s = wf__dry_settings_get();
  begin_line(json, stream, "run");
  wf__json_member_int(json, "pid", getpid());
  write_arguments(json);
  wf__json_member_int(json, "runtime", wf__dry_runtime());
  wf__json_member_string(json, "ended", ended);
  wf__json_member_int(json, "steps", atomic_load(&steps));
  wf__json_member_string(json, "events", s->lazy_events ? "lazy" : "eager");
  wf__json_member_bool(json, "complete", !counts.lost);
  write_line(json, stream);
  begin_line(json, stream, "device");
  wf__json_member_string(json, "name", s->gpu.name);
  wf__json_member_string(json, "title", s->gpu.title);
  wf__json_member_int(json, "count", s->devices);
  write_numbers(json);
  wf__json_member_int(json, "major", s->gpu.major);
  wf__json_member_int(json, "minor", s->gpu.minor);
  wf__json_member_int(json, "memory", s->memory);
  wf__json_member_int(json, "context", s->gpu.context_bytes);
  write_line(json, stream);
}

static void write_row(wf__json *json, FILE *stream, const row *r, bool lines) {
  wf__dry_line line = {.line = 0};
  if (lines) wf__dry_line_of(r->line, &line);
  begin_line(json, stream, r->kind);
  wf__json_member_string(json, "what", wf__string_set_text(&counts.names, r->what));
  if (r->why) wf__json_member_string(json, "why", r->why);
  wf__json_member_int(json, "device", r->device);
  wf__json_member_int(json, "step", r->step);
  wf__json_member_string(json, "file", line.file);
  wf__json_member_int(json, "line", line.line);
  wf__json_member_string(json, "function", line.function);
  wf__json_member_int(json, "count", r->count);
  wf__json_member_int(json, "bytes", r->bytes);
  wf__json_member_bool(json, "blocking", r->blocking);
  write_line(json, stream);
}

/* Not among the rows: what is unknown now may be known later. */
static void write_unread(wf__json *json, FILE *stream) {
  static const char what[] = "lines";
  row r = {.kind = "limit", .why = wf__python_unread(), .count = 1};
  if (!r.why) return;
  r.what = wf__string_set_add(&counts.names, what, strlen(what));
  if (r.what == UINT32_MAX) wf_error_take();
  else write_row(json, stream, &r, false);
}

static void write_all(const char *ended) {
  const char *folder = wf__dry_settings_get()->folder;
  char path[4096];
  wf__atomic_file file;
  wf__json json;
  if (!folder || !counts.count) return;
  snprintf(path, sizeof path, "%s/events.%d.jsonl", folder, (int)getpid());
  if (wf__atomic_open(&file, path) == WF_OK) {
    bool lines = wf__dry_lock_soon(DRY_LOCK_LINES); /* without them is better than not at all */
    write_head(&json, file.stream, ended);
    for (size_t i = 0; i < counts.count; i++) write_row(&json, file.stream, &counts.rows[i], lines);
    write_unread(&json, file.stream);
    if (lines) wf__dry_unlock(DRY_LOCK_LINES);
    wf__atomic_commit(&file);
  }
  wf_error_take();
  counts.written = time(NULL);
}

/* A signal may have come while this very thread held the lock: then the rows may be in the middle of a change, and nothing is written. */
void wf__dry_write(const char *ended, const wf__dry_happening *last) {
  uint32_t line = last ? wf__dry_python_line() : 0;
  if (!wf__dry_lock_soon(DRY_LOCK_COUNTS)) return;
  if (last) add(last, line, atomic_load(&steps));
  write_all(ended);
  wf__dry_unlock(DRY_LOCK_COUNTS);
}

DRY_API void weft_dry_step(void) {
  enum { FIRST = 16, SECONDS = 2 };
  int step = atomic_fetch_add(&steps, 1);
  if (step < FIRST || time(NULL) - counts.written >= SECONDS) wf__dry_write("running", NULL);
}
DRY_API int weft_dry_steps(void) { return atomic_load(&steps); }

/* ---- beginning and end of the process ---- */

static pid_t owner; /* whose the counts are: a child of vfork has its parent's memory, and isn't told */

/* A child starts with nothing: what its parent did is its parent's. */
static void forget_in_child(void) {
  owner = getpid();
  counts.count = 0;
  atomic_store(&steps, 0);
  if (counts.slots) memset(counts.slots, 0, counts.room * 2 * sizeof *counts.slots);
}

__attribute__((constructor)) static void begin(void) {
  owner = getpid();
  pthread_atfork(NULL, NULL, forget_in_child);
}
bool wf__dry_counts_are_ours(void) { return owner == getpid(); }
__attribute__((destructor)) static void end(void) { wf__dry_write("exit", NULL); }
