/* Names of devices and what is said when one isn't there. Texts of malformed names are those of torch.device in PyTorch 2.15, with
 * this library's list of types. */
#include "test.h"

#include <weft/device.h>
#include <weft/sys/backend.h>
#include "device/device.h"

static void parses_types_and_indices(void **state) {
  static const struct {
    const char *text;
    wf_device_type type;
    int index;
  } good[] = {{"cpu", WF_DEVICE_CPU, 0},     {"sim", WF_DEVICE_SIM, 0},     {"sim:0", WF_DEVICE_SIM, 0},
              {"sim:12", WF_DEVICE_SIM, 12}, {"cuda:3", WF_DEVICE_CUDA, 3}, {"cpu:1", WF_DEVICE_CPU, 1}};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    wf_device d = {WF_DEVICE_CUDA, 99};
    assert_ok(wf_device_parse(good[i].text, &d));
    assert_int_equal(d.type, good[i].type);
    assert_int_equal(d.index, good[i].index);
  }
}

static void refuses_malformed_names_with_pytorchs_texts(void **state) {
  static const struct {
    const char *name, *text;
  } bad[] = {{"", "Device string must not be empty"},
             {"gpu", "Expected one of cpu, sim, cuda device type at start of device string: gpu"},
             {"cpux:1", "Expected one of cpu, sim, cuda device type at start of device string: cpux"},
             {"cpu:", "Invalid device string: 'cpu:'"},
             {"sim:x", "Invalid device string: 'sim:x'"},
             {"sim:-1", "Invalid device string: 'sim:-1'"},
             {"sim:01", "Invalid device string: 'sim:01'"},
             {"sim:1 ", "Invalid device string: 'sim:1 '"},
             {"sim:99999999999", "Could not parse device index '99999999999' in device string 'sim:99999999999'"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    wf_device d = wf_cpu();
    assert_int_equal(wf_device_parse(bad[i].name, &d), WF_RUNTIME);
    assert_error(WF_RUNTIME, bad[i].text);
    assert_int_equal(d.type, WF_DEVICE_CPU);
  }
}

static void names_what_it_parses(void **state) {
  static const char *const names[] = {"cpu", "cpu:1", "sim:0", "sim:3", "cuda:0"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    wf_device d;
    char buffer[32];
    assert_ok(wf_device_parse(names[i], &d));
    assert_string_equal(wf_device_name(d, buffer, sizeof buffer), names[i]);
  }
}

static void says_that_a_device_is_not_there(void **state) {
  assert_int_equal(wf_device_count(WF_DEVICE_CUDA), 0);
  assert_int_equal(wf_device_open((wf_device){WF_DEVICE_CUDA, 0}), WF_DEVICE);
  assert_non_null(strstr(wf_error_peek().hint, "use cpu or sim"));
  assert_error(WF_DEVICE, "device cuda:0 isn't there");
  assert_null(wf__device_get((wf_device){WF_DEVICE_CPU, 1}));
  assert_error(WF_DEVICE, "device cpu:1 isn't there");
  assert_null(wf__device_get((wf_device){WF_DEVICE_CPU, -1}));
  assert_error(WF_DEVICE, "device cpu:-1 isn't there");
  assert_null(wf__device_get((wf_device){(wf_device_type)7, 0}));
  assert_error(WF_DEVICE, "device unknown:0 isn't there");
}

static void opens_a_device_once(void **state) {
  wf__device *cpu = wf__device_get(wf_cpu());
  assert_non_null(cpu);
  assert_ptr_equal(wf__device_get(wf_cpu()), cpu);
  assert_ptr_equal(wf__device_at(cpu->slot), cpu);
  assert_int_equal(cpu->default_stream->id, 0);
}

static void refuses_incomplete_backends(void **state) {
  wf_backend b = {.abi = WF_SYS_ABI + 1, .type = WF_DEVICE_CUDA, .name = "half"};
  assert_int_equal(wf_backend_register(&b), WF_VALUE);
  wf_error_take();
  b.abi = WF_SYS_ABI;
  assert_int_equal(wf_backend_register(&b), WF_VALUE);
  assert_error(WF_VALUE, "backend 'half' leaves a required slot of its table empty");
  assert_int_equal(wf_device_count(WF_DEVICE_CUDA), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parses_types_and_indices), cmocka_unit_test(refuses_malformed_names_with_pytorchs_texts),
      cmocka_unit_test(names_what_it_parses),     cmocka_unit_test(says_that_a_device_is_not_there),
      cmocka_unit_test(opens_a_device_once),      cmocka_unit_test(refuses_incomplete_backends),
  };
  return cmocka_run_group_tests_name("device/registry", tests, NULL, NULL);
}
