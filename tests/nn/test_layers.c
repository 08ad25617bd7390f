/* A convolutional network of every layer, trained for three steps, against PyTorch on the same numbers. */
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <weft/weft.h>

/* Parameter k of the network: sin(0.37 i + k) / √fan_in for matrices and kernels, 1 + 0.1 sin(i + k) for other weights, 0.1 cos(i + k) for
 * other biases. In torch 2.15, float64 rounded to float32. */
static double value_of(const char *name, int64_t rank, int64_t fan, int64_t i, int k) {
  if (rank > 1) return sin((double)i * 0.37 + k) / sqrt((double)fan);
  return strstr(name, "weight") ? 1 + 0.1 * sin((double)(i + k)) : 0.1 * cos((double)(i + k));
}

static void set_parameters(wf_module *m) {
  int n, k = 0;
  wf_named_tensor *state = wf_module_state(m, &n);
  for (int s = 0; s < n; s++) {
    wf_tensor *t = state[s].tensor;
    if (!wf_requires_grad(t)) continue;
    int64_t count = wf_numel(t), fan = wf_ndim(t) > 1 ? count / wf_size(t, 0) : 1;
    float *data = malloc((size_t)count * sizeof *data);
    for (int64_t i = 0; i < count; i++) data[i] = (float)value_of(state[s].name, wf_ndim(t), fan, i, k);
    wf_tensor *from = wf_from_data(data, wf_sizes(t), WF_F32);
    bool was = wf_grad_set_enabled(false);
    assert_ok(wf_copy_(t, from, false));
    wf_grad_set_enabled(was);
    wf_free(from);
    free(data);
    k++;
  }
  wf_module_state_free(state, n);
}

static wf_module *network(wf_memory_format format) {
  wf_nn_conv2d_options conv = wf_nn_conv2d_defaults();
  conv.padding[0] = conv.padding[1] = 1;
  conv.bias = false;
  conv.format = format;
  wf_nn_batch_norm2d_options norm = wf_nn_batch_norm2d_defaults();
  norm.relu = format == WF_FORMAT_CHANNELS_LAST; /* the other way through as well */
  wf_module *relu[2];
  for (int i = 0; i < 2; i++) relu[i] = norm.relu ? wf_nn_identity() : wf_nn_relu();
  wf_module *layers[] = {wf_nn_conv2d(1, 32, 3, &conv),
                         wf_nn_batch_norm2d(32, &norm),
                         relu[0],
                         wf_nn_max_pool2d(2, WF_FORMAT_PRESERVE),
                         wf_nn_conv2d(32, 64, 3, &conv),
                         wf_nn_batch_norm2d(64, &norm),
                         relu[1],
                         wf_nn_max_pool2d(2, WF_FORMAT_CONTIGUOUS),
                         wf_nn_flatten(),
                         wf_nn_linear(3136, 128, true),
                         wf_nn_relu(),
                         wf_nn_linear(128, 10, true)};
  wf_module *m = wf_nn_sequential(layers, 12);
  assert_non_null(m);
  set_parameters(m);
  return m;
}

static wf_tensor *images(wf_device device) {
  static float x[8 * 784];
  for (int i = 0; i < 8 * 784; i++) x[i] = (float)sin(i * 0.01);
  return wf_to_device(wf_from_data(x, WF_SHAPE(8, 1, 28, 28), WF_F32), device, false);
}

