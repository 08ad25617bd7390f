/* Starts a program under the stand-in driver, with the Python that watches it, and waits for its end. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dry_run.h"

#define LIBRARY "libweft-dry.so"

/* ---- folders ---------------------------------------------------------------------------------------------------------- */

char *dry_folder_make(void) {
  const char *base = getenv("TMPDIR");
  char *path = NULL;
  if (asprintf(&path, "%s/weft-dry-run.XXXXXX", base && *base ? base : "/tmp") < 0) return NULL;
  if (mkdtemp(path)) return path;
  misuse("dry-run", "no folder can be made for the run: %s: %s", path, strerror(errno));
  free(path);
  return NULL;
}

void dry_folder_remove(const char *folder) {
  DIR *d = opendir(folder);
  char path[PATH_MAX];
  struct stat s;
  for (const struct dirent *e; d && (e = readdir(d));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (!lstat(path, &s) && S_ISDIR(s.st_mode)) dry_folder_remove(path);
    else unlink(path);
  }
  if (d) closedir(d);
  rmdir(folder);
}

/* The first failure counts: what comes behind it sets errno anew. */
static bool write_file(const char *path, const char *mode, const char *text, const char *end) {
  FILE *file = fopen(path, mode);
  int error = file ? 0 : errno;
  if (file && (fputs(text, file) < 0 || fputs(end, file) < 0)) error = errno;
  if (file && fclose(file) && !error) error = errno;
  if (error) misuse("dry-run", "%s can't be written: %s", path, strerror(error));
  return !error;
}

static bool write_python(const char *folder) {
  const wf_dry_file *files;
  char path[PATH_MAX];
  int n = wf_dry_files(&files);
  snprintf(path, sizeof path, "%s/python", folder);
  if (mkdir(path, 0700) && errno != EEXIST) {
    misuse("dry-run", "%s can't be made: %s", path, strerror(errno));
    return false;
  }
  for (int i = 0; i < n; i++) {
    snprintf(path, sizeof path, "%s/python/%s", folder, files[i].name);
    if (!write_file(path, "w", files[i].text, "")) return false;
  }
  return true;
}

/* ---- what is recorded of the launch: launch.jsonl ---------------------------------------------------------------------- */

/* Adds a row, which it takes. */
static bool record(const char *folder, const char *mode, json_t *row) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/launch.jsonl", folder);
  char *text = row ? json_dumps(row, JSON_COMPACT) : NULL;
  json_decref(row);
  bool good = text && write_file(path, mode, text, "\n");
  if (!text) misuse("dry-run", "%s can't be written: %s", path, strerror(ENOMEM));
  free(text);
  return good;
}

/* What a shell takes as it stands. */
static bool is_plain(const char *word) {
  for (const char *c = word; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("%+,-./:=@_", *c) && !((unsigned char)*c & 0x80)) return false;
  return *word;
}

/* The command as it would be typed. NULL: no memory. */
static char *typed(char **command) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  for (char **word = command; out && *word; word++) {
    const char *quote = is_plain(*word) ? "" : "'";
    fprintf(out, "%s%s", word == command ? "" : " ", quote);
    for (const char *c = *word; *c; c++) fputs(*quote && *c == '\'' ? "'\\''" : (char[]){*c, 0}, out);
    fputs(quote, out);
  }
  if (out && fclose(out)) free(text), text = NULL;
  return out ? text : NULL;
}

/* Names of files may have any bytes, JSON only UTF-8. */
static json_t *text_of(char *text) {
  json_t *string = json_string(text);
  for (char *c = text; !string && *c; c++)
    if ((unsigned char)*c & 0x80) *c = '?';
  return string ? string : json_string(text);
}

static bool record_launch(const dry_launch *l, const char *folder) {
  char *command = typed(l->command);
  bool good = command && record(folder, "w", json_pack("{s:s, s:o}", "kind", "command", "text", text_of(command)));
  free(command);
  for (int i = 0; good && i < l->device_count; i++) {
    const wf_dry_device *d = &l->devices[i];
    char *name = strdup(d->name);
    good = name && record(folder, "a",
                          json_pack("{s:s, s:o, s:I, s:I, s:i, s:i}", "kind", "asked", "name", text_of(name), "memory",
                                    (json_int_t)d->memory_bytes, "context", (json_int_t)d->context_bytes, "major",
                                    d->major, "minor", d->minor));
    free(name);
  }
  return good;
}

/* ---- the stand-in ----------------------------------------------------------------------------------------------------- */

/* Beside the library of reports, which is installed beside it. */
const char *dry_library(void) {
  static char path[PATH_MAX];
  const char *given = getenv("WEFT_DRY_LIBRARY");
  Dl_info info;
  if (given && *given) snprintf(path, sizeof path, "%s", given);
  else if (dladdr((void *)(uintptr_t)wf_gpu_find, &info) && info.dli_fname) {
    const char *slash = strrchr(info.dli_fname, '/');
    snprintf(path, sizeof path, "%.*s" LIBRARY, slash ? (int)(slash - info.dli_fname + 1) : 0, info.dli_fname);
  }
  char *whole = realpath(path, NULL);
  if (!whole) {
    misuse("dry-run", "the stand-in driver isn't there: %s. WEFT_DRY_LIBRARY names it where it lies elsewhere",
           *path ? path : LIBRARY);
    return NULL;
  }
  snprintf(path, sizeof path, "%s", whole);
  free(whole);
  return path;
}

