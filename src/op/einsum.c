/* einsum: each operand is turned to one common order of dims, the result's first, then those that are summed; two at a time are then multiplied,
 * by bmm where a dim of both is summed. Views, products and sums are the public operators, so their derivatives are einsum's. */
#include <string.h>
#include <weft/linalg.h>
#include <weft/math.h>
#include <weft/reduce.h>
#include <weft/view.h>

#include "base/host.h"
#include "op/op.h"
#include "op/place.h"

#define LETTERS 52
#define ELLIPSIS LETTERS /* as a label: dims that have no letter */
#define NOWHERE (-1)

typedef struct equation {
  const char *text;
  int inputs;                       /* bytes of it before the arrow */
  const char *output;               /* behind the arrow; NULL: there is none */
  int count[LETTERS], at[LETTERS];  /* how often operands have the letter; its dim in the common order */
  int spread;                       /* dims that the ellipsis stands for */
  int spread_at, result_dims, dims; /* dims: of the common order */
  int64_t size[WF_MAX_DIMS];        /* in the common order: other than 1, as far as seen */
  int operands[WF_MAX_DIMS];        /* how many operands have another size than 1 there */
} equation;

/* ---- the equation, in PyTorch's order of checks and words --------------------------------------------------------------------------- */

static int letter_of(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : NOWHERE; }

static char name_of(int letter) { return (char)(letter < 26 ? 'A' + letter : 'a' + letter - 26); }

/* NOWHERE with an error for what is no letter. */
static int read_letter(const equation *e, const char *at) {
  int letter = letter_of(*at);
  if (letter == NOWHERE)
    wf__fail(WF_RUNTIME,
             "einsum(): invalid subscript given at index %d in the equation string, subscripts must be in [a-zA-Z]",
             (int)(at - e->text));
  return letter;
}

static wf_status count_letters(equation *e, int operands) {
  bool spread = false;
  int operand = 0;
  for (const char *at = e->text, *end = at + e->inputs; at < end; at++) {
    if (*at == ' ') continue;
    if (*at == ',') {
      WF__CHECK(++operand < operands, WF_RUNTIME,
                "einsum(): fewer operands were provided than specified in the equation");
      spread = false;
    } else if (*at == '.') {
      WF__CHECK(!spread, WF_RUNTIME, "einsum(): found '.' for operand %d for which an ellipsis was already found",
                operand);
      WF__CHECK(end - at >= 3 && at[1] == '.' && at[2] == '.', WF_RUNTIME,
                "einsum(): found '.' for operand %d that is not part of any ellipsis", operand);
      spread = true;
      at += 2;
    } else {
      int letter = read_letter(e, at);
      if (letter == NOWHERE) return wf__self.pending;
      e->count[letter]++;
    }
  }
  WF__CHECK(operand == operands - 1, WF_RUNTIME,
            "einsum(): more operands were provided than specified in the equation");
  return WF_OK;
}

/* The next label of an operand, ELLIPSIS once for it; NOWHERE at its end, when *at is behind the comma. */
static int next_label(const equation *e, const char **at) {
  const char *end = e->text + e->inputs;
  while (*at < end && **at == ' ') ++*at;
  if (*at == end) return NOWHERE;
  char c = *(*at)++;
  if (c == ',') return NOWHERE;
  if (c != '.') return letter_of(c);
  *at += 2;
  return ELLIPSIS;
}

/* Each operand has as many dims as its letters say, or with an ellipsis at least as many. */
static wf_status check_ranks(equation *e, wf_tensors operands) {
  const char *at = e->text;
  for (int i = 0; i < operands.n; i++) {
    int letters = 0, ndim = operands.at[i]->layout.ndim;
    bool spread = false;
    for (int label; (label = next_label(e, &at)) != NOWHERE;) {
      spread |= label == ELLIPSIS;
      letters += label != ELLIPSIS;
    }
    WF__CHECK(
        spread ? letters <= ndim : letters == ndim, WF_RUNTIME,
        "einsum(): the number of subscripts in the equation (%d) %s the number of dimensions (%d) for operand %d%s",
        letters, spread ? "is more than" : "does not match", ndim, i, spread ? "" : " and no ellipsis was given");
    if (spread && ndim - letters > e->spread) e->spread = ndim - letters;
  }
  return WF_OK;
}

