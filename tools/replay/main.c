/* Command line, files, and the loop over cases. */
#include <argp.h>
#include <errno.h>
#include <regex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "alloc_player.h"
#include "replay.h"

const char *argp_program_version = "weft-replay 0.1.0";
static const char doc[] =
    "Runs differential cases through libweft and compares.\v"
    "FILE holds one case a line, or one case of the caching allocator that its first line is the head of; plain or gzipped. Prints each mismatch, a line for each file, and last \"N passed, N failed\"; "
    "exit status 1 when one failed, 2 when a file can't be used.\n\nExample:\n  weft-replay tests/replay/view.jsonl.gz";

typedef struct options {
  char **files;
  int count;
  regex_t filter;
  bool filtered;
  bool quiet;
} options;

static const struct argp_option option_table[] = {{"filter", 'f', "RE", 0, "run only the cases whose id matches RE", 0},
                                                  {"quiet", 'q', NULL, 0, "print no mismatches, only totals", 0},
                                                  {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  options *o = state->input;
  switch (key) {
    case 'f':
      if (regcomp(&o->filter, arg, REG_EXTENDED | REG_NOSUB))
        argp_failure(state, 2, 0, "'%s' is no regular expression", arg);
      o->filtered = true;
      return 0;
    case 'q': o->quiet = true; return 0;
    case ARGP_KEY_ARGS:
      o->files = state->argv + state->next;
      o->count = state->argc - state->next;
      return 0;
    case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static bool quiet;

void mismatch(runner *r, const char *where, const char *field, const char *format, ...) {
  r->mismatches++;
  if (quiet) return;
  printf("%s %s %s: ", r->id, where, field);
  va_list args;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  putchar('\n');
}

void note(runner *r, const char *where, const char *format, ...) {
  if (quiet) return;
  printf("note: %s %s: ", r->id, where);
  va_list args;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  putchar('\n');
}

static const char *error_kind(wf_status status) {
  return status == WF_NO_MEMORY || status == WF_DEVICE ? "RuntimeError" : wf_status_name(status);
}

static bool text_matches(const char *how, const char *text, const char *wanted) {
  if (!strcmp(how, "exact")) return !strcmp(text, wanted);
  if (!strcmp(how, "prefix")) return !strncmp(text, wanted, strlen(wanted));
  if (!strcmp(how, "contains")) return strstr(text, wanted) != NULL;
  return true;
}

/* Holds the error that a step raised against the one that the case expects; takes it either way. */
static void compare_error(runner *r, const json_t *test, int failed) {
  const json_t *wanted = json_object_get(test, "error");
  wf_error e = wf_error_take();
  char where[32];
  snprintf(where, sizeof where, "step %d", failed);
  if (!json_is_object(wanted)) {
    if (failed >= 0 && !r->lacks)
      mismatch(r, where,
               json_string_value(json_object_get(json_array_get(json_object_get(test, "steps"), (size_t)failed), "op")),
               "raised %s: %s", error_kind(e.status), e.text);
    return;
  }
  if (r->lacks) return;
  const char *kind = json_string_value(json_object_get(wanted, "kind")),
             *text = json_string_value(json_object_get(wanted, "message"));
  int step = (int)json_integer_value(json_object_get(wanted, "step"));
  if (failed != step) {
    if (failed < 0) snprintf(where, sizeof where, "step %d", step);
    mismatch(r, where, "error", "came %s%s%s, expected %s: %s", failed < 0 ? "none" : error_kind(e.status),
             failed < 0 ? "" : ": ", failed < 0 ? "" : e.text, kind, text);
    return;
  }
  if (strcmp(kind, error_kind(e.status)))
    mismatch(r, where, "error kind", "came %s (%s), expected %s", error_kind(e.status), e.text, kind);
  if (!text_matches(json_string_value(json_object_get(wanted, "match")), e.text, text))
    mismatch(r, where, "error text", "came '%s', expected '%s'", e.text, text);
}

/* A gradient made with create_graph holds its graph, which holds the leaf that owns it: the circle PyTorch warns of, which nobody frees. */
static void drop_gradients(const registers *set) {
  for (int i = 0; i < set->n; i++)
    if (set->at[i].kind == REGISTER_TENSOR && wf_is_leaf(set->at[i].tensor)) wf_set_grad(set->at[i].tensor, NULL);
  wf_error_take();
}

/* Returns whether the case passed. */
static bool run_case(runner *r, const json_t *test) {
  r->id = json_string_value(json_object_get(test, "id"));
  r->steps = json_object_get(test, "steps");
  r->mismatches = 0;
  r->lacks = false;
  r->registers.n = 0;
  wf_grad_set_enabled(true);
  wf_scope scope = wf_scope_begin();
  int failed;
  run_steps(r, &r->registers, json_object_get(test, "steps"), &failed);
  compare_error(r, test, failed);
  if (!r->lacks && !(failed >= 0 && !json_is_object(json_object_get(test, "error"))))
    compare_all(r, &r->registers, test);
  wf_error_take();
  drop_gradients(&r->registers);
  free_handles(r);
  wf_grad_set_enabled(true);
  wf_scope_end(scope, NULL);
  return !r->mismatches && !r->lacks;
}

/* Reads one line of any length. NULL at the end; *bad is set when the file is damaged. */
static char *read_line(gzFile file, char **buffer, size_t *room, bool *bad) {
  size_t used = 0;
  for (;;) {
    if (used + 2 > *room) {
      *room = *room ? *room * 2 : 1 << 16;
      *buffer = realloc(*buffer, *room);
      if (!*buffer) return NULL;
    }
    if (!gzgets(file, *buffer + used, (int)(*room - used))) {
      int error;
      gzerror(file, &error);
      *bad = error != Z_OK && error != Z_STREAM_END;
      return used ? *buffer : NULL;
    }
    used += strlen(*buffer + used);
    if (used && (*buffer)[used - 1] == '\n') return *buffer;
  }
}

/* Plays the file as one case of the allocator; `line`, its first, has been read. False when host memory is out. */
static bool play_file(gzFile file, const char *path, const char *line, int here[2], bool *bad) {
  size_t used = strlen(line), room = used + (1 << 16);
  char *text = malloc(room), difference[ALLOC_PLAYER_TEXT];
  if (!text) return false;
  memcpy(text, line, used);
  int n;
  while ((n = gzread(file, text + used, (unsigned)(room - used))) > 0) {
    used += (size_t)n;
    char *more = used == room ? realloc(text, room *= 2) : text;
    if (!more) {
      free(text);
      return false;
    }
    text = more;
  }
  *bad = n < 0;
  bool passed = *bad || alloc_player_play(text, used, difference);
  if (!passed && !quiet) printf("%s %s\n", path, difference);
  if (!*bad) here[!passed]++;
  free(text);
  return true;
}

/* Returns 0, or 2 when the file can't be used. */
static int run_file(runner *r, const options *o, const char *path, int *passed, int *failed) {
  gzFile file = gzopen(path, "rb");
  if (!file) {
    fprintf(stderr, "weft-replay: %s: can't be opened: %s\n", path, strerror(errno));
    return 2;
  }
  char *line = NULL;
  size_t room = 0;
  bool bad = false;
  int here[2] = {0, 0}, number = 0, status = 0;
  while (read_line(file, &line, &room, &bad)) {
    number++;
    if (number == 1 && alloc_player_knows(line)) {
      if (!play_file(file, path, line, here, &bad)) {
        fprintf(stderr, "weft-replay: %s: no memory to read it\n", path);
        status = 2;
      }
      break;
    }
    json_error_t error;
    json_t *test = json_loads(line, 0, &error);
    if (!test || !json_is_array(json_object_get(test, "steps")) || !json_is_string(json_object_get(test, "id"))) {
      fprintf(stderr, "weft-replay: %s:%d: not a case: %s\n", path, number, test ? "no id or steps" : error.text);
      json_decref(test);
      status = 2;
      break;
    }
    if (!o->filtered || !regexec(&o->filter, json_string_value(json_object_get(test, "id")), 0, NULL, 0))
      here[!run_case(r, test)]++;
    json_decref(test);
  }
  if (bad) {
    fprintf(stderr, "weft-replay: %s: damaged after line %d\n", path, number);
    status = 2;
  }
  free(line);
  gzclose(file);
  printf("%s: %d passed, %d failed\n", path, here[0], here[1]);
  *passed += here[0];
  *failed += here[1];
  return status;
}

/* Runs when the process ends, also by --help: results that got lost mustn't look like good ones. */
static void check_output(void) {
  if (!fflush(stdout) && !ferror(stdout)) return;
  fputs("weft-replay: the output can't be written\n", stderr);
  _exit(2);
}

int main(int argc, char **argv) {
  static const struct argp argp = {option_table, parse, "FILE...", doc, NULL, NULL, NULL};
  argp_err_exit_status = 2;
  options o = {0};
  atexit(check_output);
  argp_parse(&argp, argc, argv, 0, NULL, &o);
  quiet = o.quiet;
  static runner r;
  int passed = 0, failed = 0, status = 0;
  for (int i = 0; i < o.count && !status; i++) status = run_file(&r, &o, o.files[i], &passed, &failed);
  for (int i = 0; i < r.missing_count; i++) printf("missing: %s (%d cases)\n", r.missing[i].name, r.missing[i].cases);
  printf("%d passed, %d failed\n", passed, failed);
  return status ? status : failed > 0;
}
