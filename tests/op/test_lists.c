/* Lists of integers that can't be what they say: a count without numbers, a count below 0, more entries than a tensor has dims. Whatever
 * takes a list refuses them; none is read. What has a row in the table of operators is found there, so a new one is tested as well. */
#include "op/geometry.h"

#include <weft/weft.h>

/* ---- by the table of operators -------------------------------------------------------------------------------------------------------- */

/* One parameter of a schema: "int[] size", "Tensor self", "bool keepdim=False". */
typedef struct parameter {
  char kind[32], name[32];
  bool optional;
} parameter;

static int parameters_of(const char *schema, parameter *out) {
  int n = 0;
  for (const char *p = strchr(schema, '('); p && *p != ')' && p[1] != ')'; n++) {
    char one[200] = "";
    int depth = 0;
    size_t length = 0;
    for (p++; *p == ' '; p++) continue;
    for (; *p && !(depth == 0 && (*p == ',' || *p == ')')); p++) {
      depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
      if (length + 1 < sizeof one) one[length++] = *p;
    }
    assert_int_equal(sscanf(one, "%31s %31[^=]", out[n].kind, out[n].name), 2);
    out[n].optional = strchr(one, '=') || strchr(out[n].kind, '?');
  }
  return n;
}

static bool is_list(const parameter *p) { return strstr(p->kind, "int[]") != NULL; }

/* What a parameter gets that isn't the list in question. */
static wf_arg plain_argument(const parameter *p, wf_tensor **t) {
  static const int64_t ones[2] = {1, 1};
  wf_arg a = {.name = p->name, .kind = WF_VALUE_SCALAR, .as.scalar = wf_int(0)};
  if (is_list(p)) a = (wf_arg){.name = p->name, .kind = WF_VALUE_DIMS, .as.dims = wf_dims_of(ones, 2)};
  else if (!strcmp(p->kind, "Tensor[]")) a = (wf_arg){.name = p->name, .kind = WF_VALUE_TENSORS, .as.tensors = {t, 1}};
  else if (!strncmp(p->kind, "Tensor", 6) && !strchr(p->kind, '|'))
    a = (wf_arg){.name = p->name, .kind = WF_VALUE_TENSOR, .as.tensor = *t};
  else if (!strcmp(p->kind, "ScalarType")) a = (wf_arg){.name = p->name, .kind = WF_VALUE_DTYPE, .as.dtype = WF_F32};
  return a;
}

/* The operator with `list` for the one parameter, on a fresh tensor. The error is left for the caller. */
static wf_status call_with(const char *op, const parameter *p, int n, int which, wf_dims list, wf_dims size) {
  wf_scope scope = wf_scope_begin();
  wf_tensor *t = wf_zeros(size, NULL);
  wf_arg args[20];
  wf_result result;
  int count = 0;
  for (int i = 0; i < n; i++) {
    if (i == which) args[count++] = (wf_arg){.name = p[i].name, .kind = WF_VALUE_DIMS, .as.dims = list};
    else if (!p[i].optional) args[count++] = plain_argument(&p[i], &t);
  }
  wf_status status = wf_call(op, args, count, &result);
  wf_scope_end(scope, NULL);
  return status;
}

/* Three tensors, since what an operator looks at before it reads the list differs. */
static const int64_t sizes[3][4] = {{2, 3}, {1, 2, 4, 4}, {0, 3}};
static wf_dims size_of(int i) { return wf_dims_of(sizes[i], i == 1 ? 4 : 2); }

static bool says_so(const wf_error *e) {
  return e->status == WF_VALUE && (strstr(e->text, "none given") || strstr(e->text, "a list can't have"));
}

static void refuses(const char *op, const parameter *p, int n, int which) {
  static const int64_t one = 1;
  const wf_dims bad[] = {wf_dims_of(NULL, 3), wf_dims_of(NULL, 17), wf_dims_of(NULL, -1), wf_dims_of(&one, -1)};
  for (int k = 0; k < 4; k++) {
    bool said = !!strchr(p[which].kind, '|'); /* a number as well as a list: those have texts of their own */
    for (int i = 0; i < 3; i++) {
      wf_status status = call_with(op, p, n, which, bad[k], size_of(i));
      wf_error e = wf_error_take();
      if (!status) fail_msg("%s took %d entries at %p for %s", op, bad[k].n, (const void *)bad[k].at, p[which].name);
      said |= says_so(&e);
    }
    if (!said) fail_msg("%s: nothing was said of a list of %d entries for %s", op, bad[k].n, p[which].name);
  }
}

