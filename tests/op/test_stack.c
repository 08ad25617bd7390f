/* What operators need of a thread's stack: weft/base.h promises that 512 KiB are enough. Each runs on a thread of its own whose stack was filled
 * with a pattern before; how far that is gone is what was used. */
#include "test.h"

#include <pthread.h>
#include <sys/mman.h>
#include <weft/weft.h>

#define STACK ((size_t)4 << 20)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* take stack of their own */
#define PROMISED ((size_t)2 << 20)
#else
#define PROMISED ((size_t)512 << 10)
#endif
#define UNUSED 0xa5

typedef struct work {
  const char *name;
  void (*run)(wf_dtype dtype);
  wf_dtype dtype;
  wf_status status;
} work;

static wf_tensor *numbers(wf_dtype dtype, wf_dims size) {
  wf_tensor_options o = wf_tensor_defaults();
  wf_tensor *t = wf_rand(size, &o);
  return wf_to(t, dtype);
}

static void adds_a_transpose(wf_dtype d) {
  wf_add(numbers(d, WF_SHAPE(300, 300)), wf_t(numbers(d, WF_SHAPE(300, 300))));
}
static void adds_another_dtype(wf_dtype d) {
  wf_add(numbers(WF_F64, WF_SHAPE(300, 300)), wf_t(numbers(d, WF_SHAPE(300, 300))));
}
static void copies_a_transpose(wf_dtype d) {
  wf_contiguous(wf_t(numbers(d, WF_SHAPE(700, 900))), WF_FORMAT_CONTIGUOUS);
}
static void copies_reversed_dims(wf_dtype d) {
  wf_contiguous(wf_permute(numbers(d, WF_SHAPE(9, 9, 9, 9, 9)), WF_SHAPE(4, 3, 2, 1, 0)), WF_FORMAT_CONTIGUOUS);
}
static void casts_a_transpose(wf_dtype d) {
  wf_to(wf_t(numbers(d, WF_SHAPE(700, 900))), d == WF_F32 ? WF_F16 : WF_F32);
}
static void sums_rows(wf_dtype d) { wf_sum_dims(numbers(d, WF_SHAPE(700, 900)), WF_SHAPE(0), false, WF_DTYPE_NONE); }
static void sums_a_transpose(wf_dtype d) {
  wf_sum_dims(wf_t(numbers(d, WF_SHAPE(700, 900))), WF_SHAPE(0), false, WF_DTYPE_NONE);
}
static void sums_all(wf_dtype d) { wf_sum(numbers(d, WF_SHAPE(700, 900))); }
static void takes_softmax_of_rows(wf_dtype d) { wf_softmax(numbers(d, WF_SHAPE(70, 9000)), 1, WF_DTYPE_NONE); }
static void takes_softmax_of_columns(wf_dtype d) { wf_softmax(numbers(d, WF_SHAPE(70, 900)), 0, WF_DTYPE_NONE); }
static void multiplies(wf_dtype d) { wf_mm(numbers(d, WF_SHAPE(200, 300)), numbers(d, WF_SHAPE(300, 100))); }
static void sorts(wf_dtype d) { wf_argsort(numbers(d, WF_SHAPE(100, 300)), 1, false, true); }
static void cumulates(wf_dtype d) { wf_cumsum(numbers(d, WF_SHAPE(100, 300)), 0, WF_DTYPE_NONE); }
static void gathers(wf_dtype d) {
  wf_index_select(numbers(d, WF_SHAPE(100, 300)), 1, wf_argsort(numbers(WF_F32, WF_SHAPE(300)), 0, false, true));
}
static void goes_back(wf_dtype d) {
  wf_tensor *x = numbers(d, WF_SHAPE(70, 300));
  wf_requires_grad_(x, true);
  wf_tensor *y = x;
  for (int i = 0; i < 2000; i++) y = wf_mul_scalar(y, wf_float(1));
  wf_backward(wf_sum(wf_softmax(wf_t(y), 1, WF_DTYPE_NONE)), NULL, NULL);
}
static void convolves(wf_dtype d) {
  wf_tensor *x = wf_contiguous(numbers(d, WF_SHAPE(2, 8, 20, 20)), WF_FORMAT_CHANNELS_LAST),
            *w = numbers(d, WF_SHAPE(16, 8, 3, 3));
  wf_requires_grad_(w, true);
  wf_backward(wf_sum(wf_conv2d(x, w, NULL, NULL)), NULL, NULL);
}

static void *run_in_scope(void *context) {
  work *w = context;
  wf_scope scope = wf_scope_begin();
  w->run(w->dtype);
  w->status = wf_error_take().status;
  wf_scope_end(scope, NULL);
  return NULL;
}

/* Bytes of stack that the work takes. */
static size_t stack_of(work *w) {
  unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(stack, MAP_FAILED);
  memset(stack, UNUSED, STACK);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK), 0);
  assert_int_equal(pthread_create(&thread, &attributes, run_in_scope, w), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  size_t untouched = 0;
  while (untouched < STACK && stack[untouched] == UNUSED) untouched++;
  munmap(stack, STACK);
  return STACK - untouched;
}

static void no_operator_takes_more_stack_than_promised(void **state) {
  static const struct {
    const char *name;
    void (*run)(wf_dtype dtype);
  } works[] = {{"add of a transpose", adds_a_transpose},
               {"add of a transpose of another dtype", adds_another_dtype},
               {"copy of a transpose", copies_a_transpose},
               {"copy of reversed dims", copies_reversed_dims},
               {"cast of a transpose", casts_a_transpose},
               {"sum of rows", sums_rows},
               {"sum of a transpose", sums_a_transpose},
               {"sum of all", sums_all},
               {"softmax of rows", takes_softmax_of_rows},
               {"softmax of columns", takes_softmax_of_columns},
               {"matrix product", multiplies},
               {"argsort", sorts},
               {"cumsum", cumulates},
               {"index_select", gathers},
               {"backward of 2000 operators", goes_back},
               {"convolution and its derivative", convolves}};
  static const wf_dtype dtypes[] = {WF_F32, WF_F64, WF_F16, WF_BF16};
  (void)state;
  for (size_t i = 0; i < sizeof works / sizeof *works; i++)
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
      work w = {works[i].name, works[i].run, dtypes[d], WF_OK};
      size_t used = stack_of(&w);
      assert_int_equal(w.status, WF_OK);
      if (used > PROMISED) fail_msg("%s of %s takes %zu bytes of stack", w.name, wf_dtype_name(w.dtype), used);
    }
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(no_operator_takes_more_stack_than_promised)};
WF_TEST_MAIN("op/stack", tests)
