/* Overlap: one place in memory under several indices, within a tensor or between two. Reading is fine; writing is refused where the outcome
 * would depend on the order of writes. */
#include <stdio.h>
#include <weft/weft.h>

static void report(const char *what, wf_status status) {
  if (!status) {
    printf("%-40s fine\n", what);
    return;
  }
  printf("%-40s %.60s…\n", what, wf_error_take().text);
}

int main(void) {
  wf_scope scope = wf_scope_begin();
  char text[256];

  /* Stride 0: three rows in the memory of one. */
  wf_tensor *row = wf_arange(wf_int(0), wf_int(4), wf_int(1), NULL);
  wf_tensor *rows = wf_expand(row, WF_SHAPE(3, 4));
  printf("expanded: strides (%lld, %lld), %zu bytes of storage for %lld elements\n", (long long)wf_stride(rows, 0),
         (long long)wf_stride(rows, 1), wf_storage_nbytes(rows), (long long)wf_numel(rows));
  report("read an expanded tensor", wf_sum(rows) ? WF_OK : WF_RUNTIME);
  report("add to an expanded tensor in place", wf_add_(rows, rows));
  report("add to its clone", wf_add_(wf_clone(rows, WF_FORMAT_CONTIGUOUS), rows));

  /* Windows share elements. */
  wf_tensor *windows = wf_unfold(row, 0, 2, 1);
  wf_tensor_print(windows, text, sizeof text);
  puts(text);

  /* Two views of one memory. */
  wf_tensor *line = wf_arange(wf_int(0), wf_int(10), wf_int(1), NULL);
  wf_tensor *left = wf_slice(line, 0, 0, 8, 1), *right = wf_slice(line, 0, 2, 10, 1);
  report("add a tensor to itself", wf_add_(line, line));
  report("copy between halves", wf_copy_(wf_slice(line, 0, 0, 5, 1), wf_slice(line, 0, 5, 10, 1), false));
  report("copy between parts that overlap", wf_copy_(left, right, false));
  report("by way of a clone", wf_copy_(left, wf_clone(right, WF_FORMAT_PRESERVE), false));
  wf_tensor *square = wf_zeros(WF_SHAPE(3, 3), NULL);
  report("copy a transpose over its own matrix", wf_copy_(square, wf_t(square), false));

  /* With gaps it can't be told from strides alone whether elements meet. A copy goes through a temporary if they do. */
  line = wf_arange(wf_int(0), wf_int(8), wf_int(1), NULL);
  report("copy every 2nd element two places on",
         wf_copy_(wf_slice(line, 0, 2, 8, 2), wf_slice(line, 0, 0, 6, 2), false));
  wf_tensor_print(line, text, sizeof text);
  puts(text);
  wf_scope_end(scope, NULL);
  return wf_error_take().status != WF_OK;
}
