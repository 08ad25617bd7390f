/* weft copy-plan: what the copy engine does for a layout change, why, and how fast.
 *
 * The words come from wf_copy_explain, which asks the function that chooses when a copy runs. Speed is measured cold, beside memcpy of as many
 * bytes; what doesn't fit into memory is explained all the same, on addresses that hold nothing. */
#include "copy_plan.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench_machine.h"

#define LONGEST_S 5.0 /* no further runs after so many seconds, once there are three */
#define LEAST_RUNS 3
#define ENOUGH ((size_t)1 << 20) /* bytes of both sides from which on a clock measures one copy well */
#define MOST_COPIES 64

enum { KEY_FROM = 256, KEY_STRIDES, KEY_PERMUTE, KEY_TO, KEY_FORMAT, KEY_THREADS, KEY_SVG };

typedef struct options {
  const char *from, *strides, *permute, *to, *format, *svg;
  int64_t threads;
  bool json;
} options;

static const struct argp_option option_table[] = {
    {"from", KEY_FROM, "LAYOUT", 0, "the source: dtype and sizes, as 'f32[32,224,224,3]'", 0},
    {"strides", KEY_STRIDES, "LIST", 0, "the source's strides in elements (default: row-major)", 0},
    {"permute", KEY_PERMUTE, "LIST", 0, "the order in which the destination takes the source's dims", 0},
    {"to", KEY_TO, "DTYPE", 0, "the destination's dtype (default: the source's)", 0},
    {"to-dtype", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "the destination's memory: contiguous (default), channels_last, channels_last_3d", 0},
    {"threads", KEY_THREADS, "N", 0, "threads to measure with (default OMP_NUM_THREADS, else 1)", 0},
    {"svg", KEY_SVG, "FILE", 0, "draw what moves", 0},
    {"json", 'j', NULL, 0, "print one JSON object", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  options *o = state->input;
  switch (key) {
    case KEY_FROM: o->from = arg; return 0;
    case KEY_STRIDES: o->strides = arg; return 0;
    case KEY_PERMUTE: o->permute = arg; return 0;
    case KEY_TO: o->to = arg; return 0;
    case KEY_FORMAT: o->format = arg; return 0;
    case KEY_SVG: o->svg = arg; return 0;
    case 'j': o->json = true; return 0;
    case KEY_THREADS:
      if (!parse_int(arg, 1, MOST_THREADS, &o->threads))
        argp_failure(state, EXIT_MISUSE, 0, "--threads takes a whole number from 1 to %d, not '%s'", MOST_THREADS, arg);
      return 0;
    case ARGP_KEY_ARG: argp_error(state, "takes no arguments, only options: --from '%s'?", arg); return 0;
    case ARGP_KEY_END:
      if (!o->from) argp_error(state, "which layout? --from 'f32[32,224,224,3]'");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- reading the request: each returns EXIT_FINE or has said what is wrong -------------------------------------------------------- */

/* Numbers up to `end`, separated by commas; false for anything else or too many. */
static bool parse_list(const char *text, const char *end, int64_t least, int64_t *list, int *n) {
  *n = 0;
  while (text < end) {
    char *behind;
    errno = 0;
    if (*n == WF_MAX_DIMS || (*text != '-' && (*text < '0' || *text > '9'))) return false;
    list[*n] = strtoll(text, &behind, 10);
    if (errno || behind > end || list[*n] < least || (behind < end && (*behind != ',' || behind + 1 == end)))
      return false;
    text = behind + (behind < end);
    ++*n;
  }
  return true;
}

static wf_dtype parse_dtype(const char *text, size_t length) {
  char name[16];
  if (length >= sizeof name) return WF_DTYPE_NONE;
  memcpy(name, text, length);
  name[length] = 0;
  return wf_dtype_parse(name);
}

static int unknown_dtype(const char *text, int length) {
  return misuse("copy-plan", "'%.*s' is no dtype; there are: u8 i8 i16 i32 i64 f16 bf16 f32 f64 bool", length, text);
}

/* Strides of dims that lie in memory in the order `order`, fastest last; false when the size in bytes overflows. */
static bool lay_out(side *s, const int *order) {
  int64_t stride = 1, bytes;
  for (int i = s->ndim - 1; i >= 0; i--) {
    int d = order ? order[i] : i;
    s->stride[d] = stride;
    if (__builtin_mul_overflow(stride, s->size[d] > 1 ? s->size[d] : 1, &stride)) return false;
  }
  return !__builtin_mul_overflow(stride, (int64_t)wf_dtype_size(s->dtype), &bytes);
}

static int read_from(const options *o, side *s) {
  const char *open = strchr(o->from, '['), *close = strchr(o->from, ']');
  if (!open || !close || close < open || close[1])
    return misuse("copy-plan", "--from takes a dtype and sizes as 'f32[32,224,224,3]', not '%s'", o->from);
  s->dtype = parse_dtype(o->from, (size_t)(open - o->from));
  if (!s->dtype) return unknown_dtype(o->from, (int)(open - o->from));
  if (!parse_list(open + 1, close, 0, s->size, &s->ndim))
    return misuse("copy-plan", "the sizes in '%s' aren't at most %d whole numbers from 0 on, separated by commas",
                  o->from, WF_MAX_DIMS);
  if (!lay_out(s, NULL))
    return misuse("copy-plan", "'%s' is larger than any memory: its bytes don't fit 63 bits", o->from);
  if (!o->strides) return EXIT_FINE;
  int n;
  if (!parse_list(o->strides, o->strides + strlen(o->strides), 0, s->stride, &n) || n != s->ndim)
    return misuse("copy-plan", "--strides takes %d whole numbers from 0 on, one a dim, not '%s'", s->ndim, o->strides);
  return EXIT_FINE;
}

static int permute(const options *o, side *s) {
  int64_t order[WF_MAX_DIMS];
  int n;
  bool seen[WF_MAX_DIMS] = {0};
  side given = *s;
  bool good = parse_list(o->permute, o->permute + strlen(o->permute), -WF_MAX_DIMS, order, &n) && n == s->ndim;
  for (int i = 0; good && i < n; i++) {
    int64_t d = order[i] < 0 ? order[i] + n : order[i];
    good = d >= 0 && d < n && !seen[d];
    if (!good) break;
    seen[d] = true;
    s->size[i] = given.size[d];
    s->stride[i] = given.stride[d];
  }
  if (good) return EXIT_FINE;
  return misuse("copy-plan", "--permute takes each of the dims 0 to %d of '%s' once, not '%s'", s->ndim - 1, o->from,
                o->permute);
}

static int read_to(const options *o, const side *from, side *to) {
  static const int channels_last[] = {0, 2, 3, 1}, channels_last_3d[] = {0, 2, 3, 4, 1};
  static const struct {
    const char *name;
    const int *order;
    int ndim;
  } formats[] = {
      {"contiguous", NULL, -1}, {"channels_last", channels_last, 4}, {"channels_last_3d", channels_last_3d, 5}};
  *to = *from;
  if (o->to) to->dtype = parse_dtype(o->to, strlen(o->to));
  if (!to->dtype) return unknown_dtype(o->to, (int)strlen(o->to));
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (o->format && strcmp(o->format, formats[i].name)) continue;
    if (formats[i].order && to->ndim != formats[i].ndim)
      return misuse("copy-plan", "--format %s is for %d dims, and '%s' has %d", o->format, formats[i].ndim, o->from,
                    to->ndim);
    if (lay_out(to, formats[i].order)) return EXIT_FINE;
    return misuse("copy-plan", "the destination is larger than any memory: its bytes don't fit 63 bits");
  }
  return misuse("copy-plan", "there is no format '%s'; there are: contiguous, channels_last, channels_last_3d",
                o->format);
}

static int read_request(const options *o, copy_request *r) {
  *r = (copy_request){0};
  int code = read_from(o, &r->from);
  if (!code && o->permute) code = permute(o, &r->from);
  if (!code) code = read_to(o, &r->from, &r->to);
  snprintf(r->title, sizeof r->title, "%s%s%s%s%s%s%s%s%s", o->from, o->strides ? " strides " : "",
           o->strides ? o->strides : "", o->permute ? " permute " : "", o->permute ? o->permute : "",
           o->to ? " to " : "", o->to ? o->to : "", o->format ? " in " : "", o->format ? o->format : "");
  return code;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------------- */

/* Bytes from the first element to the end of the last; 0 for no elements, -1 when that overflows. */
static int64_t extent_of(const side *s) {
  int64_t last = 0, step;
  for (int d = 0; d < s->ndim; d++) {
    if (s->size[d] == 0) return 0;
    if (__builtin_mul_overflow(s->size[d] - 1, s->stride[d], &step) || __builtin_add_overflow(last, step, &last))
      return -1;
  }
  if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, (int64_t)wf_dtype_size(s->dtype), &last))
    return -1;
  return last;
}

static wf_tensor *tensor_at(void *data, const side *s) {
  return wf_from_memory(data, (size_t)extent_of(s), wf_dims_of(s->size, s->ndim), wf_dims_of(s->stride, s->ndim),
                        s->dtype, NULL, NULL);
}

/* On addresses that hold nothing: what is explained needn't fit into memory. */
static bool explain(const copy_request *r, wf_copy_explanation *e) {
  size_t from = ((size_t)extent_of(&r->from) + 127) & ~(size_t)127, all = from + (size_t)extent_of(&r->to) + 128;
  char *addresses = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED) {
    wf_dataset_fail(WF_NO_MEMORY, "both sides together are larger than this machine's address space");
    return false;
  }
  wf_scope scope = wf_scope_begin();
  bool good = !wf_copy_explain(tensor_at(addresses + from, &r->to), tensor_at(addresses, &r->from), e);
  wf_scope_end(scope, NULL);
  munmap(addresses, all);
  return good;
}

