/* The normal form of a copy: what is left of a layout change when all that doesn't matter is taken away. The engine picks its method by this
 * form, whoever asks. */
#include <stdio.h>
#include <weft/weft.h>

static void show(const char *name, const wf_tensor *dst, const wf_tensor *src) {
  wf_copy_explanation e;
  if (wf_copy_explain(dst, src, &e)) return;
  printf("%s\n", name);
  for (int d = 0; d < e.ndim; d++)
    printf("    %5lld elements, %6lld bytes apart in the destination, %6lld in the source\n", (long long)e.size[d],
           (long long)e.dst_step[d], (long long)e.src_step[d]);
  if (!e.ndim || e.method == WF_METHOD_NOTHING) printf("    nothing: %s\n", e.why);
}

static wf_tensor *like(const wf_tensor *t, wf_dtype dtype) { return wf_empty_like(t, dtype, WF_FORMAT_CONTIGUOUS); }

int main(void) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_zeros(WF_SHAPE(8, 1, 16, 32), NULL);
  show("contiguous to contiguous: one run", like(x, WF_F32), x);

  wf_tensor *turned = wf_permute(x, WF_SHAPE(3, 2, 1, 0));
  show("reversed dims: the dim of size 1 goes, the others stay", like(turned, WF_F32), turned);
  wf_tensor *same = wf_permute(wf_zeros(WF_SHAPE(8, 1, 16, 32), NULL), WF_SHAPE(3, 2, 1, 0));
  show("reversed on both sides: one run again", same, turned);

  wf_tensor *images = wf_permute(wf_zeros(WF_SHAPE(32, 20, 20, 3), NULL), WF_SHAPE(0, 3, 1, 2));
  show("images to planes: height and width merge", like(images, WF_F32), images);
  show("the same into f16: the cast changes steps, not the form", like(images, WF_F16), images);

  show("every second column", wf_empty(WF_SHAPE(16, 16), NULL),
       wf_slice(wf_zeros(WF_SHAPE(16, 32), NULL), 1, 0, 32, 2));
  show("one row, repeated", wf_empty(WF_SHAPE(16, 32), NULL), wf_zeros(WF_SHAPE(1, 32), NULL));
  show("onto itself", x, x);
  wf_scope_end(scope, NULL);
  return wf_error_take().status != WF_OK;
}