static wf_status place_output(equation *e) {
  for (const char *at = e->output; *at; at++) {
    if (*at == ' ') continue;
    if (*at == '.') {
      WF__CHECK(e->spread_at == NOWHERE, WF_RUNTIME,
                "einsum(): found '.' for output but an ellipsis (...) was already found");
      WF__CHECK(at[1] == '.' && at[2] == '.', WF_RUNTIME,
                "einsum(): found '.' for output that is not part of any ellipsis (...)");
      e->spread_at = e->dims;
      e->dims += e->spread;
      at += 2;
      continue;
    }
    int letter = read_letter(e, at);
    if (letter == NOWHERE) return wf__self.pending;
    WF__CHECK(e->at[letter] == NOWHERE, WF_RUNTIME,
              "einsum(): output subscript %c appears more than once in the output", *at);
    WF__CHECK(e->count[letter], WF_RUNTIME,
              "einsum(): output subscript %c does not appear in the equation for any input operand", *at);
    e->at[letter] = e->dims++;
  }
  return WF_OK;
}

/* Without an arrow: what the ellipsis stands for, then the letters that come once, in their order. */
static void place_implied(equation *e) {
  e->spread_at = 0;
  e->dims = e->spread;
  for (int letter = 0; letter < LETTERS; letter++)
    if (e->count[letter] == 1) e->at[letter] = e->dims++;
}

static wf_status read_equation(equation *e, const char *text, wf_tensors operands) {
  const char *arrow = strstr(text, "->");
  *e = (equation){.text = text,
                  .inputs = (int)(arrow ? (size_t)(arrow - text) : strlen(text)),
                  .output = arrow ? arrow + 2 : NULL,
                  .spread_at = NOWHERE};
  for (int letter = 0; letter < LETTERS; letter++) e->at[letter] = NOWHERE;
  for (int d = 0; d < WF_MAX_DIMS; d++) e->size[d] = 1;
  WF__TRY(count_letters(e, operands.n));
  WF__TRY(check_ranks(e, operands));
  if (e->output) WF__TRY(place_output(e));
  else place_implied(e);
  e->result_dims = e->dims;
  if (e->spread_at == NOWHERE) {
    e->spread_at = e->dims;
    e->dims += e->spread;
  }
  for (int letter = 0; letter < LETTERS; letter++)
    if (e->count[letter] && e->at[letter] == NOWHERE) e->at[letter] = e->dims++;
  WF__CHECK(e->dims <= WF_MAX_DIMS, WF_RUNTIME, "tensors have at most %d dimensions, but got %d", WF_MAX_DIMS, e->dims);
  return WF_OK;
}

/* ---- the common order ----------------------------------------------------------------------------------------------------------------- */

/* Dim `place` of the common order has this size in the operand. False: operands before have another one. */
static bool note_size(equation *e, int place, int64_t size) {
  if (size == 1) return true;
  if (e->size[place] != 1 && e->size[place] != size) return false;
  e->size[place] = size;
  e->operands[place]++;
  return true;
}

static wf_status note_letter(equation *e, int letter, int64_t size, int operand) {
  int64_t before = e->size[e->at[letter]];
  WF__CHECK(
      note_size(e, e->at[letter], size), WF_RUNTIME,
      "einsum(): subscript %c has size %lld for operand %d which does not broadcast with previously seen size %lld",
      name_of(letter), (long long)size, operand, (long long)before);
  return WF_OK;
}

static wf_status note_spread(equation *e, int place, const wf_tensor *t, int dim, int operand) {
  int64_t size = t->layout.size[dim], before = e->size[place];
  WF__CHECK(note_size(e, place, size), WF_RUNTIME,
            "einsum(): dimension %d covered by ellipsis in operand %dhas size %lld which does not broadcast with "
            "previously seen ellipsis with size %lld for the respective dimension",
            dim, operand, (long long)size, (long long)before);
  return WF_OK;
}

