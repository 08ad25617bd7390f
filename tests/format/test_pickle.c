/* Pickles of plain data, protocols 2 to 5, as Python's pickle.dumps writes them; and what is refused. */
#include "test.h"

#include <stdlib.h>

#include "base/host.h"
#include "format/pickle.h"

/* A client that writes what it is given as text: a container's record is the number of its text. */
typedef struct writer {
  wf__string_set texts, strings;
  int folds;
} writer;

static void say(char *to, size_t room, const writer *w, const wf__pickle_value *v) {
  switch ((wf__pickle_type)v->type) {
    case WF__PICKLE_NONE: snprintf(to, room, "None"); return;
    case WF__PICKLE_BOOL: snprintf(to, room, v->integer ? "True" : "False"); return;
    case WF__PICKLE_INT: snprintf(to, room, "%lld", (long long)v->integer); return;
    case WF__PICKLE_FLOAT: snprintf(to, room, "%g", v->real); return;
    case WF__PICKLE_STRING: snprintf(to, room, "'%s'", wf__string_set_text(&w->strings, v->string)); return;
    case WF__PICKLE_LIST: snprintf(to, room, "[]"); return;
    case WF__PICKLE_TUPLE: snprintf(to, room, "()"); return;
    case WF__PICKLE_DICT: snprintf(to, room, "{}"); return;
    case WF__PICKLE_SET: snprintf(to, room, "set()"); return;
    case WF__PICKLE_RECORD: snprintf(to, room, "%s", wf__string_set_text(&w->texts, (uint32_t)v->record)); return;
  }
}

static wf_status fold(void *context, wf__pickle_value *container, const wf__pickle_value *items, size_t count) {
  writer *w = context;
  char text[2048], before[1024];
  say(before, sizeof before, w, container);
  char close = before[strlen(before) - 1];
  before[strlen(before) - 1] = 0;
  size_t n = (size_t)snprintf(text, sizeof text, "%s", before);
  for (size_t i = 0; i < count; i++) {
    char item[1024];
    say(item, sizeof item, w, &items[i]);
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                          strchr("[({", text[n - 1]) ? ""
                          : close == '}' && i % 2    ? ": "
                                                     : ", ",
                          item);
  }
  snprintf(text + n, sizeof text - n, "%c", close);
  uint32_t number = wf__string_set_add(&w->texts, text, strlen(text));
  if (number == UINT32_MAX) return WF_NO_MEMORY;
  container->type = WF__PICKLE_RECORD;
  container->record = number;
  w->folds++;
  return WF_OK;
}

static wf_status read_pickle(const void *bytes, size_t n, char *text, size_t room) {
  writer w = {0};
  wf__pickle_client client = {&w, fold, NULL};
  wf__pickle_value v;
  wf__input *input = wf__input_memory(bytes, n, "x");
  wf_status status = input ? wf__pickle_read(input, "x", &w.strings, &client, &v) : WF_NO_MEMORY;
  if (!status) say(text, room, &w, &v);
  wf__input_close(input);
  wf__string_set_release(&w.strings);
  wf__string_set_release(&w.texts);
  return status;
}

/* shared = {"a": 1}; pickle.dumps({"k": [1, 255, 65535, -2, 2**40, -2**62, 2**64-1], "t": (None, True, False, 1.5),
 * "s": ["x", "\u00e9", shared, shared], "e": [(), [], {}], "u": {"n": 7}}, PROTOCOL) of Python 3.11: what it writes by protocols 3 and 5
 * differs from 2 and 4 in the second byte, which is the protocol. */
static const char by_protocol_2[] =
    "\x80\x02\x7d\x71\x00\x28\x58\x01\x00\x00\x00\x6b\x71\x01\x5d\x71\x02\x28\x4b\x01\x4b\xff\x4d\xff\xff\x4a\xfe\xff"
    "\xff\xff\x8a\x06\x00\x00\x00\x00\x00\x01\x8a\x08\x00\x00\x00\x00\x00\x00\x00\xc0\x8a\x09\xff\xff\xff\xff\xff\xff"
    "\xff\xff\x00\x65\x58\x01\x00\x00\x00\x74\x71\x03\x28\x4e\x88\x89\x47\x3f\xf8\x00\x00\x00\x00\x00\x00\x74\x71\x04"
    "\x58\x01\x00\x00\x00\x73\x71\x05\x5d\x71\x06\x28\x58\x01\x00\x00\x00\x78\x71\x07\x58\x02\x00\x00\x00\xc3\xa9\x71"
    "\x08\x7d\x71\x09\x58\x01\x00\x00\x00\x61\x71\x0a\x4b\x01\x73\x68\x09\x65\x58\x01\x00\x00\x00\x65\x71\x0b\x5d\x71"
    "\x0c\x28\x29\x5d\x71\x0d\x7d\x71\x0e\x65\x58\x01\x00\x00\x00\x75\x71\x0f\x7d\x71\x10\x58\x01\x00\x00\x00\x6e\x71"
    "\x11\x4b\x07\x73\x75\x2e";
