/* weft bench micro: ns of one call on tensors so small that the work on elements is nothing. The names are those of the same calls in
 * libtorch. Recording of gradients is off but in the last two, and each result is given back within the time.
 *
 * view(inference_mode): Weft has no mode of its own for inference. What it saves in PyTorch, a version counter and a record of the view, a
 * detached tensor has as well; so this is a view of an [8, 8] tensor with recording off, by the same road as `view`. */
#include "bench.h"

#define SMALL_CALLS 20000
#define GRADIENT_CALLS 5000
#define CLONE_CALLS 200

typedef struct tensors {
  wf_tensor *matrix, *gradient_matrix;               /* [1024, 1024] */
  wf_tensor *small, *other, *gradient_small, *eight; /* [4, 4], [8, 8] */
  wf_tensor *rank4;                                  /* [2, 3, 4, 5] */
} tensors;

typedef struct micro_case {
  const char *name;
  void (*call)(const tensors *t);
  int calls;
  bool recorded;
} micro_case;

static void view(const tensors *t) { wf_free(wf_view(t->matrix, WF_SHAPE(-1))); }
static void transpose(const tensors *t) { wf_free(wf_transpose(t->matrix, 0, 1)); }
static void slice(const tensors *t) { wf_free(wf_slice(t->matrix, 0, 1, 9, 1)); }
static void permute4(const tensors *t) { wf_free(wf_permute(t->rank4, WF_SHAPE(0, 2, 3, 1))); }
static void detach(const tensors *t) { wf_free(wf_detach(t->matrix)); }
static void empty(const tensors *t) {
  (void)t;
  wf_free(wf_empty(WF_SHAPE(4, 4), NULL));
}
static void add(const tensors *t) { wf_free(wf_add(t->small, t->other)); }
static void add_in_place(const tensors *t) { wf_add_(t->small, t->other); }
static void mm(const tensors *t) { wf_free(wf_mm(t->small, t->other)); }
static void clone_matrix(const tensors *t) { wf_free(wf_clone(t->matrix, WF_FORMAT_PRESERVE)); }
static void view_eight(const tensors *t) { wf_free(wf_view(t->eight, WF_SHAPE(-1))); }
static void forward_backward(const tensors *t) {
  wf_tensor *product = wf_mul(t->gradient_small, t->other), *loss = wf_sum(product);
  wf_free(product);
  wf_backward(loss, NULL, NULL);
  wf_free(loss);
}
static void view_recorded(const tensors *t) { wf_free(wf_view(t->gradient_matrix, WF_SHAPE(-1))); }

static const micro_case cases[] = {
    {"view", view, SMALL_CALLS, false},
    {"transpose", transpose, SMALL_CALLS, false},
    {"slice", slice, SMALL_CALLS, false},
    {"permute4", permute4, SMALL_CALLS, false},
    {"detach", detach, SMALL_CALLS, false},
    {"empty_4x4", empty, SMALL_CALLS, false},
    {"add_4x4", add, SMALL_CALLS, false},
    {"add_inplace_4x4", add_in_place, SMALL_CALLS, false},
    {"mm_4x4", mm, SMALL_CALLS, false},
    {"clone_1024", clone_matrix, CLONE_CALLS, false},
    {"view(inference_mode)", view_eight, SMALL_CALLS, false},
    {"fwd_bwd_mul_sum_4x4", forward_backward, GRADIENT_CALLS, true},
    {"view_autograd", view_recorded, SMALL_CALLS, true},
};

static double measure(const micro_case *c, const tensors *t, int runs) {
  double ns[BENCH_MOST_RUNS] = {0};
  for (int r = -1; r < runs && !bench_stopped(); r++) {
    int64_t start = wf_clock_ns();
    for (int i = 0; i < c->calls; i++) c->call(t);
    if (r >= 0) ns[r] = (double)(wf_clock_ns() - start) / c->calls;
  }
  return bench_median(ns, runs);
}

static bool run_cases(bench *b, const tensors *t) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (!bench_wants(b, cases[i].name)) continue;
    bool was = wf_grad_set_enabled(cases[i].recorded);
    double ns = measure(&cases[i], t, b->runs);
    wf_grad_set_enabled(was);
    if (wf_error_peek().status || bench_stopped()) return false;
    bench_print(b, (bench_row){.name = cases[i].name, .unit = "ns", .value = ns, .lower_is_better = true});
  }
  return true;
}

/* No scope is open: results are the caller's, who gives them back one by one, as a program does that frees after last use. */
bool bench_micro(bench *b) {
  wf_tensor_options with_gradient = wf_tensor_defaults();
  with_gradient.requires_grad = true;
  tensors t = {.matrix = wf_randn(WF_SHAPE(1024, 1024), NULL),
               .gradient_matrix = wf_randn(WF_SHAPE(1024, 1024), &with_gradient),
               .small = wf_randn(WF_SHAPE(4, 4), NULL),
               .other = wf_randn(WF_SHAPE(4, 4), NULL),
               .gradient_small = wf_randn(WF_SHAPE(4, 4), &with_gradient),
               .eight = wf_randn(WF_SHAPE(8, 8), NULL),
               .rank4 = wf_randn(WF_SHAPE(2, 3, 4, 5), NULL)};
  bool good = !wf_error_peek().status && run_cases(b, &t);
  wf_tensor *const made[] = {t.matrix, t.gradient_matrix, t.small, t.other, t.gradient_small, t.eight, t.rank4};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) wf_free(made[i]);
  return good;
}
