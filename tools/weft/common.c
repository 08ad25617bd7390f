/* Helpers of the subcommands. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "weft.h"

int fail_with_error(const char *command, int code) {
  fflush(stdout); /* both may go to one place */
  wf_error e = wf_error_take();
  size_t n = strlen(e.text);
  const char *stop = n && strchr(".!?", e.text[n - 1]) ? " " : "; ";
  if (strchr(e.text, '\n') || strchr(e.hint, '\n')) stop = "\n  "; /* as PyTorch's texts of several lines */
  fprintf(stderr, "weft %s: %s%s%s\n", command, e.text, *e.hint ? stop : "", e.hint);
  return code;
}

int misuse(const char *command, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "weft %s: ", command);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return EXIT_MISUSE;
}

bool parse_int(const char *text, int64_t least, int64_t most, int64_t *value) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  return *text && !*end && !errno && *value >= least && *value <= most;
}

bool parse_double(const char *text, double least, double most, double *value) {
  char *end;
  *value = strtod(text, &end);
  return *text && !*end && !isnan(*value) && *value >= least && *value <= most;
}

bool parse_bytes(const char *text, int64_t *bytes) {
  static const char *const units = "KMGT";
  char *end;
  double value = strtod(text, &end);
  const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  if (end == text || !(value > 0)) return false;
  if (unit) {
    bool decimal = end[1] == 'B' || end[1] == 'b';
    for (long i = 0; i <= unit - units; i++) value *= decimal ? 1000 : 1024;
    end++;
    if (*end == 'i') end++;
  }
  if (*end == 'B' || *end == 'b') end++;
  if (*end || !(value >= 1 && value < 1e18)) return false; /* before the conversion, which is undefined beyond */
  *bytes = (int64_t)value;
  return true;
}

const char *short_dtype(wf_dtype dtype) {
  static const char *const names[] = {
#define WF_X(NAME, value, bytes, kind, shortest, ...) [value] = shortest,
      WF_DTYPE_TABLE(WF_X)
#undef WF_X
  };
  return dtype > 0 && dtype < WF_DTYPE_COUNT ? names[dtype] : "none";
}

char *human_bytes(int64_t bytes, char buffer[32]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = (double)bytes;
  int unit = 0;
  while (fabs(value) >= 1024 && unit < 5) value /= 1024, unit++;
  snprintf(buffer, 32, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
  return buffer;
}

int64_t peak_rss_bytes(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) ? 0 : (int64_t)usage.ru_maxrss * 1024;
}

static volatile sig_atomic_t interrupts;

static volatile pid_t program; /* that the command waits for; 0: none */

/* A second one ends the command at once, or the program that it waits for, of which it then tells what is known. One that comes together with the
 * first isn't a second one: timeout signals the command and then its group. From a terminal the program has got it too; where somebody sent it
 * that isn't known, and a program that still runs some seconds later gets it again. */
static void note_interrupt(int number, siginfo_t *info, void *context) {
  enum { TOGETHER_NS = 100000000, PROGRAM_HAS_SECONDS = 5 };
  static volatile int64_t first;
  struct timespec t;
  (void)context;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
  if (!interrupts++) {
    first = now;
    if (program > 0 && info->si_code == SI_USER) alarm(PROGRAM_HAS_SECONDS);
  } else if (now - first >= TOGETHER_NS && program > 0) {
    kill(program, SIGKILL);
  } else if (now - first >= TOGETHER_NS) {
    signal(number, SIG_DFL);
    raise(number);
  }
}

static void pass_interrupt_on(int number) {
  (void)number;
  if (program > 0) kill(program, SIGINT);
}

void interrupts_end(pid_t child) {
  program = child;
  if (child) signal(SIGALRM, pass_interrupt_on);
  else alarm(0);
}

void catch_interrupt(void) {
  struct sigaction action = {.sa_sigaction = note_interrupt, .sa_flags = SA_RESTART | SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  struct sigaction hang_up; /* under nohup it's ignored, and stays so */
  if (!sigaction(SIGHUP, NULL, &hang_up) && hang_up.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL);
}

bool interrupted(void) { return interrupts > 0; }

int say_interrupted(const char *command) {
  fprintf(stderr, "weft %s: interrupted\n", command);
  return EXIT_INTERRUPTED;
}