static const char by_protocol_4[] =
    "\x80\x04\x95\x7f\x00\x00\x00\x00\x00\x00\x00\x7d\x94\x28\x8c\x01\x6b\x94\x5d\x94\x28\x4b\x01\x4b\xff\x4d\xff\xff"
    "\x4a\xfe\xff\xff\xff\x8a\x06\x00\x00\x00\x00\x00\x01\x8a\x08\x00\x00\x00\x00\x00\x00\x00\xc0\x8a\x09\xff\xff\xff"
    "\xff\xff\xff\xff\xff\x00\x65\x8c\x01\x74\x94\x28\x4e\x88\x89\x47\x3f\xf8\x00\x00\x00\x00\x00\x00\x74\x94\x8c\x01"
    "\x73\x94\x5d\x94\x28\x8c\x01\x78\x94\x8c\x02\xc3\xa9\x94\x7d\x94\x8c\x01\x61\x94\x4b\x01\x73\x68\x09\x65\x8c\x01"
    "\x65\x94\x5d\x94\x28\x29\x5d\x94\x7d\x94\x65\x8c\x01\x75\x94\x7d\x94\x8c\x01\x6e\x94\x4b\x07\x73\x75\x2e";

/* The pickle by that protocol; returns its bytes. */
static size_t pickled(int protocol, char bytes[sizeof by_protocol_2]) {
  bool early = protocol < 4;
  size_t n = (early ? sizeof by_protocol_2 : sizeof by_protocol_4) - 1;
  memcpy(bytes, early ? by_protocol_2 : by_protocol_4, n);
  bytes[1] = (char)protocol;
  return n;
}

static const char expected[] =
    "{'k': [1, 255, 65535, -2, 1099511627776, -4611686018427387904, -1], 't': (None, True, False, 1.5), "
    "'s': ['x', '\xc3\xa9', {'a': 1}, {'a': 1}], 'e': [(), [], {}], 'u': {'n': 7}}";

static void every_protocol_gives_the_same_value(void **state) {
  for (int protocol = 2; protocol <= 5; protocol++) {
    char bytes[sizeof by_protocol_2], text[2048];
    assert_ok(read_pickle(bytes, pickled(protocol, bytes), text, sizeof text));
    assert_string_equal(text, expected);
  }
}

#define BYTES(literal) literal, sizeof(literal) - 1

static void rare_opcodes_of_data_are_read(void **state) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *text;
  } cases[] = {
      {BYTES("\x80\x02(K\x01K\x02l."), "[1, 2]"},
      {BYTES("\x80\x02(K\x01K\x02"
             "d."),
       "{1: 2}"},
      {BYTES("\x80\x04\x8f\x94(K\x01\x90."), "set(1)"},
      {BYTES("\x80\x02K\x01K\x02"
             "0."),
       "1"},
      {BYTES("\x80\x02K\x01(K\x02K\x03"
             "1."),
       "1"},
      {BYTES("\x80\x02K\x05"
             "2\x86."),
       "(5, 5)"},
      {BYTES("\x80\x02\x8a\x00."), "0"},
      {BYTES("\x80\x02\x8a\x02\x00\xff."), "-256"},
      {BYTES("\x80\x02\x8b\x01\x00\x00\x00\x7f."), "127"},
      {BYTES("\x80\x03"
             "C\x03"
             "abc."),
       "'abc'"},
      {BYTES("\x80\x02U\x02hi."), "'hi'"},
      {BYTES("\x80\x04\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi."), "'hi'"},
      /* lists longer than a batch come in several */
      {BYTES("\x80\x02]q\x00(K\x01K\x02"
             "e(K\x03"
             "eh\x00\x86."),
       "([1, 2, 3], [1, 2, 3])"},
      /* a list that holds itself */
      {BYTES("\x80\x02]q\x00h\x00"
             "a."),
       "[[]]"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    assert_ok(read_pickle(cases[i].bytes, cases[i].n, text, sizeof text));
    assert_string_equal(text, cases[i].text);
  }
}

static void assert_pickle_refused(const char *bytes, size_t n, const char *text) {
  char said[64];
  assert_int_equal(read_pickle(bytes, n, said, sizeof said), WF_VALUE);
  assert_error(WF_VALUE, text);
}

