/* The loader: order, content, failures and endings, over all pipelines, worker counts and devices. */
#include "test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <weft/autograd.h>
#include <weft/data.h>

/* A dataset whose sample i is the row (i, i + 0.25, i + 0.5) and the label 10 i; it can fail, and be slow. */
typedef struct numbers {
  int64_t fails_at;
  int64_t slow_every;
  _Atomic int stuck;
} numbers;

static void nap(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL); }

static wf_status fetch_numbers(void *context, int64_t i, void *const *field) {
  numbers *n = context;
  if (i == n->fails_at) return wf_dataset_fail(WF_IO, "sample five is broken");
  if (n->slow_every && i % n->slow_every == 0) nap(15);
  while (atomic_load(&n->stuck)) nap(5);
  for (int k = 0; k < 3; k++) ((float *)field[0])[k] = (float)i + 0.25f * (float)k;
  *(int64_t *)field[1] = 10 * i;
  return WF_OK;
}

static wf_dataset *dataset(numbers *n, int64_t count) {
  static const wf_dataset_ops ops = {fetch_numbers, NULL};
  const wf_field fields[2] = {{.name = "row", .dtype = WF_F32, .ndim = 1, .size = {3}},
                              {.name = "label", .dtype = WF_I64}};
  wf_dataset *d = wf_dataset_new(&ops, n, count, fields, 2);
  assert_non_null(d);
  return d;
}

static void read_labels(const wf_batch *b, int64_t *to) {
  assert_ok(wf_to_host(b->field[1], to, (size_t)b->size * sizeof *to));
  float rows[64][3];
  assert_ok(wf_to_host(b->field[0], rows, (size_t)b->size * sizeof *rows));
  for (int64_t i = 0; i < b->size; i++)
    for (int k = 0; k < 3; k++) assert_true(rows[i][k] == (float)(to[i] / 10) + 0.25f * (float)k);
}

static int64_t read_epoch(wf_loader *l, int64_t epoch, int64_t *labels) {
  wf_batch b;
  int64_t n = 0;
  int more;
  assert_ok(wf_loader_start(l, epoch));
  while ((more = wf_loader_next(l, &b)) == 1) {
    read_labels(&b, labels + n);
    n += b.size;
  }
  if (more) print_error("%s\n", wf_error_peek().text);
  assert_int_equal(more, 0);
  return n;
}

static void an_epoch_is_the_same_for_a_seed_whatever_the_workers_pipeline_and_device(void **state) {
  (void)state;
  numbers n = {.fails_at = -1};
  wf_dataset *d = dataset(&n, 101);
  int64_t first[101], again[101], other[101];
  bool have_first = false;
  for (int device = 0; device < 2; device++)
    for (int pipeline = WF_PIPELINE_PLAIN; pipeline <= WF_PIPELINE_PREFETCH; pipeline++)
      for (int workers = 0; workers <= 3; workers += 3) {
        wf_loader_options o = wf_loader_defaults();
        o.batch_size = 8;
        o.shuffle = true;
        o.workers = workers;
        o.pipeline = (wf_pipeline)pipeline;
        o.seed = 5;
        o.device = device ? wf_sim(0) : wf_cpu();
        wf_loader *l = wf_loader_new(d, &o);
        assert_non_null(l);
        assert_int_equal(wf_loader_batches(l), 13);
        assert_int_equal(read_epoch(l, 1, again), 101);
        if (!have_first) memcpy(first, again, sizeof first);
        have_first = true;
        assert_memory_equal(first, again, sizeof first);
        assert_int_equal(read_epoch(l, 2, other), 101);
        assert_memory_not_equal(first, other, sizeof first);
        wf_loader_free(l);
      }
  bool seen[101] = {false};
  for (int i = 0; i < 101; i++) seen[first[i] / 10] = true;
  for (int i = 0; i < 101; i++) assert_true(seen[i]);
  wf_dataset_free(d);
}

static void order_holds_when_one_worker_is_slow(void **state) {
  (void)state;
  numbers n = {.fails_at = -1, .slow_every = 4};
  wf_dataset *d = dataset(&n, 16);
  wf_loader_options o = wf_loader_defaults();
  o.workers = 4;
  o.ahead = 8;
  wf_loader *l = wf_loader_new(d, &o);
  int64_t labels[16];
  assert_int_equal(read_epoch(l, 0, labels), 16);
  for (int i = 0; i < 16; i++) assert_int_equal(labels[i], 10 * i);
  wf_loader_free(l);
  wf_dataset_free(d);
}

static void drop_last_leaves_the_smaller_batch_out(void **state) {
  (void)state;
  numbers n = {.fails_at = -1};
  wf_dataset *d = dataset(&n, 10);
  wf_loader_options o = wf_loader_defaults();
  o.batch_size = 4;
  o.drop_last = true;
  wf_loader *l = wf_loader_new(d, &o);
  int64_t labels[16];
  assert_int_equal(wf_loader_batches(l), 2);
  assert_int_equal(read_epoch(l, 0, labels), 8);
  wf_loader_free(l);
  wf_dataset_free(d);
}

