/* cuDNN's graphs of operations, as far as programs ask them: every graph has one engine, whose plan needs no workspace. What the real one would need isn't
 * known without a device and is said to be missing, once for each kind of call. */
#include <string.h>
#include "dryrun/stand_in.h"

/* cudnnBackendAttributeName_t and cudnnBackendAttributeType_t, those that are answered. */
enum {
  ENGINE_CONFIGURATIONS = 202,
  ENGINE_OF_CONFIGURATION = 300,
  WORKSPACE_OF_CONFIGURATION = 303,
  SHARED_OF_CONFIGURATION = 304,
  WORKSPACE_OF_PLAN = 402,
  TEXT_OF_PLAN = 405,
  ENGINE_COUNT = 802,
  ENGINE_NUMBER = 1301,
};
enum {
  TYPE_BOOL = 2,
  TYPE_INT64 = 3,
  TYPE_DOUBLE = 5,
  TYPE_POINTER = 6,
  TYPE_DESCRIPTOR = 15,
  TYPE_CHAR = 24,
  TYPE_FRACTION = 25
};

static size_t bytes_of(int type) {
  switch (type) {
    case TYPE_INT64:
    case TYPE_DOUBLE:
    case TYPE_POINTER:
    case TYPE_DESCRIPTOR: return 8;
    case TYPE_FRACTION: return 16;
    case TYPE_BOOL:
    case TYPE_CHAR: return 1;
    default: return 4;
  }
}

/* How many elements there are of what was asked for. */
static int64_t elements_of(int attribute) {
  switch (attribute) {
    case ENGINE_CONFIGURATIONS:
    case ENGINE_OF_CONFIGURATION:
    case WORKSPACE_OF_CONFIGURATION:
    case SHARED_OF_CONFIGURATION:
    case WORKSPACE_OF_PLAN:
    case ENGINE_COUNT:
    case ENGINE_NUMBER: return 1;
    case TEXT_OF_PLAN: return sizeof "{}";
    default: return 0;
  }
}

DRY_API int cudnnBackendGetAttribute(void *descriptor, int attribute, int type, int64_t room, int64_t *count,
                                     void *elements) {
  int64_t there = elements_of(attribute), written = room < there ? room : there;
  if (attribute == WORKSPACE_OF_PLAN)
    wf__dry_limit(
        "cuDNN",
        "its workspaces aren't counted: their sizes come from the library's own heuristics, which need the GPU");
  if (count) *count = there;
  if (!elements || written <= 0 || type == TYPE_DESCRIPTOR)
    return DRY_OK; /* descriptors are the caller's, made before */
  memset(elements, 0, (size_t)written * bytes_of(type));
  if (attribute == TEXT_OF_PLAN) memcpy(elements, "{}", (size_t)written < 3 ? (size_t)written : 3);
  if (attribute == ENGINE_COUNT) memcpy(elements, &there, sizeof there);
  return DRY_OK;
}

/* The version is that of the library that the program has. */
DRY_API int cudnnGetProperty(int which, int *value) {
  int (*real)(int, int *) = (int (*)(int, int *))wf__dry_real("libcudnn.so.", "cudnnGetProperty");
  return real ? real(which, value) : (*value = which == 0 ? 9 : 0, DRY_OK);
}

static __thread void *stream_set __attribute__((tls_model("initial-exec")));
DRY_API int cudnnSetStream(void *handle, void *stream) { return stream_set = stream, DRY_OK; }
DRY_API int cudnnGetStream(void *handle, void **stream) { return *stream = stream_set, DRY_OK; }
