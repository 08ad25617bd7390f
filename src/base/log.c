/* Messages of the library: to the callback, else to stderr when WEFT_LOG=stderr asks. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static wf_log_fn log_fn;
static void *log_context;
static bool log_set;

void wf_log_set(wf_log_fn fn, void *context) {
  pthread_mutex_lock(&lock);
  log_fn = fn;
  log_context = context;
  log_set = true;
  pthread_mutex_unlock(&lock);
}

void wf__log(wf_log_level level, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  pthread_mutex_lock(&lock);
  wf_log_fn fn = log_fn;
  void *context = log_context;
  bool set = log_set;
  pthread_mutex_unlock(&lock);
  if (fn) {
    fn(level, text, context);
  } else if (!set) {
    const char *asked = getenv("WEFT_LOG");
    if (asked && !strcmp(asked, "stderr")) {
      dprintf(STDERR_FILENO, "weft: %s\n", text);
    }
  }
}
