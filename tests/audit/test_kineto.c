/* Reading traces: order, nesting, links, steps and places, and what is made of files that are damaged, cut off or something else. */
#include "trace_maker.h"

#include "audit/examine.h"

static void read_good(wf__kineto *k) {
  const char *path = maker_write();
  wf_status status = wf__kineto_read(k, path, NULL, NULL);
  unlink(path);
  assert_ok(status);
}

static wf_audit *audit_text(const char *text) {
  const char *path = maker_write_text(text, strlen(text));
  wf_audit *audit = wf_audit_trace(path, NULL);
  unlink(path);
  return audit;
}

static uint32_t event_of(const wf__kineto *k, const char *name) {
  for (uint32_t i = 0; i < k->n; i++)
    if (!strcmp(k->names.at[k->events[i].name].text, name)) return i;
  fail_msg("no event %s", name);
  return 0;
}

static const char *parent_of(const wf__kineto *k, const char *name) {
  uint32_t parent = k->events[event_of(k, name)].parent;
  return parent == WF__NO_EVENT ? "" : k->names.at[k->events[parent].name].text;
}

/* ---- what is read ------------------------------------------------------------------------------------------------- */

/* In the file the events come in no order; children as doubles would seem to end after their parents. */
static void nests_by_time_whatever_the_order_of_the_file(void **state) {
  wf__kineto k;
  maker_begin();
  maker_op("inner", 5130947515917.422, 3.395);
  maker_op("next", 5130947515920.817, 1);
  maker_op("sibling", 5130947515900.001, 0.5);
  maker_op("outer", 5130947515900.001, 20.816);
  maker_event("cpu_op", "other thread", 1, 7, 5130947515918, 1, NULL);
  maker_python("train.py(1): f", "train.py:9", 5130947515900.001, 20.816);
  read_good(&k);
  assert_int_equal(k.n, 6);
  assert_string_equal(parent_of(&k, "inner"), "outer");
  assert_string_equal(parent_of(&k, "sibling"), "outer");
  assert_string_equal(parent_of(&k, "outer"), "train.py(1): f"); /* takes the same time, and is outside */
  assert_string_equal(parent_of(&k, "next"), "");
  assert_string_equal(parent_of(&k, "other thread"), "");
  assert_int_equal(k.events[event_of(&k, "inner")].start, INT64_C(5130947515917422));
  wf__kineto_close(&k);
}

/* Against sorting by comparison: random times, of which every third continues a run. */
static void sorts_any_order(void **state) {
  enum { N = 5000 };
  wf__event *events = calloc(N, sizeof *events);
  uint32_t order[N], room[N], seed = 1;
  for (uint32_t i = 0; i < N; i++) {
    seed = seed * 1664525u + 1013904223u;
    events[i].start = i % 3 ? (int64_t)(seed >> 8) % 977 : i;
    events[i].dur = (seed >> 4) % 5;
    order[i] = i;
  }
  wf__sort_events(events, order, N, room);
  bool seen[N] = {false};
  for (uint32_t i = 0; i < N; i++) {
    assert_false(seen[order[i]]);
    seen[order[i]] = true;
    if (!i) continue;
    const wf__event *a = &events[order[i - 1]], *b = &events[order[i]];
    assert_true(a->start < b->start ||
                (a->start == b->start && (a->dur > b->dur || (a->dur == b->dur && order[i - 1] < order[i]))));
  }
  free(events);
}

static void links_the_work_of_a_device_to_its_call(void **state) {
  wf__kineto k;
  maker_begin();
  maker_device("kernel", "lost", 7, 50, 5, 77, -1);
  maker_launch("cudaMemcpyAsync", 10, 5, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, 20, 5, 4096);
  maker_copy(9, 8, "[8]", "[1]", "[1]", "float", "float");
  read_good(&k);
  const wf__event *transfer = &k.events[event_of(&k, "Memcpy HtoD (Pageable -> Device)")];
  assert_int_equal(transfer->link, event_of(&k, "cudaMemcpyAsync"));
  assert_int_equal(transfer->value, 4096);
  assert_int_equal(k.events[event_of(&k, "lost")].link, WF__NO_EVENT);
  assert_int_equal(k.events[event_of(&k, "aten::copy_")].flags, WF__EVENT_ON_DEVICE | WF__EVENT_UPLOAD);
  wf__kineto_close(&k);
}

