/* cuDNN's graphs of operations. Where the program's own cuDNN can choose plans without a device, its descriptors are the program's: heuristics, engines and
 * the work space of plans are the real ones, only nothing runs. Elsewhere every graph has one engine whose plan needs no work space, which is said in the
 * report, with the size of the tensors of the largest one. */
#include <string.h>
#include "dryrun/cudnn_library.h"
#include "dryrun/stand_in.h"

/* cudnnBackendAttributeName_t, those that are looked at. */
enum {
  GRAPH_OF_HEURISTICS = 201,
  ENGINE_CONFIGURATIONS = 202,
  DEVICE_OF_HEURISTICS = 204,
  ENGINE_OF_CONFIGURATION = 300,
  WORKSPACE_OF_CONFIGURATION = 303,
  SHARED_OF_CONFIGURATION = 304,
  CONFIGURATION_OF_PLAN = 401,
  WORKSPACE_OF_PLAN = 402,
  TEXT_OF_PLAN = 405,
  DEVICE_OF_PLAN = 407,
  OPERATIONS_OF_GRAPH = 801,
  ENGINE_COUNT = 802,
  TYPE_OF_TENSOR = 901,
  SIZES_OF_TENSOR = 902,
  GRAPH_OF_ENGINE = 1300,
  ENGINE_NUMBER = 1301,
  DEVICE_OF_ENGINE = 1307,
  NUMBER_OF_DEVICE = 2700,
  HANDLE_OF_DEVICE = 2701,
  TEXT_OF_DEVICE = 2702,
};

/* ---- with the program's own cuDNN ---- */

/* Which device it is for goes along with what it is for. */
static int with_device(const wf__cudnn_library *real, void *descriptor, int attribute) {
  int device = attribute == GRAPH_OF_HEURISTICS                                  ? DEVICE_OF_HEURISTICS
               : attribute == CONFIGURATION_OF_PLAN || attribute == TEXT_OF_PLAN ? DEVICE_OF_PLAN
               : attribute == GRAPH_OF_ENGINE                                    ? DEVICE_OF_ENGINE
                                                                                 : 0;
  return device ? real->set(descriptor, device, CUDNN_DESCRIPTOR, 1, &real->device) : DRY_OK;
}

/* Handles are the stand-in's, which the library doesn't know; what they say, the device, it is told otherwise. */
static int set_real(const wf__cudnn_library *real, void *descriptor, int attribute, int type, int64_t count,
                    const void *elements) {
  if (attribute == NUMBER_OF_DEVICE || attribute == HANDLE_OF_DEVICE) {
    const char *device = wf__cudnn_device_text();
    return real->set(descriptor, TEXT_OF_DEVICE, CUDNN_CHAR, (int64_t)strlen(device) + 1, device);
  }
  if (type == CUDNN_HANDLE) return DRY_OK;
  int status = with_device(real, descriptor, attribute);
  return status ? status : real->set(descriptor, attribute, type, count, elements);
}

/* ---- without ---- */

/* Tensors are described before the graph that has them, by the thread that makes it. */
static __thread struct {
  const void *tensor;
  int64_t element_bytes, elements;
  int64_t since;    /* bytes of the tensors that were described since the last graph */
  int64_t of_graph; /* of those of the last graph */
} described __attribute__((tls_model("initial-exec")));

/* cudnnDataType_t. */
static int64_t bytes_of_element(int type) {
  enum { FLOAT = 0, DOUBLE = 1, HALF = 2, INT32 = 4, BFLOAT16 = 9, INT64 = 10 };
  switch (type) {
    case DOUBLE:
    case INT64: return 8;
    case FLOAT:
    case INT32: return 4;
    case HALF:
    case BFLOAT16: return 2;
    default: return 1;
  }
}

static int set_nothing(const void *descriptor, int attribute, int64_t count, const void *elements) {
  if (attribute == TYPE_OF_TENSOR || attribute == SIZES_OF_TENSOR) described.tensor = descriptor;
  if (attribute == TYPE_OF_TENSOR) described.element_bytes = bytes_of_element(*(const int *)elements);
  if (attribute == SIZES_OF_TENSOR) {
    described.elements = 1;
    for (int64_t i = 0; i < count; i++)
      described.elements = wf__dry_times(described.elements, ((const int64_t *)elements)[i]);
  }
  if (attribute == OPERATIONS_OF_GRAPH) {
    described.of_graph = described.since;
    described.since = 0;
  }
  return DRY_OK;
}

