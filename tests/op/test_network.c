/* A small network through the public operators against PyTorch's numbers: values, gradients, formats, copies and errors. */
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include <weft/weft.h>

#include "base/host.h"

static wf_tensor *counted(wf_dims size, int step, double divisor, int modulus, int centre) {
  int64_t n = 1;
  float data[512];
  for (int d = 0; d < size.n; d++) n *= size.at[d];
  for (int64_t i = 0; i < n; i++) data[i] = (float)((double)(i * step % modulus - centre) / divisor);
  return wf_from_data(data, size, WF_F32);
}

static void assert_values(const wf_tensor *t, const double *expected, int n, double limit) {
  float data[512];
  assert_non_null(t);
  assert_int_equal(wf_numel(t), n);
  assert_ok(wf_to_host(t, data, (size_t)n * 4));
  for (int i = 0; i < n; i++) assert_float_equal(data[i], expected[i], limit);
}

/* Values and strides: sizes stay, channels become the fastest dim. */
static wf_tensor *channels_last(wf_tensor *t) {
  wf_tensor_options o = wf_tensor_defaults();
  o.format = WF_FORMAT_CHANNELS_LAST;
  wf_tensor *y = wf_empty(wf_sizes(t), &o);
  float from[512], *to = wf_tensor_map(y, WF_WRITE);
  assert_ok(wf_to_host(t, from, (size_t)wf_numel(t) * 4));
  wf_dims size = wf_sizes(t), stride = wf_strides(y);
  for (int64_t i = 0; i < wf_numel(t); i++) {
    int64_t rest = i, at = 0;
    for (int d = 3; d >= 0; d--) {
      at += rest % size.at[d] * stride.at[d];
      rest /= size.at[d];
    }
    to[at] = from[i];
  }
  wf_tensor_unmap(y);
  return y;
}

typedef struct network {
  wf_tensor *x, *w, *g, *b, *l, *lb, *mean, *var, *target;
} network;

static network network_new(bool last) {
  network n;
  n.x = counted(WF_SHAPE(2, 1, 6, 6), 7, 4, 11, 5);
  n.w = counted(WF_SHAPE(4, 1, 3, 3), 5, 4, 7, 3);
  if (last) n.w = channels_last(n.w);
  n.g = wf_from_data((float[]){1, .5f, -1, 2}, WF_SHAPE(4), WF_F32);
  n.b = wf_from_data((float[]){0, .25f, .5f, -.5f}, WF_SHAPE(4), WF_F32);
  n.l = counted(WF_SHAPE(3, 36), 3, 8, 7, 3);
  n.lb = wf_from_data((float[]){.5f, 0, -.5f}, WF_SHAPE(3), WF_F32);
  n.mean = wf_from_data((float[]){0, 0, 0, 0}, WF_SHAPE(4), WF_F32);
  n.var = wf_from_data((float[]){1, 1, 1, 1}, WF_SHAPE(4), WF_F32);
  n.target = wf_from_data((int64_t[]){2, 0}, WF_SHAPE(2), WF_I64);
  wf_tensor *learned[] = {n.w, n.g, n.b, n.l, n.lb};
  for (int i = 0; i < 5; i++) assert_ok(wf_requires_grad_(learned[i], true));
  return n;
}

static wf_tensor *run(const network *n, bool fused) {
  wf_conv_options conv = wf_conv_defaults();
  conv.padding[0] = conv.padding[1] = 1;
  wf_batch_norm_options norm = wf_batch_norm_defaults();
  norm.training = true;
  wf_pool_options pool = wf_pool_defaults();
  pool.format = WF_FORMAT_CONTIGUOUS;
  wf_tensor *h = wf_conv2d(n->x, n->w, NULL, &conv);
  h = fused ? wf_batch_norm_relu(h, n->mean, n->var, n->g, n->b, &norm)
            : wf_relu(wf_batch_norm(h, n->mean, n->var, n->g, n->b, &norm));
  h = wf_max_pool2d(h, WF_SHAPE(2), &pool);
  return wf_linear(wf_flatten(h, 1, -1), n->l, n->lb);
}

/* x = (((arange(72) * 7) % 11 - 5) / 4.).reshape(2, 1, 6, 6); w = (((arange(36) * 5) % 7 - 3) / 4.).reshape(4, 1, 3, 3)
 * l = (((arange(108) * 3) % 7 - 3) / 8.).reshape(3, 36); lb = [.5, 0, -.5]; g = [1, .5, -1, 2]; b = [0, .25, .5, -.5]
 * h = max_pool2d(relu(batch_norm(conv2d(x, w, padding=1), zeros(4), ones(4), g, b, training=True)), 2)
 * y = linear(h.flatten(1), l, lb); cross_entropy(y, [2, 0]).backward() */
