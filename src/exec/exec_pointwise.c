/* Pointwise operators: operands of any dtype and stride, blocks of consecutive elements of the class's type in the kernel.
 *
 * Each row is taken in blocks. An operand that already is what the kernel wants is read and written in place; another is gathered,
 * cast or spread into a block on the stack first, so that kernels exist per operator and class only. Where an operand's fastest dim isn't
 * the row, two dims are walked in tiles and the operand is transposed into a block, so that all memory is read in whole lines. */
#include <string.h>

#include "base/convert.h"
#include "exec/families.h"
#include "exec/threads.h"
#include "exec/walk.h"
#include "kernel/tables.h"

#define BLOCK 512   /* elements; at most 4 KiB an operand, four of them in L1 */
#define CHUNK 16384 /* elements of a row that a thread takes at a time */
#define TILE 32     /* TILE x TILE elements are transposed at a time: 8 KiB of f64 an operand */
#define MOST_INPUTS 3

typedef struct input {
  bool present;
  bool missing; /* neither a tensor nor a number: the kernel gets NULL */
  bool is_mask;
  int log_size;
  int64_t size;
  wf__convert_fn to_compute; /* NULL: nothing to do */
  wf__convert_fn to_class;
  double number;   /* when absent: the value for a float class */
  int64_t integer; /* and for the integer class */
} input;

typedef struct job {
  wf__walk walk;
  const wf__kernels *kernels;
  wf__pointwise_fn fn;
  wf__pointwise_args args;
  wf__class class;
  int inputs;
  input in[MOST_INPUTS];
  wf__convert_fn from_class;   /* result: class to compute */
  wf__convert_fn from_compute; /* then compute to the output's dtype */
  int out_log;
  int64_t out_size;
  bool has_result_copy; /* the kernel can't write to the output itself */
  int64_t n, chunks;
  int64_t stride[1 + MOST_INPUTS]; /* along the row, bytes */
  int64_t rows;                    /* tiles: size of the second inner dim, and its strides */
  int64_t row_stride[1 + MOST_INPUTS];
  bool turned[1 + MOST_INPUTS]; /* transposed before use */
} job;

/* ---- a row ----------------------------------------------------------------------------------------------------------------- */

typedef struct blocks {
  char value[MOST_INPUTS][BLOCK * 8] __attribute__((aligned(64)));
  char raw[BLOCK * 8] __attribute__((aligned(64)));
  char result[BLOCK * 8] __attribute__((aligned(64)));
} blocks;

static int64_t class_size(const job *j, int k) { return j->in[k].is_mask ? 1 : j->class == WF__CLASS_F32 ? 4 : 8; }

/* n elements cast to what the kernel reads, from consecutive ones. `raw` may be the destination's own block only when nothing is cast. */
static void cast_into(const input *in, char *block, const char *consecutive, char *spare, int64_t n) {
  if (in->to_compute && in->to_class) {
    in->to_compute(spare, consecutive, n);
    in->to_class(block, spare, n);
  } else {
    (in->to_compute ? in->to_compute : in->to_class)(block, consecutive, n);
  }
}

/* Fills the block of an operand that doesn't vary along the row. */
static void fill_constant(const job *j, int k, const char *src, blocks *b, int64_t n) {
  const input *in = &j->in[k];
  char one[8] = {0}, spare[8];
  if (!in->present) {
    if (j->class == WF__CLASS_F32) *(float *)one = (float)in->number;
    else if (j->class == WF__CLASS_F64) *(double *)one = in->number;
    else *(int64_t *)one = in->integer;
    if (in->is_mask) one[0] = in->integer != 0;
  } else if (in->to_compute || in->to_class) {
    cast_into(in, one, src, spare, 1);
  } else {
    memcpy(one, src, (size_t)in->size);
  }
  int log = class_size(j, k) == 1 ? 0 : class_size(j, k) == 4 ? 2 : 3;
  j->kernels->gather[log](b->value[k], one, 0, n);
}

/* Where the kernel finds n elements of operand k. */
static const void *load_block(const job *j, int k, const char *src, int64_t stride, blocks *b, int64_t n) {
  const input *in = &j->in[k];
  const char *consecutive = src;
  bool cast = in->to_compute || in->to_class;
  if (stride != in->size) {
    char *where = cast ? b->raw : b->value[k];
    j->kernels->gather[in->log_size](where, src, stride, n);
    consecutive = where;
  }
  if (!cast) return consecutive;
  char spare[BLOCK * 8];
  cast_into(in, b->value[k], consecutive, spare, n);
  return b->value[k];
}

