/* Casts: fused into the copy, whatever the layouts; rounded to the nearest, ties to even; by C's rules to integers. */
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>

static void show(const char *name, const wf_tensor *t) {
  char text[256];
  wf_tensor_print(t, text, sizeof text);
  printf("%-14s %s\n", name, text);
}

int main(void) {
  wf_scope scope = wf_scope_begin();
  const float values[] = {1.0f, 2049.0f, 2051.0f, 65519.0f, 65520.0f, NAN};
  wf_tensor *x = wf_from_data(values, WF_SHAPE(6), WF_F32);
  show("f32", x);
  show("f16", wf_to(wf_to(x, WF_F16), WF_F32));
  show("bf16", wf_to(wf_to(x, WF_BF16), WF_F32));
  const float fractions[] = {-2.7f, -0.5f, 0.5f, 2.7f};
  show("to i32", wf_to(wf_from_data(fractions, WF_SHAPE(4), WF_F32), WF_I32));
  show("to bool", wf_to(wf_from_data(fractions, WF_SHAPE(4), WF_F32), WF_BOOL));

  /* Layout and dtype in one pass: one event, which reads bytes and writes floats. */
  wf_tensor_options bytes = wf_tensor_defaults();
  bytes.dtype = WF_U8;
  wf_tensor *images = wf_zeros(WF_SHAPE(4, 20, 20, 3), &bytes), *planes = wf_empty(WF_SHAPE(4, 3, 20, 20), NULL);
  wf_trace_start(WF_TRACE_LEDGER);
  wf_copy_(planes, wf_permute(images, WF_SHAPE(0, 3, 1, 2)), false);
  wf_trace_stop();
  size_t n;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  for (size_t i = 0; i < n; i++)
    if (rows[i].kind == WF_EVENT_CAST || rows[i].kind == WF_EVENT_COPY)
      printf("%s: %lld bytes read, %lld written\n", wf_event_kind_name(rows[i].kind), (long long)rows[i].bytes_read,
             (long long)rows[i].bytes_written);
  wf_trace_release(rows);

  /* Pixels to normalised numbers: cast, scaled and laid out in one pass, with a factor and a summand for each channel. */
  const uint8_t pixels[] = {0, 51, 102, 255, 204, 153};
  const float scale[] = {1 / 255.0f, 2 / 255.0f, 3 / 255.0f}, shift[] = {0, -1, 10};
  wf_tensor *picture = wf_from_data(pixels, WF_SHAPE(1, 1, 2, 3), WF_U8);
  wf_tensor *factors = wf_from_data(scale, WF_SHAPE(3), WF_F32), *summands = wf_from_data(shift, WF_SHAPE(3), WF_F32);
  wf_tensor *numbers = wf_scale_shift_channels(wf_permute(picture, WF_SHAPE(0, 3, 1, 2)), factors, summands, 1, WF_F32,
                                               WF_FORMAT_CONTIGUOUS);
  show("planes", wf_view(numbers, WF_SHAPE(3, 2)));
  wf_scope_end(scope, NULL);
  return wf_error_take().status != WF_OK;
}