static wf_tensor *labels(wf_device device) {
  const int64_t y[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  return wf_to_device(wf_from_data(y, WF_SHAPE(8), WF_I64), device, false);
}

static void assert_near(double came, double expected, double tolerance) {
  if (fabs(came - expected) <= tolerance * (1 + fabs(expected))) return;
  fail_msg("came %.9g, expected %.9g", came, expected);
}

/* Sums of the gradients and of their magnitudes behind the first backward, by torch 2.15. */
static const struct {
  const char *name;
  double sum, magnitude;
} gradients[] = {
    {"0.weight", 0.04810408, 1.219925}, {"1.weight", 0.001001909, 0.2373537},   {"1.bias", 0.01426291, 0.1674007},
    {"4.weight", -1.933065, 29.40319},  {"5.weight", -0.005931751, 0.06952822}, {"5.bias", 0.01439495, 0.09273916},
    {"9.weight", 23.79897, 4336.785},   {"9.bias", 0.01362486, 1.003475},       {"11.weight", 0, 8.68517},
    {"11.bias", 0, 0.5625824}};

static void check_gradients(wf_module *m) {
  int n;
  wf_named_tensor *state = wf_module_state(m, &n);
  for (size_t g = 0; g < sizeof gradients / sizeof *gradients; g++)
    for (int s = 0; s < n; s++) {
      if (strcmp(state[s].name, gradients[g].name)) continue;
      wf_tensor *grad = wf_to(wf_grad(state[s].tensor), WF_F64);
      double magnitude = wf_item_double(wf_sum(wf_abs(grad)));
      assert_near(magnitude, gradients[g].magnitude, 2e-3);
      assert_true(fabs(wf_item_double(wf_sum(grad)) - gradients[g].sum) < 1e-3 * (1 + magnitude));
    }
  wf_module_state_free(state, n);
}

static double loss_of(wf_module *m, wf_device device, bool backward) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *loss = wf_cross_entropy(wf_module_forward(m, images(device)), labels(device), NULL, NULL);
  if (backward) assert_ok(wf_backward(loss, NULL, NULL));
  double value = wf_item_double(loss);
  wf_scope_end(scope, NULL);
  assert_int_equal(wf_error_peek().status, WF_OK);
  return value;
}

static double buffer_sum(wf_module *m, const char *layer, const char *name) {
  wf_scope scope = wf_scope_begin();
  double sum = wf_item_double(wf_sum(wf_module_tensor(wf_module_child(m, layer), name)));
  wf_scope_end(scope, NULL);
  return sum;
}

static void train_three_steps(wf_memory_format format, wf_device device) {
  static const double losses[3] = {2.2842705, 2.0881290, 2.1180215};
  wf_module *m = network(format);
  assert_ok(wf_module_to(m, device));
  wf_tensors params = wf_module_parameters(m);
  assert_int_equal(params.n, 10);
  wf_optimizer *o = wf_adamw_new(params, 2e-3, NULL);
  wf_module_list_free(params);
  for (int step = 0; step < 3; step++) {
    assert_ok(wf_optimizer_zero_grad(o, true));
    assert_near(loss_of(m, device, true), losses[step], step ? 5e-3 : 1e-5);
    wf_scope scope = wf_scope_begin();
    if (!step) check_gradients(m);
    wf_scope_end(scope, NULL);
    assert_ok(wf_optimizer_step(o));
  }
  assert_near(buffer_sum(m, "1", "running_var"), 30.05214, 1e-3);
  assert_near(buffer_sum(m, "5", "running_var"), 89.62246, 2e-3);
  assert_near(buffer_sum(m, "5", "num_batches_tracked"), 3, 0);
  wf_module_train(m, false);
  assert_near(loss_of(m, device, false), 1.7998835, 5e-3);
  wf_optimizer_free(o);
  wf_module_free(m);
}

static void three_steps_equal_pytorch_row_major(void **state) {
  (void)state;
  train_three_steps(WF_FORMAT_CONTIGUOUS, wf_cpu());
}

static void three_steps_equal_pytorch_channels_last_with_fused_relu(void **state) {
  (void)state;
  train_three_steps(WF_FORMAT_CHANNELS_LAST, wf_cpu());
}

static void three_steps_equal_pytorch_on_the_emulated_accelerator(void **state) {
  (void)state;
  train_three_steps(WF_FORMAT_CHANNELS_LAST, wf_sim(0));
}

/* ---- state -------------------------------------------------------------------------------------------------------------------------- */

static char folder[64], path[128];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "weft-nn-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/state.safetensors", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