static void store_block(const job *j, char *dst, int64_t stride, blocks *b, int64_t n) {
  char *now = b->result;
  bool direct = stride == j->out_size;
  if (j->from_class) {
    char *to = !j->from_compute && direct ? dst : b->raw;
    j->from_class(to, now, n);
    now = to;
  }
  if (j->from_compute) {
    char *to = direct ? dst : now == b->raw ? b->result : b->raw;
    j->from_compute(to, now, n);
    now = to;
  }
  if (!direct) j->kernels->scatter[j->out_log](dst, stride, now, n);
}

/* n elements of one row; at[] and stride[] by operand, the output first. */
static void do_row(const job *j, char *const *at, const int64_t *stride, blocks *b, int64_t n) {
  const void *in[MOST_INPUTS];
  bool in_place[MOST_INPUTS] = {false}, whole = !j->has_result_copy && stride[0] == j->out_size;
  int64_t first = n < BLOCK ? n : BLOCK;
  for (int k = 0; k < j->inputs; k++) {
    const input *o = &j->in[k];
    bool constant = !o->present || stride[k + 1] == 0;
    in_place[k] = !constant && !o->to_compute && !o->to_class && stride[k + 1] == o->size;
    whole = whole && (in_place[k] || o->missing);
    in[k] = b->value[k];
    if (in_place[k]) in[k] = at[k + 1];
    else if (o->missing) in[k] = NULL;
    else if (constant) fill_constant(j, k, at[k + 1], b, first);
  }
  if (whole) {
    j->fn(at[0], in, n, &j->args);
    return;
  }
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t count = n - i < BLOCK ? n - i : BLOCK;
    for (int k = 0; k < j->inputs; k++) {
      if (in_place[k]) in[k] = at[k + 1] + i * stride[k + 1];
      else if (j->in[k].present && stride[k + 1] != 0)
        in[k] = load_block(j, k, at[k + 1] + i * stride[k + 1], stride[k + 1], b, count);
    }
    bool direct = !j->has_result_copy && stride[0] == j->out_size;
    char *dst = at[0] + i * stride[0];
    j->fn(direct ? dst : b->result, in, count, &j->args);
    if (!direct) store_block(j, dst, stride[0], b, count);
  }
}

static void do_rows(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  blocks b;
  wf__cursor at;
  wf__walk_seek(&j->walk, begin / j->chunks, &at);
  for (int64_t unit = begin, piece = begin % j->chunks; unit < end; unit++) {
    int64_t first = piece * CHUNK, n = j->n - first < CHUNK ? j->n - first : CHUNK;
    char *row[1 + MOST_INPUTS];
    for (int o = 0; o <= j->inputs; o++) row[o] = at.at[o] + first * j->stride[o];
    do_row(j, row, j->stride, &b, n);
    if (++piece < j->chunks) continue;
    piece = 0;
    wf__walk_next(&j->walk, &at);
  }
}

/* ---- tiles ----------------------------------------------------------------------------------------------------------------- */

static void do_tile(const job *j, char *const *corner, int64_t rows, int64_t cols, blocks *b,
                    char (*turned)[TILE * TILE * 8]) {
  char *at[1 + MOST_INPUTS];
  int64_t step[1 + MOST_INPUTS], stride[1 + MOST_INPUTS];
  for (int o = 0; o <= j->inputs; o++) {
    at[o] = corner[o];
    step[o] = j->row_stride[o];
    stride[o] = j->stride[o];
    if (!j->turned[o]) continue;
    const input *in = &j->in[o - 1];
    j->kernels->transpose[in->log_size](turned[o - 1], TILE * in->size, corner[o], j->stride[o], rows, cols, false);
    at[o] = turned[o - 1];
    step[o] = TILE * in->size;
    stride[o] = in->size;
  }
  for (int64_t r = 0; r < rows; r++) {
    do_row(j, at, stride, b, cols);
    for (int o = 0; o <= j->inputs; o++) at[o] += step[o];
  }
}

