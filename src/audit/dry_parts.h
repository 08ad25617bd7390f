/* A dry run as it is kept: what the stand-in driver counted by line, what the watching Python wrote of roles and steps, and what is made of
 * the two and of the memory history.
 *
 * A step is the time between two optimizer steps: rows of step 0 came before the first of them ended. */
#ifndef WF_AUDIT_DRY_PARTS_H
#define WF_AUDIT_DRY_PARTS_H

#include <weft/dry_report.h>

#include "audit/memory_view.h"
#include "audit/replay_search.h"

#define WF__DRY_NAME 128

typedef enum wf__dry_kind {
  WF__DRY_COPY,
  WF__DRY_FILL,
  WF__DRY_SYNC,
  WF__DRY_MALLOC, /* of the driver */
  WF__DRY_FREE,
  WF__DRY_LAUNCH,
  WF__DRY_LIBRARY,
  WF__DRY_LIMIT,   /* an entry point that isn't really modelled */
  WF__DRY_READ,    /* a line that read device memory, as zeros */
  WF__DRY_ASKED,   /* work space that a library asked for; "what" is its size, so that each is a row */
  WF__DRY_UNCODED, /* launches of kernels without code for the device; "what" is what they have code for */
  WF__DRY_KINDS
} wf__dry_kind;

/* What a line did, added up. Texts are numbers of strings of the run. */
typedef struct wf__dry_row {
  int64_t step, line, count, bytes;
  uint32_t what, text, file, function;
  int32_t device;
  uint8_t kind;
  bool blocking;
  bool lone; /* asked of the driver in no other step of the steady state */
} wf__dry_row;

typedef enum wf__dry_role {
  WF__DRY_PARAMETERS,
  WF__DRY_GRADIENTS,
  WF__DRY_BUCKETS,   /* that DistributedDataParallel adds gradients up in */
  WF__DRY_OPTIMIZER, /* state */
  WF__DRY_BUFFERS,
  WF__DRY_FORWARD,   /* activations, inputs, whatever else Python asked for */
  WF__DRY_BACKWARD,  /* asked for by autograd's own thread */
  WF__DRY_STEP,      /* temporaries of the optimizer */
  WF__DRY_WORKSPACE, /* cuBLAS's, cuDNN's, cuFFT's */
  WF__DRY_ROLES
} wf__dry_role;

/* A storage that had a role after some step. */
typedef struct wf__dry_storage {
  uint64_t address, bytes;
  int64_t time_us;
  uint32_t module; /* string: the path of the module whose parameter it is, or belongs to */
  int32_t device;
  uint8_t role;
} wf__dry_storage;

/* What a process let itself have of a device's memory, 0 to 1; the last of them counts. */
typedef struct wf__dry_share {
  uint32_t process;
  int32_t device;
  double of_memory;
} wf__dry_share;

typedef struct wf__dry_process {
  int64_t pid, runtime, steps;
  int64_t memory_bytes, context_bytes, major, minor; /* of the device that it saw; 0: nothing was recorded of it */
  uint32_t argv, ended, gpu;                         /* of the stand-in */
  uint32_t python, executable, torch, cuda, state;   /* of the watching Python; state 0: it didn't run */
  uint32_t architectures;                            /* that its PyTorch was built for */
  uint32_t hidden;                                   /* what made it see none of the `gpus` */
  int64_t gpus;
  uint32_t lost;    /* why what it did couldn't be recorded */
  uint32_t numbers; /* "1,0": of the devices that it saw, among those of the machine */
  uint32_t finish, finish_text;
  int64_t end_us;                                /* 0: not known */
  bool events, found_torch, has_snapshot, began; /* began: to use a GPU, in Python */
  uint32_t first_row, row_count, first_storage, storage_count, first_step, step_count;
} wf__dry_process;

