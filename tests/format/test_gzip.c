/* Plain and gzip input: what is read, and what is said of files that are cut off or damaged. Compressed bytes come from zlib's deflate. */
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/host.h"
#include "format/gzip.h"

#define DATA 300000

static unsigned char data[DATA], packed[DATA + 4096], back[DATA + 16];
static size_t packed_size;

static size_t pack(const void *from, size_t n, unsigned char *to, size_t room) {
  z_stream z = {0};
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = (Bytef *)from, z.avail_in = (uInt)n, z.next_out = to, z.avail_out = (uInt)room;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  size_t size = z.total_out;
  deflateEnd(&z);
  return size;
}

static int make_data(void **state) {
  uint32_t x = 12345;
  for (int i = 0; i < DATA; i++) {
    x = x * 1664525u + 1013904223u;
    data[i] = (unsigned char)((x >> 24) & (i % 3 ? 0x0f : 0xff)); /* partly compressible */
  }
  packed_size = pack(data, DATA, packed, sizeof packed);
  return 0;
}

static void reads_back(wf__input *in, size_t step) {
  assert_non_null(in);
  size_t done = 0;
  int64_t got;
  memset(back, 0, sizeof back);
  while ((got = wf__input_read(in, back + done, step < sizeof back - done ? step : sizeof back - done)) > 0)
    done += (size_t)got;
  assert_int_equal(got, 0);
  assert_int_equal(done, DATA);
  assert_memory_equal(back, data, DATA);
  assert_int_equal(wf__input_position(in), DATA);
  assert_int_equal(wf__input_read(in, back, 1), 0);
  wf__input_close(in);
}

static void reads_plain_and_packed_bytes_alike(void **state) {
  const size_t steps[] = {1 << 20, 65536, 4097, 7};
  for (int i = 0; i < 4; i++) {
    reads_back(wf__input_memory(data, DATA, "plain"), steps[i]);
    reads_back(wf__input_memory(packed, packed_size, "packed"), steps[i]);
  }
}

static void reads_files_by_their_content_not_their_name(void **state) {
  const unsigned char *const content[] = {data, packed};
  const size_t size[] = {DATA, packed_size};
  for (int i = 0; i < 2; i++) {
    char path[] = "weft-gzip-XXXXXX.bin";
    int fd = mkstemps(path, 4);
    assert_int_equal(write(fd, content[i], size[i]), size[i]);
    close(fd);
    reads_back(wf__input_open(path, NULL, NULL), 100000);
    unlink(path);
  }
}

static void reads_members_one_after_the_other_and_padding(void **state) {
  static unsigned char two[DATA + 8192 + 700];
  size_t half = pack(data, 1000, two, sizeof two);
  size_t size = half + pack(data + 1000, DATA - 1000, two + half, sizeof two - half);
  reads_back(wf__input_memory(two, size, "two members"), 5000);
  reads_back(wf__input_memory(two, size + 600, "padded by zeros"), 5000);
  two[size + 599] = 1;
  wf__input *in = wf__input_memory(two, size + 600, "tail.gz");
  assert_int_equal(wf__input_read(in, back, sizeof back), -1);
  assert_error(WF_IO, "tail.gz: something follows the compressed data that isn't gzip");
  wf__input_close(in);
}

/* Wherever it is cut, the end is an error and never a shorter file; before that everything is right. */
static void says_that_compressed_data_is_cut_off(void **state) {
  for (size_t cut = 2; cut < packed_size; cut += cut < 40 || cut + 40 > packed_size ? 1 : 9973) {
    wf__input *in = wf__input_memory(packed, cut, "cut.gz");
    assert_non_null(in);
    size_t done = 0;
    int64_t got;
    while ((got = wf__input_read(in, back, 5000)) > 0) {
      assert_memory_equal(back, data + done, (size_t)got);
      done += (size_t)got;
    }
    assert_int_equal(got, -1);
    assert_error(WF_IO, "cut.gz: the compressed data is cut off");
    assert_int_equal(wf__input_read(in, back, 1), -1);
    assert_int_equal(wf_error_peek().status, WF_OK);
    wf__input_close(in);
  }
}

static void says_that_compressed_data_is_damaged(void **state) {
  const size_t places[] = {3, packed_size / 2, packed_size - 6, packed_size - 2}; /* flags, data, CRC, length */
  for (int i = 0; i < 4; i++) {
    packed[places[i]] ^= 0xff;
    wf__input *in = wf__input_memory(packed, packed_size, "bad.gz");
    assert_non_null(in);
    assert_int_equal(wf__input_read(in, back, sizeof back), -1);
    assert_error(WF_IO, "bad.gz: the compressed data is damaged");
    wf__input_close(in);
    packed[places[i]] ^= 0xff;
  }
}