/* ---- speed ----------------------------------------------------------------------------------------------------------------- */

typedef struct speed {
  double seconds, memcpy; /* of one copy; memcpy of as many bytes */
  int runs;               /* 0: not measured */
} speed;

/* Seconds for one copy: of several in a row on buffers of their own, where one is too short for the clock. */
static double run_once(const copy_request *r, machine *m, int copies) {
  wf_tensor *src[MOST_COPIES], *dst[MOST_COPIES];
  wf_scope scope = wf_scope_begin();
  for (int i = 0; i < copies; i++) {
    src[i] = tensor_at(machine_take(m, (size_t)extent_of(&r->from)), &r->from);
    dst[i] = tensor_at(machine_take(m, (size_t)extent_of(&r->to)), &r->to);
  }
  int64_t start = wf_clock_ns();
  for (int i = 0; i < copies; i++) wf_copy_(dst[i], src[i], false);
  int64_t end = wf_clock_ns();
  wf_scope_end(scope, NULL);
  return (double)(end - start) * 1e-9 / copies;
}

static double bytes_moved(const wf_copy_explanation *e) { return (double)(e->bytes_read + e->bytes_written); }

static bool measure(const copy_request *r, const wf_copy_explanation *e, int threads, speed *s) {
  size_t half = (size_t)(e->bytes_read + e->bytes_written + 1) / 2;
  size_t both = (size_t)extent_of(&r->from) + (size_t)extent_of(&r->to) + 256;
  size_t largest = both > 2 * half ? both : 2 * half;
  if (e->method == WF_METHOD_NOTHING || largest > machine_free_bytes() / 2) return true;
  int copies = largest < ENOUGH ? (int)(ENOUGH / largest) + 1 : 1;
  if (copies > MOST_COPIES) copies = MOST_COPIES;
  machine m;
  if (!machine_open(&m, largest * (size_t)copies, true, threads)) return bench_no_memory();
  double run[BENCH_RUNS], by_memcpy[BENCH_RUNS], spent = 0;
  run_once(r, &m, copies);
  for (s->runs = 0; s->runs < BENCH_RUNS && (s->runs < LEAST_RUNS || spent < LONGEST_S) && !interrupted(); s->runs++) {
    spent += by_memcpy[s->runs] = machine_time(&m, MACHINE_MEMCPY, half);
    spent += run[s->runs] = run_once(r, &m, copies);
  }
  machine_close(&m);
  if (!s->runs) return true;
  s->seconds = bench_median(run, s->runs);
  s->memcpy = bench_median(by_memcpy, s->runs);
  return !wf_error_peek().status;
}

