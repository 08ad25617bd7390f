/* When other sizes are a view of the same memory, and when they aren't: dims can be merged only where one continues the other. */
#include <stdio.h>
#include <weft/weft.h>

/* view, and what reshape does where view refuses. */
static void try_view(const char *name, const wf_tensor *t, wf_dims size) {
  wf_tensor *view = wf_view(t, size);
  if (view) {
    printf("%-34s view, strides (", name);
    for (int i = 0; i < wf_ndim(view); i++) printf(i ? ", %lld" : "%lld", (long long)wf_stride(view, i));
    puts(")");
    return;
  }
  wf_error_take();
  wf_tensor *copy = wf_reshape(t, size);
  printf("%-34s no view; reshape %s\n", name, wf_shares_storage(copy, t) ? "shares" : "copies");
}

int main(void) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_zeros(WF_SHAPE(4, 6), NULL);
  try_view("[4, 6] as [24]", x, WF_SHAPE(24));
  try_view("[4, 6] as [2, 2, 3, 2]", x, WF_SHAPE(2, 2, 3, 2));
  try_view("[4, 6] as [2, -1]", x, WF_SHAPE(2, -1));

  /* Transposed, rows don't continue one another; but each dim can still be cut. */
  wf_tensor *turned = wf_t(x);
  try_view("transposed [6, 4] as [24]", turned, WF_SHAPE(24));
  try_view("transposed [6, 4] as [2, 3, 4]", turned, WF_SHAPE(2, 3, 4));
  try_view("transposed [6, 4] as [6, 2, 2]", turned, WF_SHAPE(6, 2, 2));

  /* Columns that are left away are gaps between rows; rows that are left away aren't. */
  try_view("[4, :5] as [20]", wf_slice(x, 1, 0, 5, 1), WF_SHAPE(20));
  try_view("[:3, 6] as [18]", wf_slice(x, 0, 0, 3, 1), WF_SHAPE(18));
  try_view("every 2nd column, [4, 3] as [12]", wf_slice(x, 1, 0, 6, 2), WF_SHAPE(12));

  /* A repeated dim can't be merged with one that moves, but with its like. */
  wf_tensor *repeated = wf_expand(wf_zeros(WF_SHAPE(5), NULL), WF_SHAPE(2, 3, 5));
  try_view("expanded [2, 3, 5] as [6, 5]", repeated, WF_SHAPE(6, 5));
  try_view("expanded [2, 3, 5] as [2, 15]", repeated, WF_SHAPE(2, 15));

  /* What can never be. */
  wf_view(x, WF_SHAPE(5, 5));
  puts(wf_error_take().text);
  wf_view(turned, WF_SHAPE(24));
  puts(wf_error_take().text);
  wf_scope_end(scope, NULL);
  return wf_error_take().status != WF_OK;
}