static void values_and_gradients_are_pytorchs(void **state) {
  static const double y[] = {1.03223515, -1.84067464, -1.46043015, 1.01019311, -1.18341827, -0.529369593};
  static const double w[] = {-0.00575375371, 0.348308057,  0.557405949,   -0.567519784,  0.325772852,   -0.164912105,
                             0.144522965,    0.478273541,  -0.54098773,   -0.0694546923, 0.0788843632,  -0.0430382788,
                             0.163938537,    0.118670054,  0.0267341286,  0.120048478,   -0.0993542671, -0.0408623032,
                             0.339550674,    0.0681209564, -0.316248208,  0.167171806,   -0.132366046,  0.18723318,
                             0.103487477,    -0.257520169, 0.34277913,    0.0641923398,  0.357222736,   -0.458522499,
                             0.241197824,    -0.554269612, -0.0234973133, 0.6358549,     -0.624788344,  0.0819321424};
  static const double first_of_l[] = {0.4539390504, 0.3103584051, 0.07870145142,
                                      0.3163133561, 0.2964935898, 0.5410379171};
  for (int last = 0; last < 2; last++)
    for (int fused = 0; fused < 2; fused++) {
      wf_scope scope = wf_scope_begin();
      network n = network_new(last);
      assert_ok(wf_trace_start(WF_TRACE_LEDGER));
      wf_tensor *out = run(&n, fused), *loss = wf_cross_entropy(out, n.target, NULL, NULL);
      assert_values(out, y, 6, 1e-5);
      assert_float_equal(wf_item_double(loss), 1.452584982, 1e-5);
      assert_ok(wf_backward(loss, NULL, NULL));
      wf_trace_stop();
      if (last) assert_int_equal(wf_ledger_implicit_copies(), 0);
      assert_values(wf_grad(n.w), w, 36, 1e-5);
      assert_int_equal(wf_stride(wf_grad(n.w), 3), wf_stride(n.w, 3));
      assert_values(wf_grad(n.g), (double[]){0.111707546, 0.146012798, -0.485605061, -0.172022402}, 4, 1e-5);
      assert_values(wf_grad(n.b), (double[]){-0.18912527, 0.0873509049, 0.0873508975, -0.253288478}, 4, 1e-5);
      assert_values(wf_grad(n.lb), (double[]){0.315972745, 0.0668617338, -0.382834435}, 3, 1e-5);
      assert_values(wf_narrow(wf_select(wf_grad(n.l), 0, 0), 0, 0, 6), first_of_l, 6, 1e-5);
      assert_values(n.mean, (double[]){0.00121527782, -0.00251736119, 0.00164930557, -0.00147569447}, 4, 1e-7);
      assert_values(n.var, (double[]){1.02454484, 0.973092616, 1.0139854, 1.01574039}, 4, 1e-6);
      assert_int_equal(wf_version_of(n.mean), 1);
      wf_scope_end(scope, NULL);
    }
}

static void the_result_of_a_convolution_follows_input_or_weight(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = counted(WF_SHAPE(2, 3, 4, 4), 7, 4, 11, 5), *w = counted(WF_SHAPE(2, 3, 3, 3), 5, 4, 7, 3);
  wf_tensor *xl = channels_last(x), *wl = channels_last(w);
  assert_true(wf_is_contiguous(wf_conv2d(x, w, NULL, NULL), WF_FORMAT_CONTIGUOUS));
  assert_true(wf_is_contiguous(wf_conv2d(xl, w, NULL, NULL), WF_FORMAT_CHANNELS_LAST));
  assert_true(wf_is_contiguous(wf_conv2d(x, wl, NULL, NULL), WF_FORMAT_CHANNELS_LAST));
  wf_scope_end(scope, NULL);
}

/* Weights are packed by oneDNN; that is neither a copy nor implicit. */
static void packing_of_weights_is_in_the_ledger_under_its_own_name(void **state) {
#ifdef WF_HAVE_DNNL
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = channels_last(counted(WF_SHAPE(1, 16, 5, 5), 7, 4, 11, 5)),
            *w = channels_last(counted(WF_SHAPE(3, 16, 3, 3), 5, 4, 7, 3));
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  assert_non_null(wf_conv2d(x, w, NULL, NULL));
  wf_trace_stop();
  size_t n;
  int64_t packed = 0;
  wf_ledger_row *rows = wf_ledger_rows(&n);
  for (size_t i = 0; i < n; i++)
    if (rows[i].kind == WF_EVENT_PACK) packed += rows[i].bytes_written;
  wf_trace_release(rows);
  assert_int_equal(wf_ledger_implicit_copies(), 0);
  assert_true(packed == 0 || packed >= 3 * 16 * 9 * 4);
  wf_scope_end(scope, NULL);
#endif
}

static void an_activation_that_must_be_copied_shows_as_implicit(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *wide = counted(WF_SHAPE(2, 3, 4, 8), 7, 4, 11, 5), *w = counted(WF_SHAPE(2, 3, 3, 3), 5, 4, 7, 3);
  wf_tensor *x = wf_slice(wide, 3, WF_NONE, WF_NONE, 2);
  assert_ok(wf_trace_start(WF_TRACE_LEDGER));
  assert_non_null(wf_conv2d(x, w, NULL, NULL));
  wf_trace_stop();
  assert_int_equal(wf_ledger_implicit_copies(), 1);
  wf_copy_policy before = wf_copy_policy_set(WF_COPY_FORBID);
  assert_null(wf_conv2d(x, w, NULL, NULL));
  wf_copy_policy_set(before);
  assert_int_equal(wf_error_take().status, WF_RUNTIME);
  wf_scope_end(scope, NULL);
}

