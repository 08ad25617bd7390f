/* Memory formats: the order of dims in memory, apart from their order in the sizes. */
#include <stdio.h>
#include <weft/weft.h>

static void show(const char *name, const wf_tensor *t) {
  printf("%-26s strides (", name);
  for (int i = 0; i < wf_ndim(t); i++) printf(i ? ", %lld" : "%lld", (long long)wf_stride(t, i));
  printf(")%s%s\n", wf_is_contiguous(t, WF_FORMAT_CONTIGUOUS) ? " contiguous" : "",
         wf_is_contiguous(t, WF_FORMAT_CHANNELS_LAST) ? " channels_last" : "");
}

int main(void) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_zeros(WF_SHAPE(2, 3, 4, 5), NULL);
  wf_tensor *last = wf_contiguous(x, WF_FORMAT_CHANNELS_LAST);
  show("[2, 3, 4, 5]", x);
  show("in channels_last", last);

  /* Operators keep the order of what they are given; PRESERVE is what clone and to do by default. */
  show("relu", wf_relu(last));
  show("add to a bias [3, 1, 1]", wf_add(last, wf_zeros(WF_SHAPE(3, 1, 1), NULL)));
  show("to f16", wf_to(last, WF_F16));
  show("clone, preserve", wf_clone(last, WF_FORMAT_PRESERVE));
  show("clone, contiguous", wf_clone(last, WF_FORMAT_CONTIGUOUS));
  show("empty_like", wf_empty_like(last, WF_DTYPE_NONE, WF_FORMAT_PRESERVE));

  /* A tensor with gaps has no order to keep: its copy is dense, in the order of its strides. */
  show("every 2nd row", wf_slice(last, 2, 0, 4, 2));
  show("clone of that", wf_clone(wf_slice(last, 2, 0, 4, 2), WF_FORMAT_PRESERVE));

  /* Where channels or positions are one, both formats describe the same memory. */
  show("[2, 1, 4, 5]", wf_zeros(WF_SHAPE(2, 1, 4, 5), NULL));
  show("[2, 3, 1, 1]", wf_zeros(WF_SHAPE(2, 3, 1, 1), NULL));

  /* A permutation gives the same memory, and other sizes. */
  wf_tensor *images = wf_zeros(WF_SHAPE(2, 4, 5, 3), NULL);
  show("images [2, 4, 5, 3]", images);
  show("permuted to [2, 3, 4, 5]", wf_permute(images, WF_SHAPE(0, 3, 1, 2)));

  wf_contiguous(wf_zeros(WF_SHAPE(3, 4, 5), NULL), WF_FORMAT_CHANNELS_LAST);
  puts(wf_error_take().text);
  wf_scope_end(scope, NULL);
  return wf_error_take().status != WF_OK;
}
