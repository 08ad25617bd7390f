/* IDX files: good ones in both forms, and every way in which one can be bad. */
#include "test.h"

#include <stdlib.h>
#include <unistd.h>
#include <weft/data.h>
#include <zlib.h>

static char folder[64], images[128], labels[128];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "weft-idx-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(images, sizeof images, "%s/bilder-ü.idx", folder);
  snprintf(labels, sizeof labels, "%s/labels.idx", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(images);
  unlink(labels);
  return rmdir(folder);
}

static void put_word(uint8_t *to, uint32_t v) {
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void write_file(const char *path, const void *bytes, size_t n, int gzipped) {
  gzFile out = gzopen(path, gzipped ? "wb9" : "wbT");
  assert_non_null(out);
  assert_int_equal(gzwrite(out, bytes, (unsigned)n), n);
  gzclose(out);
}

/* 3 images of 2 x 2 with pixels 0, 1, 2, …; labels 7, 0, 9. `cut` bytes are left off the images, `extra` added. */
static void write_images(uint32_t magic, uint32_t count, int cut, int extra, int gzipped) {
  uint8_t b[16 + 16] = {0};
  put_word(b, magic);
  put_word(b + 4, count);
  put_word(b + 8, 2);
  put_word(b + 12, 2);
  for (int i = 0; i < 12; i++) b[16 + i] = (uint8_t)i;
  write_file(images, b, (size_t)(16 + 12 - cut + extra), gzipped);
}

static void write_labels(uint32_t count, uint8_t last, int gzipped) {
  uint8_t b[8 + 4] = {0};
  put_word(b, 0x801);
  put_word(b + 4, count);
  b[8] = 7;
  b[10] = last;
  write_file(labels, b, 8 + count, gzipped);
}

static void expect_failure(wf_status kind, const char *fragment) {
  assert_null(wf_dataset_idx(images, labels, 10));
  wf_error e = wf_error_take();
  assert_int_equal(e.status, kind);
  if (!strstr(e.text, fragment)) fail_msg("'%s' doesn't say '%s'", e.text, fragment);
}

static void good_files_give_their_samples_plain_and_gzipped(void **state) {
  (void)state;
  for (int gzipped = 0; gzipped < 2; gzipped++) {
    write_images(0x803, 3, 0, 0, gzipped);
    write_labels(3, 9, gzipped);
    wf_dataset *d = wf_dataset_idx(images, labels, 10);
    assert_non_null(d);
    assert_int_equal(wf_dataset_count(d), 3);
    int n;
    const wf_field *f = wf_dataset_fields(d, &n);
    assert_int_equal(n, 2);
    assert_int_equal(f[0].ndim, 3);
    assert_int_equal(f[0].size[0], 1);
    assert_int_equal(f[0].size[1], 2);
    uint8_t pixels[4];
    int64_t label;
    assert_ok(wf_dataset_fetch(d, 2, (void *[]){pixels, &label}));
    assert_memory_equal(pixels, ((uint8_t[]){8, 9, 10, 11}), 4);
    assert_int_equal(label, 9);
    assert_int_equal(wf_dataset_fetch(d, 3, (void *[]){pixels, &label}), WF_INDEX);
    wf_error_take();
    wf_dataset_free(d);
  }
}

static void bad_files_are_refused_with_their_name_and_fault(void **state) {
  (void)state;
  write_labels(3, 9, 0);
  unlink(images);
  expect_failure(WF_IO, "bilder-ü.idx");
  write_images(0x801, 3, 0, 0, 0);
  expect_failure(WF_VALUE, "magic is 0x00000801, not 0x00000803");
  write_images(0x803, 3, 1, 0, 0);
  expect_failure(WF_IO, "ends after 11 of 12 bytes");
  write_images(0x803, 3, 1, 0, 1);
  expect_failure(WF_IO, "ends after 11 of 12 bytes");
  write_images(0x803, 3, 0, 1, 0);
  expect_failure(WF_VALUE, "more data than its header says");
  write_images(0x803, 3, 20, 0, 0);
  expect_failure(WF_IO, "header");
  write_images(0x803, 3, 0, 0, 0);
  write_labels(2, 9, 0);
  expect_failure(WF_VALUE, "holds 3 images");
  write_labels(3, 10, 0);
  expect_failure(WF_VALUE, "label 10 of sample 2 is out of range for 10 classes");
  write_images(0x803, 0xffffffffu, 0, 0, 0);
  expect_failure(WF_IO, "ends after");
}

static void a_gzip_file_that_is_cut_off_is_an_error(void **state) {
  (void)state;
  write_images(0x803, 3, 0, 0, 1);
  write_labels(3, 9, 0);
  FILE *f = fopen(images, "rb");
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  fclose(f);
  assert_int_equal(truncate(images, size - 9), 0);
  expect_failure(WF_IO, "bilder-ü.idx");
}

static void fashion_mnist_is_what_its_authors_published(void **state) {
  (void)state;
  wf_dataset *train = wf_dataset_fashion_mnist(NULL, true), *test = wf_dataset_fashion_mnist(NULL, false);
  assert_non_null(train);
  assert_non_null(test);
  assert_int_equal(wf_dataset_count(train), 60000);
  assert_int_equal(wf_dataset_count(test), 10000);
  int64_t per_class[10] = {0}, label;
  uint8_t pixels[784];
  for (int64_t i = 0; i < 60000; i++) {
    assert_ok(wf_dataset_fetch(train, i, (void *[]){pixels, &label}));
    per_class[label]++;
  }
  for (int i = 0; i < 10; i++) assert_int_equal(per_class[i], 6000);
  wf_dataset *few = wf_dataset_take(train, 7);
  assert_int_equal(wf_dataset_count(few), 7);
  wf_dataset_free(few);
  wf_dataset_free(train);
  wf_dataset_free(test);
}

static void a_missing_folder_says_what_to_install(void **state) {
  (void)state;
  assert_null(wf_dataset_fashion_mnist("no-such-folder", true));
  wf_error e = wf_error_take();
  assert_int_equal(e.status, WF_IO);
  assert_non_null(strstr(e.text, "no-such-folder/train-images-idx3-ubyte.gz"));
  assert_non_null(strstr(e.hint, "dataset-fashion-mnist"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(good_files_give_their_samples_plain_and_gzipped, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(bad_files_are_refused_with_their_name_and_fault, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(a_gzip_file_that_is_cut_off_is_an_error, make_folder, remove_folder),
    cmocka_unit_test(fashion_mnist_is_what_its_authors_published),
    cmocka_unit_test(a_missing_folder_says_what_to_install),
};
WF_TEST_MAIN("data/idx", tests)
