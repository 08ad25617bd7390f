/* Names of families and operators, and the one line that a plan makes. Reads numbers only, never what operands point to: the addresses may
 * be a device's. */
#include "kernel/plan_print.h"

#include <stdarg.h>
#include <stdio.h>

#include "kernel/kernel.h"

typedef struct text {
  char *buffer;
  size_t size, used; /* used goes on counting when the buffer is full */
} text;

static void put(text *t, const char *format, ...) WF_PRINTF(2, 3);
static void put(text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  bool room = t->used < t->size;
  int n = vsnprintf(room ? t->buffer + t->used : NULL, room ? t->size - t->used : 0, format, args);
  va_end(args);
  if (n > 0) t->used += (size_t)n;
}

static const char *const pointwise_names[] = {
#define WF_X(NAME, arity) #NAME,
    WF__POINTWISE_OPS(WF_X)
#undef WF_X
};
static const char *const reduce_names[] = {
#define WF_X(NAME) #NAME,
    WF__REDUCE_OPS(WF_X)
#undef WF_X
};
static const char *const range_names[] = {"ARANGE", "LINSPACE", "EYE"};
static const char *const random_names[] = {"UNIFORM", "NORMAL", "BERNOULLI", "INT", "PERMUTATION"};
static const char *const optim_names[] = {"SGD", "ADAM", "ADAMW"};

#define NAMES(list) (list), sizeof(list) / sizeof *(list)
static const struct {
  const char *name;
  const char *const *op;
  size_t ops;
} families[] = {
    [WF_FAMILY_COPY] = {"copy", NULL, 0},
    [WF_FAMILY_POINTWISE] = {"pointwise", NAMES(pointwise_names)},
    [WF_FAMILY_REDUCE] = {"reduce", NAMES(reduce_names)},
    [WF_FAMILY_RANDOM] = {"random", NAMES(random_names)},
    [WF_FAMILY_RANGE] = {"range", NAMES(range_names)},
    [WF_FAMILY_MATMUL] = {"matmul", NULL, 0},
    [WF_FAMILY_CONV] = {"conv", NULL, 0},
    [WF_FAMILY_POOL] = {"pool", NULL, 0},
    [WF_FAMILY_NORM] = {"norm", NULL, 0},
    [WF_FAMILY_SOFTMAX] = {"softmax", NULL, 0},
    [WF_FAMILY_LOSS] = {"loss", NULL, 0},
    [WF_FAMILY_INDEX] = {"index", NULL, 0},
    [WF_FAMILY_SCAN] = {"scan", NULL, 0},
    [WF_FAMILY_OPTIM] = {"optim", NAMES(optim_names)},
};

/* "f32": the table's short names. */
static const char *brief_name(wf_dtype dtype) {
  static const char *const names[WF_DTYPE_COUNT] = {[WF_DTYPE_NONE] = "none",
#define WF_X(NAME, value, bytes, kind, brief, ...) [value] = brief,
                                                    WF_DTYPE_TABLE(WF_X)
#undef WF_X
  };
  return names[(unsigned)dtype < WF_DTYPE_COUNT ? dtype : WF_DTYPE_NONE];
}

static void put_op(text *t, const wf_plan *plan) {
  size_t known = sizeof families / sizeof *families;
  bool is_family = plan->family < known && families[plan->family].name;
  put(t, "%s", is_family ? families[plan->family].name : "unknown");
  if (is_family && plan->op < families[plan->family].ops) {
    put(t, " ");
    for (const char *s = families[plan->family].op[plan->op]; *s; s++)
      put(t, "%c", *s >= 'A' && *s <= 'Z' ? *s - 'A' + 'a' : *s);
  } else if (plan->family != WF_FAMILY_COPY) {
    put(t, " %d", plan->op);
  }
}

static void put_list(text *t, char open, const int64_t *at, int n, char close) {
  put(t, "%c", open);
  for (int i = 0; i < n; i++) put(t, i ? ",%lld" : "%lld", (long long)at[i]);
  put(t, "%c", close);
}

/* Families whose operands differ in shape keep each operand's own. */
static void put_operand(text *t, const wf_plan *plan, int o) {
  const wf_operand *operand = &plan->operand[o];
  if (!operand->data) {
    put(t, "-");
    return;
  }
  bool own = plan->rank[o] > 0 && plan->rank[o] <= 6;
  put(t, "%s", brief_name(operand->dtype));
  if (own) put_list(t, '[', plan->shape[o], plan->rank[o], ']');
  put_list(t, '(', operand->stride, own ? plan->rank[o] : plan->ndim <= WF_MAX_DIMS ? plan->ndim : 0, ')');
}

static void put_number(text *t, wf_scalar s) {
  if (s.kind == WF_SCALAR_FLOAT) put(t, ", %g", s.as.f);
  else if (s.kind != WF_SCALAR_NONE) put(t, ", %lld", (long long)s.as.i);
}

size_t wf__plan_print(const wf_plan *plan, char *buffer, size_t size) {
  text t = {buffer, size, 0};
  if (size) buffer[0] = 0;
  put_op(&t, plan);
  if (plan->compute) put(&t, " %s", brief_name((wf_dtype)plan->compute));
  put(&t, " ");
  put_list(&t, '[', plan->size, plan->ndim <= WF_MAX_DIMS ? plan->ndim : 0, ']');
  int operands = plan->operands < WF_PLAN_OPERANDS ? plan->operands : WF_PLAN_OPERANDS;
  for (int o = 0; o < operands; o++) {
    put(&t, o == 0 ? ": " : o == plan->outputs ? " := " : ", ");
    put_operand(&t, plan, o);
  }
  for (int i = 0; i < 4; i++) put_number(&t, plan->scalar[i]);
  return t.used;
}
