/* Which call copies: the ledger counts every byte, so it can be asked. */
#include <stdio.h>
#include <weft/weft.h>

static struct { int64_t copies, asked, bytes; } ledger;

/* What was copied, cast or filled since the start of recording. */
static void read_ledger(void) {
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  ledger.copies = ledger.asked = ledger.bytes = 0;
  for (size_t i = 0; i < n; i++) {
    if (rows[i].kind != WF_EVENT_COPY && rows[i].kind != WF_EVENT_CAST) continue;
    ledger.copies += (int64_t)rows[i].count;
    ledger.asked += rows[i].implicit ? 0 : (int64_t)rows[i].count;
    ledger.bytes += rows[i].bytes_read + rows[i].bytes_written;
  }
  wf_trace_release(rows);
}

#define TRY(name, call)                                                                                         \
  do {                                                                                                          \
    wf_trace_start(WF_TRACE_LEDGER);                                                                            \
    (void)(call);                                                                                               \
    wf_trace_stop();                                                                                            \
    read_ledger();                                                                                              \
    printf("%-34s %s", name, !ledger.copies ? "no copy" : ledger.asked ? "copy, asked for" : "copy, implicit"); \
    if (ledger.copies) printf(", %lld bytes", (long long)ledger.bytes);                                         \
    putchar('\n');                                                                                              \
  } while (0)

int main(void) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_ones(WF_SHAPE(32, 64), NULL), *turned = wf_t(x), *y = wf_zeros(WF_SHAPE(32, 64), NULL);

  TRY("t, view, slice, expand", wf_expand(wf_unsqueeze(wf_slice(turned, 0, 0, 8, 2), 0), WF_SHAPE(5, 4, 32)));
  TRY("contiguous of a contiguous tensor", wf_contiguous(x, WF_FORMAT_CONTIGUOUS));
  TRY("contiguous of a transpose", wf_contiguous(turned, WF_FORMAT_CONTIGUOUS));
  TRY("reshape that is a view", wf_reshape(x, WF_SHAPE(2048)));
  TRY("reshape that isn't", wf_reshape(turned, WF_SHAPE(2048)));
  TRY("to its own dtype", wf_to(x, WF_F32));
  TRY("to f16", wf_to(x, WF_F16));
  TRY("clone", wf_clone(x, WF_FORMAT_PRESERVE));
  TRY("copy_", wf_copy_(y, x, false));
  TRY("copy_ of the same view", wf_copy_(y, y, false));
  TRY("cat of two, dim 1", wf_cat((wf_tensors){(wf_tensor *[]){x, y}, 2}, 1));
  TRY("add of a transpose", wf_add(turned, turned));
  TRY("add of different layouts", wf_add(turned, wf_ones(WF_SHAPE(64, 32), NULL)));
  TRY("mm of a transpose", wf_mm(turned, x));
  wf_scope_end(scope, NULL);
  return wf_error_take().status != WF_OK;
}
