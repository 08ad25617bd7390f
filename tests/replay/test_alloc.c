/* The allocator's differential cases that lie in replay/alloc: what PyTorch's own allocator did call by call. */
#include "test.h"

#include <dirent.h>
#include <stdlib.h>
#include <zlib.h>

#include "replay/alloc_player.h"

static char *read_case(const char *path, size_t *length) {
  gzFile file = gzopen(path, "rb");
  assert_non_null(file);
  size_t room = 1 << 20;
  char *text = malloc(room);
  int n;
  for (*length = 0; (n = gzread(file, text + *length, (unsigned)(room - *length))) > 0;) {
    *length += (size_t)n;
    if (*length == room) text = realloc(text, room *= 2);
    assert_non_null(text);
  }
  assert_int_equal(n, 0);
  gzclose(file);
  return text;
}

static int is_case(const struct dirent *entry) { return strstr(entry->d_name, ".jsonl") != NULL; }

static void every_call_of_the_cases_comes_out_as_it_did_in_pytorch(void **state) {
  struct dirent **entries;
  int n = scandir(WF_CASES, &entries, is_case, alphasort), failed = 0;
  assert_true(n > 0);
  for (int i = 0; i < n; i++) {
    char path[1024], mismatch[ALLOC_PLAYER_TEXT];
    snprintf(path, sizeof path, "%s/%s", WF_CASES, entries[i]->d_name);
    size_t length;
    char *text = read_case(path, &length);
    if (!alloc_player_play(text, length, mismatch)) {
      failed++;
      print_error("%s: %s\n", entries[i]->d_name, mismatch);
    }
    free(text);
    free(entries[i]);
  }
  free(entries);
  print_message("%d cases, %d failed\n", n, failed);
  assert_int_equal(failed, 0);
}

/* The player must see differences: a case with one number changed isn't passed. */
static void a_case_with_a_wrong_expectation_fails_with_its_line(void **state) {
#define HEAD "{\"case\":\"x\",\"ties\":\"age\",\"conf\":\"\",\"device\":1073741824,\"start\":[]}\n"
#define ALLOC(block)                                                                                                         \
  "{\"do\":\"alloc\",\"id\":1,\"size\":600,\"stream\":0,\"driver\":[[\"get\",2097152,0,4096]],\"at\":[0,0],\"block\":" block \
  "}\n"
  static const struct {
    const char *text, *mismatch;
  } cases[] = {
      {HEAD ALLOC("1024") "{\"do\":\"free\",\"id\":1,\"done\":[1]}\n", ""},
      {HEAD ALLOC("512"), "line 2: the block has 1024 bytes, expected 512"},
      {HEAD ALLOC("1024") "{\"do\":\"free\",\"id\":1}\n", "line 3: 1 frees finished, expected 0"},
      {HEAD ALLOC("1024") "{\"do\":\"empty_cache\",\"driver\":[[\"give\",0]]}\n",
       "line 3: the driver was asked 0 times, expected 1"},
      {HEAD ALLOC("1024") "{\"do\":\"check\",\"stats\":{\"requested_bytes\":{\"small_pool\":[601]}}}\n",
       "line 3: requested_bytes.small_pool.current is 600, expected 601"},
      {HEAD ALLOC("1024") "{\"do\":\"check\",\"stats\":{},\"segments\":[[0,0,2097152,[[0,1024,600,\"a\"]]]]}\n",
       "line 3: segment 0 has a block at 1024 that isn't expected"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char mismatch[ALLOC_PLAYER_TEXT];
    bool passed = alloc_player_play(cases[i].text, strlen(cases[i].text), mismatch);
    assert_string_equal(mismatch, cases[i].mismatch);
    assert_int_equal(passed, cases[i].mismatch[0] == 0);
  }
}

static void a_case_is_told_by_its_first_line(void **state) {
  assert_true(alloc_player_knows("{\"case\":\"x\",\"from\":\"recorded\",\"ties\":\"age\",\"start\":[]}\n"));
  assert_false(alloc_player_knows("{\"id\":\"x\",\"steps\":[]}\n"));
  assert_false(alloc_player_knows("{\"case\":\"x\"}"));
  assert_false(alloc_player_knows("not JSON"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_case_is_told_by_its_first_line),
    cmocka_unit_test(every_call_of_the_cases_comes_out_as_it_did_in_pytorch),
    cmocka_unit_test(a_case_with_a_wrong_expectation_fails_with_its_line),
};

WF_TEST_MAIN("replay/alloc", tests)
