/* Where bytes move: the ledger of a few lines, each row with the line of this file that caused it; then the same under a policy that
 * forbids copies nobody asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

static int by_line(const void *a, const void *b) {
  char x[64], y[64];
  const wf_ledger_row *p = a, *q = b;
  int d = strcmp(wf_site_name(p->site, x, sizeof x), wf_site_name(q->site, y, sizeof y));
  if (!d) d = strcmp(p->op, q->op);
  return d ? d : (int)p->kind - (int)q->kind;
}

/* Rows come with the largest time first; in the order of lines they read like the program. One line may have several rows: a compiler
 * unrolls loops, and each call has its own return address. */
static void print_ledger(void) {
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  if (!rows) return;
  qsort(rows, n, sizeof *rows, by_line);
  for (size_t i = 0; i < n; i++) {
    wf_ledger_row r = rows[i];
    char site[64];
    if (r.kind != WF_EVENT_COPY && r.kind != WF_EVENT_CAST && r.kind != WF_EVENT_FILL) continue;
    for (; i + 1 < n && by_line(&rows[i], &rows[i + 1]) == 0; i++) {
      r.count += rows[i + 1].count;
      r.bytes_read += rows[i + 1].bytes_read;
      r.bytes_written += rows[i + 1].bytes_written;
    }
    printf("%s  %-10s %-4s %-8s %d x, %6lld bytes read, %6lld written, module \"%s\"\n",
           wf_site_name(r.site, site, sizeof site), r.op, wf_event_kind_name(r.kind), r.implicit ? "implicit" : "asked",
           (int)r.count, (long long)r.bytes_read, (long long)r.bytes_written, r.module);
  }
  wf_trace_release(rows);
}

int main(void) {
  wf_scope scope = wf_scope_begin();
  wf_trace_start(WF_TRACE_LEDGER);

  wf_tensor *x = wf_full(WF_SHAPE(64, 128), wf_float(1), NULL);
  wf_tensor *t = wf_transpose(x, 0, 1); /* a view: no row */
  wf_module_push("net");
  wf_reshape(t, WF_SHAPE(8192)); /* has to copy, which its name doesn't say */
  wf_module_pop();
  for (int i = 0; i < 3; i++) wf_contiguous(t, WF_FORMAT_CONTIGUOUS); /* says so */
  wf_contiguous(x, WF_FORMAT_CONTIGUOUS);                             /* is contiguous already: no row */
  wf_to(t, WF_F16);                                                   /* a cast */

  wf_trace_stop();
  print_ledger();
  printf("implicit copies: %lld\n", (long long)wf_ledger_implicit_copies());

  wf_copy_policy_set(WF_COPY_FORBID);
  wf_reshape(t, WF_SHAPE(8192));
  wf_error error = wf_error_take();
  char site[64];
  printf("forbidden: %s (%s)\n", error.text, wf_site_name(error.site, site, sizeof site));
  wf_copy_policy_set(WF_COPY_ALLOW);
  wf_scope_end(scope, NULL);
  error = wf_error_take();
  if (error.status) fprintf(stderr, "%s\n", error.text);
  return error.status != WF_OK;
}
