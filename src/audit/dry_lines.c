/* What single lines do: copies, waits, allocations of the driver, launches; how often in a step once the first steps are over, and what to
 * change. Remedies are those of the audit of traces. */
#include <stdlib.h>

#include "audit/dry_parts.h"
#include "audit/finding_kinds.h"
#include "base/host.h"

#define VALUE_BYTES 16         /* a download of no more than this is the reading of a value */
#define SMALL_BYTES (64 << 10) /* a transfer below this costs its call */
#define SMALL_MANY 4           /* of them a step, by one line */
#define WARM_STEPS 2           /* the first makes gradients and optimizer state, the second is the first with them */

static bool is(const wf_dry_run *run, const wf__dry_row *row, const char *part) {
  return strstr(wf__dry_string(run, row->what), part) != NULL;
}
static bool is_upload(const wf_dry_run *run, const wf__dry_row *row) {
  return row->kind == WF__DRY_COPY && is(run, row, "HtoD");
}
static bool is_download(const wf_dry_run *run, const wf__dry_row *row) {
  return row->kind == WF__DRY_COPY && is(run, row, "DtoH");
}
static bool is_value(const wf_dry_run *run, const wf__dry_row *row) {
  return is_download(run, row) && row->bytes <= VALUE_BYTES * row->count;
}

bool wf__dry_is_pageable(const wf_dry_run *run, const wf__dry_row *row) {
  return row->kind == WF__DRY_COPY && is(run, row, "Pageable") && !is_value(run, row);
}

/* ---- steady state ----------------------------------------------------------------------------------------------------- */

/* Steps [*warm, *warm + result) are the steady state; none where there was one step or none. */
static int64_t steady_steps(const wf__dry_process *p, int64_t *warm) {
  *warm = p->steps > WARM_STEPS ? WARM_STEPS : p->steps > 1 ? 1 : 0;
  return p->steps > 1 ? p->steps - *warm : 0;
}

static bool in_steady(const wf__dry_row *row, int64_t warm, int64_t steady) {
  return !steady || (row->step >= warm && row->step < warm + steady && !row->lone);
}

static int by_place(const wf__dry_row *x, const wf__dry_row *y) {
  if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
  if (x->file != y->file) return x->file < y->file ? -1 : 1;
  if (x->line != y->line) return x->line < y->line ? -1 : 1;
  if (x->function != y->function) return x->function < y->function ? -1 : 1;
  if (x->kind >= WF__DRY_LAUNCH || x->what == y->what) return 0; /* kernels of a line count together, and values read */
  return x->what < y->what ? -1 : 1;
}

static int by_place_and_step(const void *a, const void *b) {
  const wf__dry_row *x = *(wf__dry_row *const *)a, *y = *(wf__dry_row *const *)b;
  int order = by_place(x, y);
  return order ? order : (x->step > y->step) - (x->step < y->step);
}

/* Allocators keep what they got: what a line asks of the driver in one step alone came late, as the first .item() asks for the memory that all of them
 * read by; it doesn't go on. */
static wf_status mark_lone(wf_dry_run *run, const wf__dry_process *p) {
  int64_t warm, steady = steady_steps(p, &warm);
  size_t n = 0;
  wf__dry_row **asked = wf__malloc(p->row_count * sizeof(wf__dry_row *));
  if (!asked) return WF_NO_MEMORY;
  for (uint32_t k = 0; k < p->row_count && steady; k++) {
    wf__dry_row *row = &run->rows.at[p->first_row + k];
    if (row->kind == WF__DRY_MALLOC && in_steady(row, warm, steady)) asked[n++] = row;
  }
  qsort(asked, n, sizeof *asked, by_place_and_step);
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && !by_place(asked[end], asked[i]);) end++;
    bool lone = asked[i]->step == asked[end - 1]->step;
    for (size_t k = i; k < end; k++) asked[k]->lone = lone;
  }
  wf__release(asked);
  return WF_OK;
}

static void keep_most(double *most, int64_t n, int64_t steady) {
  double each = (double)n / (double)(steady ? steady : 1);
  if (each > *most) *most = each;
}