/* LD_PRELOAD and PYTHONPATH are lists: what separates their entries can be in none of them. The stand-in is then known by a link in the folder.
 * NULL after saying why not. */
static const char *library_for(const char *folder) {
  static char path[PATH_MAX];
  const char *library = dry_library();
  if (library && strchr(folder, ':'))
    return misuse("dry-run", "the folder of the run may have no ':' in its name, Python looks there: %s", folder), NULL;
  if (!library || !strpbrk(library, " :")) return library;
  snprintf(path, sizeof path, "%s/" LIBRARY, folder);
  if (!strpbrk(path, " :") && !symlink(library, path)) return path;
  misuse(
      "dry-run",
      "a library with ' ' or ':' in its name can't be loaded first: %s. Choose a folder without them for the run, by TMPDIR or --keep: a link to it is made there",
      library);
  return NULL;
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

/* "FIRST:REST", or FIRST alone. */
static bool put_first(const char *name, const char *first, char separator) {
  const char *rest = getenv(name);
  char *all = NULL;
  if (asprintf(&all, rest && *rest ? "%s%c%s" : "%s", first, separator, rest) < 0) return false;
  bool good = !setenv(name, all, 1);
  free(all);
  return good;
}

static bool put_number(const char *name, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return !setenv(name, text, 1);
}

/* Without them the stand-in would take it for a GPU that Weft knows. */
static bool put_description(const gpu_description *d) {
  char *attributes = gpu_description_attributes(d);
  bool good = attributes && !setenv("WEFT_DRY_TITLE", d->title, 1) && !setenv("WEFT_DRY_ATTRIBUTES", attributes, 1);
  free(attributes);
  return good;
}

/* False: no memory. */
static bool set_environment(const dry_launch *l, const char *folder, const char *library) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/python", folder);
  unsetenv("WEFT_DRY_ATTRIBUTES");
  return put_first("LD_PRELOAD", library, ':') && put_first("PYTHONPATH", path, ':') &&
         !setenv("WEFT_DRY_DIR", folder, 1) && !setenv("WEFT_DRY_GPU", l->gpu->name, 1) &&
         (!l->described || put_description(l->described)) && put_number("WEFT_DRY_GPUS", l->gpus) &&
         put_number("WEFT_DRY_MEM", l->memory_bytes) && put_number("WEFT_DRY_CONTEXT", l->context_bytes) &&
         put_number("WEFT_DRY_STEPS", l->steps) && !setenv("WEFT_DRY_EVENTS", l->late ? "lazy" : "eager", 1);
}

static void redirect(const dry_launch *l) {
  int null = l->quiet ? open("/dev/null", O_WRONLY) : -1;
  if (null >= 0) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  } else if (l->output_to_stderr) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }
}

static volatile pid_t running;

/* Whoever ends the command by SIGTERM, or closes its terminal, means the program. */
static void pass_on(int number) {
  if (running > 0) kill(running, number);
}

/* What these signals did before, and what was blocked. */
typedef struct signals {
  struct sigaction term, hang_up;
  sigset_t mask;
} signals;

/* One that comes from here on waits until the child is there. Under nohup SIGHUP stays ignored. */
static void hold_signals(signals *before) {
  struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTERM);
  sigaddset(&only, SIGHUP);
  sigprocmask(SIG_BLOCK, &only, &before->mask);
  sigaction(SIGTERM, &action, &before->term);
  sigaction(SIGHUP, NULL, &before->hang_up);
  if (before->hang_up.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL);
}

static int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  running = 0;
  interrupts_end(0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The child says through a pipe that closes with exec why it couldn't start the program. */
static void become(const dry_launch *l, const char *folder, const char *library, int tell, const signals *before) {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  if (before->hang_up.sa_handler != SIG_IGN) signal(SIGHUP, SIG_DFL);
  sigprocmask(SIG_SETMASK, &before->mask, NULL);
  redirect(l);
  int error = ENOMEM;
  if (set_environment(l, folder, library)) {
    execvp(l->command[0], l->command);
    error = errno;
  }
  while (write(tell, &error, sizeof error) < 0 && errno == EINTR) continue;
  _exit(127);
}

bool dry_launch_run(const dry_launch *l, const char *folder) {
  const char *library = library_for(folder);
  int tell[2], error = 0, status = 0;
  if (!library || !write_python(folder) || !record_launch(l, folder)) return false;
  fflush(stdout);
  if (pipe2(tell, O_CLOEXEC)) {
    misuse("dry-run", "no pipe: %s", strerror(errno));
    return false;
  }
  signals before;
  hold_signals(&before);
  pid_t child = fork();
  if (!child) become(l, folder, library, tell[1], &before);
  int fork_error = errno;
  running = child;
  if (child > 0) interrupts_end(child);
  sigprocmask(SIG_SETMASK, &before.mask, NULL);
  close(tell[1]);
  if (child > 0) {
    while (read(tell[0], &error, sizeof error) < 0 && errno == EINTR) continue;
    status = wait_for(child);
  }
  sigaction(SIGTERM, &before.term, NULL);
  sigaction(SIGHUP, &before.hang_up, NULL);
  close(tell[0]);
  if (child < 0) misuse("dry-run", "the program can't be started: %s", strerror(fork_error));
  else if (error) misuse("dry-run", "%s can't be started: %s", l->command[0], strerror(error));
  return child > 0 && !error && record(folder, "a", json_pack("{s:s, s:i}", "kind", "status", "count", status));
}