static void do_tiles(void *context, int64_t begin, int64_t end) {
  const job *j = context;
  blocks b;
  char turned[MOST_INPUTS][TILE * TILE * 8] __attribute__((aligned(64)));
  wf__cursor at;
  wf__walk_seek(&j->walk, begin / j->chunks, &at);
  for (int64_t unit = begin, piece = begin % j->chunks; unit < end; unit++) {
    int64_t r = piece * TILE, rows = j->rows - r < TILE ? j->rows - r : TILE;
    for (int64_t c = 0; c < j->n; c += TILE) {
      char *corner[1 + MOST_INPUTS];
      for (int o = 0; o <= j->inputs; o++) corner[o] = at.at[o] + r * j->row_stride[o] + c * j->stride[o];
      do_tile(j, corner, rows, j->n - c < TILE ? j->n - c : TILE, &b, turned);
    }
    if (++piece < j->chunks) continue;
    piece = 0;
    wf__walk_next(&j->walk, &at);
  }
}

/* The dim along which an input is consecutive that isn't consecutive along the row; -1 when all agree. */
static int other_fastest(const job *j, const wf_plan *plan) {
  int last = plan->ndim - 1;
  for (int k = 0; k < j->inputs; k++) {
    const wf_operand *o = &plan->operand[k + 1];
    if (!j->in[k].present || o->stride[last] == 0 || o->stride[last] == j->in[k].size) continue;
    for (int d = last - 1; d >= 0; d--)
      if (o->stride[d] == j->in[k].size && plan->size[d] >= 4) return d;
  }
  return -1;
}

static void run(job *j, const wf_plan *plan) {
  int last = plan->ndim - 1, other = last > 0 && plan->size[last] >= 4 ? other_fastest(j, plan) : -1;
  j->n = last >= 0 ? plan->size[last] : 1;
  for (int o = 0; o <= j->inputs; o++) j->stride[o] = last >= 0 ? plan->operand[o].stride[last] : 0;
  if (last < 0) j->stride[0] = j->out_size;
  wf__walk_of(&j->walk, plan, j->inputs + 1, (last >= 0 ? 1u << last : 0) | (other >= 0 ? 1u << other : 0));
  if (other < 0) {
    int64_t unit = j->n < CHUNK ? j->n : CHUNK;
    j->chunks = (j->n + CHUNK - 1) / CHUNK;
    wf__parallel(j->walk.count * j->chunks, (WF__GRAIN + unit - 1) / unit, do_rows, j);
    return;
  }
  j->rows = plan->size[other];
  j->chunks = (j->rows + TILE - 1) / TILE;
  for (int o = 0; o <= j->inputs; o++) {
    j->row_stride[o] = plan->operand[o].stride[other];
    j->turned[o] = o > 0 && j->in[o - 1].present && j->row_stride[o] == j->in[o - 1].size && j->stride[o] != 0 &&
                   j->stride[o] != j->in[o - 1].size;
  }
  int64_t unit = j->n * (j->rows < TILE ? j->rows : TILE);
  wf__parallel(j->walk.count * j->chunks, (WF__GRAIN + unit - 1) / unit, do_tiles, j);
}

/* ---- the plan -------------------------------------------------------------------------------------------------------------- */

static const char *kernel_name(int op, char buffer[48]) {
  switch (op) { /* where PyTorch's name isn't <operator>_cpu */
    case WF__PW_FLOOR: return "floor_vml_cpu";
    case WF__PW_CEIL: return "ceil_vml_cpu";
    case WF__PW_ROUND: return "round_vml_cpu";
    case WF__PW_TRUNC: return "trunc_vml_cpu";
    case WF__PW_GELU:
    case WF__PW_GELU_TANH: return "GeluKernelImpl";
    case WF__PW_LERP: return "lerp_kernel_tensor";
    case WF__PW_ADDCMUL: return "addcmul_cpu_out";
    case WF__PW_ADDCDIV: return "addcdiv_cpu_out";
    case WF__PW_CLAMP_TENSOR: return "clamp_cpu";
    case WF__PW_POW:
    case WF__PW_POW_SCALAR_EXP:
    case WF__PW_POW_SCALAR_BASE: return "pow";
    default: break;
  }
  static const char *const names[] = {
#define WF_X(NAME, arity) #NAME,
      WF__POINTWISE_OPS(WF_X)
#undef WF_X
  };
  char *p = buffer;
  for (const char *s = names[op]; *s; s++) *p++ = *s >= 'A' && *s <= 'Z' ? (char)(*s - 'A' + 'a') : *s;
  memcpy(p, "_cpu", 5);
  return buffer;
}