static void places_backward_where_its_forward_ran(void **state) {
  wf__kineto k;
  maker_begin();
  maker_python("train.py(10): forward", "train.py:40", 0, 100);
  maker_python("nn.Module: Net_0", "train.py:41", 2, 95);
  maker_python("torch/nn/modules/linear.py(114): forward", "torch/nn/modules/module.py:1500", 3, 90);
  maker_python("nn.Module: Linear_3", "train.py:17", 4, 80);
  maker_python("<built-in function linear>", "torch/nn/modules/linear.py:116", 5, 70);
  maker_event("cpu_op", "aten::linear", 1, MAIN_THREAD, 6, 60, "\"Sequence number\": 12, \"Fwd thread id\": 0");
  maker_event("cpu_op", "AddmmBackward0", 1, BACKWARD_THREAD, 200, 50, "\"Sequence number\": 12, \"Fwd thread id\": 1");
  maker_event("cpu_op", "aten::mm", 1, BACKWARD_THREAD, 210, 20, NULL);
  read_good(&k);
  char path[64];
  wf__place forward = wf__place_of(&k, event_of(&k, "aten::linear"));
  assert_string_equal(k.names.at[forward.line].text, "train.py:17");
  assert_string_equal(k.names.at[forward.function].text, "train.py(10): forward");
  assert_string_equal(k.names.at[forward.module].text, "nn.Module: Linear_3");
  assert_false(forward.by_forward);
  wf__place backward = wf__place_of(&k, event_of(&k, "aten::mm"));
  assert_int_equal(backward.line, forward.line);
  assert_true(backward.by_forward);
  wf__module_path(&k, event_of(&k, "aten::mm"), path, sizeof path);
  assert_string_equal(path, "Net_0.Linear_3");
  wf__module_path(&k, event_of(&k, "aten::mm"), path, 12); /* no room for both */
  assert_string_equal(path, "Linear_3");
  wf__kineto_close(&k);
}

/* An operator of the language itself, x - y, has no frame between it and the function. */
static void places_what_runs_in_a_function_at_the_function(void **state) {
  wf__kineto k;
  maker_begin();
  maker_python("train.py(10): main", "train.py:40", 0, 100);
  maker_op("aten::sub", 6, 60);
  maker_event("cpu_op", "SubBackward0", 1, MAIN_THREAD, 70, 10, "\"Sequence number\": 9, \"Fwd thread id\": 1");
  read_good(&k);
  wf__place place = wf__place_of(&k, event_of(&k, "aten::sub"));
  assert_string_equal(k.names.at[place.line].text, "train.py(10): main");
  place = wf__place_of(&k, event_of(&k, "SubBackward0")); /* its forward isn't in the trace */
  assert_false(place.by_forward);
  assert_string_equal(k.names.at[place.line].text, "train.py(10): main");
  wf__kineto_close(&k);
}

static void tells_users_code_from_libraries(void **state) {
  const char *const users[] = {"train.py(3): <module>", "models/gpt.py(40): forward", "/data/run.py(7): main",
                               "train.py:12", "transformers/models/bert/modeling_bert.py(4): forward"};
  const char *const libraries[] = {"torch/nn/modules/linear.py(114): forward",
                                   "torch/optim/sgd.py:77",
                                   "threading.py(900): run",
                                   "/usr/lib/python3.11/queue.py(1): get",
                                   "/venv/lib/python3.12/site-packages/a/b.py(3): f",
                                   "<built-in function linear>",
                                   "nn.Module: Linear_0"};
  for (size_t i = 0; i < sizeof users / sizeof *users; i++) assert_true(wf__is_user_source(users[i], strlen(users[i])));
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    assert_false(wf__is_user_source(libraries[i], strlen(libraries[i])));
}

