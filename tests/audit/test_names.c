/* The table of a trace's names, and what names mean. */
#include "test.h"

#include "audit/names.h"
#include "base/host.h"

static void each_name_has_one_number_however_many_there_are(void **state) {
  wf__names names;
  char text[4096];
  assert_ok(wf__names_open(&names));
  assert_int_equal(wf__names_find(&names, "", 0), 0);
  for (uint32_t i = 0; i < 20000; i++) {
    /* Of all lengths, some that differ in their last byte only, some longer than a chunk's quarter is worth. */
    int n = snprintf(text, sizeof text, "%0*u", (int)(i % 300) + 5, i);
    assert_int_equal(wf__names_find(&names, text, (size_t)n), WF__NO_NAME);
    assert_int_equal(wf__names_add(&names, text, (size_t)n), i + 1);
  }
  for (uint32_t i = 0; i < 20000; i++) {
    int n = snprintf(text, sizeof text, "%0*u", (int)(i % 300) + 5, i);
    assert_int_equal(wf__names_add(&names, text, (size_t)n), i + 1);
    assert_string_equal(names.at[i + 1].text, text);
  }
  assert_int_equal(names.n, 20001);
  wf__names_close(&names);
}

static void names_may_have_any_bytes_and_any_length(void **state) {
  static char large[300000];
  wf__names names;
  assert_ok(wf__names_open(&names));
  memset(large, 'x', sizeof large);
  uint32_t a = wf__names_add(&names, "a\0b", 3), b = wf__names_add(&names, "a\0c", 3);
  uint32_t c = wf__names_add(&names, large, sizeof large);
  assert_int_not_equal(a, b);
  assert_int_equal(wf__names_find(&names, "a\0b", 3), a);
  assert_int_equal(wf__names_find(&names, large, sizeof large), c);
  assert_int_equal(wf__names_find(&names, large, sizeof large - 1), WF__NO_NAME);
  wf__names_close(&names);
}

static void a_name_means_what_its_text_says(void **state) {
  const struct {
    const char *text;
    wf__meaning meaning;
    wf__memory_kind from, to;
  } rows[] = {{"aten::copy_", WF__MEANS_COPY, 0, 0},
              {"aten::copy", WF__MEANS_NOTHING, 0, 0},
              {"aten::reshape", WF__MEANS_LAYOUT, 0, 0},
              {"aten::_local_scalar_dense", WF__MEANS_READBACK, 0, 0},
              {"hipDeviceSynchronize", WF__MEANS_SYNC, 0, 0},
              {"cudaStreamSynchronize_v2", WF__MEANS_NOTHING, 0, 0},
              {"Memcpy HtoD (Pageable -> Device)", WF__MEANS_TRANSFER, WF__MEMORY_PAGEABLE, WF__MEMORY_DEVICE},
              {"Memcpy DtoH (Device -> Pinned)", WF__MEANS_TRANSFER, WF__MEMORY_DEVICE, WF__MEMORY_PINNED},
              {"Memcpy DtoD (Device -> Device)", WF__MEANS_TRANSFER, WF__MEMORY_DEVICE, WF__MEMORY_DEVICE},
              {"Memcpy HtoD (Host -> Device)", WF__MEANS_TRANSFER, WF__MEMORY_HOST, WF__MEMORY_DEVICE},
              {"Memcpy PtoP (Device -> Device)", WF__MEANS_TRANSFER, WF__MEMORY_DEVICE, WF__MEMORY_DEVICE},
              {"Memcpy HtoA (Managed -> Array)", WF__MEANS_TRANSFER, WF__MEMORY_OTHER, WF__MEMORY_OTHER},
              {"CopyDeviceToHost", WF__MEANS_TRANSFER, WF__MEMORY_DEVICE, WF__MEMORY_HOST},
              {"Memcpy ", WF__MEANS_TRANSFER, WF__MEMORY_OTHER, WF__MEMORY_OTHER},
              {"Memset (Device)", WF__MEANS_NOTHING, 0, 0},
              {"ProfilerStep#12", WF__MEANS_PROFILER_STEP, 0, 0},
              {"Optimizer.step#SGD.step", WF__MEANS_OPTIMIZER_STEP, 0, 0},
              {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", WF__MEANS_LOADER, 0, 0},
              {"nn.Module: Linear_0", WF__MEANS_MODULE, 0, 0},
              {"<built-in function linear>", WF__MEANS_BUILTIN, 0, 0},
              {"train.py(3): main", WF__MEANS_USER_FRAME, 0, 0},
              {"torch/nn/modules/linear.py(114): forward", WF__MEANS_LIBRARY_FRAME, 0, 0},
              {"void at::native::direct_copy_kernel_cuda<float>()", WF__MEANS_COPY_KERNEL, 0, 0},
              {"void at::native::CatArrayBatchedCopy<float>()", WF__MEANS_COPY_KERNEL, 0, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wf__name name = {.text = rows[i].text, .size = (uint32_t)strlen(rows[i].text)};
    wf__name_judge(&name);
    if (name.meaning != rows[i].meaning || name.from != rows[i].from || name.to != rows[i].to)
      fail_msg("%s: %d, %d -> %d", rows[i].text, name.meaning, name.from, name.to);
  }
}

static void a_name_that_finds_no_memory_leaves_the_table_as_it_was(void **state) {
  char text[32];
  for (int64_t k = 1; k < 40; k++) {
    wf__names names;
    assert_ok(wf__names_open(&names));
    uint32_t failed = 0, made = 0;
    wf__fault_at(k);
    for (uint32_t i = 0; i < 2000; i++) {
      int n = snprintf(text, sizeof text, "name %u", i);
      if (wf__names_add(&names, text, (size_t)n) == WF__NO_NAME) failed++, wf_error_take();
      else made++;
    }
    wf__fault_at(0);
    assert_true(failed <= 1);
    assert_int_equal(names.n, made + 1);
    for (uint32_t i = 0; i < 2000; i++) {
      int n = snprintf(text, sizeof text, "name %u", i);
      assert_int_not_equal(wf__names_add(&names, text, (size_t)n), WF__NO_NAME);
    }
    assert_int_equal(names.n, 2001);
    wf__names_close(&names);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_name_has_one_number_however_many_there_are),
      cmocka_unit_test(names_may_have_any_bytes_and_any_length),
      cmocka_unit_test(a_name_means_what_its_text_says),
      cmocka_unit_test(a_name_that_finds_no_memory_leaves_the_table_as_it_was),
  };
  return cmocka_run_group_tests_name("audit/names", tests, NULL, NULL);
}
