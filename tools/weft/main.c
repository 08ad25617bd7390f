/* The weft command: finds the subcommand. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weft.h"

typedef struct command {
  const char *name;
  command_fn run;
  const char *summary;
} command;

static const command commands[] = {
    {"info", command_info, "what this build has, the CPU, devices and libraries it found"},
    {"train", command_train, "train a model and account for every byte that moved"},
    {"ops", command_ops, "list the operators with their schemas"},
    {"memory", command_memory, "who holds the memory in a snapshot of PyTorch, and what fragments it"},
    {"replay-alloc", command_replay_alloc, "which settings of the allocator would have fitted"},
    {"dry-run", command_dry_run, "run a PyTorch program without a GPU: does it fit, who holds it, what waits"},
    {"bench", command_bench, "measure, and print the figures beside the machine's limit"},
    {"audit", command_audit, "name what a PyTorch trace copies, waits for and leaves idle"},
    {"check", command_check, "compare two traces or snapshots: what got worse, as exit status"},
    {"copy-plan", command_copy_plan, "what the copy engine does for a layout, why, and how fast"},
};
#define COMMANDS ((int)(sizeof commands / sizeof *commands))

static int print_help(FILE *out, int code) {
  fprintf(out,
          "Usage: weft COMMAND [OPTION...]\nA tensor runtime in which every byte that moves is accounted for.\n\n");
  for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
  fprintf(
      out,
      "\n  --help     this list; 'weft COMMAND --help' tells more\n  --version  the version\n\nExample:\n  weft train --epochs 1 --report report.html\n");
  return code;
}

/* Runs when the process ends, whoever ends it (argp does after --help): what was printed must have got through. */
static void check_output(int code, void *unused) {
  (void)unused;
  errno = 0;
  if (!fflush(stdout) && !ferror(stdout)) return;
  fprintf(stderr, "weft: the output can't be written%s%s\n", errno ? ": " : "", errno ? strerror(errno) : "");
  if (!code) _exit(EXIT_FAILED);
}

/* Where a standard stream is closed, the first file that is opened would take its place, and what is printed go there. In its stead comes
 * one that can't be used the way it is meant, so that printing still fails. */
static void hold_standard_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int print_version(void) {
  printf("weft %s\n", wf_version());
  return EXIT_FINE;
}

int main(int argc, char **argv) {
  hold_standard_streams();
  on_exit(check_output, NULL);
  if (argc < 2) return print_help(stderr, EXIT_MISUSE);
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "help"))
    return print_help(stdout, EXIT_FINE);
  if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) return print_version();
  for (int i = 0; i < COMMANDS; i++) {
    if (strcmp(argv[1], commands[i].name)) continue;
    char name[32];
    snprintf(name, sizeof name, "weft %s", commands[i].name);
    argv[1] = name;
    int code = commands[i].run(argc - 1, argv + 1);
    return interrupted() ? EXIT_INTERRUPTED : code;
  }
  fprintf(stderr, "weft: there is no command '%s'; 'weft --help' lists them\n", argv[1]);
  return EXIT_MISUSE;
}