static int finalize_nothing(const void *descriptor) {
  if (descriptor == described.tensor)
    described.since = wf__dry_plus(described.since, wf__dry_times(described.elements, described.element_bytes));
  described.tensor = NULL;
  return DRY_OK;
}

static size_t bytes_of(int type) {
  switch (type) {
    case CUDNN_INT64:
    case CUDNN_DOUBLE:
    case CUDNN_POINTER:
    case CUDNN_DESCRIPTOR: return 8;
    case CUDNN_FRACTION: return 16;
    case CUDNN_BOOL:
    case CUDNN_CHAR: return 1;
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

static int get_nothing(int attribute, int type, int64_t room, int64_t *count, void *elements) {
  int64_t there = elements_of(attribute), written = room < there ? room : there;
  if (attribute == WORKSPACE_OF_PLAN)
    wf__dry_limit_up_to(
        "cuDNN",
        "its workspaces aren't counted: this release doesn't choose plans for this GPU without one, 9.8 "
        "and later do; a plan that brings its tensors into another layout first needs about their size",
        described.of_graph);
  if (count) *count = there;
  if (!elements || written <= 0 || type == CUDNN_DESCRIPTOR)
    return DRY_OK; /* descriptors are the caller's, made before */
  memset(elements, 0, (size_t)written * bytes_of(type));
  if (attribute == TEXT_OF_PLAN) memcpy(elements, "{}", (size_t)written < 3 ? (size_t)written : 3);
  if (attribute == ENGINE_COUNT) memcpy(elements, &there, sizeof there);
  return DRY_OK;
}

/* ---- entry points ---- */

DRY_API int cudnnBackendCreateDescriptor(int type, void **descriptor) {
  const wf__cudnn_library *real = wf__cudnn_library_get();
  if (real) return real->create(type, descriptor);
  *descriptor = wf__dry_token();
  return DRY_OK;
}

DRY_API int cudnnBackendDestroyDescriptor(void *descriptor) {
  const wf__cudnn_library *real = wf__cudnn_library_get();
  return real ? real->destroy(descriptor) : DRY_OK;
}

/* Parts of cuDNN build graphs for other parts by these same calls: those of a thread that is inside pass as they are. */
DRY_API int cudnnBackendSetAttribute(void *descriptor, int attribute, int type, int64_t count, const void *elements) {
  const wf__cudnn_library *real = wf__cudnn_library_get();
  if (!real) return set_nothing(descriptor, attribute, count, elements);
  if (wf__dry_inside) return real->set(descriptor, attribute, type, count, elements);
  wf__dry_inside++;
  int status = set_real(real, descriptor, attribute, type, count, elements);
  wf__dry_inside--;
  return status;
}

DRY_API int cudnnBackendFinalize(void *descriptor) {
  const wf__cudnn_library *real = wf__cudnn_library_get();
  if (!real) return finalize_nothing(descriptor);
  wf__dry_inside++;
  int status = real->finalize(descriptor);
  wf__dry_inside--;
  return status;
}

DRY_API int cudnnBackendGetAttribute(void *descriptor, int attribute, int type, int64_t room, int64_t *count,
                                     void *elements) {
  const wf__cudnn_library *real = wf__cudnn_library_get();
  if (!real) return get_nothing(attribute, type, room, count, elements);
  if (attribute == WORKSPACE_OF_PLAN)
    wf__dry_limit("cuDNN",
                  "work space of its plans is what its own heuristics choose for this GPU as it is described; not "
                  "compared with that GPU");
  wf__dry_inside++;
  int status = real->get(descriptor, attribute, type, room, count, elements);
  wf__dry_inside--;
  if (status == DRY_OK && attribute == WORKSPACE_OF_PLAN && room > 0 && elements && !wf__dry_inside)
    wf__dry_work_space(*(const int64_t *)elements);
  return status;
}

/* The version is that of the library that the program has. */
DRY_API int cudnnGetProperty(int which, int *value) {
  int (*real)(int, int *) = (int (*)(int, int *))wf__dry_real("libcudnn.so.", "cudnnGetProperty");
  return real ? real(which, value) : (*value = which == 0 ? 9 : 0, DRY_OK);
}

static __thread void *stream_set __attribute__((tls_model("initial-exec")));
DRY_API int cudnnSetStream(void *handle, void *stream) { return stream_set = stream, DRY_OK; }
DRY_API int cudnnGetStream(void *handle, void **stream) { return *stream = stream_set, DRY_OK; }
