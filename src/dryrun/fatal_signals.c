/* What a process leaves behind that dies, or that ends without the libraries' destructors: the events counted so far, and, when the program touched device memory on the host, that it did. The
 * handlers that were there before run afterwards. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "dryrun/stand_in.h"

static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTERM};
enum { COUNT = sizeof fatal / sizeof *fatal };
static struct sigaction before[COUNT];

static void pass_on(int number, siginfo_t *info, void *context, const struct sigaction *old) {
  if (old->sa_flags & SA_SIGINFO && old->sa_sigaction) {
    old->sa_sigaction(number, info, context);
  } else if (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN) {
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(number, &usual, NULL);
    pthread_kill(pthread_self(), number); /* delivered when this handler returns */
  } else {
    old->sa_handler(number);
  }
}

/* How the alarm was before. */
typedef struct limit {
  struct sigaction action;
  sigset_t mask;
} limit;

/* What writes needs memory and files, and the thread that holds their locks may be the one that was interrupted: then nothing would come back, and
 * the alarm ends the process instead: by itself, or by `late`. */
static limit limit_time(void (*late)(int)) {
  enum { SECONDS = 2 };
  limit before_it;
  sigset_t alarm_only;
  struct sigaction action = {.sa_handler = late};
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sigaction(SIGALRM, &action, &before_it.action);
  pthread_sigmask(SIG_UNBLOCK, &alarm_only, &before_it.mask);
  alarm(SECONDS);
  return before_it;
}

static void end_limit(const limit *before_it) {
  alarm(0);
  sigaction(SIGALRM, &before_it->action, NULL);
  pthread_sigmask(SIG_SETMASK, &before_it->mask, NULL);
}

static void write_last(int number, const siginfo_t *info) {
  static const char why[] =
      "the program read or wrote device memory as if it were the host's: there is nothing there, it crashes with a GPU as well";
  wf__dry_happening touched = {
      .kind = "limit", .what = "device memory touched by the host", .why = why, .device = wf__dry_current_device()};
  bool touches = (number == SIGSEGV || number == SIGBUS) && wf__dry_is_device(info->si_addr);
  char ended[32];
  limit before_it = limit_time(SIG_DFL);
  snprintf(ended, sizeof ended, "signal %d", number);
  wf__dry_write(ended, touches ? &touched : NULL);
  end_limit(&before_it);
}

static void handle(int number, siginfo_t *info, void *context) {
  static volatile sig_atomic_t inside;
  if (!inside) {
    inside = 1;
    write_last(number, info);
  }
  for (int i = 0; i < COUNT; i++)
    if (fatal[i] == number) pass_on(number, info, context, &before[i]);
}

/* The settings are read later: a program may still choose its devices. */
__attribute__((constructor)) static void install(void) {
  const char *folder = getenv("WEFT_DRY_DIR");
  for (int i = 0; i < COUNT; i++) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    if (!folder || !*folder) continue;
    sigaction(fatal[i], NULL, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(fatal[i], &action, NULL);
  }
}

/* ---- _exit ---- */

static volatile int exit_status;

static _Noreturn void leave(int status) {
  for (;;) syscall(SYS_exit_group, status);
}
static void leave_late(int number) { leave(exit_status); }

/* In the place of the C library's, which runs no destructor: Python's os._exit, and the end of each forked worker. */
DRY_API _Noreturn void _exit(int status) {
  if (wf__dry_settings_get()->folder && wf__dry_counts_are_ours()) {
    exit_status = status;
    limit_time(leave_late);
    wf__dry_write("exit", NULL);
  }
  leave(status);
}
DRY_API _Noreturn void _Exit(int status) { _exit(status); }