static void says_how_much_of_what_is_missing(void **state) {
  wf__input *in = wf__input_memory("\0\0\x08\x03", 4, "images");
  unsigned char header[16];
  assert_ok(wf__input_exactly(in, header, 3, "magic"));
  assert_int_equal(wf__input_exactly(in, header, 16, "header"), WF_IO);
  assert_error(WF_IO, "images: ends after 1 of 16 bytes of header");
  wf__input_close(in);
}

static void reads_empty_and_tiny_inputs(void **state) {
  for (size_t n = 0; n < 2; n++) {
    wf__input *in = wf__input_memory("\x1f", n, "tiny");
    assert_int_equal(wf__input_read(in, back, 10), n);
    assert_int_equal(wf__input_read(in, back, 10), 0);
    wf__input_close(in);
  }
}

static void says_why_a_file_cannot_be_opened(void **state) {
  assert_null(wf__input_open("no-such-folder/file.gz", NULL, NULL));
  assert_error(WF_IO, "no-such-folder/file.gz: No such file or directory");
  assert_null(wf__input_open(".", NULL, NULL));
  assert_error(WF_IO, ".: Is a directory");
}

typedef struct patience {
  int questions, most;
  int64_t bytes; /* that the last question told */
} patience;

static bool waits_on(void *context, int64_t bytes) {
  patience *p = context;
  p->bytes = bytes;
  return ++p->questions < p->most;
}

/* A FIFO's path and both of its ends, so that it never comes to its end. */
static int open_fifo(char path[32]) {
  strcpy(path, "weft-gzip-XXXXXX");
  close(mkstemp(path));
  unlink(path);
  assert_int_equal(mkfifo(path, 0600), 0);
  int both = open(path, O_RDWR);
  assert_true(both >= 0);
  return both;
}

static void waits_for_a_pipe_as_long_as_it_is_told(void **state) {
  char path[32];
  int both = open_fifo(path);
  patience p = {0, 2, -1};
  assert_null(wf__input_open(path, waits_on, &p)); /* the first two bytes don't come */
  assert_int_equal(wf_error_take().status, WF_CANCELLED);
  assert_int_equal(p.questions, 2);
  assert_int_equal(p.bytes, 0);

  p = (patience){0, 1, -1};
  assert_int_equal(write(both, "abcdef", 6), 6);
  wf__input *in = wf__input_open(path, waits_on, &p);
  assert_non_null(in);
  assert_int_equal(wf__input_read(in, back, 4), 4);
  assert_memory_equal(back, "abcd", 4);
  assert_int_equal(p.questions, 0); /* nobody is asked as long as bytes come */
  assert_int_equal(wf__input_read(in, back, 4), -1);
  wf_error e = wf_error_take();
  assert_int_equal(e.status, WF_CANCELLED);
  assert_non_null(strstr(e.text, path));
  assert_int_equal(p.bytes, 4);
  assert_int_equal(wf__input_read(in, back, 4), -1); /* and stays stopped */
  wf__input_close(in);
  close(both);
  unlink(path);
}

static void reads_a_fifo_whose_writer_comes_later(void **state) {
  char path[32];
  int both = open_fifo(path);
  close(both);
  pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    usleep(100000);
    int fd = open(path, O_WRONLY);
    bool good = fd >= 0 && write(fd, "ab", 2) == 2 && !usleep(50000) && write(fd, "cd", 2) == 2;
    _exit(!good);
  }
  wf__input *in = wf__input_open(path, NULL, NULL);
  assert_non_null(in);
  assert_int_equal(wf__input_read(in, back, 9), 4);
  assert_memory_equal(back, "abcd", 4);
  wf__input_close(in);
  unlink(path);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void leaves_nothing_behind_when_memory_is_out(void **state) {
  for (int k = 1;; k++) {
    wf__fault_at(k);
    wf__input *in = wf__input_memory(packed, packed_size, "packed");
    int64_t got = in ? wf__input_read(in, back, sizeof back) : -1;
    wf__input_close(in);
    bool hit = wf__fault_count() >= k;
    wf__fault_at(0);
    if (!hit) {
      assert_int_equal(got, DATA);
      break;
    }
    assert_int_equal(got, -1);
    assert_int_equal(wf_error_take().status, WF_NO_MEMORY);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(reads_plain_and_packed_bytes_alike),
    cmocka_unit_test(reads_files_by_their_content_not_their_name),
    cmocka_unit_test(reads_members_one_after_the_other_and_padding),
    cmocka_unit_test(says_that_compressed_data_is_cut_off),
    cmocka_unit_test(says_that_compressed_data_is_damaged),
    cmocka_unit_test(says_how_much_of_what_is_missing),
    cmocka_unit_test(reads_empty_and_tiny_inputs),
    cmocka_unit_test(says_why_a_file_cannot_be_opened),
    cmocka_unit_test(waits_for_a_pipe_as_long_as_it_is_told),
    cmocka_unit_test(reads_a_fifo_whose_writer_comes_later),
    cmocka_unit_test(leaves_nothing_behind_when_memory_is_out),
};

int main(void) { return cmocka_run_group_tests_name("format/gzip", tests, make_data, NULL); }
