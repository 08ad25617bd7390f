/* Layout: sizes, strides and an offset say where each element lies; a view changes these numbers and nothing else. */
#include <stdio.h>
#include <weft/weft.h>

static void show(const char *name, const wf_tensor *t) {
  printf("%-26s sizes (", name);
  for (int i = 0; i < wf_ndim(t); i++) printf(i ? ", %lld" : "%lld", (long long)wf_size(t, i));
  printf("), strides (");
  for (int i = 0; i < wf_ndim(t); i++) printf(i ? ", %lld" : "%lld", (long long)wf_stride(t, i));
  printf("), offset %lld\n", (long long)wf_storage_offset(t));
}

int main(void) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *line = wf_arange(wf_int(0), wf_int(24), wf_int(1), NULL);
  wf_tensor *x = wf_view(line, WF_SHAPE(2, 3, 4));
  show("x", x);

  /* Element (1, 2, 3) lies at offset + 1·12 + 2·4 + 3·1 = 23, and holds 23. */
  wf_tensor *element = wf_select(wf_select(wf_select(x, 0, 1), 0, 2), 0, 3);
  printf("element (1, 2, 3)          at %lld, holds %lld\n", (long long)wf_storage_offset(element),
         (long long)wf_item(element).as.i);

  show("transpose(0, 2)", wf_transpose(x, 0, 2));
  show("permute(1, 2, 0)", wf_permute(x, WF_SHAPE(1, 2, 0)));
  show("select(1, 2)", wf_select(x, 1, 2));
  show("slice(2, 1, 4, 2)", wf_slice(x, 2, 1, 4, 2));
  show("narrow(1, 1, 2)", wf_narrow(x, 1, 1, 2));
  show("unsqueeze(0)", wf_unsqueeze(x, 0));
  show("diagonal(0, 1, 2)", wf_diagonal(x, 0, 1, 2));
  show("unfold(2, 3, 1)", wf_unfold(x, 2, 3, 1));
  show("expand of [3, 1]", wf_expand(wf_view(wf_slice(line, 0, 0, 3, 1), WF_SHAPE(3, 1)), WF_SHAPE(2, 3, 4)));
  show("as_strided", wf_as_strided(x, WF_SHAPE(2, 2), WF_SHAPE(5, 1), 7));
  show("f32 read as i16", wf_view_dtype(wf_zeros(WF_SHAPE(2, 3), NULL), WF_I16));

  /* All of them show one memory. */
  wf_tensor *turned = wf_transpose(x, 0, 2);
  wf_fill_(wf_select(turned, 0, 3), wf_int(-1));
  printf("shared with line: %d; line[3] is now %lld\n", wf_shares_storage(line, turned),
         (long long)wf_item(wf_select(line, 0, 3)).as.i);
  wf_scope_end(scope, NULL);
  return wf_error_take().status != WF_OK;
}
