/* Dry runs: what the stand-in driver and the command that starts it both need. The GPUs that a program can be run for without one, and the
 * Python that watches the program from inside. Part of libweft-tools (link weft-tools and weft). */
#ifndef WEFT_DRY_H
#define WEFT_DRY_H

#include <weft/base.h>

WF_EXTERN_C_BEGIN

/** A GPU as a program sees it. Constant; nothing is to be freed. */
typedef struct wf_gpu {
  const char *name;     /* "a100-80" */
  const char *title;    /* as the driver calls it */
  int major, minor;     /* compute capability */
  int multiprocessors;  /* streaming multiprocessors */
  int64_t memory_bytes; /* all of it, as the driver reports it: less than what is sold */
  int64_t
      context_bytes; /* what the driver takes for a process that runs PyTorch, beside PyTorch's allocator: an estimate */
  int64_t l2_bytes;  /* cache */
  const char *source; /* where the figures come from, in a sentence */
} wf_gpu;

/** The GPU of that name, capital letters or small; NULL: there is none. */
WF_API const wf_gpu *wf_gpu_find(const char *name);
/** All of them, the largest first. Returns how many. */
WF_API int wf_gpu_list(const wf_gpu **gpus);
/** What of its memory is left to PyTorch's allocator, in bytes; never below 0. */
WF_API int64_t wf_gpu_room(const wf_gpu *gpu);

/** A Python file of the dry run. */
typedef struct wf_dry_file {
  const char *name, *text;
} wf_dry_file;
/** The files that a run's folder of Python needs: it goes first on PYTHONPATH, and Python then starts the watching by itself. Constant.
 *  Returns how many. */
WF_API int wf_dry_files(const wf_dry_file **files);

WF_EXTERN_C_END
#endif
