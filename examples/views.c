/* Views: tensors that show the same memory in other ways. What can be a view is one, what can't be says so. */
#include <stdio.h>
#include <weft/weft.h>

static void show(const char *name, const wf_tensor *t) {
  printf("%-12s sizes (", name);
  for (int i = 0; i < wf_ndim(t); i++) printf(i ? ", %lld" : "%lld", (long long)wf_size(t, i));
  printf("), strides (");
  for (int i = 0; i < wf_ndim(t); i++) printf(i ? ", %lld" : "%lld", (long long)wf_stride(t, i));
  printf("), offset %lld\n", (long long)wf_storage_offset(t));
}

int main(void) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *numbers = wf_arange(wf_int(0), wf_int(12), wf_int(1), NULL);
  wf_tensor *matrix = wf_view(numbers, WF_SHAPE(3, 4));
  wf_tensor *turned = wf_transpose(matrix, 0, 1);
  wf_tensor *column = wf_select(matrix, 1, 2);
  show("matrix", matrix);
  show("turned", turned);
  show("column", column);

  /* One memory: what is written through one view is seen through the others, and counted. */
  wf_mul_scalar_(column, wf_int(100));
  printf("shared: %d, version of numbers: %u\n", wf_shares_storage(numbers, turned), wf_version_of(numbers));
  char text[512];
  wf_tensor_print(turned, text, sizeof text);
  puts(text);

  /* No strides say this one; wf_reshape would copy, and the ledger would tell. */
  if (!wf_view(turned, WF_SHAPE(12))) printf("%s: %s\n", wf_status_name(wf_error_peek().status), wf_error_peek().text);
  wf_error_take();
  wf_scope_end(scope, NULL);
  return 0;
}