/* ---- output ---------------------------------------------------------------------------------------------------------------- */

static void print_list(const char *open, const int64_t *list, int n, const char *close) {
  printf("%s", open);
  for (int i = 0; i < n; i++) printf(i ? ",%lld" : "%lld", (long long)list[i]);
  printf("%s", close);
}

static void print_side(const char *title, const side *s) {
  printf("%-13s%s", title, short_dtype(s->dtype));
  print_list("[", s->size, s->ndim, "]");
  print_list(", strides (", s->stride, s->ndim, ")\n");
}

static void print_row(const char *title, const int64_t *list, int n, const char *behind) {
  printf("%13s%-18s", "", title);
  for (int i = 0; i < n; i++) printf(" %11lld", (long long)list[i]);
  puts(behind);
}

static void print_clause(const char *title, const char *text) {
  if (*text) printf("%-13s%s\n", title, text);
}

static void print_form(const copy_request *r, const wf_copy_explanation *e) {
  printf("%-13s%d dim%s of %d, the destination's fastest last\n", "normal form", e->ndim, e->ndim == 1 ? "" : "s",
         r->to.ndim);
  if (!e->ndim) return;
  print_row("size", e->size, e->ndim, "");
  print_row("destination step", e->dst_step, e->ndim, "  bytes");
  print_row("source step", e->src_step, e->ndim, "  bytes");
  if (e->tile[e->ndim - 1]) print_row("tile", e->tile, e->ndim, "");
}