/* The diagonal of dims `first` and `second`, in place of the first. */
static wf_tensor *diagonal(const wf_tensor *t, int first, int second, int letter, int operand) {
  int64_t a = t->layout.size[second], b = t->layout.size[first], last = -1, to = first;
  if (a != b) {
    wf__fail(WF_RUNTIME, "einsum(): subscript %c is repeated for operand %d but the sizes don't match, %lld != %lld",
             name_of(letter), operand, (long long)a, (long long)b);
    return NULL;
  }
  return wf_movedim(wf_diagonal(t, 0, first, second), wf_dims_of(&last, 1), wf_dims_of(&to, 1));
}

/* A view of the operand that has all dims of the common order, of size 1 where the operand hasn't got them. `text` is behind its labels then. */
static wf_tensor *in_common_order(equation *e, wf_tensor *t, const char **text, int operand) {
  int64_t from[WF_MAX_DIMS];
  int spread = t->layout.ndim, dim = 0;
  const char *at = *text;
  for (int label; (label = next_label(e, &at)) != NOWHERE;) spread -= label != ELLIPSIS;
  for (int d = 0; d < e->dims; d++) from[d] = NOWHERE;
  for (int label; t && (label = next_label(e, text)) != NOWHERE;) {
    if (label == ELLIPSIS) {
      for (int k = e->spread - spread; k < e->spread; k++) {
        WF__TRY_OR(note_spread(e, e->spread_at + k, t, dim, operand), NULL);
        from[e->spread_at + k] = dim++;
      }
    } else if (from[e->at[label]] != NOWHERE) {
      t = diagonal(t, (int)from[e->at[label]], dim, label, operand);
    } else {
      WF__TRY_OR(note_letter(e, label, t->layout.size[dim], operand), NULL);
      from[e->at[label]] = dim++;
    }
  }
  for (int d = 0; d < e->dims; d++) {
    if (from[d] != NOWHERE) continue;
    t = wf_unsqueeze(t, -1);
    from[d] = dim++;
  }
  return wf_permute(t, wf_dims_of(from, e->dims));
}

/* ---- products ------------------------------------------------------------------------------------------------------------------------------ */

/* Dims in the order in which a product has them, and the sizes of the three that they are joined to. */
typedef struct factor {
  int64_t order[WF_MAX_DIMS], joined[3];
} factor;

enum { BOTH, LEFT, SUMMED, RIGHT, KINDS };

/* What a dim is to the product. */
static int kind_of(const wf_tensor *left, const wf_tensor *right, int d, uint32_t summed) {
  if (summed >> d & 1) return SUMMED;
  if (left->layout.size[d] == 1) return RIGHT;
  return right->layout.size[d] == 1 ? LEFT : BOTH;
}

/* Its dims kind by kind as named; the first three kinds become one dim each, of the last its dims have size 1. */
static wf_tensor *as_matrices(const wf_tensor *t, const int kind[WF_MAX_DIMS], const int kinds[KINDS]) {
  factor f = {.joined = {1, 1, 1}};
  int n = 0;
  for (int k = 0; k < KINDS; k++)
    for (int d = 0; d < t->layout.ndim; d++) {
      if (kind[d] != kinds[k]) continue;
      f.order[n++] = d;
      if (k < 3) f.joined[k] *= t->layout.size[d];
    }
  return wf_reshape(wf_permute(t, wf_dims_of(f.order, n)), wf_dims_of(f.joined, 3));
}

/* The matrices' product with its dims apart again, in the common order. */
static wf_tensor *apart(const wf_tensor *product, const wf_tensor *left, const wf_tensor *right,
                        const int kind[WF_MAX_DIMS]) {
  int64_t size[WF_MAX_DIMS], order[WF_MAX_DIMS];
  int n = 0;
  for (int k = 0; k < KINDS; k++)
    for (int d = 0; d < left->layout.ndim; d++) {
      if (kind[d] != k) continue;
      order[d] = n;
      size[n++] = k == SUMMED ? 1 : k == RIGHT ? right->layout.size[d] : left->layout.size[d];
    }
  return wf_permute(wf_view(product, wf_dims_of(size, n)), wf_dims_of(order, n));
}