static void packs_shapes_without_loss(void **state) {
  for (int form = WF__FORM_UNKNOWN; form <= WF__FORM_BROADCAST; form++)
    for (int64_t n = -1; n < INT64_C(1) << 40; n = n < 2 ? n + 1 : n * 7) {
      wf__shape in = {.form = (wf__copy_form)form, .to = 3, .from = 18, .elements = n};
      wf__shape out = wf__shape_unpack(wf__shape_pack(&in));
      assert_true(out.form == in.form && out.to == 3 && out.from == 18 && out.elements == n);
    }
}

static void judges_the_operands_of_a_copy(void **state) {
  const struct {
    const char *dims, *to, *from;
    wf__copy_form form;
    int64_t elements;
  } rows[] = {{"[2,3]", "[3,1]", "[3,1]", WF__FORM_SAME, 6},
              {"[2,3]", "[3,1]", "[1,2]", WF__FORM_LAYOUT, 6},
              {"[2,1,3]", "[3,3,1]", "[3,9,1]", WF__FORM_SAME, 6}, /* the stride of one element is no matter */
              {"[2,3]", "[3,1]", "[0,1]", WF__FORM_BROADCAST, 6},
              {"[]", "[]", "[]", WF__FORM_SCALAR, 1},
              {"[4,0]", "[1,1]", "[1,1]", WF__FORM_SCALAR, 0},
              {"[2,3]", "[3]", "[1,2]", WF__FORM_UNKNOWN, 6},
              {"[[2,3],[4]]", "[3,1]", "[3,1]", WF__FORM_UNKNOWN, -1},
              {"[4611686018427387904,4611686018427387904]", "[1,1]", "[1,1]", WF__FORM_UNKNOWN, -1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wf__kineto k;
    maker_begin();
    maker_copy(1, 1, rows[i].dims, rows[i].to, rows[i].from, "c10::BFloat16", "long int");
    read_good(&k);
    wf__shape shape = wf__shape_unpack(k.events[0].value);
    assert_int_equal(shape.form, rows[i].form);
    assert_int_equal(shape.elements, rows[i].elements);
    assert_string_equal(wf__type_name(shape.to), "c10::BFloat16");
    assert_int_equal(wf__type_bytes(shape.from), 8);
    wf__kineto_close(&k);
  }
}

/* ---- steps -------------------------------------------------------------------------------------------------------- */

static void steps_are(const char *source, uint32_t n, uint32_t warm, int64_t median_us) {
  wf__kineto k;
  wf__steps s;
  read_good(&k);
  assert_ok(wf__steps_find(&k, &s));
  assert_string_equal(s.source, source);
  assert_int_equal(s.n, n);
  assert_int_equal(s.warm, warm);
  assert_int_equal(s.median, median_us * 1000);
  wf__steps_release(&s);
  wf__kineto_close(&k);
}

/* Marks of one name at 0, 100, 200 …; the first two take longer. */
static void mark(const char *form, int n, double dur) {
  for (int i = 0; i < n; i++) {
    char name[64];
    snprintf(name, sizeof name, form, i);
    maker_annotation(name, 1000.0 * i, i < 2 ? 3 * dur : dur);
  }
}

static void steps_of_a_loader_begin_where_it_does(void **state) {
  maker_begin();
  mark("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 8, 10);
  maker_op("the rest of the last", 7500, 500);
  steps_are("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 8, 0, 1000);
}

static void prefers_the_profilers_own_steps(void **state) {
  maker_begin();
  mark("my step %d", 8, 300);
  steps_are("my step ", 8, 2, 300);
  maker_begin();
  mark("my step %d", 8, 300);
  mark("Optimizer.step#SGD.step", 8, 20);
  mark("ProfilerStep#%d", 8, 250);
  steps_are("ProfilerStep#", 8, 2, 250);
  maker_begin();
  mark("once", 1, 250);
  maker_op("aten::add", 10, 20);
  steps_are("", 0, 0, 0);
}

static void a_last_step_that_was_cut_short_is_left_out(void **state) {
  maker_begin();
  mark("ProfilerStep#%d", 8, 300);
  maker_annotation("ProfilerStep#8", 8000, 20);
  steps_are("ProfilerStep#", 8, 2, 300);
  maker_begin();
  maker_annotation("ProfilerStep#1", 0, 500);
  maker_annotation("ProfilerStep#2", 500, 100);
  steps_are("ProfilerStep#", 1, 0, 500);
}

static void steps_of_an_optimizer_end_where_it_does(void **state) {
  maker_begin();
  maker_op("aten::add", 0, 10);
  for (int i = 0; i < 6; i++) maker_annotation("Optimizer.step#AdamW.step", 800 + 1000.0 * i, 200);
  steps_are("Optimizer.step#AdamW.step", 6, 0, 1000);
}

static void something_that_repeats_makes_steps_only_when_the_run_consists_of_it(void **state) {
  maker_begin();
  mark("forward", 6, 300);
  steps_are("forward", 6, 2, 300);
  maker_begin();
  mark("forward", 6, 100);
  steps_are("", 0, 0, 0);
}

/* ---- damaged, cut off, something else ----------------------------------------------------------------------------- */

#define GOOD(name) \
  "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name "\", \"pid\": 1, \"tid\": 1, \"ts\": 5, \"dur\": 2}"

static void damaged_events_are_passed_over_and_counted(void **state) {
  const char *const damaged[] = {
      "{\"ph\": \"X\", \"name\": \"void k<\"a\">\", \"ts\": 1, \"dur\": 2, \"args\": {\"grid\": [1, 2, 3]}}", /* unescaped quotes */
      "{\"ph\": \"X\", \"name\": \"x\", \"ts\": 1, \"dur\": , }",
      "{\"ph\": \"X\", \"name\": \"x\", \"ts\": \"soon\", \"dur\": 2}", /* no time */
      "{\"ph\": \"X\", \"name\": \"x\", \"dur\": 2}",                   /* no start */
      "{\"ph\": \"X\", \"name\": \"x\", \"ts\": 1, \"dur\": -5}",       /* ends before it begins */
      "{\"name\": \"x\", \"ts\": 1}",                                   /* no phase */
      "17",
      "[[[{\"a\": [1]}]]]",
      "{\"ph\": \"X\", \"name\": \"x\", \"args\": {\"Input Dims\": [[1, 2}], \"ts\": 1}",
  };
  for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
    char text[1024];
    snprintf(text, sizeof text, "{\"traceEvents\": [" GOOD("aten::add") ", %s, " GOOD("aten::mul") "], \"x\": 1}",
             damaged[i]);
    wf_audit *audit = audit_text(text);
    assert_non_null(audit);
    char *json = wf_audit_json(audit, 0);
    if (!strstr(json, "\"events_skipped\":1,")) fail_msg("%s:\n%s", damaged[i], json);
    assert_int_equal(wf_audit_count(audit, "aten::add"), 1);
    assert_int_equal(wf_audit_count(audit, "aten::mul"), 1);
    wf_report_release(json);
    char *page = wf_audit_text(audit, 80, 10);
    assert_non_null(strstr(page, "1 event skipped"));
    wf_report_release(page);
    wf_audit_free(audit);
  }
}

static void what_is_only_strange_is_read(void **state) {
  const char *const strange[] = {
      "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\tb\n\x01\\q\", \"pid\": \"Spans\", \"tid\": \"\", \"ts\": 1.5, \"dur\": 0}",
      ("{\"args\": {\"x\": NaN, \"y\": [Infinity, -inf]}, \"dur\": 3, \"ts\": 1682725898236567, \"tid\": -4, \"pid\": 1, "
       "\"name\": \"n\", \"ph\": \"X\"}"),
      "{\"ph\": \"f\", \"id\": 5, \"ts\": 3, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"}",
      "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"no end\", \"ts\": 1 \"pid\": 1}",
  };
  for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
    char text[1024];
    snprintf(text, sizeof text, "[%s, " GOOD("aten::mul") "]", strange[i]);
    wf_audit *audit = audit_text(text);
    assert_non_null(audit);
    char *json = wf_audit_json(audit, 0);
    if (!strstr(json, "\"events_skipped\":0,")) fail_msg("%s:\n%s", strange[i], json);
    wf_report_release(json);
    wf_audit_free(audit);
  }
}

