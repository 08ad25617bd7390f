/* A file is seen whole or not at all. */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "format/atomic_file.h"

static char folder[64];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "weft-atomic-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder);
}

static int entries(void) {
  DIR *d = opendir(folder);
  int n = 0;
  while (readdir(d)) n++;
  closedir(d);
  return n - 2;
}

static void a_file_appears_only_when_committed(void **state) {
  (void)state;
  char path[128], text[16] = "";
  snprintf(path, sizeof path, "%s/größe.txt", folder);
  wf__atomic_file f;
  assert_ok(wf__atomic_open(&f, path));
  fputs("whole", f.stream);
  assert_int_equal(access(path, F_OK), -1);
  assert_ok(wf__atomic_commit(&f));
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  assert_non_null(fgets(text, sizeof text, in));
  fclose(in);
  assert_string_equal(text, "whole");
  assert_int_equal(entries(), 1);
  unlink(path);
}

static void an_abandoned_file_leaves_nothing_and_keeps_the_old_one(void **state) {
  (void)state;
  char path[128], text[16] = "";
  snprintf(path, sizeof path, "%s/kept", folder);
  FILE *old = fopen(path, "w");
  fputs("old", old);
  fclose(old);
  wf__atomic_file f;
  assert_ok(wf__atomic_open(&f, path));
  fputs("new", f.stream);
  wf__atomic_abandon(&f);
  FILE *in = fopen(path, "r");
  assert_non_null(fgets(text, sizeof text, in));
  fclose(in);
  assert_string_equal(text, "old");
  assert_int_equal(entries(), 1);
  unlink(path);
}

static void a_missing_folder_is_an_error_with_the_path(void **state) {
  (void)state;
  wf__atomic_file f;
  assert_int_equal(wf__atomic_open(&f, "no-such-folder/file"), WF_IO);
  assert_error(WF_IO, "no-such-folder/file: can't be written: No such file or directory");
}

static void a_full_disk_is_an_error_when_committed(void **state) {
  (void)state;
  char path[128];
  snprintf(path, sizeof path, "%s/full", folder);
  wf__atomic_file f;
  assert_ok(wf__atomic_open(&f, path));
  f.stream = freopen("/dev/full", "wb", f.stream);
  assert_non_null(f.stream);
  fputs("does not fit", f.stream);
  assert_int_equal(wf__atomic_commit(&f), WF_IO);
  wf_error e = wf_error_take();
  assert_non_null(strstr(e.text, "No space left on device"));
  assert_int_equal(entries(), 0);
}

/* A pipe stands for all that isn't a file: renaming something onto it would take it away from who reads it. */
static void what_is_no_file_is_written_to_and_not_replaced(void **state) {
  (void)state;
  char path[128], text[16] = "";
  snprintf(path, sizeof path, "%s/pipe", folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  wf__atomic_file f;
  assert_ok(wf__atomic_open(&f, path));
  fputs("through", f.stream);
  assert_ok(wf__atomic_commit(&f));
  assert_int_equal(read(reader, text, sizeof text), 7);
  assert_string_equal(text, "through");
  close(reader);
  struct stat s;
  assert_int_equal(stat(path, &s), 0);
  assert_true(S_ISFIFO(s.st_mode));
  unlink(path);
  assert_ok(wf__atomic_open(&f, "/dev/full"));
  fputs("does not fit", f.stream);
  assert_int_equal(wf__atomic_commit(&f), WF_IO);
  assert_error(WF_IO, "/dev/full: can't be written: No space left on device");
  assert_int_equal(access("/dev/full", F_OK), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(a_file_appears_only_when_committed, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(an_abandoned_file_leaves_nothing_and_keeps_the_old_one, make_folder, remove_folder),
    cmocka_unit_test(a_missing_folder_is_an_error_with_the_path),
    cmocka_unit_test_setup_teardown(what_is_no_file_is_written_to_and_not_replaced, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(a_full_disk_is_an_error_when_committed, make_folder, remove_folder),
};
WF_TEST_MAIN("format/atomic_file", tests)
