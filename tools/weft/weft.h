/* What the subcommands share. */
#ifndef WEFT_TOOLS_WEFT_H
#define WEFT_TOOLS_WEFT_H

#include <sys/types.h>
#include <stdbool.h>
#include <weft/report.h>
#include <weft/weft.h>

/* Kernels run on no more; --threads takes 1 to that. */
#define MOST_THREADS 1024

/* Exit codes of every command that doesn't judge; EXIT_INTERRUPTED comes from main, once the command has ended. */
enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_MISUSE = 2, EXIT_INTERRUPTED = 130 };

/* A subcommand: argv[0] is "weft NAME". Returns the exit code. */
typedef int (*command_fn)(int argc, char **argv);
int command_info(int argc, char **argv);
int command_train(int argc, char **argv);
int command_ops(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_audit(int argc, char **argv);
int command_check(int argc, char **argv);
int command_memory(int argc, char **argv);
int command_copy_plan(int argc, char **argv);
int command_replay_alloc(int argc, char **argv);
int command_dry_run(int argc, char **argv);

/* Prints the pending error with its hint to stderr in one line, "weft NAME: what; what to do", takes it, and returns `code`. */
int fail_with_error(const char *command, int code);
/* Prints one line of misuse and returns EXIT_MISUSE. */
int misuse(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whole numbers and decimals of options; false for anything else behind the number, or out of range. */
bool parse_int(const char *text, int64_t least, int64_t most, int64_t *value);
bool parse_double(const char *text, double least, double most, double *value);
/* "16GiB", "16G", "512MB", "512mb", "1073741824"; a byte at least. */
bool parse_bytes(const char *text, int64_t *bytes);

/* "f32" */
const char *short_dtype(wf_dtype dtype);
/* "1.50 GiB" */
char *human_bytes(int64_t bytes, char buffer[32]);
/* The most memory that this process had resident so far, in bytes. */
int64_t peak_rss_bytes(void);

/* Reads and judges a trace, showing progress; NULL on error. Ctrl-C ends the reading (see wf_audit_interrupted). */
struct wf_audit *read_trace(const char *path, double least_share);
/* The same of a memory snapshot; after Ctrl-C an error like any other (see interrupted()). */
struct wf_snapshot *read_snapshot(const char *path);

/* After this, Ctrl-C sets a flag instead of ending the process, and the command's exit code is EXIT_INTERRUPTED whatever it returns; a second
 * one ends it. */
void catch_interrupt(void);
bool interrupted(void);
/* What comes while the command waits for this program is for it; 0: it has ended. */
void interrupts_end(pid_t program);
/* Prints that the command was interrupted, where there is no report of what was done so far to say it; returns EXIT_INTERRUPTED. */
int say_interrupted(const char *command);

#endif
