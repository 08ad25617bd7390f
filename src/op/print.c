/* Tensors as text, the way PyTorch prints them: 4 digits, lines of 80 characters, the edges of what has more than 1000 elements. Only the
 * elements that are shown are copied to the host. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autograd/node.h"
#include "base/convert.h"
#include "base/host.h"
#include "copy/copy.h"
#include "op/place.h"

#define DIGITS 4
#define THRESHOLD 1000
#define EDGE 3
#define LINE_WIDTH 80
#define PREFIX "tensor("
#define NUMBER_TEXT 400 /* the longest double without an exponent has 309 digits */

/* ---- text into a buffer that may be too small ------------------------------------------------------------------------------------ */

typedef struct text {
  char *buffer;
  size_t size, length;
  size_t line; /* characters since the last line break */
} text;

static void put(text *t, const char *s) {
  for (; *s; s++) {
    if (t->length + 1 < t->size) t->buffer[t->length] = *s;
    t->length++;
    t->line = *s == '\n' ? 0 : t->line + 1;
  }
}

static void put_repeated(text *t, const char *s, int n) {
  for (int i = 0; i < n; i++) put(t, s);
}

/* ---- the elements that are shown -------------------------------------------------------------------------------------------------- */

typedef struct shown {
  wf_dtype dtype;
  wf_tensor *tensor;       /* on the host, row-major */
  bool edges[WF_MAX_DIMS]; /* only the first and last EDGE of this dim are there */
} shown;

/* One corner: bit d of `back` says which edge of dim d it lies on. */
static wf_status copy_corner(const shown *s, const wf_tensor *t, uint32_t back) {
  wf__layout to = s->tensor->layout, from = t->layout;
  for (int d = 0; d < to.ndim; d++) {
    if (!s->edges[d]) continue;
    to.size[d] = from.size[d] = EDGE;
    if (!(back >> d & 1)) continue;
    to.offset += EDGE * to.stride[d];
    from.offset += (t->layout.size[d] - EDGE) * from.stride[d];
  }
  return wf__copy_layouts(s->tensor, &to, t, &from);
}

static wf_status gather(shown *s, const wf_tensor *t) {
  int64_t size[WF_MAX_DIMS];
  uint32_t cut = 0;
  *s = (shown){.dtype = (wf_dtype)t->dtype};
  for (int d = 0; d < t->layout.ndim; d++) {
    s->edges[d] = t->layout.numel > THRESHOLD && t->layout.size[d] > 2 * EDGE;
    size[d] = s->edges[d] ? 2 * EDGE : t->layout.size[d];
    if (s->edges[d]) cut |= 1u << d;
  }
  wf__device *cpu = wf__device_get(wf_cpu());
  s->tensor = cpu ? wf__tensor_empty_sized(cpu, s->dtype, wf_dims_of(size, t->layout.ndim)) : NULL;
  if (!s->tensor) return wf__self.pending;
  uint32_t back = 0;
  do { /* every subset of `cut` */
    WF__TRY(copy_corner(s, t, back));
    back = (back - cut) & cut;
  } while (back);
  return WF_OK;
}

static wf_scalar element(const shown *s, int64_t i) {
  return wf__scalar_load(s->dtype, (const char *)wf__data(s->tensor) + i * (int64_t)wf_dtype_size(s->dtype));
}

/* ---- how numbers are written ---------------------------------------------------------------------------------------------------------- */

typedef struct form {
  bool integers; /* floats: all are whole numbers */
  bool scientific;
  int width;
} form;

static int number_text(const form *f, wf_scalar v, char out[NUMBER_TEXT]) {
  if (v.kind == WF_SCALAR_BOOL) return snprintf(out, NUMBER_TEXT, "%s", v.as.i ? "True" : "False");
  if (v.kind == WF_SCALAR_INT) return snprintf(out, NUMBER_TEXT, "%lld", (long long)v.as.i);
  if (isnan(v.as.f)) return snprintf(out, NUMBER_TEXT, "nan"); /* printf would show its sign */
  if (f->scientific) return snprintf(out, NUMBER_TEXT, "%.*e", DIGITS, v.as.f);
  if (f->integers) return snprintf(out, NUMBER_TEXT, isinf(v.as.f) ? "%.0f" : "%.0f.", v.as.f);
  return snprintf(out, NUMBER_TEXT, "%.*f", DIGITS, v.as.f);
}

static void widen(form *f, wf_scalar v) {
  char number[NUMBER_TEXT];
  int width = number_text(f, v, number);
  if (width > f->width) f->width = width;
}

/* Zeros, infinities and NaN have no say in the form of floats. */
static bool counts(wf_scalar v) { return v.kind != WF_SCALAR_FLOAT || (isfinite(v.as.f) && v.as.f != 0); }

static form choose_form(const shown *s) {
  form f = {.integers = true, .width = 1};
  int64_t n = s->tensor->layout.numel;
  double least = INFINITY, most = 0;
  for (int64_t i = 0; i < n && wf_dtype_is_float(s->dtype); i++) {
    wf_scalar v = element(s, i);
    if (!counts(v)) continue;
    least = fmin(least, fabs(v.as.f));
    most = fmax(most, fabs(v.as.f));
    if (v.as.f != ceil(v.as.f)) f.integers = false;
  }
  if (most > 0) f.scientific = most / least > 1000.0 || most > 1.0e8 || least < 1.0e-4;
  for (int64_t i = 0; i < n; i++)
    if (counts(element(s, i))) widen(&f, element(s, i));
  return f;
}