/* Product of two operands in the common order; the dims of `summed` have one size in both and are summed, which leaves size 1. */
static wf_tensor *product_of(const wf_tensor *left, const wf_tensor *right, uint32_t summed) {
  static const int rows[KINDS] = {BOTH, LEFT, SUMMED, RIGHT}, columns[KINDS] = {BOTH, SUMMED, RIGHT, LEFT};
  if (!summed || !left || !right) return left && right ? wf_mul(left, right) : NULL;
  int kind[WF_MAX_DIMS], first_left = NOWHERE, last_right = NOWHERE;
  for (int d = 0; d < left->layout.ndim; d++) {
    kind[d] = kind_of(left, right, d, summed);
    if (kind[d] == LEFT && first_left == NOWHERE) first_left = d;
    if (kind[d] == RIGHT) last_right = d;
  }
  if (last_right != NOWHERE && last_right < first_left) { /* the other way round the product lies as the result does */
    const wf_tensor *swap = left;
    left = right, right = swap;
    for (int d = 0; d < left->layout.ndim; d++) kind[d] = kind[d] == LEFT ? RIGHT : kind[d] == RIGHT ? LEFT : kind[d];
  }
  wf_tensor *product = wf_bmm(as_matrices(left, kind, rows), as_matrices(right, kind, columns));
  return product ? apart(product, left, right, kind) : NULL;
}

static wf_tensor *sum_over(wf_tensor *t, uint32_t dims, bool keepdim) {
  int64_t at[WF_MAX_DIMS];
  int n = 0;
  for (int d = 0; d < WF_MAX_DIMS; d++)
    if (dims >> d & 1) at[n++] = d;
  return n ? wf_sum_dims(t, wf_dims_of(at, n), keepdim, WF_DTYPE_NONE) : t;
}

/* A dim goes as soon as no operand to come has it. */
static wf_tensor *next_product(equation *e, wf_tensor *left, wf_tensor *right) {
  uint32_t both = 0, of_left = 0, of_right = 0;
  if (!left || !right) return NULL;
  for (int d = e->result_dims; d < e->dims; d++) {
    bool l = left->layout.size[d] != 1, r = right->layout.size[d] != 1;
    if (l && r) {
      if (--e->operands[d] > 1) continue;
      both |= 1u << d;
    } else if (e->operands[d] == 1 && (l || r)) {
      *(l ? &of_left : &of_right) |= 1u << d;
    } else {
      continue;
    }
    e->operands[d] = 0;
  }
  return product_of(sum_over(left, of_left, true), sum_over(right, of_right, true), both);
}

static wf_tensor *evaluate(equation *e, wf_tensor **t, wf_tensors operands) {
  const char *text = e->text;
  for (int i = 0; i < operands.n; i++)
    if (!(t[i] = in_common_order(e, operands.at[i], &text, i))) return NULL;
  wf_tensor *result = t[0];
  for (int i = 1; i < operands.n; i++) result = next_product(e, result, t[i]);
  if (!result || e->dims == e->result_dims) return result;
  uint32_t rest = ((1u << e->dims) - 1) & ~((1u << e->result_dims) - 1);
  return operands.n == 1 ? sum_over(result, rest, false)
                         : wf_view(result, wf_dims_of(result->layout.size, e->result_dims));
}

wf_tensor *wf_einsum(const char *text, wf_tensors operands) {
  WF__OP("einsum", NULL);
  equation e;
  if (!text) return wf__fail(WF_TYPE, "einsum(): argument 'equation' (position 1) must be str, not NoneType"), NULL;
  if (operands.n < 1) {
    wf__fail(WF_VALUE,
             "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
             "subscripts list");
    return NULL;
  }
  for (int i = 0; i < operands.n; i++) WF__TRY_OR(wf__given(operands.at[i], "operands"), NULL);
  WF__TRY_OR(wf__check_same_device((const wf_tensor *const *)operands.at, operands.n), NULL);
  WF__TRY_OR(read_equation(&e, text, operands), NULL);
  wf_tensor **t = wf__calloc((size_t)operands.n, sizeof *t);
  if (!t) return NULL;
  wf_scope scope = wf_scope_begin();
  wf_tensor *result = evaluate(&e, t, operands);
  wf__release(t);
  return wf_scope_end(scope, result);
}
