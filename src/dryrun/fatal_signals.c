/* What a process that dies leaves behind: the events counted so far, and, when the program touched device memory on the host, that it did. The
 * handlers that were there before run afterwards. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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

static void handle(int number, siginfo_t *info, void *context) {
  static volatile sig_atomic_t inside;
  char ended[32];
  if (!inside) {
    inside = 1;
    if ((number == SIGSEGV || number == SIGBUS) && wf__dry_is_device(info->si_addr))
      wf__dry_limit(
          "device memory touched by the host",
          "the program read or wrote device memory as if it were the host's: there is nothing there, it crashes with a GPU as well");
    snprintf(ended, sizeof ended, "signal %d", number);
    wf__dry_write(ended);
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