/* One device of one process. */
typedef struct wf__dry_place {
  uint32_t process;
  int device;                               /* as the process counts */
  int number;                               /* among those of the machine */
  uint32_t events, out_of_memory, deferred; /* deferred: frees that waited for other streams */
  int64_t begin_us;                         /* its first event */
  uint64_t peak, reserved;                  /* bytes, at most */
  uint64_t by_ties[3];                      /* reserved at most, by wf_allocator_ties */
  uint64_t needs;                           /* least memory with which nothing fails */
  uint64_t outside;                         /* bytes asked of the driver past PyTorch's allocator */
  char *conf;                               /* settings of the allocator, as recorded */
  double share;                             /* of the device's memory, that it lets itself have */
  wf_allocator_ties ties;
  bool exact; /* the replay did what the program's own allocator did */
} wf__dry_place;

typedef enum wf__dry_fit { WF__DRY_FITS, WF__DRY_FITS_NOT, WF__DRY_FIT_UNKNOWN } wf__dry_fit;

/* What came out for a device that was asked for. */
typedef struct wf__dry_answer {
  const wf_dry_device *device;
  wf__dry_fit fit;
  uint64_t needs,
      room; /* of the place that has least to spare; where it fits needs <= room; 0: others take all of the memory */
  uint32_t place;
  uint32_t failure; /* event of its history; WF__NO_LIFE: none */
  bool looked_at;   /* at a place; else only device, fit and other_kind count */
  bool other_kind;  /* another capability than that of the device it ran as */
  bool no_code;     /* kernels of the program have none for its capability: it can't run there, whatever fits */
} wf__dry_answer;

/* What one line does of one kind, over all steps. */
typedef struct wf__dry_line {
  wf__dry_row sum;
  int64_t steady;      /* how often in the steady state */
  double per_step;     /* there; 0 without one */
  const char *problem; /* a sentence; NULL: none */
  const char *remedy;
  bool size; /* what was read is one that values decide */
} wf__dry_line;

typedef struct wf__dry_counts {
  double pageable, syncs, launches, driver_allocations; /* a step in the steady state; without steps: in all */
} wf__dry_counts;

/* Bytes and blocks at the peak by role, and by line within it. */
typedef struct wf__dry_holder {
  uint64_t bytes;
  uint32_t blocks, stack, module;
  uint64_t key;
  uint8_t role;
} wf__dry_holder;

typedef struct wf__dry_moment {
  int64_t step; /* that ends here */
  uint32_t state;
  uint64_t peak, reserved, end; /* most allocated and reserved in the step; allocated after it */
  int64_t allocations, segments;
} wf__dry_moment;

/* The place that holds most, looked at closely. */
typedef struct wf__dry_detail {
  wf_snapshot *snapshot; /* of that process; while places are looked for, of the one read last */
  uint32_t process;
  wf__memory_view view;
  uint8_t *role; /* by life */
  wf_replay *settings;
  WF__GROWING(wf__dry_holder) by_line;
  WF__GROWING(wf__dry_holder) by_module;
  uint64_t role_bytes[WF__DRY_ROLES];
  uint32_t role_blocks[WF__DRY_ROLES];
  WF__GROWING(wf__dry_moment) steps;
} wf__dry_detail;

struct wf_dry_run {
  char *folder, *snapshot_path;
  wf_dry_options options;
  wf_dry_device devices[WF_DRY_DEVICES];
  wf_dry_device asked[WF_DRY_DEVICES]; /* when it ran; the names are the run's own */
  int asked_count;
  uint32_t typed; /* the command; 0: not recorded */
  int status;     /* that it ended with; -1: not recorded */
  wf__string_set strings;
  WF__GROWING(wf__dry_row) rows;
  WF__GROWING(wf__dry_storage) storages;
  WF__GROWING(int64_t) steps; /* time in microseconds at which each ended */
  WF__GROWING(wf__dry_process) processes;
  WF__GROWING(wf__dry_share) shares;
  WF__GROWING(uint32_t) notes; /* strings */
  WF__GROWING(wf__dry_place) places;
  WF__GROWING(wf__dry_line) lines; /* of the main process, the worst first */
  uint32_t damaged;
  uint32_t main_place, main_process;
  bool has_detail;
  wf__dry_detail detail;
  wf__dry_answer answers[WF_DRY_DEVICES];
  wf__dry_counts counts;  /* of the process with the most */
  int64_t warm, steady;   /* steps of the main process: left out, and counted */
  uint64_t late_reserved; /* of the second run; 0: there was none */
  char *late_failure;     /* why that one's figures aren't those of the whole program; NULL: they are */
};