/* Operators on integers that PyTorch refuses for bool. */
static bool refuses_bool(int op) {
  switch (op) {
    case WF__PW_NEG:
    case WF__PW_ABS:
    case WF__PW_FLOOR:
    case WF__PW_CEIL:
    case WF__PW_ROUND:
    case WF__PW_TRUNC:
    case WF__PW_RELU:
    case WF__PW_HARDTANH:
    case WF__PW_DIV_TRUNC:
    case WF__PW_DIV_FLOOR:
    case WF__PW_FMOD:
    case WF__PW_REMAINDER:
    case WF__PW_POW:
    case WF__PW_POW_SCALAR_EXP:
    case WF__PW_POW_SCALAR_BASE:
    case WF__PW_ADDCMUL:
    case WF__PW_CLAMP:
    case WF__PW_CLAMP_TENSOR: return true;
    default: return false;
  }
}

static wf__class class_of(wf_dtype compute) {
  if (compute == WF_F64) return WF__CLASS_F64;
  return wf_dtype_is_float(compute) ? WF__CLASS_F32 : WF__CLASS_I64;
}

static wf_dtype class_dtype(wf__class class) {
  return class == WF__CLASS_F32 ? WF_F32 : class == WF__CLASS_F64 ? WF_F64 : WF_I64;
}

/* A number beside halves: PyTorch multiplies and divides by it in f32, and rounds it first for everything else. */
static bool keeps_wide_numbers(int op) {
  return op == WF__PW_MUL || op == WF__PW_DIV || op == WF__PW_DIV_TRUNC || op == WF__PW_DIV_FLOOR;
}

static void set_input(job *j, const wf_plan *plan, int k) {
  input *in = &j->in[k];
  const wf_operand *o = &plan->operand[k + 1];
  wf_dtype compute = (wf_dtype)plan->compute, wide = class_dtype(j->class);
  const wf_scalar number = plan->scalar[k + 1];
  in->is_mask = wf__pointwise_is_mask(plan->op, k);
  in->present = k + 1 < plan->operands && o->data;
  bool through_compute = wide != compute && !(keeps_wide_numbers(plan->op) && j->class == WF__CLASS_F32);
  if (!in->present) {
    char element[8];
    wf_dtype as = in->is_mask ? WF_BOOL : through_compute || j->class == WF__CLASS_I64 ? compute : wide;
    in->missing = number.kind == WF_SCALAR_NONE;
    wf__scalar_store(number, as, element);
    wf_scalar rounded = wf__scalar_load(as, element);
    in->number = wf__scalar_double(rounded);
    in->integer = wf__scalar_int(rounded);
    return;
  }
  in->size = (int64_t)wf_dtype_size(o->dtype);
  in->log_size = __builtin_ctz((unsigned)in->size);
  if (in->is_mask) {
    if (o->dtype != WF_BOOL && o->dtype != WF_U8) in->to_class = j->kernels->convert[o->dtype][WF_BOOL];
    return;
  }
  bool skip = o->dtype == compute || (!through_compute && wf_dtype_is_float(o->dtype));
  if (!skip) in->to_compute = j->kernels->convert[o->dtype][compute];
  wf_dtype now = skip ? o->dtype : compute;
  if (now != wide) in->to_class = j->kernels->convert[now][wide];
}

static void set_output(job *j, const wf_plan *plan) {
  wf_dtype out = plan->operand[0].dtype, compute = (wf_dtype)plan->compute, wide = class_dtype(j->class);
  j->out_size = (int64_t)wf_dtype_size(out);
  j->out_log = __builtin_ctz((unsigned)j->out_size);
  if (wf__pointwise_gives_bool(plan->op)) {
    if (out != WF_BOOL && out != WF_U8) j->from_compute = j->kernels->convert[WF_BOOL][out];
  } else {
    if (wide != compute) j->from_class = j->kernels->convert[wide][compute];
    if (compute != out) j->from_compute = j->kernels->convert[compute][out];
  }
  j->has_result_copy = j->from_class || j->from_compute;
}