/* ---- brackets and lines ------------------------------------------------------------------------------------------------------------------ */

typedef struct printer {
  text out;
  const shown *shown;
  form form;
} printer;

static void put_number(printer *p, int64_t i) {
  char number[NUMBER_TEXT];
  int length = number_text(&p->form, element(p->shown, i), number);
  put_repeated(&p->out, " ", p->form.width - length);
  put(&p->out, number);
}

/* The last dim: as many numbers a line as fit, the dots counting as one. */
static void put_row(printer *p, int dim, int64_t first, int indent) {
  int per_line = (LINE_WIDTH - indent) / (p->form.width + 2), place = 0;
  if (per_line < 1) per_line = 1;
  int64_t n = p->shown->tensor->layout.size[dim];
  put(&p->out, "[");
  for (int64_t i = 0; i < n + p->shown->edges[dim]; i++, place++) {
    if (place == per_line) {
      put(&p->out, ",\n");
      put_repeated(&p->out, " ", indent + 1);
      place = 0;
    } else if (i) {
      put(&p->out, ", ");
    }
    bool dots = p->shown->edges[dim] && i == EDGE;
    if (dots) put(&p->out, " ...");
    else put_number(p, first + i - (p->shown->edges[dim] && i > EDGE));
  }
  put(&p->out, "]");
}

static void put_dims(printer *p, int dim, int64_t first, int indent) {
  const wf__layout *l = &p->shown->tensor->layout;
  if (l->ndim == 0) {
    put_number(p, first);
    return;
  }
  if (dim == l->ndim - 1) {
    put_row(p, dim, first, indent);
    return;
  }
  put(&p->out, "[");
  for (int64_t i = 0; i < l->size[dim]; i++) {
    bool dots = p->shown->edges[dim] && i == EDGE;
    for (int k = dots ? 0 : 1; k < 2 && i; k++) { /* a separator, and before the second edge one more behind the dots */
      put(&p->out, ",");
      put_repeated(&p->out, "\n", l->ndim - 1 - dim);
      put_repeated(&p->out, " ", indent + 1);
      if (k == 0) put(&p->out, "...");
    }
    put_dims(p, dim + 1, first + i * l->stride[dim], indent + 1);
  }
  put(&p->out, "]");
}

/* ---- what follows the elements -------------------------------------------------------------------------------------------------------------- */

/* Wraps as PyTorch does, which counts the line of the last elements two characters longer than it is. */
static void put_suffix(text *out, const char *suffix, size_t *line) {
  size_t length = strlen(suffix);
  if (*line + length + 2 > LINE_WIDTH) {
    put(out, ",\n");
    put_repeated(out, " ", (int)strlen(PREFIX));
    *line = strlen(PREFIX) + length;
  } else {
    put(out, ", ");
    *line += length + 2;
  }
  put(out, suffix);
}

static void put_suffixes(text *out, const wf_tensor *t) {
  char suffix[WF__DIMS_TEXT + 40], name[32];
  const wf__layout *l = &t->layout;
  wf_dtype dtype = (wf_dtype)t->dtype;
  size_t line = out->line + 2;
  wf_device device = wf__device_of(t)->id;
  if (device.type != WF_DEVICE_CPU) {
    snprintf(suffix, sizeof suffix, "device='%s'", wf_device_name(device, name, sizeof name));
    put_suffix(out, suffix, &line);
  }
  if (l->numel == 0 && l->ndim != 1) {
    char sizes[WF__DIMS_TEXT];
    wf__dims_text(wf__layout_sizes(l), sizes);
    sizes[strlen(sizes) - 1] = 0;
    snprintf(suffix, sizeof suffix, "size=(%s)", sizes + 1);
    put_suffix(out, suffix, &line);
  }
  bool implied = dtype == WF_F32 || (l->numel && (dtype == WF_I64 || dtype == WF_BOOL));
  if (!implied) {
    snprintf(suffix, sizeof suffix, "dtype=torch.%s", wf_dtype_name(dtype));
    put_suffix(out, suffix, &line);
  }
  wf__node *function = wf__grad_fn(t);
  if (wf_error_take().status) { /* a view whose history can't be renewed; PyTorch prints it all the same */
    put_suffix(out, "grad_fn=<Invalid>", &line);
  } else if (function) {
    snprintf(suffix, sizeof suffix, "grad_fn=<%s>", function->cls->name);
    put_suffix(out, suffix, &line);
  } else if (wf_requires_grad(t)) {
    put_suffix(out, "requires_grad=True", &line);
  }
}

static wf_status print(const wf_tensor *t, text *out) {
  shown s = {.tensor = NULL};
  put(out, PREFIX);
  if (t->layout.numel == 0) {
    put(out, "[]");
  } else {
    wf__self.asked++;
    wf_status status = gather(&s, t);
    wf__self.asked--;
    if (!status) {
      printer p = {*out, &s, choose_form(&s)};
      put_dims(&p, 0, 0, (int)strlen(PREFIX));
      *out = p.out;
    }
    wf__tensor_release(s.tensor);
    if (status) return status;
  }
  put_suffixes(out, t);
  put(out, ")");
  return WF_OK;
}

size_t wf_tensor_print(const wf_tensor *t, char *buffer, size_t size) {
  text out = {buffer, size, 0, 0};
  if (size) buffer[0] = 0;
  WF__OP("tensor_print", 0);
  if (!t || print(t, &out)) {
    if (size) buffer[0] = 0;
    return 0;
  }
  if (size) buffer[out.length < size ? out.length : size - 1] = 0;
  return out.length;
}