static void a_file_that_is_cut_off_anywhere_gives_what_is_there(void **state) {
  maker_begin();
  for (int i = 0; i < 20; i++) maker_copy(i * 10, 5, "[2,3]", "[3,1]", "[1,2]", "float", "float");
  wf__text_put(&maker_text, "\n]}\n");
  char *whole = strdup(maker_text.data);
  size_t n = strlen(whole), list = (size_t)(strchr(whole, '[') - whole) + 1;
  for (size_t cut = list; cut < n - 3; cut += 13) {
    const char *path = maker_write_text(whole, cut);
    wf_audit *audit = wf_audit_trace(path, NULL);
    unlink(path);
    int64_t complete = 0;
    for (const char *at = whole; (at = strstr(at, "5}}")) && at + 3 <= whole + cut; at++) complete++;
    if (!complete) { /* nothing to judge */
      assert_null(audit);
      assert_non_null(strstr(wf_error_peek().text, "a trace without any event"));
      assert_int_equal(wf_error_take().status, WF_VALUE);
      continue;
    }
    assert_non_null(audit);
    assert_int_equal(wf_audit_count(audit, "aten::copy_"), complete);
    char *page = wf_audit_text(audit, 80, 10);
    assert_non_null(strstr(page, "cut off"));
    wf_report_release(page);
    wf_audit_free(audit);
  }
  free(whole);
}