static void print_speed(const wf_copy_explanation *e, const speed *s, int threads) {
  double bytes = bytes_moved(e) * 1e-9;
  if (e->method == WF_METHOD_NOTHING) return;
  printf("%-13s", "measured");
  if (!s->runs) {
    puts(interrupted() ? "not: interrupted" : "not: both sides together are larger than half of the free memory");
    return;
  }
  if (bytes_moved(e) < ENOUGH) printf("%.0f ns a call", s->seconds * 1e9);
  else printf("%.1f GB/s, %.2f of memcpy (%.1f GB/s)", bytes / s->seconds, s->memcpy / s->seconds, bytes / s->memcpy);
  printf("; cold, median of %d runs, %d thread%s\n", s->runs, threads, threads > 1 ? "s" : "");
}

static void print_words(const copy_request *r, const wf_copy_explanation *e, const speed *s, int threads) {
  char read[32], written[32];
  print_side("source", &r->from);
  print_side("destination", &r->to);
  print_form(r, e);
  printf("%-13s%s: %s\n", "method", e->name, e->why);
  print_clause("", e->way);
  print_clause("cast", e->convert);
  print_clause("stores", e->stores);
  if (e->element_bytes > (int64_t)wf_dtype_size(r->to.dtype))
    printf("%-13s%lld bytes move as one element\n", "elements", (long long)e->element_bytes);
  printf("%-13s%s read, %s written\n", "moves", human_bytes(e->bytes_read, read),
         human_bytes(e->bytes_written, written));
  print_speed(e, s, threads);
}

