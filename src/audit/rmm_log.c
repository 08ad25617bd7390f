/* RMM's allocation log: a line an event, "Thread,Time,Action,Pointer,Size,Stream". Times are of the day; a smaller one than before is
 * the next day. It knows no segments and no stacks, so who asked is the thread. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "audit/snapshot.h"
#include "base/host.h"

#define LINE_MAX_BYTES 512
#define DAY_US 86400000000

typedef struct reader {
  wf_snapshot *s;
  int64_t line, day, before; /* us: days passed, time of day of the line before */
} reader;

static wf_status bad_line(const reader *r, const char *what) {
  wf__fail(WF_VALUE, "%s:%lld: not a line of an RMM log: %s", r->s->name, (long long)r->line, what);
  wf__hint("RMM writes one with RMM_LOG_FILE; of a log that is cut off, remove the last line");
  return WF_VALUE;
}

/* "12:34:56.123456" or with a colon before the fraction. */
static bool parse_time(const char *text, int64_t *us) {
  int h, m, sec, n = 0;
  char fraction[16] = "";
  if (sscanf(text, "%2d:%2d:%2d%n", &h, &m, &sec, &n) != 3 || h < 0 || m < 0 || sec < 0) return false;
  if (text[n] == '.' || text[n] == ':') sscanf(text + n + 1, "%15[0-9]", fraction);
  int64_t scale = 100000, part = 0;
  for (const char *c = fraction; *c; c++, scale /= 10) part += scale * (*c - '0');
  *us = ((int64_t)h * 3600 + m * 60 + sec) * 1000000 + part;
  return true;
}

static bool parse_number(const char *text, uint64_t *value) {
  char *end;
  if (!strcmp(text, "(nil)")) return *value = 0, true;
  *value = strtoull(text, &end, 0);
  return end != text && !*end;
}

/* The thread as the only frame of a stack. */
static wf_status thread_stack(wf_snapshot *s, const char *thread, uint32_t *stack) {
  char text[64];
  int n = snprintf(text, sizeof text, "thread %.40s", thread);
  wf__snap_frame frame = {.function = wf__string_set_add(&s->strings, text, (size_t)n)};
  uint32_t number = wf__string_set_add(&s->frames, (const char *)&frame, sizeof frame);
  *stack = wf__string_set_add(&s->stacks, (const char *)&number, sizeof number);
  return frame.function == UINT32_MAX || number == UINT32_MAX || *stack == UINT32_MAX ? WF_NO_MEMORY : WF_OK;
}

static wf_status add(wf_snapshot *s, wf__snap_event e, wf__snap_action action) {
  e.action = (uint8_t)action;
  if (s->events.n == UINT32_MAX) return wf__fail(WF_VALUE, "%s: more than 4294967294 events", s->name);
  wf__snap_event *place = WF__SNAP_ADD(s->events);
  if (!place) return WF_NO_MEMORY;
  *place = e;
  return WF_OK;
}

static wf_status take_line(reader *r, char *line) {
  char *field[6], *at = line;
  for (int i = 0; i < 6; i++) {
    field[i] = strsep(&at, ",");
    if (!field[i]) return bad_line(r, "six fields were expected");
  }
  wf__snap_event e = {0};
  uint64_t stream;
  if (!parse_time(field[1], &e.time_us)) return bad_line(r, "its time can't be read");
  if (e.time_us < r->before - DAY_US / 2 && r->day < INT64_MAX / 2) r->day += DAY_US;
  r->before = e.time_us;
  e.time_us += r->day;
  if (!parse_number(field[3], &e.address) || !parse_number(field[4], &e.size) || !parse_number(field[5], &stream))
    return bad_line(r, "a number can't be read");
  if (e.size >> 60) return bad_line(r, "a size is beyond all memory");
  e.stream = wf__snap_stream_number(r->s, stream);
  if (e.stream == UINT32_MAX) return wf_error_peek().status;
  WF__TRY(thread_stack(r->s, field[0], &e.stack));
  if (!strcmp(field[2], "allocate")) return add(r->s, e, WF__SNAP_ALLOC);
  if (!strcmp(field[2], "allocate failure")) {
    e.address = 0;
    return add(r->s, e, WF__SNAP_OOM);
  }
  if (strcmp(field[2], "free") && strcmp(field[2], "deallocate")) return bad_line(r, "its action isn't known");
  return add(r->s, e, WF__SNAP_FREE_REQUESTED);
}

wf_status wf__snap_read_log(wf_snapshot *s, wf__input *input, const wf_snapshot_options *options) {
  reader r = {.s = s};
  char buffer[1 << 14], line[LINE_MAX_BYTES];
  size_t used = 0;
  int64_t got, told = 0;
  s->is_log = true;
  while ((got = wf__input_read(input, buffer, sizeof buffer)) > 0) {
    for (int64_t i = 0; i < got; i++) {
      if (buffer[i] != '\n') {
        if (used + 1 == sizeof line) return bad_line(&r, "it is too long");
        if (buffer[i] != '\r') line[used++] = buffer[i];
        continue;
      }
      line[used] = 0;
      if (r.line++ && used) WF__TRY(take_line(&r, line)); /* the first is the head */
      used = 0;
    }
    if (options && options->progress && wf__input_position(input) - told > 1 << 20 &&
        !options->progress(options->context, told = wf__input_position(input)))
      return wf__fail(WF_CANCELLED, "%s: reading was stopped", s->name);
  }
  if (got < 0) return wf_error_peek().status;
  line[used] = 0;
  if (r.line++ && used) WF__TRY(take_line(&r, line));
  wf__snap_trace *trace = WF__SNAP_ADD(s->all_traces);
  if (!trace) return WF_NO_MEMORY;
  *trace = (wf__snap_trace){0, (uint32_t)s->events.n};
  s->trace_count = 1;
  return WF_OK;
}