static void every_operator_refuses_a_list_without_its_numbers(void **state) {
  (void)state;
  const char *schema;
  int seen = 0;
  for (int i = 0; (schema = wf_op_schema(i)); i++) {
    parameter p[20];
    char op[64];
    assert_int_equal(sscanf(schema, "%63[^(]", op), 1);
    int n = parameters_of(schema, p);
    for (int k = 0; k < n; k++)
      if (is_list(&p[k])) refuses(op, p, n, k), seen++;
  }
  assert_true(seen > 40);
}

/* Splitting and padding may take more numbers than a tensor has dims; what they say of these is PyTorch's. */
static void no_operator_is_harmed_by_a_list_longer_than_a_shape(void **state) {
  (void)state;
  static const int64_t many[40] = {1, 1, 1, 1, 1, 1, 1, 1};
  const char *schema;
  for (int i = 0; (schema = wf_op_schema(i)); i++) {
    parameter p[20];
    char op[64];
    assert_int_equal(sscanf(schema, "%63[^(]", op), 1);
    int n = parameters_of(schema, p);
    for (int k = 0; k < n; k++)
      for (int s = 0; is_list(&p[k]) && s < 3; s++) {
        bool splits = !strcmp(op, "tensor_split");
        wf_status status = call_with(op, p, n, k, wf_dims_of(many, 17 + s), size_of(s));
        wf_error_take();
        if (!status && !splits) fail_msg("%s took a list of %d entries for %s", op, 17 + s, p[k].name);
      }
  }
}

/* ---- what has no row of its own ------------------------------------------------------------------------------------------------------- */

static void entries_outside_the_table_refuse_it_too(void **state) {
  (void)state;
  wf_dims none = wf_dims_of(NULL, 2), one = WF_SHAPE(1);
  float data[4] = {0};
  wf_tensor *t = wf_ones(WF_SHAPE(1, 1, 4, 4), NULL), *to = wf_ones(WF_SHAPE(2), NULL);
#define SAYS(op) op "(): a list of 2 entries was announced, but none given"
  assert_refused(wf_from_data(data, none, WF_F32), WF_VALUE, SAYS("from_data"));
  assert_refused(wf_from_memory(data, sizeof data, none, one, WF_F32, NULL, NULL), WF_VALUE, SAYS("from_memory"));
  assert_refused(wf_from_memory(data, sizeof data, one, none, WF_F32, NULL, NULL), WF_VALUE, SAYS("from_memory"));
  assert_int_equal(wf_set_(to, t, 0, none, WF_SHAPE0), WF_VALUE);
  assert_error(WF_VALUE, SAYS("set_"));
  assert_int_equal(wf_set_(to, t, 0, WF_SHAPE(1, 1), none), WF_VALUE);
  assert_error(WF_VALUE, SAYS("set_"));
  assert_refused(wf_max_pool2d(t, none, NULL), WF_RUNTIME,
                 "max_pool2d: kernel_size must either be a single int, or a tuple of two ints");
  assert_refused(wf_avg_pool2d(t, none, NULL), WF_RUNTIME,
                 "avg_pool2d: kernel_size must either be a single int, or a tuple of two ints");
  assert_null(wf_max_pool2d_with_indices(t, none, NULL).values);
  assert_error(WF_RUNTIME, "max_pool2d: kernel_size must either be a single int, or a tuple of two ints");
  assert_string_equal(geometry_text(to), "[2] [1] +0");
  wf_free(t);
  wf_free(to);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_operator_refuses_a_list_without_its_numbers),
    cmocka_unit_test(no_operator_is_harmed_by_a_list_longer_than_a_shape),
    cmocka_unit_test(entries_outside_the_table_refuse_it_too),
};
WF_TEST_MAIN("op/lists", tests)