static void begins_and_ends_pair_up(void **state) {
  wf__kineto k;
  const char text[] =
      "[{\"ph\": \"B\", \"cat\": \"cpu_op\", \"name\": \"outer\", \"pid\": 1, \"tid\": 1, \"ts\": 10},"
      "{\"ph\": \"B\", \"cat\": \"cpu_op\", \"name\": \"inner\", \"pid\": 1, \"tid\": 1, \"ts\": 12},"
      "{\"ph\": \"E\", \"pid\": 1, \"tid\": 1, \"ts\": 15}, {\"ph\": \"E\", \"pid\": 1, \"tid\": 1, \"ts\": 20},"
      "{\"ph\": \"E\", \"pid\": 1, \"tid\": 1, \"ts\": 21},"
      "{\"ph\": \"B\", \"cat\": \"cpu_op\", \"name\": \"open\", \"pid\": 1, \"tid\": 1, \"ts\": 25},"
      "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"last\", \"pid\": 1, \"tid\": 2, \"ts\": 30, \"dur\": 5}]";
  const char *path = maker_write_text(text, strlen(text));
  assert_ok(wf__kineto_read(&k, path, NULL, NULL));
  unlink(path);
  assert_int_equal(k.events[event_of(&k, "outer")].dur, 10000);
  assert_int_equal(k.events[event_of(&k, "inner")].dur, 3000);
  assert_int_equal(k.events[event_of(&k, "open")].dur, 10000); /* to the end of the trace */
  assert_string_equal(parent_of(&k, "inner"), "outer");
  wf__kineto_close(&k);
}