static void state_goes_to_a_file_and_back_in_pytorchs_names(void **state) {
  (void)state;
  static const char *const names[] = {"0.weight",       "1.weight",      "1.bias",
                                      "1.running_mean", "1.running_var", "1.num_batches_tracked"};
  wf_module *a = network(WF_FORMAT_CHANNELS_LAST), *b = network(WF_FORMAT_CONTIGUOUS);
  int n;
  wf_named_tensor *list = wf_module_state(a, &n);
  assert_int_equal(n, 16);
  for (int i = 0; i < 6; i++) assert_string_equal(list[i].name, names[i]);
  wf_module_state_free(list, n);
  assert_ok(wf_init_constant_(wf_module_tensor(wf_module_child(a, "9"), "bias"), 0.75));
  assert_ok(wf_module_to(a, wf_sim(0)));
  assert_ok(wf_module_save(a, path));
  assert_ok(wf_module_load(b, path));
  wf_module_train(a, false);
  wf_module_train(b, false);
  assert_near(loss_of(b, wf_cpu(), false), loss_of(a, wf_sim(0), false), 1e-5);
  wf_tensor *first = wf_select(wf_module_tensor(wf_module_child(b, "9"), "bias"), 0, 0);
  assert_true(wf_item_double(first) == 0.75);
  wf_free(first);
  wf_module_free(a);
  wf_module_free(b);
}

static void a_state_that_does_not_fit_changes_nothing_and_names_everything(void **state) {
  (void)state;
  wf_module *small = wf_nn_sequential((wf_module *[]){wf_nn_linear(3, 2, true), wf_nn_linear(2, 2, false)}, 2);
  wf_module *other = wf_nn_sequential((wf_module *[]){wf_nn_linear(4, 2, false), wf_nn_linear(2, 2, true)}, 2);
  assert_ok(wf_module_save(small, path));
  wf_tensor *kept = wf_module_tensor(wf_module_child(other, "1"), "weight");
  uint32_t version = wf_version_of(kept);
  assert_int_equal(wf_module_load(other, path), WF_RUNTIME);
  assert_error(
      WF_RUNTIME,
      "Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: \"1.bias\". \n\tUnexpected key(s) in "
      "state_dict: \"0.bias\". \n\tsize mismatch for 0.weight: copying a param with shape torch.Size([2, 3]) from checkpoint, the "
      "shape in current model is torch.Size([2, 4]).");
  assert_int_equal(wf_version_of(kept), version);
  wf_module_free(small);
  wf_module_free(other);
}

static void wrong_sizes_are_refused_and_what_was_handed_over_is_freed(void **state) {
  (void)state;
  wf_nn_conv2d_options o = wf_nn_conv2d_defaults();
  o.groups = 2;
  assert_null(wf_nn_sequential((wf_module *[]){wf_nn_conv2d(3, 4, 3, &o), wf_nn_relu()}, 2));
  assert_error(WF_VALUE, "in_channels must be divisible by groups");
  assert_null(wf_nn_max_pool2d(0, WF_FORMAT_PRESERVE));
  assert_int_equal(wf_error_take().status, WF_VALUE);
}

static void a_module_that_moves_after_backward_trains_on(void **state) {
  (void)state;
  wf_module *m = network(WF_FORMAT_CONTIGUOUS);
  double before = loss_of(m, wf_cpu(), true);
  assert_ok(wf_module_to(m, wf_sim(0)));
  assert_near(loss_of(m, wf_sim(0), true), before, 1e-5);
  wf_scope scope = wf_scope_begin();
  assert_int_equal(wf_device_of(wf_grad(wf_module_tensor(wf_module_child(m, "11"), "bias"))).type, WF_DEVICE_SIM);
  wf_scope_end(scope, NULL);
  wf_module_free(m);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(three_steps_equal_pytorch_row_major),
    cmocka_unit_test(three_steps_equal_pytorch_channels_last_with_fused_relu),
    cmocka_unit_test(three_steps_equal_pytorch_on_the_emulated_accelerator),
    cmocka_unit_test_setup_teardown(state_goes_to_a_file_and_back_in_pytorchs_names, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(a_state_that_does_not_fit_changes_nothing_and_names_everything, make_folder,
                                    remove_folder),
    cmocka_unit_test(a_module_that_moves_after_backward_trains_on),
    cmocka_unit_test(wrong_sizes_are_refused_and_what_was_handed_over_is_freed),
};
WF_TEST_MAIN("nn/layers", tests)