static void a_failing_sample_surfaces_in_its_place_and_the_rest_still_comes(void **state) {
  (void)state;
  numbers n = {.fails_at = 5};
  wf_dataset *d = dataset(&n, 8);
  for (int workers = 0; workers <= 3; workers += 3) {
    wf_loader_options o = wf_loader_defaults();
    o.workers = workers;
    o.ahead = 4;
    wf_loader *l = wf_loader_new(d, &o);
    wf_batch b;
    int64_t label;
    for (int i = 0; i < 8; i++) {
      int came = wf_loader_next(l, &b);
      assert_int_equal(came, i == 5 ? -1 : 1);
      if (i == 5) {
        wf_error e = wf_error_take();
        assert_int_equal(e.status, WF_IO);
        assert_string_equal(e.text, "sample five is broken");
        if (workers) assert_non_null(strstr(e.hint, "worker"));
      } else {
        read_labels(&b, &label);
        assert_int_equal(label, 10 * i);
      }
    }
    assert_int_equal(wf_loader_next(l, &b), 0);
    wf_loader_free(l);
  }
  wf_dataset_free(d);
}

static void a_retained_batch_keeps_its_data(void **state) {
  (void)state;
  numbers n = {.fails_at = -1};
  wf_dataset *d = dataset(&n, 64);
  for (int device = 0; device < 2; device++) {
    wf_loader_options o = wf_loader_defaults();
    o.batch_size = 4;
    o.workers = 1;
    o.device = device ? wf_sim(0) : wf_cpu();
    wf_loader *l = wf_loader_new(d, &o);
    wf_batch b;
    wf_tensor *kept[16];
    for (int i = 0; i < 16; i++) {
      assert_int_equal(wf_loader_next(l, &b), 1);
      kept[i] = wf_retain(b.field[1]);
    }
    wf_loader_free(l);
    for (int i = 0; i < 16; i++) {
      int64_t labels[4];
      assert_ok(wf_to_host(kept[i], labels, sizeof labels));
      for (int k = 0; k < 4; k++) assert_int_equal(labels[k], 10 * (4 * i + k));
      wf_free(kept[i]);
    }
  }
  wf_dataset_free(d);
}

static void a_wait_that_takes_too_long_is_an_error_and_the_loader_still_ends(void **state) {
  (void)state;
  numbers n = {.fails_at = -1, .stuck = 1};
  wf_dataset *d = dataset(&n, 8);
  wf_loader_options o = wf_loader_defaults();
  o.workers = 2;
  o.timeout_s = 0.2;
  wf_loader *l = wf_loader_new(d, &o);
  wf_batch b;
  assert_int_equal(wf_loader_next(l, &b), -1);
  assert_error(WF_RUNTIME, "DataLoader timed out after 0.2 seconds");
  atomic_store(&n.stuck, 0);
  wf_loader_free(l);
  wf_dataset_free(d);
}

static void stopping_in_the_middle_of_an_epoch_returns(void **state) {
  (void)state;
  numbers n = {.fails_at = -1, .slow_every = 1};
  wf_dataset *d = dataset(&n, 1000);
  wf_loader_options o = wf_loader_defaults();
  o.workers = 2;
  o.ahead = 6;
  wf_loader *l = wf_loader_new(d, &o);
  wf_batch b;
  assert_int_equal(wf_loader_next(l, &b), 1);
  assert_ok(wf_loader_start(l, 1));
  assert_int_equal(wf_loader_next(l, &b), 1);
  wf_loader_free(l);
  wf_dataset_free(d);
}

static void bad_options_are_refused(void **state) {
  (void)state;
  numbers n = {.fails_at = -1};
  wf_dataset *d = dataset(&n, 8);
  wf_loader_options o = wf_loader_defaults();
  o.batch_size = 0;
  assert_null(wf_loader_new(d, &o));
  assert_error(WF_VALUE, "batch_size should be a positive integer value, but got batch_size=0");
  o.batch_size = 1;
  o.workers = -1;
  assert_null(wf_loader_new(d, &o));
  assert_error(WF_VALUE, "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.");
  o.workers = 0;
  o.timeout_s = 1;
  assert_null(wf_loader_new(d, &o));
  assert_error(WF_VALUE, "timeout option needs workers > 0: without workers nothing waits");
  wf_dataset_free(d);
}

static void an_empty_dataset_has_no_batches(void **state) {
  (void)state;
  numbers n = {.fails_at = -1};
  wf_dataset *d = dataset(&n, 0);
  wf_loader_options o = wf_loader_defaults();
  o.workers = 2;
  wf_loader *l = wf_loader_new(d, &o);
  wf_batch b;
  assert_int_equal(wf_loader_batches(l), 0);
  assert_int_equal(wf_loader_next(l, &b), 0);
  wf_loader_free(l);
  wf_dataset_free(d);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_epoch_is_the_same_for_a_seed_whatever_the_workers_pipeline_and_device),
    cmocka_unit_test(order_holds_when_one_worker_is_slow),
    cmocka_unit_test(drop_last_leaves_the_smaller_batch_out),
    cmocka_unit_test(a_failing_sample_surfaces_in_its_place_and_the_rest_still_comes),
    cmocka_unit_test(a_retained_batch_keeps_its_data),
    cmocka_unit_test(a_wait_that_takes_too_long_is_an_error_and_the_loader_still_ends),
    cmocka_unit_test(stopping_in_the_middle_of_an_epoch_returns),
    cmocka_unit_test(bad_options_are_refused),
    cmocka_unit_test(an_empty_dataset_has_no_batches),
};
WF_TEST_MAIN("data/loader", tests)