static void set_args(job *j, const wf_plan *plan) {
  for (int i = 0; i < 4; i++) {
    wf_scalar s = plan->scalar[i];
    j->args.given[i] = s.kind != WF_SCALAR_NONE;
    if (!j->args.given[i]) s = wf_int(1);
    j->args.f[i] = j->class == WF__CLASS_F32 ? (double)(float)wf__scalar_double(s) : wf__scalar_double(s);
    j->args.i[i] = wf__scalar_int(s);
  }
  /* Integer bounds and values are numbers of the tensor's own dtype. */
  if (j->class != WF__CLASS_I64) return;
  for (int i = 0; i < 4; i++) {
    char element[8];
    wf__scalar_store(wf_int(j->args.i[i]), (wf_dtype)plan->compute, element);
    if (plan->compute != WF_BOOL) j->args.i[i] = wf__scalar_int(wf__scalar_load((wf_dtype)plan->compute, element));
  }
}

static bool divides_integers(const job *j, int op) {
  return j->class == WF__CLASS_I64 &&
         (op == WF__PW_DIV_TRUNC || op == WF__PW_DIV_FLOOR || op == WF__PW_FMOD || op == WF__PW_REMAINDER);
}

/* Looks for a zero among the divisors before anything is written: compares them with 0 by the same machinery, one thread. */
static wf_status check_divisors(const job *j, const wf_plan *plan) {
  const input *in = &j->in[1];
  if (!in->present) return in->integer ? WF_OK : wf__fail(WF_RUNTIME, "ZeroDivisionError");
  wf__walk walk;
  wf__cursor at;
  wf_plan divisor = {.ndim = plan->ndim};
  memcpy(divisor.size, plan->size, sizeof divisor.size);
  divisor.operand[0] = plan->operand[2];
  for (int d = 0; d < plan->ndim; d++)
    if (divisor.operand[0].stride[d] == 0) divisor.size[d] = 1;
  int last = plan->ndim - 1;
  int64_t n = last >= 0 ? divisor.size[last] : 1, stride = last >= 0 ? plan->operand[2].stride[last] : in->size;
  wf__walk_of(&walk, &divisor, 1, last >= 0 ? 1u << last : 0);
  wf__walk_seek(&walk, 0, &at);
  blocks b;
  for (int64_t row = 0; row < walk.count; row++, wf__walk_next(&walk, &at))
    for (int64_t i = 0; i < n; i += BLOCK) {
      int64_t count = n - i < BLOCK ? n - i : BLOCK;
      const int64_t *value = load_block(j, 1, at.at[0] + i * stride, stride, &b, count);
      for (int64_t c = 0; c < count; c++)
        if (value[c] == 0) return wf__fail(WF_RUNTIME, "ZeroDivisionError");
    }
  return WF_OK;
}

wf_status wf__exec_pointwise(const wf_plan *plan) {
  if (plan->op >= WF__PW_COUNT) return wf__no_kernel("pointwise_cpu", (wf_dtype)plan->compute);
  char name[48];
  job j = {.kernels = wf__kernels_now(),
           .class = class_of((wf_dtype)plan->compute),
           .inputs = wf__pointwise_arity[plan->op]};
  int op = plan->op;
  if (plan->compute == WF_BOOL) {
    if (refuses_bool(op)) return wf__no_kernel(kernel_name(op, name), WF_BOOL);
    if (op == WF__PW_BITWISE_NOT) op = WF__PW_LOGICAL_NOT; /* ~1 isn't 0 in i64 */
  }
  j.fn = j.kernels->pointwise[j.class][op];
  if (!j.fn) return wf__no_kernel(kernel_name(op, name), (wf_dtype)plan->compute);
  int64_t count = 1;
  for (int d = 0; d < plan->ndim; d++) count *= plan->size[d];
  if (count == 0) return WF_OK;
  for (int k = 0; k < j.inputs; k++) set_input(&j, plan, k);
  wf_plan renamed = *plan;
  renamed.op = (uint16_t)op;
  set_output(&j, &renamed);
  set_args(&j, plan);
  if (divides_integers(&j, op)) WF__TRY(check_divisors(&j, plan));
  run(&j, plan);
  return WF_OK;
}