static void other_files_are_told_with_what_to_do(void **state) {
  const struct {
    const char *text, *what;
    size_t n;
  } rows[] = {{"", "an empty file, not a trace of PyTorch", 0},
              {"  \n ", "an empty file, not a trace of PyTorch", 4},
              {"\x80\x04\x95", "a pickle, not a trace of PyTorch", 3},
              {"PK\3\4rest", "an archive, such as torch.save writes, not a trace of PyTorch", 8},
              {"[[-1, 1, 37888, 7], [1, 2",
               "a memory timeline of the profiler, which has only sums, not a trace of PyTorch", 25},
              {"[1, 2, 3]", "JSON without `traceEvents`, not a trace of PyTorch", 9},
              {"<html>", "a page for browsers, not a trace of PyTorch", 6},
              {"hello", "no format that is known here, not a trace of PyTorch", 5},
              {"{\"schema\": \"1.0.2\", \"nodes\": []}",
               "an execution trace (ExecutionTraceObserver), not a trace of PyTorch", 32},
              {"{\"segments\": [{\"blocks\": []}]}", "a memory snapshot as JSON, not a trace of PyTorch", 30},
              {"{\"a\": {\"traceEventz\": [1]}}", "JSON without `traceEvents`, not a trace of PyTorch", 27},
              {"{\"traceEvents\": []}", "a trace without any event", 19},
              {"{\"traceEvents\": [NaN, [[7]]]}", "a trace without any event that can be read", 30},
              {"{\"traceEvents\": [", "a trace without any event before it is cut off", 17},
              {"\0\0\0\0", "no format that is known here, not a trace of PyTorch", 4},
              {"{\"a\": {", "JSON without `traceEvents` (it is cut off or damaged), not a trace of PyTorch", 7}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char expected[256];
    const char *path = maker_write_text(rows[i].text, rows[i].n);
    assert_null(wf_audit_trace(path, NULL));
    unlink(path);
    snprintf(expected, sizeof expected, "%s: %s", path, rows[i].what);
    assert_true(strlen(wf_error_peek().hint) > 20);
    assert_error(WF_VALUE, expected);
  }
  assert_null(wf_audit_trace("no such file", NULL));
  assert_error(WF_IO, "no such file: No such file or directory");
}

static void a_million_levels_and_long_numbers_are_no_danger(void **state) {
  const size_t levels = 1000000;
  char *text = malloc(2 * levels + 200000);
  size_t n = (size_t)sprintf(text, "[" GOOD("aten::add") ", {\"ph\": \"X\", \"args\": {\"Input Dims\": ");
  memset(text + n, '[', levels);
  n += levels;
  memset(text + n, ']', levels);
  n += levels;
  n += (size_t)sprintf(text + n, "}, \"cat\": \"cpu_op\", \"name\": \"aten::copy_\", \"dur\": 1, \"ts\": 1");
  memset(text + n, '0', 100000);
  n += 100000;
  n += (size_t)sprintf(text + n, "}, " GOOD("aten::mul") "]");
  const char *path = maker_write_text(text, n);
  wf_audit *audit = wf_audit_trace(path, NULL);
  unlink(path);
  assert_non_null(audit);
  assert_int_equal(wf_audit_count(audit, "aten::mul"), 1);
  assert_int_equal(wf_audit_count(audit, "aten::copy_"), 0); /* 10^100000 is no time */
  wf_audit_free(audit);
  free(text);
}

static bool stop(void *context, int64_t bytes) { return ++*(int *)context < 2; }

static void reading_stops_when_it_is_told_to(void **state) {
  int calls = 0;
  maker_begin();
  for (int i = 0; i < 20000; i++) maker_op("aten::add", i, 1);
  const char *path = maker_write();
  wf_audit_options o = wf_audit_defaults();
  o.progress = stop;
  o.context = &calls;
  wf_audit *audit = wf_audit_trace(path, &o);
  unlink(path);
  assert_non_null(audit);
  assert_true(wf_audit_interrupted(audit));
  assert_int_equal(wf_audit_count(audit, "aten::add"), 8192);
  wf_audit_free(audit);
}