static void what_is_no_plain_data_is_refused_by_name(void **state) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *text;
  } cases[] = {
      {BYTES("\x80\x02"
             "cos\nsystem\n(X\x02\x00\x00\x00lstR."),
       "x: refused: global 'os.system' (offset 2)"},
      {BYTES("\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93."), "x: refused: global 'posix.system' (offset 19)"},
      {BYTES("\x80\x02K\x01)R."), "x: refused: opcode REDUCE (offset 5); only plain data of protocols 2 to 5 is read"},
      {BYTES("\x80\x02K\x01Q."),
       "x: refused: opcode BINPERSID (offset 4); only plain data of protocols 2 to 5 is read"},
      {BYTES("\x80\x02\xff."), "x: refused: opcode 0xff (offset 2), which no pickle has"},
      {BYTES("(dp0\n."), "x: not a pickle of protocol 2 to 5 (offset 0)"},
      {BYTES("\x80\x06N."), "x: a protocol that isn't one of 2 to 5 (offset 2)"},
      {BYTES("\x80\x01N."), "x: a protocol that isn't one of 2 to 5 (offset 2)"},
      {BYTES("\x80\x02Nr\x00\x00\x00\x80."), "x: memo entry 2147483648, where 0 have been used so far (offset 8)"},
      {BYTES("\x80\x02h\x00."), "x: a memo entry is used that was never filled (offset 4)"},
      {BYTES("\x80\x02t."), "x: an opcode finds no mark (offset 3)"},
      {BYTES("\x80\x02s."), "x: an opcode finds too little on the stack (offset 3)"},
      {BYTES("\x80\x02](K\x01\x86."), "x: an opcode finds too little on the stack (offset 7)"},
      {BYTES("\x80\x02K\x01K\x02"
             "a."),
       "x: items are put into what holds none (offset 7)"},
      {BYTES("\x80\x02}K\x01"
             "a."),
       "x: items are put into what holds none (offset 6)"},
      {BYTES("\x80\x02}(K\x01u."), "x: a key without its value (offset 7)"},
      {BYTES("\x80\x02.N"), "x: the pickle ends with more or less than one value (offset 3)"},
      {BYTES("\x80\x02NN."), "x: the pickle ends with more or less than one value (offset 5)"},
      {BYTES("\x80\x02\x8a\xff"), "x: an integer of 255 bytes (offset 4)"},
      {BYTES("\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."), "x: an integer of more than 64 bits (offset 4)"},
      {BYTES("\x80\x02X\xff\xff\xff\xff"), "x: a string of more than 64 MiB (offset 7)"},
      {BYTES("\x80\x02X\xff\xff\x00\x00"
             "abc"),
       "x: the pickle is cut off after 10 bytes"},
      {BYTES("\x80\x02]("), "x: the pickle is cut off after 4 bytes"},
      {BYTES("\x80"), "x: the pickle is cut off after 1 bytes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_pickle_refused(cases[i].bytes, cases[i].n, cases[i].text);
}

static void nesting_and_stacking_without_end_are_refused(void **state) {
  static const struct {
    char op;
    const char *text;
  } cases[] = {{'(', "x: nested more than 1000 deep (offset 1003)"},
               {']', "x: more is stacked than a pickle of data ever has (offset 131075)"}};
  enum { N = 1000000 };
  char *bytes = malloc(N);
  for (size_t i = 0; i < 2; i++) {
    memset(bytes, cases[i].op, N);
    memcpy(bytes, "\x80\x02", 2);
    assert_pickle_refused(bytes, N, cases[i].text);
  }
  free(bytes);
}

/* Strings and opcodes that cross the end of the machine's buffer. */
static void long_strings_and_lists_are_read_whole(void **state) {
  enum { N = 900000 };
  char *bytes = malloc(2 * N), text[8];
  size_t n = 0;
  memcpy(bytes, "\x80\x02(", 3), n = 3;
  for (int i = 0; i < 3; i++) {
    uint32_t length = 250001 + (uint32_t)i;
    bytes[n++] = 'X';
    memcpy(bytes + n, &length, 4);
    memset(bytes + n + 4, 'a' + i, length);
    n += 4 + length;
  }
  memcpy(bytes + n,
         "\x87"
         "01.",
         4);
  memcpy(bytes + n, "1N.", 3);
  assert_ok(read_pickle(bytes, n + 3, text, sizeof text));
  assert_string_equal(text, "None");
  assert_int_equal(read_pickle(bytes, n - 1, text, sizeof text), WF_VALUE);
  wf_error_take();
  free(bytes);
}

static bool stop(void *context, int64_t bytes) { return false; }

static void reading_stops_when_told(void **state) {
  writer w = {0};
  wf__pickle_client client = {&w, fold, stop};
  wf__pickle_value v;
  wf__input *input = wf__input_memory("\x80\x02N.", 4, "x");
  assert_int_equal(wf__pickle_read(input, "x", &w.strings, &client, &v), WF_CANCELLED);
  wf_error_take();
  wf__input_close(input);
}

static void without_host_memory_it_fails_and_leaks_nothing(void **state) {
  char bytes[sizeof by_protocol_2], text[2048];
  size_t n = pickled(4, bytes);
  for (int64_t k = 1;; k++) {
    wf__fault_at(k);
    wf_status status = read_pickle(bytes, n, text, sizeof text);
    bool hit = wf__fault_count() >= k;
    wf__fault_at(0);
    assert_int_equal(status, hit ? WF_NO_MEMORY : WF_OK);
    wf_error_take();
    if (!hit) break;
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_protocol_gives_the_same_value),
    cmocka_unit_test(rare_opcodes_of_data_are_read),
    cmocka_unit_test(what_is_no_plain_data_is_refused_by_name),
    cmocka_unit_test(nesting_and_stacking_without_end_are_refused),
    cmocka_unit_test(long_strings_and_lists_are_read_whole),
    cmocka_unit_test(reading_stops_when_told),
    cmocka_unit_test(without_host_memory_it_fails_and_leaks_nothing),
};

WF_TEST_MAIN("format/pickle", tests)
