/* weft dry-run: what its parts share. */
#ifndef WEFT_TOOLS_DRY_RUN_H
#define WEFT_TOOLS_DRY_RUN_H

#include <weft/dry.h>
#include <weft/dry_report.h>

#include "dry_gpu_file.h"
#include "weft.h"

/* How one program is started. */
typedef struct dry_launch {
  char **command;                   /* its arguments, ended by NULL */
  const wf_gpu *gpu;                /* whose kind of device it sees */
  const gpu_description *described; /* the file that it is from; NULL: it is one that Weft knows */
  int64_t memory_bytes, context_bytes;
  int64_t gpus, steps;          /* steps 0: to its own end */
  const wf_dry_device *devices; /* that the question is asked of */
  int device_count;
  bool late;             /* events finish only when they are waited for */
  bool output_to_stderr; /* standard output is for the report alone */
  bool quiet;            /* neither output is shown */
} dry_launch;

/* Prepares a folder (which is there and empty) and runs the program in it until it ends. Leaves its exit status there, as the shell has it,
 * with the command and the devices. False after saying why, when it couldn't be started. */
bool dry_launch_run(const dry_launch *launch, const char *folder);
/* The stand-in driver's file; NULL after saying that it isn't there. */
const char *dry_library(void);
/* Makes an empty folder for a run under $TMPDIR or /tmp; NULL after saying why. To be freed, after dry_folder_remove. */
char *dry_folder_make(void);
/* Removes a run's folder with its files. */
void dry_folder_remove(const char *folder);

/* Runs programs whose figures are known and says which came out; python: the interpreter. Returns the exit code. */
int dry_self_test(const char *python);

#endif
