/* Reads a trace: the top of the file, the list of events, and what of each event is kept. One event costs one pass over its text and
 * one look-up of its name. What is damaged is passed over and counted. */
#include <string.h>

#include "audit/kineto.h"
#include "base/host.h"

#define PROGRESS_EVENTS 8192
#define ROWS_MAX 65535

/* An event as the file says it. */
typedef struct raw {
  char phase;
  uint8_t cat;
  bool has_name, has_start, has_args;
  uint32_t name;
  uint64_t pid, tid;
  int64_t start, dur;
  wf__arguments args;
} raw;

/* ---- rows --------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a) {
  a = (a ^ a >> 32) * UINT64_C(0xd6e8feb86659fd93);
  return a ^ a >> 32;
}

static uint32_t *row_slot(const wf__kineto *k, uint64_t pid, uint64_t tid) {
  for (uint64_t i = mix(pid * 3 + mix(tid)) & (k->row_slot_count - 1);; i = (i + 1) & (k->row_slot_count - 1)) {
    uint32_t have = k->row_slots[i];
    if (have == WF__NO_EVENT || (k->rows[have].pid == pid && k->rows[have].tid == tid)) return &k->row_slots[i];
  }
}

static wf_status grow_row_slots(wf__kineto *k) {
  uint32_t count = k->row_slot_count ? 2 * k->row_slot_count : 64;
  uint32_t *slots = wf__malloc(count * sizeof *slots);
  if (!slots) return WF_NO_MEMORY;
  memset(slots, 0xff, count * sizeof *slots);
  wf__release(k->row_slots);
  k->row_slots = slots;
  k->row_slot_count = count;
  for (uint32_t i = 0; i < k->row_count; i++) *row_slot(k, k->rows[i].pid, k->rows[i].tid) = i;
  return WF_OK;
}

/* The row of an event, made when it is new. ROWS_MAX when there are too many; -1 on WF_NO_MEMORY. */
static int64_t row_of(wf__kineto *k, const raw *e) {
  if (k->row_count) {
    uint32_t have = *row_slot(k, e->pid, e->tid);
    if (have != WF__NO_EVENT) return have;
  }
  if (k->row_count == ROWS_MAX) return ROWS_MAX;
  if (2 * (k->row_count + 1) > k->row_slot_count && grow_row_slots(k)) return -1;
  if (k->row_count == k->row_room) {
    uint32_t room = k->row_room ? 2 * k->row_room : 16;
    wf__row *rows = wf__realloc(k->rows, room * sizeof *rows);
    if (!rows) return -1;
    k->rows = rows;
    k->row_room = room;
  }
  *row_slot(k, e->pid, e->tid) = k->row_count;
  k->rows[k->row_count] = (wf__row){.pid = e->pid, .tid = e->tid, .device = -1, .open = WF__NO_EVENT};
  return k->row_count++;
}

/* ---- one event ---------------------------------------------------------------------------------------------------- */

