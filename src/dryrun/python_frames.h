/* Reading CPython's frames of one's own thread. */
#ifndef WF_DRYRUN_PYTHON_FRAMES_H
#define WF_DRYRUN_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

/* What runs at one level of the stack; borrowed, holds while this thread doesn't return to Python. */
typedef struct wf__python_frame {
  const void *frame, *code;
  const void *file, *name; /* str objects of the code */
} wf__python_frame;

/* The innermost frame of this thread. False: no Python runs here, or its frames can't be read. */
bool wf__python_innermost(wf__python_frame *frame);
/* The frame that called it. */
bool wf__python_caller(wf__python_frame *frame);
/* The instruction that it is at, in bytes from the start of its code, and the line of one. */
int wf__python_instruction(const wf__python_frame *frame);
int wf__python_line_at(const wf__python_frame *frame, int instruction);
/* A str object as UTF-8, cut where the buffer ends. */
void wf__python_text(const void *string, char *buffer, size_t bytes);

#endif
