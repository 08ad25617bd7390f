/* What the chosen GPU says of itself, as attributes and as cudaDeviceProp, and occupancy. What a capability brings with it is from the table
 * "Technical Specifications per Compute Capability" of NVIDIA's programming guide; limits that no capability changes are in `fixed`. */
#include <stdio.h>
#include <string.h>
#include "dryrun/stand_in.h"

#define KIB 1024

typedef struct architecture {
  int major, minor; /* and later ones, up to the next row */
  int shared_of_multiprocessor, shared_of_block;
  int threads, blocks; /* of a multiprocessor */
} architecture;

static const architecture architectures[] = {
    {5, 0, 64 * KIB, 48 * KIB, 2048, 32},    {6, 0, 64 * KIB, 48 * KIB, 2048, 32},
    {7, 0, 96 * KIB, 96 * KIB, 2048, 32},    {7, 5, 64 * KIB, 64 * KIB, 1024, 16},
    {8, 0, 164 * KIB, 163 * KIB, 2048, 32},  {8, 6, 100 * KIB, 99 * KIB, 1536, 16},
    {8, 9, 100 * KIB, 99 * KIB, 1536, 24},   {9, 0, 228 * KIB, 227 * KIB, 2048, 32},
    {10, 0, 228 * KIB, 227 * KIB, 2048, 32}, {12, 0, 100 * KIB, 99 * KIB, 1536, 24},
};

static const architecture *architecture_of(const wf_gpu *gpu) {
  const architecture *found = &architectures[0];
  for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
    const architecture *a = &architectures[i];
    if (a->major < gpu->major || (a->major == gpu->major && a->minor <= gpu->minor)) found = a;
  }
  return found;
}

/* Attributes that are the same for every GPU of the table. */
static const struct {
  int attribute, value;
} fixed[] = {
    {1, 1024},                                      /* threads of a block */
    {2, 1024},                                      /* along x, y, z */
    {3, 1024},        {4, 64},     {5, 2147483647}, /* blocks of a grid along x, y, z */
    {6, 65535},       {7, 65535},  {8, 48 * KIB},   /* shared memory of a block without asking for more */
    {9, 64 * KIB},                                  /* constant memory */
    {10, 32},                                       /* threads of a warp */
    {11, 2147483647},                               /* pitch */
    {12, 65536},                                    /* registers of a block */
    {13, 1500000},                                  /* clock in kHz: nothing here depends on it */
    {14, 512},                                      /* alignment of textures */
    {15, 1},                                        /* copies beside kernels */
    {19, 1},                                        /* maps host memory */
    {31, 1},                                        /* kernels beside kernels */
    {36, 2000000},                                  /* memory clock in kHz, likewise */
    {37, 5120},                                     /* width of the memory bus in bits, likewise */
    {40, 3},                                        /* copy engines */
    {41, 1},                                        /* one address space with the host */
    {51, 32},                                       /* pitch alignment of textures */
    {78, 1},                                        /* priorities of streams */
    {79, 1},                                        /* caches */
    {80, 1},          {82, 65536},                  /* registers of a multiprocessor */
    {83, 1},                                        /* managed memory */
    {87, 2},                                        /* single to double precision */
    {89, 1},          {90, 1},     {91, 1},         /* host pointers of registered memory */
    {95, 1},                                        /* cooperative launch */
    {98, 1},          {99, 1},                      /* cudaHostRegister */
    {101, 0},         {102, 1},                     /* virtual memory management */
    {103, 1},                                       /* handles of it as file descriptors */
    {111, KIB},                                     /* shared memory that the system keeps of a block */
    {115, 1},                                       /* memory pools */
    {116, 0},                                       /* GPUDirect RDMA */
    {119, 1},         {126, 1},
};

enum { PCI_BUS = 33, THREADS_OF_MULTIPROCESSOR = 39, SHARED_OF_MULTIPROCESSOR = 81, BLOCKS_OF_MULTIPROCESSOR = 106 };