static uint8_t category_of(const wf__scanner *s) {
  static const struct {
    const char *name;
    wf__category cat;
  } table[] = {{"cpu_op", WF__CAT_OPERATOR},
               {"python_function", WF__CAT_PYTHON},
               {"user_annotation", WF__CAT_ANNOTATION},
               {"cuda_runtime", WF__CAT_RUNTIME},
               {"cuda_driver", WF__CAT_RUNTIME},
               {"hip_runtime", WF__CAT_RUNTIME},
               {"privateuse1_runtime", WF__CAT_RUNTIME},
               {"kernel", WF__CAT_KERNEL},
               {"gpu_memcpy", WF__CAT_TRANSFER},
               {"gpu_memset", WF__CAT_FILL},
               {"cpu_instant_event", WF__CAT_MEMORY},
               {"Operator", WF__CAT_OPERATOR}, /* PyTorch before 1.13 */
               {"Memcpy", WF__CAT_TRANSFER},
               {"Memset", WF__CAT_FILL},
               {"Kernel", WF__CAT_KERNEL},
               {"Runtime", WF__CAT_RUNTIME}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (wf__scan_is(s, table[i].name, strlen(table[i].name))) return (uint8_t)table[i].cat;
  return WF__CAT_OTHER;
}

/* A pid or tid: a number, or a text by its hash. */
static bool read_id(wf__scanner *s, uint64_t *id) {
  wf__json_type type = wf__scan_value(s);
  int64_t number;
  if (type == WF__JSON_NUMBER && wf__json_to_int(s->text, s->size, &number)) {
    *id = (uint64_t)number;
    return true;
  }
  if (type == WF__JSON_STRING) {
    *id = UINT64_C(0x8000000000000001);
    for (size_t i = 0; i < s->size; i++) *id = (*id ^ (unsigned char)s->text[i]) * UINT64_C(0x100000001b3);
    return true;
  }
  return wf__scan_skip(s, type);
}

static bool read_time(wf__scanner *s, int64_t *ns, bool *has) {
  wf__json_type type = wf__scan_value(s);
  bool good = (type == WF__JSON_NUMBER || type == WF__JSON_STRING) && wf__json_to_ns(s->text, s->size, ns);
  if (has) *has = good;
  return wf__scan_skip(s, type);
}

static bool read_string_value(wf__scanner *s) {
  wf__json_type type = wf__scan_value(s);
  if (type == WF__JSON_STRING) return true;
  s->size = 0;
  return wf__scan_skip(s, type);
}

static bool read_args(wf__kineto *k, wf__scanner *s, raw *e) {
  wf__json_type type = wf__scan_value(s);
  if (type != WF__JSON_OBJECT) return wf__scan_skip(s, type);
  if (e->phase == 'M' || e->phase == 's' || e->phase == 'f') return wf__scan_skip(s, type);
  /* Where the name comes behind, it may yet be a copy's. */
  bool copy = !e->has_name || wf__meaning_of(&k->names, e->name) == WF__MEANS_COPY;
  return wf__kineto_args(k, s, copy, &e->args);
}

static bool read_member(wf__kineto *k, wf__scanner *s, raw *e) {
  if (WF__SCAN_IS(s, "ph")) {
    if (!read_string_value(s)) return false;
    e->phase = s->size == 1 ? *s->text : 0;
    return true;
  }
  if (WF__SCAN_IS(s, "cat")) {
    if (!read_string_value(s)) return false;
    e->cat = category_of(s);
    return true;
  }
  if (WF__SCAN_IS(s, "name")) {
    if (!read_string_value(s)) return false;
    if (e->phase == 'M' || e->phase == 's' || e->phase == 'f') return true;
    e->name = wf__names_add(&k->names, s->text, s->size);
    e->has_name = true;
    return e->name != WF__NO_NAME;
  }
  if (WF__SCAN_IS(s, "pid")) return read_id(s, &e->pid);
  if (WF__SCAN_IS(s, "tid")) return read_id(s, &e->tid);
  if (WF__SCAN_IS(s, "ts")) return read_time(s, &e->start, &e->has_start);
  if (WF__SCAN_IS(s, "dur")) return read_time(s, &e->dur, NULL);
  if (WF__SCAN_IS(s, "args")) return read_args(k, s, e);
  return wf__scan_skip(s, wf__scan_value(s));
}

/* ---- keeping it --------------------------------------------------------------------------------------------------- */

static wf_status grow_events(wf__kineto *k) {
  uint32_t room = k->room ? k->room + k->room / 2 : 4096;
  if (k->room > WF__NO_EVENT / 2) return wf__fail(WF_VALUE, "%s: more than two thousand million events", k->path);
  wf__event *events = wf__realloc(k->events, room * sizeof *events);
  if (!events) return WF_NO_MEMORY;
  k->events = events;
  k->room = room;
  return WF_OK;
}

static void note_peak(wf__kineto *k, const wf__arguments *a) {
  int64_t device = a->device_type == 0 ? -1 : a->device_id;
  wf__peak *p = NULL;
  for (int i = 0; i < k->peak_count && !p; i++)
    if (k->peaks[i].device == device) p = &k->peaks[i];
  if (!p && k->peak_count < WF__PEAKS_MAX) {
    p = &k->peaks[k->peak_count++];
    *p = (wf__peak){.device = device};
  }
  k->has_memory = true;
  if (p && a->has_total && a->total > p->total) p->total = a->total;
}

static uint32_t link_of(int64_t n) { return n > 0 && n < WF__NO_EVENT - 1 ? (uint32_t)n : 0; }

static void fill_in(wf__kineto *k, wf__event *out, const raw *e) {
  const wf__arguments *a = &e->args;
  switch (e->cat) {
    case WF__CAT_OPERATOR:
      out->link = link_of(a->sequence + 1);
      if (a->forward_thread > 0) out->flags |= WF__EVENT_BACKWARD;
      if (wf__meaning_of(&k->names, e->name) == WF__MEANS_COPY) {
        out->value = wf__shape_pack(&a->shape);
        if (a->shape.elements >= 0) k->has_shapes = true;
      }
      return;
    case WF__CAT_PYTHON:
      out->value = a->call_from;
      k->has_stacks = true;
      if (wf__meaning_of(&k->names, e->name) == WF__MEANS_MODULE) k->has_modules = true;
      return;
    case WF__CAT_RUNTIME:
      out->link = link_of(a->correlation);
      if (!k->has_hip && !strncmp(k->names.at[e->name].text, "hip", 3)) k->has_hip = true;
      return;
    case WF__CAT_KERNEL:
    case WF__CAT_TRANSFER:
    case WF__CAT_FILL:
      out->link = link_of(a->correlation);
      out->value = a->bytes;
      k->has_device = true;
      k->rows[out->lane].device = a->device >= 0 ? a->device : (int64_t)(e->pid & INT32_MAX);
      return;
    case WF__CAT_MEMORY:
      out->value = a->bytes;
      note_peak(k, a);
      return;
    default: return;
  }
}

static bool is_kept(const wf__kineto *k, const raw *e) {
  if (e->cat == WF__CAT_MEMORY) return e->phase == 'i' && wf__meaning_of(&k->names, e->name) == WF__MEANS_MEMORY;
  return e->cat != WF__CAT_OTHER && (e->phase == 'X' || e->phase == 'B');
}

/* The end of what began by "B" in the same row. */
static void close_open(wf__kineto *k, const raw *e) {
  if (!k->row_count) return;
  uint32_t have = *row_slot(k, e->pid, e->tid);
  if (have == WF__NO_EVENT || k->rows[have].open == WF__NO_EVENT) return;
  wf__event *begun = &k->events[k->rows[have].open];
  begun->dur = e->start > begun->start ? e->start - begun->start : 0;
  begun->flags &= (uint8_t)~WF__EVENT_OPEN;
  k->rows[have].open = begun->parent;
}

static wf_status keep(wf__kineto *k, const raw *e) {
  if (k->n == k->room) WF__TRY(grow_events(k));
  int64_t row = row_of(k, e);
  if (row < 0) return WF_NO_MEMORY;
  if (row == ROWS_MAX) {
    k->skipped++;
    return WF_OK;
  }
  wf__event *out = &k->events[k->n];
  *out = (wf__event){.start = e->start, .dur = e->dur, .name = e->name, .lane = (uint16_t)row, .cat = e->cat};
  out->parent = WF__NO_EVENT;
  fill_in(k, out, e);
  if (e->phase == 'B') {
    out->flags |= WF__EVENT_OPEN;
    out->parent = k->rows[row].open;
    k->rows[row].open = k->n;
  }
  k->n++;
  if (k->n == 1 || e->start < k->start) k->start = e->start;
  if (k->n == 1 || e->start + e->dur > k->end) k->end = e->start + e->dur;
  return WF_OK;
}

/* Times whose sums fit. */
static bool is_sane(const raw *e) {
  const int64_t most = INT64_MAX / 4;
  return e->start > -most && e->start < most && e->dur >= 0 && e->dur < most;
}

static wf_status take(wf__kineto *k, raw *e) {
  if (e->phase == 'E' && e->has_start) close_open(k, e);
  if (e->phase == 'X' || e->phase == 'i' || e->phase == 'I' || e->phase == 'B') {
    if (!e->has_name || !e->has_start || !is_sane(e)) {
      k->skipped++;
      return WF_OK;
    }
    k->names.at[e->name].count++;
    k->counted++;
    if (is_kept(k, e)) return keep(k, e);
  } else if (!e->phase) {
    k->skipped++;
  }
  return WF_OK;
}

/* ---- the list of events ------------------------------------------------------------------------------------------- */

/* The members of an event whose bracket was read. */
static bool read_event(wf__kineto *k, wf__scanner *s, raw *e) {
  *e = (raw){.args = {.correlation = 0, .sequence = -1, .bytes = -1, .device = -1, .shape.elements = -1}};
  for (;;) {
    wf__json_type type = wf__scan_key(s);
    if (type == WF__JSON_CLOSE) return true;
    if (type != WF__JSON_STRING || !read_member(k, s, e)) return false;
  }
}

typedef struct reading {
  wf__kineto *k;
  wf__scanner s;
  wf__progress progress;
  void *context;
} reading;

static bool goes_on(reading *r) {
  if (r->k->seen % PROGRESS_EVENTS || !r->progress) return true;
  r->k->interrupted = !r->progress(r->context, wf__input_position(r->s.input));
  return !r->k->interrupted;
}

/* After damage inside of the list: at the next event. False when there is none. */
static bool recover(reading *r) {
  r->k->skipped++;
  if (wf__scan_resync(&r->s)) return true;
  r->k->truncated = true;
  return false;
}

/* The list whose bracket was read. */
static wf_status read_events(reading *r) {
  wf__kineto *k = r->k;
  raw e;
  while (goes_on(r)) {
    wf__json_type type = wf__scan_value(&r->s);
    if (type == WF__JSON_CLOSE) return WF_OK;
    if (type == WF__JSON_END) {
      k->truncated = true;
      return r->s.status;
    }
    k->seen++;
    if (type == WF__JSON_OBJECT && read_event(k, &r->s, &e)) {
      WF__TRY(take(k, &e));
      continue;
    }
    if (wf_error_peek().status) return wf_error_peek().status;
    if (type != WF__JSON_OBJECT && type != WF__JSON_BAD && wf__scan_skip(&r->s, type)) {
      k->skipped++;
      continue;
    }
    if (!recover(r)) return r->s.status;
  }
  return WF_OK;
}

/* ---- the top ------------------------------------------------------------------------------------------------------ */

/* The first device's name and memory. */
static bool read_device(reading *r) {
  for (;;) {
    wf__json_type type = wf__scan_key(&r->s);
    if (type == WF__JSON_CLOSE) return true;
    if (type != WF__JSON_STRING) return false;
    bool name = WF__SCAN_IS(&r->s, "name"), memory = WF__SCAN_IS(&r->s, "totalGlobalMem");
    type = wf__scan_value(&r->s);
    if (name && type == WF__JSON_STRING && !*r->k->device_name) {
      size_t n = r->s.size < sizeof r->k->device_name ? r->s.size : sizeof r->k->device_name - 1;
      memcpy(r->k->device_name, r->s.text, n);
      r->k->device_name[n] = 0;
    }
    if (memory && type == WF__JSON_NUMBER && !r->k->device_bytes)
      wf__json_to_int(r->s.text, r->s.size, &r->k->device_bytes);
    if (!wf__scan_skip(&r->s, type)) return false;
  }
}

static bool read_devices(reading *r) {
  wf__json_type type = wf__scan_value(&r->s);
  if (type != WF__JSON_ARRAY) return wf__scan_skip(&r->s, type);
  while ((type = wf__scan_value(&r->s)) != WF__JSON_CLOSE)
    if (!(type == WF__JSON_OBJECT ? read_device(r) : wf__scan_skip(&r->s, type))) return false;
  return true;
}

/* Damage outside of the events: they may still follow. */
static wf_status after_damage(reading *r, bool *had_events) {
  if (r->s.status) return r->s.status;
  r->k->damaged_outside = true;
  if (*had_events) return WF_OK;
  if (!wf__scan_resync(&r->s)) return WF_OK;
  *had_events = true; /* as if inside of the list: what isn't an event is skipped */
  return read_events(r);
}

static wf_status read_top(reading *r, bool *had_events) {
  for (;;) {
    wf__json_type type = wf__scan_key(&r->s);
    bool good;
    if (type == WF__JSON_CLOSE) return WF_OK;
    if (type != WF__JSON_STRING) return after_damage(r, had_events);
    if (WF__SCAN_IS(&r->s, "traceEvents")) {
      type = wf__scan_value(&r->s);
      if (type == WF__JSON_ARRAY) {
        *had_events = true;
        WF__TRY(read_events(r));
        if (r->k->truncated || r->k->interrupted) return WF_OK;
        continue;
      }
      good = wf__scan_skip(&r->s, type);
    } else if (WF__SCAN_IS(&r->s, "deviceProperties")) {
      good = read_devices(r);
    } else {
      good = wf__scan_skip(&r->s, wf__scan_value(&r->s));
    }
    if (!good) return after_damage(r, had_events);
  }
}

static wf_status read_all(reading *r) {
  size_t n;
  const char *head = wf__scan_peek(&r->s, &n);
  if (r->s.status) return r->s.status;
  WF__TRY(wf__kineto_sniff(r->k->path, head, n));
  if (n >= 3 && !memcmp(head, "\xef\xbb\xbf", 3)) r->s.at += 3;
  bool had_events = false;
  wf__json_type type = wf__scan_value(&r->s);
  if (type == WF__JSON_ARRAY) {
    had_events = true;
    WF__TRY(read_events(r));
  } else if (type == WF__JSON_OBJECT) {
    WF__TRY(read_top(r, &had_events));
  }
  if (r->s.status) return r->s.status;
  if (type == WF__JSON_ARRAY && r->k->seen && r->k->skipped == r->k->seen) had_events = false;
  if (!had_events) {
    wf__fail(WF_VALUE, "%s: JSON without `traceEvents`%s, not a trace of PyTorch", r->k->path,
             r->k->damaged_outside ? " (it is cut off or damaged)" : "");
    wf__hint("give the file that torch.profiler's export_chrome_trace wrote");
    return WF_VALUE;
  }
  if (!r->k->truncated && !r->k->interrupted && !wf__scan_at_end(&r->s)) r->k->damaged_outside = true;
  return r->s.status;
}

/* A trace of nothing would be judged faultless. */
static wf_status check_events(const wf__kineto *k) {
  if (k->counted || k->interrupted) return WF_OK;
  const char *why = k->skipped ? " that can be read" : k->truncated ? " before it is cut off" : "";
  wf__fail(WF_VALUE, "%s: a trace without any event%s", k->path, why);
  wf__hint(
      "what should be judged must run inside of `with torch.profiler.profile(...) as p:`, and with a schedule in its active steps");
  return WF_VALUE;
}

/* What began and never ended lasts to the end of the trace. */
static void close_all(wf__kineto *k) {
  for (uint32_t i = 0; i < k->n; i++) {
    if (!(k->events[i].flags & WF__EVENT_OPEN)) continue;
    k->events[i].dur = k->end - k->events[i].start;
    k->events[i].flags &= (uint8_t)~WF__EVENT_OPEN;
  }
}

static wf_status read_path(wf__kineto *k, const char *path, wf__progress progress, void *context) {
  reading r = {.k = k, .progress = progress, .context = context};
  wf__input *input = wf__input_open(path, progress, context);
  wf_status status = input ? wf__scanner_open(&r.s, input) : wf_error_peek().status;
  if (!status) status = read_all(&r);
  wf__scanner_close(&r.s);
  wf__input_close(input);
  if (status != WF_CANCELLED) return status;
  wf_error_take(); /* stopped while nothing came: as if it had been between two events */
  k->interrupted = true;
  k->truncated = false;
  return WF_OK;
}

wf_status wf__kineto_read(wf__kineto *k, const char *path, wf__progress progress, void *context) {
  *k = (wf__kineto){.path = wf__strdup(path)};
  if (!k->path) return WF_NO_MEMORY;
  WF__TRY(wf__names_open(&k->names));
  wf_status status = read_path(k, path, progress, context);
  if (status == WF_IO && *wf_error_peek().hint)
    wf__hint("copy it again; of a gzip file that is cut off, `gzip -dc FILE >part.json` saves what is there");
  if (!status) status = check_events(k);
  if (status) return status;
  close_all(k);
  return wf__kineto_order(k);
}

void wf__kineto_close(wf__kineto *k) {
  wf__names_close(&k->names);
  wf__release(k->path);
  wf__release(k->events);
  wf__release(k->rows);
  wf__release(k->row_slots);
  wf__release(k->order);
  wf__release(k->forward);
  *k = (wf__kineto){0};
}
