/* What a process that dies leaves behind: the events counted so far, and, when the program touched device memory on the host, that it did. The
 * handlers that were there before run afterwards. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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
 * the alarm ends the process instead. */
static limit limit_time(void) {
  enum { SECONDS = 2 };
  limit before_it;
  sigset_t alarm_only;
  struct sigaction usual = {.sa_handler = SIG_DFL};
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sigaction(SIGALRM, &usual, &before_it.action);
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
  limit before_it = limit_time();
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

__attribute__((constructor)) static void install(void) {
  for (int i = 0; i < COUNT; i++) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    if (!wf__dry_settings_get()->folder) continue;
    sigaction(fatal[i], NULL, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(fatal[i], &action, NULL);
  }
}
