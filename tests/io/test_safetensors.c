/* safetensors: bytes of the reference writer, and every rule of the reader. */
#include "test.h"

#include <stdlib.h>
#include <unistd.h>
#include <weft/io.h>

static char folder[64], path[128];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "weft-tensors-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/zustände.safetensors", folder);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

/* What safetensors 0.8.0 gives for
 *   {"b.weight": arange(6.).reshape(2, 3).t().contiguous(), "a": tensor([True, False]), "z": tensor(7),
 *    "é": tensor([1.5, -2], dtype=bfloat16), "leer": zeros(0, 3)} */
static const char reference_header[] =
    "{\"z\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},\"b.weight\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[8,32]},"
    "\"leer\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[32,32]},\"é\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[32,36]},"
    "\"a\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[36,38]}}       ";
static const char reference_data[] =
    "\x07\0\0\0\0\0\0\0"
    "\0\0\0\0"
    "\0\0\x40\x40"
    "\0\0\x80\x3f"
    "\0\0\x80\x40"
    "\0\0\0\x40"
    "\0\0\xa0\x40"
    "\xc0\x3f\0\xc0"
    "\x01";

static size_t read_file(unsigned char *to, size_t room) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(to, 1, room, f);
  fclose(f);
  return n;
}

static void saves_byte_for_byte_as_the_reference_does(void **state) {
  (void)state;
  const float f[6] = {0, 3, 1, 4, 2, 5};
  const uint8_t flags[2] = {1, 0};
  const int64_t seven = 7;
  const uint16_t halves[2] = {0x3fc0, 0xc000};
  wf_scope scope = wf_scope_begin();
  const wf_named_tensor list[] = {{"b.weight", wf_from_data(f, WF_SHAPE(3, 2), WF_F32)},
                                  {"a", wf_from_data(flags, WF_SHAPE(2), WF_BOOL)},
                                  {"z", wf_from_data(&seven, WF_SHAPE0, WF_I64)},
                                  {"é", wf_from_data(halves, WF_SHAPE(2), WF_BF16)},
                                  {"leer", wf_from_data(NULL, WF_SHAPE(0, 3), WF_F32)}};
  assert_ok(wf_safetensors_save(path, list, 5));
  unsigned char bytes[512];
  size_t header = strlen(reference_header), n = read_file(bytes, sizeof bytes);
  assert_int_equal(n, 8 + header + 38);
  assert_memory_equal(bytes, "\x28\x01\0\0\0\0\0\0", 8);
  assert_memory_equal(bytes + 8, reference_header, header);
  assert_memory_equal(bytes + 8 + header, reference_data, 38);

  wf_safetensors *in = wf_safetensors_open(path);
  assert_non_null(in);
  assert_int_equal(wf_safetensors_count(in), 5);
  wf_tensor *weight = wf_safetensors_get(in, "b.weight");
  float back[6];
  assert_ok(wf_to_host(weight, back, sizeof back));
  assert_memory_equal(back, f, sizeof f);
  assert_int_equal(wf_dtype_of(wf_safetensors_get(in, "é")), WF_BF16);
  assert_int_equal(wf_size(wf_safetensors_get(in, "leer"), 1), 3);
  assert_null(wf_safetensors_get(in, "nicht da"));
  assert_int_equal(wf_error_take().status, WF_VALUE);
  wf_safetensors_close(in);
  wf_scope_end(scope, NULL);
}

static void tensors_that_share_memory_and_names_used_twice_are_refused_and_the_old_file_stays(void **state) {
  (void)state;
  const float f[4] = {1, 2, 3, 4};
  wf_tensor *t = wf_from_data(f, WF_SHAPE(4), WF_F32), *other = wf_from_data(f, WF_SHAPE(4), WF_F32);
  assert_ok(wf_safetensors_save(path, &(wf_named_tensor){"first", t}, 1));
  assert_int_equal(wf_safetensors_save(path, (wf_named_tensor[]){{"a", t}, {"b", t}}, 2), WF_VALUE);
  wf_error e = wf_error_take();
  assert_non_null(strstr(e.text, "'a'"));
  assert_non_null(strstr(e.text, "'b'"));
  assert_int_equal(wf_safetensors_save(path, (wf_named_tensor[]){{"a", t}, {"a", other}}, 2), WF_VALUE);
  assert_error(WF_VALUE, "two tensors are named 'a'");
  wf_safetensors *in = wf_safetensors_open(path);
  assert_string_equal(wf_safetensors_name(in, 0), "first");
  wf_safetensors_close(in);
  wf_free(t);
  wf_free(other);
}