/* 40 bytes of each event, numbers of them, and tables of links. */
static void an_event_takes_40_bytes(void **state) { assert_int_equal(sizeof(wf__event), 40); }

/* Every allocation fails in turn: nothing is given, nothing leaks. */
static void each_failing_allocation_is_survived(void **state) {
  maker_begin();
  for (int i = 0; i < 3; i++) {
    maker_annotation(i ? i == 1 ? "ProfilerStep#1" : "ProfilerStep#2" : "ProfilerStep#0", 1000 * i, 1000);
    maker_python("nn.Module: Net_0", "train.py:41", 1000 * i + 2, 900);
    maker_event("cpu_op", "aten::linear", 1, MAIN_THREAD, 1000 * i + 6, 60, "\"Sequence number\": 12");
    maker_event("cpu_op", "AddmmBackward0", 1, BACKWARD_THREAD, 1000 * i + 7, 50,
                "\"Sequence number\": 12, \"Fwd thread id\": 1");
    maker_copy(1000 * i + 10, 8, "[8,3]", "[3,1]", "[1,8]", "float", "double");
    maker_launch("cudaMemcpyAsync", 1000 * i + 11, 5, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, 1000 * i + 20,
                 50, 4096);
    maker_kernel(1000 * i + 600, 1000 * i + 650, 20);
    maker_call("cudaStreamSynchronize", 1000 * i + 700, 200, 0);
  }
  const char *path = maker_write();
  int64_t k = 1;
  for (;; k++) {
    wf__fault_at(k);
    wf_audit *audit = wf_audit_trace(path, NULL);
    char *text = audit ? wf_audit_text(audit, 80, 10) : NULL;
    char *json = text ? wf_audit_json(audit, 2) : NULL;
    bool done = wf__fault_count() < k;
    wf__fault_at(0);
    if (!json) assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
    wf_report_release(json);
    wf_report_release(text);
    wf_audit_free(audit);
    if (done) {
      assert_non_null(audit);
      break;
    }
  }
  assert_true(k > 20);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nests_by_time_whatever_the_order_of_the_file),
      cmocka_unit_test(sorts_any_order),
      cmocka_unit_test(links_the_work_of_a_device_to_its_call),
      cmocka_unit_test(places_backward_where_its_forward_ran),
      cmocka_unit_test(places_what_runs_in_a_function_at_the_function),
      cmocka_unit_test(tells_users_code_from_libraries),
      cmocka_unit_test(packs_shapes_without_loss),
      cmocka_unit_test(judges_the_operands_of_a_copy),
      cmocka_unit_test(steps_of_a_loader_begin_where_it_does),
      cmocka_unit_test(prefers_the_profilers_own_steps),
      cmocka_unit_test(a_last_step_that_was_cut_short_is_left_out),
      cmocka_unit_test(steps_of_an_optimizer_end_where_it_does),
      cmocka_unit_test(something_that_repeats_makes_steps_only_when_the_run_consists_of_it),
      cmocka_unit_test(damaged_events_are_passed_over_and_counted),
      cmocka_unit_test(what_is_only_strange_is_read),
      cmocka_unit_test(a_file_that_is_cut_off_anywhere_gives_what_is_there),
      cmocka_unit_test(begins_and_ends_pair_up),
      cmocka_unit_test(other_files_are_told_with_what_to_do),
      cmocka_unit_test(a_million_levels_and_long_numbers_are_no_danger),
      cmocka_unit_test(reading_stops_when_it_is_told_to),
      cmocka_unit_test(an_event_takes_40_bytes),
      cmocka_unit_test(each_failing_allocation_is_survived),
  };
  return cmocka_run_group_tests_name("audit/kineto", tests, NULL, NULL);
}