static void a_second_derivative_of_a_convolution_is_refused_in_words(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = counted(WF_SHAPE(1, 1, 3, 3), 7, 4, 11, 5), *w = counted(WF_SHAPE(1, 1, 2, 2), 5, 4, 7, 3);
  assert_ok(wf_requires_grad_(x, true));
  assert_ok(wf_requires_grad_(w, true));
  wf_backward_options o = wf_backward_defaults();
  o.create_graph = true;
  wf_tensor *y = wf_sum(wf_conv2d(x, w, NULL, NULL));
  wf_tensors first = wf_autograd_grad((wf_tensors){&y, 1}, (wf_tensors){&x, 1}, (wf_tensors){NULL, 0}, false, &o);
  assert_int_equal(first.n, 1);
  assert_int_equal(wf_backward(wf_sum(first.at[0]), NULL, NULL), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "conv2d is not differentiable twice");
  wf_scope_end(scope, NULL);
}

static void relu_and_max_pool_pass_nan_on(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = channels_last(wf_from_data((float[]){1, 2, NAN, 3}, WF_SHAPE(1, 1, 2, 2), WF_F32));
  assert_true(isnan(wf_item_double(wf_max_pool2d(x, WF_SHAPE(2), NULL))));
  wf_scope_end(scope, NULL);
}

/* torch.nn.functional.max_pool2d's memory format is the input's; the option writes another one without a pass of its own */
static void pooling_into_another_format_gives_the_same_values(void **state) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = channels_last(counted(WF_SHAPE(2, 20, 3, 4), 7, 4, 11, 5));
  wf_pool_options o = wf_pool_defaults();
  wf_tensor *a = wf_max_pool2d(x, WF_SHAPE(2), &o);
  o.format = WF_FORMAT_CONTIGUOUS;
  wf_tensor *b = wf_max_pool2d(x, WF_SHAPE(2), &o);
  assert_true(wf_is_contiguous(a, WF_FORMAT_CHANNELS_LAST));
  assert_true(wf_is_contiguous(b, WF_FORMAT_CONTIGUOUS));
  float data[2][80];
  assert_ok(wf_to_host(a, data[0], sizeof data[0]));
  assert_ok(wf_to_host(b, data[1], sizeof data[1]));
  assert_memory_equal(data[0], data[1], sizeof data[0]);
  assert_true(wf_shares_storage(b, wf_flatten(b, 1, -1)));
  wf_scope_end(scope, NULL);
}

/* Fails each allocation of a forward and backward pass in turn: an error comes out, nothing leaks, and the next pass is right. */
static void failing_any_allocation_loses_nothing(void **state) {
  wf_scope outer = wf_scope_begin();
  network n = network_new(true);
  wf_tensor *learned[] = {n.w, n.g, n.b, n.l, n.lb};
  wf_allocator_stats before, after;
  for (int64_t k = 0, reached = 1; reached; k++) { /* k 0 fails nothing and fills the caches */
    for (int i = 0; i < 5; i++) assert_ok(wf_set_grad(learned[i], NULL));
    assert_ok(wf_memory_stats(wf_cpu(), false, &before));
    if (k) wf__fault_at(k);
    wf_scope scope = wf_scope_begin();
    wf_tensor *loss = wf_cross_entropy(run(&n, true), n.target, NULL, NULL);
    wf_status status = loss ? wf_backward(loss, NULL, NULL) : wf_error_peek().status;
    reached = k == 0 || wf__fault_count() >= k;
    wf__fault_at(0);
    assert_int_equal(wf_error_take().status, status);
    assert_int_equal(status, k && reached ? WF_NO_MEMORY : WF_OK);
    if (!status) assert_float_equal(wf_item_double(loss), 1.452584982, 1e-5);
    wf_scope_end(scope, NULL);
    for (int i = 0; i < 5; i++) assert_ok(wf_set_grad(learned[i], NULL));
    assert_ok(wf_memory_stats(wf_cpu(), false, &after));
    assert_int_equal(after.allocation[0].current, before.allocation[0].current);
  }
  wf_scope_end(outer, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(values_and_gradients_are_pytorchs),
    cmocka_unit_test(the_result_of_a_convolution_follows_input_or_weight),
    cmocka_unit_test(packing_of_weights_is_in_the_ledger_under_its_own_name),
    cmocka_unit_test(an_activation_that_must_be_copied_shows_as_implicit),
    cmocka_unit_test(a_second_derivative_of_a_convolution_is_refused_in_words),
    cmocka_unit_test(relu_and_max_pool_pass_nan_on),
    cmocka_unit_test(pooling_into_another_format_gives_the_same_values),
    cmocka_unit_test(failing_any_allocation_loses_nothing),
};
WF_TEST_MAIN("op/network", tests)
