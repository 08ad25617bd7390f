/* A GPU as --capture describes it, in a file that --gpu takes. */
#ifndef WEFT_TOOLS_DRY_GPU_FILE_H
#define WEFT_TOOLS_DRY_GPU_FILE_H

#include <weft/dry.h>

#include "weft.h"

/* As CUdevice_attribute numbers them; 0 is none. */
enum { GPU_ATTRIBUTES = 160 };
enum {
  GPU_MULTIPROCESSORS = 16,
  GPU_PCI_BUS = 33,
  GPU_PCI_DEVICE = 34,
  GPU_L2_BYTES = 38,
  GPU_PCI_DOMAIN = 50,
  GPU_MAJOR = 75,
  GPU_MINOR = 76
};

/* Of a device, in bytes. */
#define LEAST_MEMORY ((int64_t)1 << 20)
#define MOST_MEMORY ((int64_t)1 << 40) /* as many addresses the stand-in has for a device's large blocks */

typedef struct gpu_description {
  wf_gpu gpu; /* its texts are those below */
  char name[48], title[256], source[512];
  char driver[96], cuda[16], date[16];
  int attributes[GPU_ATTRIBUTES];
  bool has[GPU_ATTRIBUTES];
} gpu_description;

/* Sets the fields of `gpu` that are attributes, and its texts. */
void gpu_description_settle(gpu_description *d);
/* Writes it to a file, NULL: standard output; false after saying why not. */
bool gpu_description_write(const gpu_description *d, const char *path);
/* Reads a file; false after saying what is wrong with it. */
bool gpu_description_read(gpu_description *d, const char *path);
/* "1=1024,2=1024": the attributes as the stand-in takes them. To be freed; NULL: no memory. */
char *gpu_description_attributes(const gpu_description *d);

/* Describes the GPU of this machine, by its driver: to that file, or to standard output. context: what the driver takes; below 0: measured.
 * Returns the exit code. */
int dry_capture(const char *path, int64_t context);

#endif