/* Counts a step, or in all where there is no steady state; the most of all processes. */
static void count(wf_dry_run *run) {
  for (size_t i = 0; i < run->processes.n; i++) {
    const wf__dry_process *p = &run->processes.at[i];
    int64_t warm, steady = steady_steps(p, &warm), pageable = 0, syncs = 0, launches = 0, allocations = 0;
    for (uint32_t k = 0; k < p->row_count; k++) {
      const wf__dry_row *row = &run->rows.at[p->first_row + k];
      if (!in_steady(row, warm, steady)) continue;
      if (wf__dry_is_pageable(run, row)) pageable += row->count;
      if (row->kind == WF__DRY_SYNC) syncs += row->count;
      if (row->kind == WF__DRY_LAUNCH) launches += row->count;
      if (row->kind == WF__DRY_MALLOC) allocations += row->count;
    }
    keep_most(&run->counts.pageable, pageable, steady);
    keep_most(&run->counts.syncs, syncs, steady);
    keep_most(&run->counts.launches, launches, steady);
    keep_most(&run->counts.driver_allocations, allocations, steady);
  }
}

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

static int by_line(const void *a, const void *b) {
  const wf__dry_line *x = a, *y = b;
  return by_place(&x->sum, &y->sum);
}

/* Problems first, then what happens most often. */
static int by_weight(const void *a, const void *b) {
  const wf__dry_line *x = a, *y = b;
  if (!x->problem != !y->problem) return x->problem ? -1 : 1;
  if ((x->sum.kind >= WF__DRY_LAUNCH || y->sum.kind >= WF__DRY_LAUNCH) && x->sum.kind != y->sum.kind)
    return x->sum.kind < y->sum.kind ? -1 : 1;
  if (x->size != y->size) return x->size ? -1 : 1;
  if (x->per_step != y->per_step) return x->per_step > y->per_step ? -1 : 1;
  if (x->sum.count != y->sum.count) return x->sum.count > y->sum.count ? -1 : 1;
  return by_line(a, b);
}

static wf_status gather(wf_dry_run *run) {
  const wf__dry_process *p = wf__dry_main(run);
  for (uint32_t i = 0; i < p->row_count; i++) {
    const wf__dry_row *row = &run->rows.at[p->first_row + i];
    if ((row->kind > WF__DRY_LAUNCH && row->kind != WF__DRY_READ) || row->kind == WF__DRY_FREE) continue;
    wf__dry_line *line = WF__SNAP_ADD(run->lines);
    if (!line) return WF_NO_MEMORY;
    *line = (wf__dry_line){.sum = *row, .size = row->kind == WF__DRY_READ && is(run, row, "size")};
    if (run->steady && in_steady(row, run->warm, run->steady)) line->steady = row->count;
  }
  size_t n = 0;
  if (run->lines.n) qsort(run->lines.at, run->lines.n, sizeof *run->lines.at, by_line);
  for (size_t i = 0; i < run->lines.n; i++) {
    wf__dry_line *last = n ? &run->lines.at[n - 1] : NULL;
    if (!last || by_line(last, &run->lines.at[i])) {
      run->lines.at[n++] = run->lines.at[i];
      continue;
    }
    last->sum.count += run->lines.at[i].sum.count;
    last->sum.bytes += run->lines.at[i].sum.bytes;
    last->sum.blocking |= run->lines.at[i].sum.blocking;
    last->size |= run->lines.at[i].size;
    last->steady += run->lines.at[i].steady;
  }
  run->lines.n = n;
  for (size_t i = 0; i < n && run->steady; i++)
    run->lines.at[i].per_step = (double)run->lines.at[i].steady / (double)run->steady;
  return WF_OK;
}

/* ---- what is wrong ---------------------------------------------------------------------------------------------------- */

static bool same_line(const wf__dry_row *a, const wf__dry_row *b) {
  return a->file == b->file && a->line == b->line && a->function == b->function;
}

