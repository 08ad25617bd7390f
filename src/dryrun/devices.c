/* The GPUs by name. Both the stand-in driver and the command have this file in them, so it stands alone.
 *
 * Capability, multiprocessors and cache: NVIDIA's data sheets and architecture white papers (Blackwell, Hopper, Ada, Ampere, Turing, Volta).
 *
 * Memory: what the driver reports, which data sheets don't say: it takes its own part, and ECC another. The figures are the smallest "total
 * capacity" or total_memory that PyTorch printed on such a GPU in public reports, so that who fits here fits there; drivers differ by up to
 * 0.2 GiB.
 *
 * Context: memory in use on the GPU that isn't PyTorch's, from PyTorch's own out-of-memory texts ("this process has … in use" less what is
 * allocated and cached): 0.41 to 0.50 GiB on L40, L40S and RTX 4090. It grows with the kernels that are loaded and isn't known before, so
 * one figure, a little above, stands for all. */
#include <strings.h>
#include <weft/dry.h>

#define MIB ((int64_t)1 << 20)
#define CONTEXT (520 * MIB)
#define REPORTED "NVIDIA's data sheet; memory as PyTorch's out-of-memory texts report it; context estimated"
#define QUERIED "NVIDIA's data sheet; memory as deviceQuery reports it; context estimated"

static const wf_gpu gpus[] = {
    {"b200", "NVIDIA B200", 10, 0, 148, 182630 * MIB, CONTEXT, 126 * MIB, REPORTED},
    {"h200", "NVIDIA H200", 9, 0, 132, 143073 * MIB, CONTEXT, 50 * MIB, REPORTED},
    {"h100", "NVIDIA H100 80GB HBM3", 9, 0, 132, 81082 * MIB, CONTEXT, 50 * MIB, REPORTED},
    {"a100-80", "NVIDIA A100-SXM4-80GB", 8, 0, 108, 81039 * MIB, CONTEXT, 40 * MIB, REPORTED},
    {"a6000", "NVIDIA RTX A6000", 8, 6, 84, 48537 * MIB, CONTEXT, 6 * MIB, REPORTED},
    {"l40s", "NVIDIA L40S", 8, 9, 142, 45486 * MIB, CONTEXT, 96 * MIB, REPORTED},
    {"a100-40", "NVIDIA A100-SXM4-40GB", 8, 0, 108, 42298834944, CONTEXT, 40 * MIB, QUERIED},
    {"v100-32", "Tesla V100-SXM2-32GB", 7, 0, 80, 32512 * MIB, CONTEXT, 6 * MIB, REPORTED},
    {"rtx5090", "NVIDIA GeForce RTX 5090", 12, 0, 170, 32089 * MIB, CONTEXT, 96 * MIB, REPORTED},
    {"rtx3090", "NVIDIA GeForce RTX 3090", 8, 6, 82, 24248 * MIB, CONTEXT, 6 * MIB, REPORTED},
    {"rtx4090", "NVIDIA GeForce RTX 4090", 8, 9, 128, 24207 * MIB, CONTEXT, 72 * MIB, REPORTED},
    {"a10", "NVIDIA A10", 8, 6, 72, 22589 * MIB, CONTEXT, 6 * MIB, REPORTED},
    {"l4", "NVIDIA L4", 8, 9, 58, 22558 * MIB, CONTEXT, 48 * MIB, REPORTED},
    {"t4", "Tesla T4", 7, 5, 40, 14909 * MIB, CONTEXT, 4 * MIB, REPORTED},
};

const wf_gpu *wf_gpu_find(const char *name) {
  for (size_t i = 0; name && i < sizeof gpus / sizeof *gpus; i++)
    if (!strcasecmp(gpus[i].name, name)) return &gpus[i];
  return NULL;
}

int wf_gpu_list(const wf_gpu **list) {
  *list = gpus;
  return (int)(sizeof gpus / sizeof *gpus);
}

int64_t wf_gpu_room(const wf_gpu *gpu) {
  return gpu->memory_bytes > gpu->context_bytes ? gpu->memory_bytes - gpu->context_bytes : 0;
}
