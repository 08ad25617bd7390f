/* Operators by name: binding of arguments, defaults, and what is refused. */
#include "test.h"

#include <weft/weft.h>

static wf_arg tensor(wf_tensor *t) { return (wf_arg){.kind = WF_VALUE_TENSOR, .as.tensor = t}; }
static wf_arg number(const char *name, wf_scalar s) {
  return (wf_arg){.name = name, .kind = WF_VALUE_SCALAR, .as.scalar = s};
}
static wf_arg word(const char *name, const char *s) {
  return (wf_arg){.name = name, .kind = WF_VALUE_STRING, .as.string = s};
}
static wf_arg list(const char *name, wf_dims d) { return (wf_arg){.name = name, .kind = WF_VALUE_DIMS, .as.dims = d}; }

static void arguments_bind_by_name_in_any_order_and_defaults_fill_the_rest(void **state) {
  (void)state;
  wf_scope scope = wf_scope_begin();
  wf_tensor *x = wf_from_data((float[6]){0, 1, 2, 3, 4, 5}, WF_SHAPE(2, 3), WF_F32);
  wf_result r;
  assert_ok(wf_call("slice", (wf_arg[]){number("end", wf_int(2)), number("dim", wf_int(1)), tensor(x)}, 3, &r));
  assert_int_equal(r.kind, WF_VALUE_TENSOR);
  assert_int_equal(r.n, 1);
  assert_int_equal(wf_size(r.tensor[0], 0), 2);
  assert_int_equal(wf_size(r.tensor[0], 1), 2);
  assert_int_equal(wf_storage_offset(r.tensor[0]), 0);
  assert_ok(wf_call("zeros", (wf_arg[]){list("size", WF_SHAPE(3)), word("dtype", "int16")}, 2, &r));
  assert_int_equal(wf_dtype_of(r.tensor[0]), WF_I16);
  assert_ok(wf_call(
      "split", (wf_arg[]){tensor(x), list("split_size_or_sections", WF_SHAPE(1, 2)), number("dim", wf_int(1))}, 3, &r));
  assert_int_equal(r.kind, WF_VALUE_TENSORS);
  assert_int_equal(r.tensors.n, 2);
  assert_int_equal(wf_size(r.tensors.at[1], 1), 2);
  assert_ok(wf_call(
      "item", (wf_arg[]){{.name = "self", .kind = WF_VALUE_TENSOR, .as.tensor = wf_select(wf_select(x, 0, 1), 0, 2)}},
      1, &r));
  assert_int_equal(r.kind, WF_VALUE_SCALAR);
  assert_true(r.scalar.as.f == 5);
  wf_scope_end(scope, NULL);
}

static void refuses_what_it_cannot_bind(void **state) {
  (void)state;
  wf_tensor *x = wf_from_data((float[1]){0}, WF_SHAPE(1), WF_F32);
  wf_result r;
  assert_int_equal(wf_call("no_such", NULL, 0, &r), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "no operator named 'no_such'");
  assert_int_equal(wf_call("t", (wf_arg[]){tensor(x), number("dim", wf_int(1))}, 2, &r), WF_NOT_IMPLEMENTED);
  assert_error(WF_NOT_IMPLEMENTED, "t has no parameter 'dim'");
  assert_int_equal(wf_call("t", (wf_arg[]){tensor(x), tensor(x)}, 2, &r), WF_TYPE);
  assert_error(WF_TYPE, "t() takes fewer tensors than were given");
  assert_int_equal(wf_call("unsqueeze", (wf_arg[]){tensor(x)}, 1, &r), WF_TYPE);
  assert_error(WF_TYPE, "unsqueeze() missing 1 required positional arguments: \"dim\"");
  assert_int_equal(wf_call("unsqueeze", (wf_arg[]){tensor(x), number("dim", wf_float(1))}, 2, &r), WF_TYPE);
  assert_error(WF_TYPE, "unsqueeze(): argument 'dim' must be int");
  assert_int_equal(wf_call("view", (wf_arg[]){tensor(x), list("size", WF_SHAPE(2))}, 2, &r), WF_RUNTIME);
  assert_error(WF_RUNTIME, "shape '[2]' is invalid for input of size 1");
  assert_int_equal(r.n, 0);
  wf_free(x);
}

static void every_operator_has_a_schema_and_is_found_by_its_name(void **state) {
  (void)state;
  const char *schema;
  int n = 0;
  bool seen = false;
  for (; (schema = wf_op_schema(n)); n++) {
    char name[64];
    assert_int_equal(sscanf(schema, "%63[^(]", name), 1);
    assert_true(wf_op_exists(name));
    seen |= !strcmp(schema, "transpose(Tensor self, int dim0, int dim1) -> Tensor");
  }
  assert_true(seen);
  assert_true(n > 40);
  assert_null(wf_op_schema(-1));
  assert_false(wf_op_exists("no_such"));
}

static void a_call_without_a_place_for_its_result_is_refused(void **state) {
  (void)state;
  assert_int_equal(wf_call("add", NULL, 0, NULL), WF_VALUE);
  assert_error(WF_VALUE, "call: no place for the result given");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(arguments_bind_by_name_in_any_order_and_defaults_fill_the_rest),
    cmocka_unit_test(refuses_what_it_cannot_bind),
    cmocka_unit_test(every_operator_has_a_schema_and_is_found_by_its_name),
    cmocka_unit_test(a_call_without_a_place_for_its_result_is_refused),
};
WF_TEST_MAIN("op/call", tests)
