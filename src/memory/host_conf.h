/* Settings of the memory of CPU tensors: WEFT_CPU_MEMORY, "cache=4GiB,thread=1MiB". */
#ifndef WF_MEMORY_HOST_CONF_H
#define WF_MEMORY_HOST_CONF_H

#include "base/error.h"

typedef struct wf__host_conf {
  size_t cache;   /* at most so many bytes that nobody uses are kept; SIZE_MAX: no limit */
  size_t at_hand; /* of small blocks, for each thread; 0: none */
} wf__host_conf;

/* A quarter of the machine's memory, and 1 MiB. */
wf__host_conf wf__host_conf_defaults(void);
/* "key=size,key=size"; NULL and "" leave all defaults. WF_VALUE with a hint; `conf` is undefined then. */
wf_status wf__host_conf_parse(const char *text, wf__host_conf *conf);
/* What the environment says. */
wf_status wf__host_conf_read(wf__host_conf *conf);

#endif
