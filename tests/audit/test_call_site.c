/* Which frame of a stack is the program's own line. */
#define _GNU_SOURCE
#include "audit/call_site.h"

#include <sys/mman.h>
#include <unistd.h>

#include "audit/snapshot_maker.h"
#include "test.h"

#define TORCH "/venv/lib/python3.12/site-packages/torch/"

typedef struct stack {
  const char *name;
  maker_frame frames[4]; /* innermost first */
  uint32_t site;
} stack;

static const stack files[] = {
    {"the innermost file outside of PyTorch",
     {{"forward", TORCH "nn/modules/linear.py", 134}, {"main", "/u/train.py", 5}, {"<module>", "/u/train.py", 9}},
     1},
    {"what Triton's callers made isn't the program's",
     {{"launcher", "<string>", 5},
      {"run", TORCH "_inductor/runtime/triton_heuristics.py", 900},
      {"step", "/u/a.py", 7}},
     2},
    {"nor in a thread of PyTorch's",
     {{"launcher", "<string>", 5}, {"run", TORCH "_inductor/runtime/triton_heuristics.py", 900}},
     1},
    {"a method that a library made in a text", {{"__init__", "<string>", 3}, {"<module>", "/u/train.py", 9}}, 1},
    {"a notebook's cell is as good as a file",
     {{"<module>", "<ipython-input-3-abc>", 2},
      {"run_code", "/venv/lib/python3.12/site-packages/IPython/core/s.py", 9}},
     0},
    {"what watches a dry run is none of the program's",
     {{"__torch_dispatch__", "/run/x/python/weft_dry_objects.py", 108}, {"main", "/u/train.py", 5}},
     1},
    {"nor is Triton",
     {{"run", "/venv/lib/python3.12/site-packages/triton/runtime/jit.py", 700}, {"main", "/u/train.py", 5}},
     1},
    {"nor what Inductor wrote",
     {{"call", "/var/cache/torchinductor_me/lg/clgg.py", 107}, {"main", "/u/train.py", 5}},
     1},
    {"only PyTorch's", {{"??", "??", 0}, {"backward", TORCH "_tensor.py", 520}}, 1},
};

/* Of python -c, in a thread of PyTorch's as well. */
static const stack texts[] = {
    {"the program's text has no file",
     {{"forward", TORCH "nn/modules/linear.py", 134}, {"f", "<string>", 2}, {"<module>", "<string>", 4}},
     1},
    {"files are better known", {{"f", "<string>", 2}, {"train", "/u/train.py", 5}, {"<module>", "<string>", 4}}, 1},
    {"a hook in a thread of PyTorch's", {{"hook", "<string>", 2}, {"call", TORCH "utils/hooks.py", 5}}, 0},
};

static void check(const stack *cases, int count) {
  char path[64];
  int file = memfd_create("snapshot", 0);
  maker m;
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  maker_open(&m, "", 0, WF_TIES_AGE);
  for (int i = 0; i < count; i++) {
    int depth = 0;
    while (depth < 4 && cases[i].frames[depth].file) depth++;
    maker_add_stack(&m, cases[i].frames, depth);
    maker_alloc(&m, 512, 0, i + 1);
  }
  maker_write(&m, path);
  maker_close(&m);
  wf_snapshot *s = wf_snapshot_read(path, NULL);
  wf__call_sites sites;
  assert_non_null(s);
  assert_ok(wf__call_sites_make(&sites, s));
  for (uint32_t i = 0, n = 0; i < s->events.n; i++) {
    if (s->events.at[i].action != WF__SNAP_ALLOC) continue;
    if (sites.site[s->events.at[i].stack] != cases[n].site) fail_msg("%s", cases[n].name);
    n++;
  }
  wf__call_sites_release(&sites);
  wf_snapshot_free(s);
  close(file);
}

static void the_line_is_the_innermost_of_the_program_s_own_files(void **state) {
  check(files, sizeof files / sizeof *files);
}
static void a_program_that_is_a_text_has_its_lines(void **state) { check(texts, sizeof texts / sizeof *texts); }

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_line_is_the_innermost_of_the_program_s_own_files),
    cmocka_unit_test(a_program_that_is_a_text_has_its_lines),
};

WF_TEST_MAIN("audit/call_site", tests)