static void print_json_side(const char *name, const side *s) {
  printf("  \"%s\": {\"dtype\": \"%s\"", name, wf_dtype_name(s->dtype));
  print_list(", \"size\": [", s->size, s->ndim, "]");
  print_list(", \"strides\": [", s->stride, s->ndim, "]},\n");
}

static void print_json(const copy_request *r, const wf_copy_explanation *e, const speed *s, int threads) {
  puts("{");
  print_json_side("from", &r->from);
  print_json_side("to", &r->to);
  print_list("  \"form\": {\"size\": [", e->size, e->ndim, "]");
  print_list(", \"destination_step\": [", e->dst_step, e->ndim, "]");
  print_list(", \"source_step\": [", e->src_step, e->ndim, "]");
  print_list(", \"tile\": [", e->tile, e->ndim && e->tile[e->ndim - 1] ? e->ndim : 0, "]},\n");
  printf("  \"method\": \"%s\",\n  \"why\": \"%s\",\n  \"way\": \"%s\",\n  \"cast\": \"%s\",\n  \"stores\": \"%s\",\n",
         e->name, e->why, e->way, e->convert, e->stores);
  printf("  \"streaming\": %s,\n  \"element_bytes\": %lld,\n  \"bytes_read\": %lld,\n  \"bytes_written\": %lld,\n",
         e->streaming ? "true" : "false", (long long)e->element_bytes, (long long)e->bytes_read,
         (long long)e->bytes_written);
  double bytes = bytes_moved(e) * 1e-9;
  printf("  \"measured\": ");
  if (!s->runs) printf("null\n}\n");
  else if (bytes_moved(e) < ENOUGH)
    printf("{\"value\": %.6g, \"unit\": \"ns\", \"runs\": %d, \"threads\": %d}\n}\n", s->seconds * 1e9, s->runs,
           threads);
  else
    printf(
        "{\"value\": %.6g, \"unit\": \"GB/s\", \"memcpy\": %.6g, \"memcpy_ratio\": %.4f, \"runs\": %d, \"threads\": %d}\n}\n",
        bytes / s->seconds, bytes / s->memcpy, s->memcpy / s->seconds, s->runs, threads);
}

int command_copy_plan(int argc, char **argv) {
  static const struct argp argp = {
      option_table,
      parse,
      NULL,
      "What the copy engine does for a change of layout or dtype, why, and how fast.\v"
      "Examples:\n"
      "  weft copy-plan --from 'f32[32,224,224,3]' --permute 0,3,1,2\n"
      "  weft copy-plan --from 'u8[32,224,224,3]' --permute 0,3,1,2 --to f32 --format channels_last\n"
      "  weft copy-plan --from 'f32[1000,1000]' --strides 1,1000 --svg transpose.svg",
      NULL,
      NULL,
      NULL};
  argp_err_exit_status = EXIT_MISUSE;
  options o = {.threads = getenv("OMP_NUM_THREADS") ? wf_num_threads() : 1};
  argp_parse(&argp, argc, argv, 0, NULL, &o);
  copy_request request;
  int code = read_request(&o, &request);
  if (code) return code;
  if (extent_of(&request.from) < 0)
    return misuse("copy-plan", "the strides reach beyond any memory: bytes don't fit 63 bits");
  wf_copy_explanation e;
  speed s = {0};
  catch_interrupt();
  if (wf_set_num_threads((int)o.threads) || !explain(&request, &e)) return fail_with_error("copy-plan", EXIT_FAILED);
  if (o.svg && !copy_picture_write(o.svg, &request, &e)) {
    fprintf(stderr, "weft copy-plan: the picture '%s' can't be written: %s\n", o.svg, strerror(errno));
    return EXIT_FAILED;
  }
  if (!measure(&request, &e, (int)o.threads, &s)) return fail_with_error("copy-plan", EXIT_FAILED);
  (o.json ? print_json : print_words)(&request, &e, &s, (int)o.threads);
  return EXIT_FINE;
}