/* What the line that waits does besides: why it waits. */
static wf__kind kind_of_wait(const wf_dry_run *run, const wf__dry_line *wait, bool *pageable) {
  bool upload = false, download = false, value = false;
  *pageable = false;
  if (is(run, &wait->sum, "DeviceSynchronize")) return WF__KIND_EXPLICIT_SYNC; /* no copy needs it */
  for (size_t i = 0; i < run->lines.n; i++) {
    const wf__dry_row *row = &run->lines.at[i].sum;
    if (!same_line(row, &wait->sum) || (run->steady && !run->lines.at[i].per_step)) continue;
    *pageable |= wf__dry_is_pageable(run, row);
    value |= is_value(run, row);
    download |= is_download(run, row);
    upload |= is_upload(run, row);
  }
  if (value) return WF__KIND_READBACK;
  if (download) return WF__KIND_DOWNLOAD_SYNC;
  if (upload) return WF__KIND_UPLOAD_SYNC;
  return is(run, &wait->sum, "StreamSynchronize") ? WF__KIND_OTHER_SYNC : WF__KIND_EXPLICIT_SYNC;
}

static void blame(wf__dry_line *line, wf__kind kind, const char *problem) {
  line->problem = problem;
  line->remedy = wf__finding_kinds[kind].remedy;
}

static void judge_wait(const wf_dry_run *run, wf__dry_line *line) {
  bool pageable;
  wf__kind kind = kind_of_wait(run, line, &pageable);
  blame(line, kind,
        kind == WF__KIND_READBACK        ? "a value is read, so the host waits for the device"
        : kind == WF__KIND_DOWNLOAD_SYNC ? "a tensor is fetched, so the host waits for the device"
        : kind == WF__KIND_UPLOAD_SYNC   ? "an upload waits for the device"
        : kind == WF__KIND_EXPLICIT_SYNC ? "the program waits for the device by itself"
                                         : "the host waits for the device");
  if (pageable && kind != WF__KIND_READBACK) line->remedy = NULL; /* the copy itself has it */
}

/* What happens once isn't worth a word, unless the program has no steps to tell by. */
static void judge(const wf_dry_run *run, wf__dry_line *line) {
  const wf__dry_row *row = &line->sum;
  if (run->steady && !line->per_step) return;
  double often = run->steady ? line->per_step : (double)row->count;
  bool small = row->kind == WF__DRY_COPY && (is_upload(run, row) || is_download(run, row)) &&
               row->bytes < SMALL_BYTES * row->count;
  if (row->kind == WF__DRY_SYNC) judge_wait(run, line);
  else if (small && !is_value(run, row) && often >= SMALL_MANY)
    blame(line, WF__KIND_SMALL_TRANSFERS, "pieces of less than 64 KiB move one by one");
  else if (wf__dry_is_pageable(run, row) && is_upload(run, row))
    blame(line, WF__KIND_PAGEABLE_UPLOAD, "uploads from pageable memory: the host waits for each");
  else if (wf__dry_is_pageable(run, row))
    blame(line, WF__KIND_PAGEABLE_DOWNLOAD, "downloads into pageable memory: the host waits for each");
  else if (row->kind == WF__DRY_MALLOC && run->steady && is(run, row, "Host"))
    blame(line, WF__KIND_HOST_ALLOC, "memory is pinned in the steady state");
  else if (row->kind == WF__DRY_MALLOC && run->steady)
    blame(line, WF__KIND_DEVICE_ALLOC, "memory is asked of the driver in the steady state");
}

wf_status wf__dry_find_lines(wf_dry_run *run) {
  if (!run->processes.n) return WF_OK;
  run->steady = steady_steps(wf__dry_main(run), &run->warm);
  for (size_t i = 0; i < run->processes.n; i++) WF__TRY(mark_lone(run, &run->processes.at[i]));
  count(run);
  WF__TRY(gather(run));
  for (size_t i = 0; i < run->lines.n; i++) judge(run, &run->lines.at[i]);
  if (run->lines.n) qsort(run->lines.at, run->lines.n, sizeof *run->lines.at, by_weight);
  return WF_OK;
}
