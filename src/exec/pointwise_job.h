/* What a pointwise plan has become: which kernel, how each operand gets to it and from it, and the loops it is run in.
 * exec_pointwise.c makes it, pointwise_run.c runs it. Made on the stack and not cleared: each field that is read has been set. */
#ifndef WF_EXEC_POINTWISE_JOB_H
#define WF_EXEC_POINTWISE_JOB_H

#include "exec/cast.h"
#include "exec/walk.h"

#define WF__PW_INPUTS 3
#define WF__PW_BLOCK 512 /* elements of 8 bytes: 4 KiB an operand, four of them in L1 */

typedef struct wf__pw_input {
  bool present;
  bool missing; /* neither a tensor nor a number: the kernel gets NULL */
  int log_size, log_wide;
  int64_t size; /* bytes of an element in memory; in the kernel: 1 << log_wide */
  wf__cast cast;
  char number[8]; /* when absent: one element of what the kernel reads */
} wf__pw_input;

typedef struct wf__pw_job {
  const wf__kernels *kernels;
  wf__pointwise_fn fn;
  wf__pointwise_args args;
  wf__class class;
  wf_dtype wide; /* that the class is named after */
  int inputs;
  wf__pw_input in[WF__PW_INPUTS];
  wf__convert_fn from_class;   /* result: class to compute */
  wf__convert_fn from_compute; /* then compute to the output's dtype */
  int out_log;
  int64_t out_size;
  int64_t block;        /* elements that a block has room for, whatever they are on their road */
  bool has_result_copy; /* the kernel can't write to the output itself */
  bool stream;          /* the output goes past the cache */
  /* loops */
  wf__walk walk;
  int64_t n, chunks;
  int64_t stride[1 + WF__PW_INPUTS]; /* along the row, bytes */
  int64_t rows;                      /* tiles: size of the second inner dim, and its strides */
  int64_t row_stride[1 + WF__PW_INPUTS];
  int64_t tile_rows, tile_cols;
  bool turned[1 + WF__PW_INPUTS];         /* transposed before use, */
  int64_t tile_stride[1 + WF__PW_INPUTS]; /* and the strides along the row then */
  bool plain;                             /* a row of a tile is one call of the kernel */
} wf__pw_job;

/* Room for one block of each operand. */
typedef struct wf__pw_blocks {
  char value[WF__PW_INPUTS][WF__PW_BLOCK * 8] __attribute__((aligned(64)));
  char raw[WF__PW_BLOCK * 8] __attribute__((aligned(64)));
  char result[WF__PW_BLOCK * 8] __attribute__((aligned(64)));
} wf__pw_blocks;

/* Where the kernel finds n elements (at most j->block) of input k, which begin at src. */
const void *wf__pw_load(const wf__pw_job *j, int k, const char *src, int64_t stride, wf__pw_blocks *b, int64_t n);
/* Runs a job of `count` elements over the plan's operands. */
void wf__pw_run(wf__pw_job *j, const wf_plan *plan, int64_t count);

#endif
