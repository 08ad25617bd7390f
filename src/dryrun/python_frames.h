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
/* The instruction that it is at, in bytes from the start of its code (-1: not known), and the line of one (0: not known). */
int wf__python_instruction(const wf__python_frame *frame);
int wf__python_line_at(const wf__python_frame *frame, int instruction);
/* Why lines of Python aren't known, as far as they aren't; NULL: they are, or there is no Python. */
const char *wf__python_unread(void);
/* A str object as UTF-8, cut where the buffer ends. */
void wf__python_text(const void *string, char *buffer, size_t bytes);

#endif
