/* What a dry run of a PyTorch program found: whether it fits which GPU, who holds the memory at its peak, which lines copy and wait.
 * Read from the folder that the stand-in driver and the watching Python wrote. Part of libweft-tools (link weft-tools and weft). */
#ifndef WEFT_DRY_REPORT_H
#define WEFT_DRY_REPORT_H

#include <weft/base.h>

WF_EXTERN_C_BEGIN

/** A dry run that was read and judged. Immutable: any thread may read it. */
typedef struct wf_dry_run wf_dry_run;

/** A GPU that the question is asked of. Texts must stay as long as the run. */
typedef struct wf_dry_device {
  const char *name;      /* "a100-80", or "24GiB" for one of which nothing else is known */
  int64_t memory_bytes;  /* all of it, as the driver reports it */
  int64_t context_bytes; /* what the driver itself takes of it; below 0: as on the one that the program ran as */
  int major, minor;      /* compute capability; 0: not known */
} wf_dry_device;

#define WF_DRY_DEVICES 32 /* at most */

/** What is asked. */
typedef struct wf_dry_options {
  const wf_dry_device *devices; /* the largest first. The one that the program ran as was recorded */
  int device_count;             /* 0: those that were asked about when it ran */
  int64_t context_bytes; /* what the driver takes on each of them, instead of what they say; below 0: as they say */
  bool search;           /* try the settings of the allocator worth trying */
  const char
      *late_folder;    /* of a second run, whose events finish only when they are waited for; NULL: there was none */
  int exit_status;     /* of the program, as the shell has it (128 + signal); -1: as it was recorded, or not known */
  double max_pageable; /* copies with pageable memory a step; NaN: no bound */
  double max_syncs_per_step; /* likewise */
  int rows;                  /* of each table, at most */
  /* Told now and then how far it is, from 0 to 1; false stops (WF_CANCELLED). NULL: nobody. */
  bool (*progress)(void *context, double share);
  void *context;
} wf_dry_options;
/** The devices that were asked about when it ran, a search, no bounds, 12 rows. */
WF_API wf_dry_options wf_dry_defaults(void);

/** Reads and judges a run's folder. Damaged rows are passed over and counted. Yours, free it with wf_dry_free. NULL on error: WF_IO for a
 *  folder that can't be read, WF_VALUE for one in which no program was recorded, WF_NO_MEMORY, WF_CANCELLED. */
WF_API wf_dry_run *wf_dry_read(const char *folder, const wf_dry_options *options);
/** Frees it. NULL is accepted. */
WF_API void wf_dry_free(wf_dry_run *run);

/** What came out. */
typedef enum wf_dry_verdict {
  WF_DRY_FINE = 0,
  WF_DRY_BROKEN = 1, /* it doesn't fit on one of the devices, or breaks a bound */
  WF_DRY_UNJUDGED =
      2 /* that can't be told: no torch, no CUDA build of it, no memory was asked for, the program crashed */
} wf_dry_verdict;
/** The verdict over all devices and bounds. */
WF_API wf_dry_verdict wf_dry_judge(const wf_dry_run *run);
/** True when memory was freed while another stream still used it, so that what is reserved depends on when events finish: a second run
 *  with late events gives the other end. */
WF_API bool wf_dry_wants_late_run(const wf_dry_run *run);
/** File of the memory snapshot of the process that holds most; NULL: none was written. Belongs to the run. */
WF_API const char *wf_dry_snapshot(const wf_dry_run *run);

/** The report for a terminal of `columns` (80 at least). Give it back with wf_report_release. NULL on error. */
WF_API char *wf_dry_text(const wf_dry_run *run, int columns);
/** One JSON object: docs/will-it-fit.md says what is in it. indent: blanks a level, 0 for one line. As above. */
WF_API char *wf_dry_json(const wf_dry_run *run, int indent);
/** One page that needs nothing else: the report, and memory over the events as wf_memory_write_html draws it. The file appears whole or not
 *  at all. Errors: WF_IO with the path. */
WF_API wf_status wf_dry_write_html(const wf_dry_run *run, const char *path);

WF_EXTERN_C_END
#endif
