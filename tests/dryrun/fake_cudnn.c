/* A libcudnn.so.9 that writes down what it is asked, for the test of the stand-in's plans. FAKE_CUDNN_VERSION is its version. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEURISTICS = 4, DEVICE = 38, CHARACTERS = 24, GRAPH_OF_HEURISTICS = 201, WORK_SPACE_OF_PLAN = 402 };

static struct { char calls[4096], device[4096]; } fake;

const char *fake_cudnn_calls(void) { return fake.calls; }
const char *fake_cudnn_device(void) { return fake.device; }
void fake_cudnn_forget(void) { fake.calls[0] = 0; }

static void note(const char *what, int type, int attribute) {
  size_t at = strlen(fake.calls);
  snprintf(fake.calls + at, sizeof fake.calls - at, "%s %d %d\n", what, type, attribute);
}

size_t cudnnGetVersion(void) { return (size_t)atoi(getenv("FAKE_CUDNN_VERSION")); }

int cudnnBackendCreateDescriptor(int type, void **descriptor) {
  *descriptor = malloc(sizeof type);
  memcpy(*descriptor, &type, sizeof type);
  return 0;
}
int cudnnBackendDestroyDescriptor(void *descriptor) { return free(descriptor), 0; }

int cudnnBackendSetAttribute(void *descriptor, int attribute, int type, int64_t count, const void *elements) {
  note("set", *(int *)descriptor, attribute);
  if (*(int *)descriptor == DEVICE && type == CHARACTERS) memcpy(fake.device, elements, (size_t)count);
  return 0;
}

/* As parts of cuDNN do, it builds something by the calls that the program has as well. */
int cudnnBackendFinalize(void *descriptor) {
  note("finalize", *(int *)descriptor, 0);
  if (*(int *)descriptor == HEURISTICS) {
    int type = HEURISTICS, *own = &type;
    cudnnBackendSetAttribute(own, GRAPH_OF_HEURISTICS, 15, 1, &own);
  }
  return 0;
}

int cudnnBackendGetAttribute(void *descriptor, int attribute, int type, int64_t room, int64_t *count, void *elements) {
  int64_t bytes = 262972560;
  *count = 1;
  if (attribute == WORK_SPACE_OF_PLAN) memcpy(elements, &bytes, sizeof bytes);
  return 0;
}

int cudnnBackendExecute(void *handle, void *plan, void *pack) {
  note("execute", *(int *)plan, 0);
  return 0;
}