/* Writes a file of this header, `data` zero bytes behind it. */
static void write_raw(const char *header, int data) {
  FILE *f = fopen(path, "wb");
  uint64_t n = strlen(header);
  for (int i = 0; i < 8; i++) fputc((int)(n >> 8 * i & 255), f);
  fputs(header, f);
  for (int i = 0; i < data; i++) fputc(0, f);
  fclose(f);
}

#define ENTRY(name, dtype, shape, begin, end) \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static void files_that_break_a_rule_are_refused_with_the_rule(void **state) {
  (void)state;
  static const struct {
    const char *header;
    int data;
    const char *says;
  } bad[] = {
      {"", 0, "doesn't begin with '{'"},
      {" {}", 0, "doesn't begin with '{'"},
      {"{", 0, "no JSON"},
      {"{" ENTRY("a", "F32", "[1]", 0, 4) "," ENTRY("a", "F32", "[1]", 4, 8) "}", 8, "no JSON: duplicate"},
      {"{" ENTRY("a", "F33", "[1]", 0, 4) "}", 4, "unknown dtype 'F33'"},
      {"{" ENTRY("a", "F32", "[1.0]", 0, 4) "}", 4, "isn't a whole number"},
      {"{" ENTRY("a", "F32", "[-1]", 0, 4) "}", 4, "isn't a whole number"},
      {"{" ENTRY("a", "F32", "[1]", 4, 8) "}", 8, "doesn't begin where"},
      {"{" ENTRY("a", "F32", "[1]", 0, 4) "," ENTRY("b", "F32", "[1]", 2, 6) "}", 6, "doesn't begin where"},
      {"{" ENTRY("a", "F32", "[2]", 0, 4) "}", 4, "needs 8 bytes"},
      {"{" ENTRY("a", "F32", "[4294967296,4294967296,4294967296]", 0, 4) "}", 4, "overflows"},
      {"{" ENTRY("a", "F4", "[1]", 0, 0) "}", 0, "whole byte"},
      {"{" ENTRY("a", "F32", "[1]", 0, 4) "}", 3, "the file at"},
      {"{" ENTRY("a", "F32", "[1]", 0, 4) "}", 5, "the file at"},
      {"{\"__metadata__\":{\"a\":1}}", 0, "something else than strings"},
      {"{\"a\":[1,2]}", 0, "no object"},
      {"{\"a\":{\"b\":{\"c\":{}}}}", 0, "nested too deeply"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_raw(bad[i].header, bad[i].data);
    assert_null(wf_safetensors_open(path));
    wf_error e = wf_error_take();
    assert_int_equal(e.status, WF_IO);
    if (!strstr(e.text, bad[i].says)) fail_msg("'%s' doesn't say '%s'", e.text, bad[i].says);
  }
}

static void an_empty_header_an_odd_one_and_metadata_are_fine(void **state) {
  (void)state;
  static const char *const good[] = {"{}", "{\"__metadata__\":{\"format\":\"pt\"}}", "{}   ",
                                     "{\"__metadata__\":{\"x\":\"{[{[{[\"}}"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    write_raw(good[i], 0);
    wf_safetensors *in = wf_safetensors_open(path);
    assert_non_null(in);
    assert_int_equal(wf_safetensors_count(in), 0);
    wf_safetensors_close(in);
  }
  FILE *f = fopen(path, "wb");
  fwrite("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 1, 10, f);
  fclose(f);
  assert_null(wf_safetensors_open(path));
  assert_non_null(strstr(wf_error_take().text, "at most 100000000"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(saves_byte_for_byte_as_the_reference_does, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(tensors_that_share_memory_and_names_used_twice_are_refused_and_the_old_file_stays,
                                    make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(files_that_break_a_rule_are_refused_with_the_rule, make_folder, remove_folder),
    cmocka_unit_test_setup_teardown(an_empty_header_an_odd_one_and_metadata_are_fine, make_folder, remove_folder),
};
WF_TEST_MAIN("io/safetensors", tests)