static bool changing(const wf_gpu *gpu, int attribute, int device, int *value) {
  const architecture *a = architecture_of(gpu);
  switch (attribute) {
    case 16: *value = gpu->multiprocessors; return true;
    case PCI_BUS: *value = wf__dry_number(device) + 1; return true;
    case 38: *value = (int)gpu->l2_bytes; return true;
    case THREADS_OF_MULTIPROCESSOR: *value = a->threads; return true;
    case 75: *value = gpu->major; return true;
    case 76: *value = gpu->minor; return true;
    case SHARED_OF_MULTIPROCESSOR: *value = a->shared_of_multiprocessor; return true;
    case 97: *value = a->shared_of_block; return true;
    case BLOCKS_OF_MULTIPROCESSOR: *value = a->blocks; return true;
    case 120: *value = gpu->major >= 9; return true; /* clusters of blocks */
    default: return false;
  }
}

static bool fixed_one(int attribute, int *value) {
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
    if (fixed[i].attribute != attribute) continue;
    *value = fixed[i].value;
    return true;
  }
  return false;
}

/* Of a GPU that a file describes, its own figures; not features that the stand-in hasn't, nor where it was on its machine. */
bool wf__dry_attribute(int attribute, int device, int *value) {
  const wf__dry_settings *s = wf__dry_settings_get();
  *value = 0;
  if (attribute <= 0 || attribute >= DRY_ATTRIBUTES) return false;
  bool has = changing(&s->gpu, attribute, device, value) ? attribute != PCI_BUS : fixed_one(attribute, value) && *value;
  if (has && s->described[attribute]) *value = s->attributes[attribute];
  return true; /* what isn't listed is a feature that isn't there */
}

static int attribute_of(int attribute) {
  int value;
  wf__dry_attribute(attribute, 0, &value);
  return value;
}

int wf__dry_occupancy(int threads, size_t shared_bytes) {
  if (threads <= 0 || threads > 1024) return 0;
  int warps = (threads + 31) / 32, blocks = attribute_of(THREADS_OF_MULTIPROCESSOR) / 32 / warps;
  size_t shared = shared_bytes + KIB;
  int by_shared = (int)((size_t)attribute_of(SHARED_OF_MULTIPROCESSOR) / shared),
      most = attribute_of(BLOCKS_OF_MULTIPROCESSOR);
  if (blocks > by_shared) blocks = by_shared;
  return blocks < most ? blocks : most;
}

/* ---- cudaDeviceProp ---- */

/* Where a field of 4 bytes lies in CUDA 13's and CUDA 12's structure, and the attribute that it repeats; -1: it isn't in that one. */
static const struct {
  short in_13, in_12, attribute;
} fields[] = {
    {304, 304, 12},  {308, 308, 10},  {320, 320, 1},   {324, 324, 2},  {328, 328, 3},  {332, 332, 4},   {336, 336, 5},
    {340, 340, 6},   {344, 344, 7},   {-1, 348, 13},   {360, 360, 75}, {364, 364, 76}, {-1, 384, 15},   {384, 388, 16},
    {392, 400, 19},  {560, 576, 31},  {568, 584, 33},  {584, 600, 40}, {588, 604, 41}, {-1, 608, 36},   {592, 612, 37},
    {596, 616, 38},  {604, 624, 39},  {608, 628, 78},  {612, 632, 79}, {616, 636, 80}, {632, 648, 82},  {636, 652, 83},
    {-1, 668, 87},   {656, 676, 89},  {660, 680, 90},  {664, 684, 91}, {668, 688, 95}, {688, 712, 106}, {704, 728, 99},
    {720, 744, 115}, {736, 760, 119}, {748, 772, 120},
};
/* Those of 8 bytes. */
static const struct {
  short in_13, in_12, attribute;
} wide_fields[] = {
    {296, 296, 8},  {312, 312, 11}, {352, 352, 9},  {368, 368, 14},
    {376, 376, 51}, {624, 640, 81}, {672, 696, 97}, {696, 720, 111},
};
enum { SIZE_IN_13 = 1008, SIZE_IN_12 = 1032, UUID = 256, MEMORY = 288 };