static inline const char *wf__dry_string(const wf_dry_run *r, uint32_t string) {
  return wf__string_set_text(&r->strings, string);
}
static inline const wf__dry_process *wf__dry_main(const wf_dry_run *r) { return &r->processes.at[r->main_process]; }

/* The folder's rows (dry_read.c). Errors: WF_IO, WF_NO_MEMORY. */
wf_status wf__dry_read_rows(wf_dry_run *run);
/* Roles of the lives of the detail's history, and its holders and steps (dry_roles.c). */
wf_status wf__dry_find_roles(wf_dry_run *run);
/* Whether the process ran as this very device, so that what happened there needs no replay. */
bool wf__dry_ran_as(const wf__dry_process *process, const wf_dry_device *device);
/* What is left of the device to PyTorch in that process, if no other uses it: less than all but the driver's where it lets itself have less. */
uint64_t wf__dry_whole_room(const wf__dry_place *place, const wf_dry_device *device);
/* Whether it lets itself have less than it could. */
bool wf__dry_is_limited(const wf__dry_place *place, const wf_dry_device *device);
/* Whether both use the same device of the machine, and at a time: a process that ended has given all back. */
bool wf__dry_shares(const wf_dry_run *run, const wf__dry_place *a, const wf__dry_place *b);
/* The device that the main process ran as, for people: by the name it was asked for, else "t4 with 14.56 GiB". */
const char *wf__dry_own_name(const wf_dry_run *run, char text[WF__DRY_NAME]);
/* Bytes of a device that the process asked of the driver, whoever in it did; device -1: of all. */
int64_t wf__dry_asked_of_driver(const wf_dry_run *run, const wf__dry_process *process, int device);
/* Places with their histories replayed, answers, the detail (dry_fit.c). */
wf_status wf__dry_find_places(wf_dry_run *run);
/* Whether the device has code to run (dry_code.c), and the sentence that says so of one that hasn't. */
bool wf__dry_has_code(const wf_dry_run *run, const wf_dry_device *device);
const char *wf__dry_no_code_text(const wf_dry_run *run, const wf_dry_device *device, char text[1024]);
/* Lines with what is wrong with them, and counts (dry_lines.c). */
wf_status wf__dry_find_lines(wf_dry_run *run);

/* "optimizer state", for people, and "optimizer_state", for JSON. */
const char *wf__dry_role_name(wf__dry_role role);
const char *wf__dry_role_key(wf__dry_role role);
/* Whether a row of the stand-in is a transfer with pageable memory, beyond the reading of a single value. */
bool wf__dry_is_pageable(const wf_dry_run *run, const wf__dry_row *row);
/* Whether what some process did couldn't be recorded whole: then it may have done more than is counted. */
bool wf__dry_lost(const wf_dry_run *run);
/* The texts of all limits of the estimate, one call each. Errors: WF_NO_MEMORY, some of them are left out. */
wf_status wf__dry_each_limit(const wf_dry_run *run, void (*fn)(void *context, const char *text), void *context);
/* Why the run can't be judged, with what to do; NULL when it can. */
const char *wf__dry_why_not(const wf_dry_run *run, char text[1024]);
/* The command line for people. */
const char *wf__dry_command(const wf_dry_run *run);
/* Whether the process of a place went on after it was out of memory: it caught that. */
bool wf__dry_caught(const wf_dry_run *run, const wf__dry_answer *answer);

#endif
