/* The weft command: finds the subcommand. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

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
    {"bench", command_bench, "measure, and print the figures beside the machine's limit"},
    {"audit", command_audit, "name what a PyTorch trace copies, waits for and leaves idle"},
    {"check", command_check, "compare two traces or snapshots: what got worse, as exit status"},
    {"copy-plan", command_copy_plan, "what the copy engine does for a layout, why, and how fast"},
};
#define COMMANDS ((int)(sizeof commands / sizeof *commands))

static int print_help(FILE *out) {
  fprintf(out,
          "Usage: weft COMMAND [OPTION...]\nA tensor runtime in which every byte that moves is accounted for.\n\n");
  for (int i = 0; i < COMMANDS; i++) fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
  fprintf(
      out,
      "\n  --help     this list; 'weft COMMAND --help' tells more\n  --version  the version\n\nExample:\n  weft train --epochs 1 --report report.html\n");
  return 0;
}

/* The command's exit code, or 1 when what it printed didn't get through. */
static int finished(int code) {
  if (!fflush(stdout) && !ferror(stdout)) return code;
  fprintf(stderr, "weft: the output can't be written: %s\n", strerror(errno));
  return code ? code : EXIT_FAILED;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return EXIT_MISUSE;
  }
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "help"))
    return finished(print_help(stdout));
  if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) return printf("weft %s\n", wf_version()) < 0;
  for (int i = 0; i < COMMANDS; i++) {
    if (strcmp(argv[1], commands[i].name)) continue;
    char name[32];
    snprintf(name, sizeof name, "weft %s", commands[i].name);
    argv[1] = name;
    return finished(commands[i].run(argc - 1, argv + 1));
  }
  fprintf(stderr, "weft: there is no command '%s'; 'weft --help' lists them\n", argv[1]);
  return EXIT_MISUSE;
}
