/* weft info: what this build has and what it found here. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft.h"

static const struct argp_option option_table[] = {{"json", 'j', NULL, 0, "print one JSON object", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
  (void)arg;
  switch (key) {
    case 'j': *(bool *)state->input = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "takes no arguments"); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static void print_devices(void) {
  static const wf_device_type types[] = {WF_DEVICE_CPU, WF_DEVICE_SIM, WF_DEVICE_CUDA};
  static const char *const names[] = {"cpu", "sim (emulated)", "cuda"};
  for (int i = 0; i < 3; i++) printf("  %-16s %d\n", names[i], wf_device_count(types[i]));
}

static void print_device_json(void) {
  printf("  \"devices\": {\"cpu\": %d, \"sim\": %d, \"cuda\": %d},\n", wf_device_count(WF_DEVICE_CPU),
         wf_device_count(WF_DEVICE_SIM), wf_device_count(WF_DEVICE_CUDA));
}

static bool is_instruction_set(const char *name) {
  static const char *const names[] = {"ref", "base", "avx2", "avx512"};
  for (int i = 0; i < 4; i++)
    if (!strcmp(name, names[i])) return true;
  return false;
}

int command_info(int argc, char **argv) {
  static const struct argp argp = {
      option_table, parse, NULL, "What this build has, and what it found here.\vExample:\n  weft info --json",
      NULL,         NULL,  NULL};
  argp_err_exit_status = EXIT_MISUSE;
  bool json = false;
  argp_parse(&argp, argc, argv, 0, NULL, &json);
  wf_build_info info = wf_get_build_info();
  const char *cap = getenv("WEFT_CPU_MAX");
  if (cap && !is_instruction_set(cap))
    return misuse("info", "WEFT_CPU_MAX is '%s', none of ref, base, avx2, avx512: the library ignores it", cap);
  if (json) {
    printf("{\n  \"version\": \"%s\",\n  \"threads\": %d,\n  \"cpu\": \"%s\",\n", wf_version(), wf_num_threads(),
           info.cpu);
    print_device_json();
    printf("  \"blas_core\": \"%s\",\n  \"blas_threading\": \"%s\",\n  \"dnnl\": \"%s\"\n}\n", info.blas_core,
           info.blas_threading, info.dnnl);
    return EXIT_FINE;
  }
  printf("weft %s\n", wf_version());
  printf("kernels           %s (WEFT_CPU_MAX=ref|base|avx2|avx512 lowers it)\n", info.cpu);
  printf("threads           %d\n", wf_num_threads());
  printf("matrix products   OpenBLAS for %s, threads by %s\n", info.blas_core, info.blas_threading);
  if (!strcmp(info.blas_threading, "pthreads"))
    puts("                  a second team of threads makes kernels slower: install libopenblas0-openmp");
  printf("convolutions      oneDNN %s\ndevices\n", info.dnnl);
  print_devices();
  return EXIT_FINE;
}