/* 16 bytes that are a device's alone. */
static void write_uuid(unsigned char *uuid, int device) {
  memcpy(uuid, WF__DRY_UUID_BYTES, 16);
  uuid[15] = (unsigned char)wf__dry_number(device);
}

static int write_properties(unsigned char *p, int device, bool is_13) {
  const wf__dry_settings *s = wf__dry_settings_get();
  if (!p || device < 0 || device >= s->devices) return wf__dry_error(DRY_INVALID_DEVICE);
  memset(p, 0, is_13 ? SIZE_IN_13 : SIZE_IN_12);
  snprintf((char *)p, UUID, "%s", s->gpu.title);
  write_uuid(p + UUID, device);
  memcpy(p + MEMORY, &s->memory, sizeof s->memory);
  int value;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    int at = is_13 ? fields[i].in_13 : fields[i].in_12;
    if (at >= 0 && wf__dry_attribute(fields[i].attribute, device, &value)) memcpy(p + at, &value, sizeof value);
  }
  for (size_t i = 0; i < sizeof wide_fields / sizeof *wide_fields; i++) {
    wf__dry_attribute(wide_fields[i].attribute, device, &value);
    int64_t wide = value;
    memcpy(p + (is_13 ? wide_fields[i].in_13 : wide_fields[i].in_12), &wide, sizeof wide);
  }
  return DRY_OK;
}

DRY_API int cudaGetDeviceProperties(void *properties, int device) {
  return write_properties(properties, device, wf__dry_runtime() >= 13000);
}
DRY_API int cudaGetDeviceProperties_v2(void *properties, int device) {
  return write_properties(properties, device, false);
}

DRY_API int cudaDeviceGetAttribute(int *value, int attribute, int device) {
  if (device < 0 || device >= wf__dry_settings_get()->devices) return wf__dry_error(DRY_INVALID_DEVICE);
  return wf__dry_attribute(attribute, device, value) ? DRY_OK : wf__dry_error(DRY_INVALID_VALUE);
}
DRY_API int cuDeviceGetAttribute(int *value, int attribute, int device) {
  return cudaDeviceGetAttribute(value, attribute, device);
}
DRY_API int cuDeviceGetUuid(void *uuid, int device) {
  write_uuid(uuid, device);
  return DRY_OK;
}
DRY_API int cuDeviceGetUuid_v2(void *uuid, int device) { return cuDeviceGetUuid(uuid, device); }

/* ---- occupancy ---- */

DRY_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                          size_t shared) {
  *blocks = wf__dry_occupancy(threads, shared);
  return DRY_OK;
}
DRY_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                                   size_t shared, unsigned flags) {
  *blocks = wf__dry_occupancy(threads, shared);
  return DRY_OK;
}
DRY_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
  *blocks = wf__dry_occupancy(threads, shared);
  return DRY_OK;
}
DRY_API int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads,
                                                                 size_t shared, unsigned flags) {
  *blocks = wf__dry_occupancy(threads, shared);
  return DRY_OK;
}
DRY_API int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, void *shared_of, size_t shared,
                                             int limit) {
  *block = limit > 0 && limit < 1024 ? limit : 1024;
  *grid = wf__dry_occupancy(*block, shared) * wf__dry_settings_get()->gpu.multiprocessors;
  return DRY_OK;
}
DRY_API int cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const void *how) {
  *clusters = wf__dry_settings_get()->gpu.major >= 9 ? wf__dry_settings_get()->gpu.multiprocessors / 8 : 0;
  return DRY_OK;
}
