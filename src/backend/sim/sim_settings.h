/* What WEFT_SIM says: keys and their meaning are documented in docs/devices.md. */
#ifndef WF_BACKEND_SIM_SIM_SETTINGS_H
#define WF_BACKEND_SIM_SIM_SETTINGS_H

#include <weft/base.h>

#define WF__SIM_DEVICES_MAX 16

typedef struct wf__sim_settings {
  size_t memory; /* bytes of each device */
  int devices;
  char link_name[32];       /* as written; "" without a link model */
  double link_bytes_per_ns; /* 0: transfers take as long as they really take */
  int64_t link_latency_ns;
  int64_t kernel_ns;                          /* least time that a kernel occupies its stream */
  int64_t fail_launch, fail_copy, fail_alloc; /* the n-th of each fails, counted from 1; 0 none */
} wf__sim_settings;

/* The keys, for hints. */
#define WF__SIM_KEYS                                                                                                      \
  "keys of WEFT_SIM, separated by commas: mem=16GiB, devices=2, link=pcie3x16 (or pcie4x16, pcie5x16, also x1 to x8, or " \
  "12GB/s+10us), kernel_us=200, fault=launch:N, fault=copy:N, fault=alloc:N (the N-th fails)"

wf__sim_settings wf__sim_defaults(void);
/* Reads `text` (NULL: all defaults) over the defaults. False: *settings is unchanged and `error` says what is wrong. */
bool wf__sim_parse(const char *text, wf__sim_settings *settings, char *error, size_t error_size);

#endif
