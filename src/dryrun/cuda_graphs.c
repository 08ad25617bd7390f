/* Capture and graphs. A graph is the list of what its kernels and copies count as; each launch counts it again, at the line that launches it. */
#include <string.h>
#include "base/host.h"
#include "dryrun/cuda_streams.h"
#include "dryrun/locks.h"

struct wf__dry_graph {
  wf__dry_happening *work;
  size_t count, room;
  bool is_exec; /* an instance of its own, with a copy of the list */
};

static wf__dry_graph *graph_of(void *handle) { return wf__dry_handle(handle, DRY_GRAPH); }

/* Several threads may run work that one capture takes in. */
static bool note(wf__dry_graph *graph, wf__dry_happening happening) {
  wf__dry_lock(DRY_LOCK_GRAPHS);
  if (graph->count == graph->room) {
    size_t room = graph->room ? graph->room * 2 : 64;
    wf__dry_happening *more = wf__realloc(graph->work, room * sizeof *more);
    if (!more) return wf__dry_unlock(DRY_LOCK_GRAPHS), wf_error_take(), false;
    graph->work = more;
    graph->room = room;
  }
  graph->work[graph->count++] = happening;
  wf__dry_unlock(DRY_LOCK_GRAPHS);
  return true;
}

void wf__dry_work(void *handle, wf__dry_happening happening) {
  const wf__dry_stream *stream = wf__dry_stream_of(handle);
  wf__dry_graph *graph = stream ? stream->capture : NULL;
  if (!graph) wf__dry_count(&happening);
  else if (!note(graph, happening)) wf__dry_limit("graph", "the host has no memory to note what was captured");
}

static wf__dry_graph *new_graph(void) { return wf__dry_handle_new(DRY_GRAPH, sizeof(wf__dry_graph)); }

/* ---- capture ---- */

static int begin(void *handle, wf__dry_graph *graph) {
  wf__dry_stream *stream = wf__dry_stream_of(handle);
  if (!stream) return wf__dry_error(DRY_INVALID_HANDLE);
  if (stream->capture || (uintptr_t)handle <= 1) return wf__dry_error(DRY_CAPTURE_UNSUPPORTED);
  wf__dry_graph *into = graph ? graph : new_graph();
  if (!into) return wf__dry_error(DRY_NO_MEMORY);
  if (wf__dry_begin_capture(stream, into)) return DRY_OK;
  if (!graph) wf__dry_handle_free(into); /* another thread was first */
  return wf__dry_error(DRY_CAPTURE_UNSUPPORTED);
}

DRY_API int cudaStreamBeginCapture(void *stream, int mode) { return begin(stream, NULL); }
DRY_API int cudaStreamBeginCaptureToGraph(void *stream, void *graph, const void *dependencies, const void *data,
                                          size_t count, int mode) {
  return graph_of(graph) ? begin(stream, graph) : wf__dry_error(DRY_INVALID_VALUE);
}

DRY_API int cudaStreamEndCapture(void *handle, void **graph) {
  wf__dry_stream *stream = wf__dry_stream_of(handle);
  if (!stream || !graph) return wf__dry_error(DRY_INVALID_HANDLE);
  *graph = NULL;
  if (!stream->capture) return wf__dry_error(DRY_INVALID_VALUE);
  if (!stream->began_capture) return wf__dry_error(DRY_CAPTURE_UNMATCHED);
  *graph = stream->capture;
  wf__dry_end_capture(stream->capture);
  return DRY_OK;
}

DRY_API int cudaStreamIsCapturing(void *handle, int *status) {
  const wf__dry_stream *stream = wf__dry_stream_of(handle);
  if (!stream || !status) return wf__dry_error(DRY_INVALID_HANDLE);
  *status = stream->capture != NULL;
  return DRY_OK;
}

static int capture_info(void *handle, int *status, unsigned long long *id, void **graph, const void **dependencies,
                        size_t *count) {
  const wf__dry_stream *stream = wf__dry_stream_of(handle);
  if (!stream || !status) return wf__dry_error(DRY_INVALID_HANDLE);
  *status = stream->capture != NULL;
  if (!stream->capture) return DRY_OK;
  if (id) *id = wf__dry_capture_id(stream);
  if (graph) *graph = stream->capture;
  if (dependencies) *dependencies = NULL;
  if (count) *count = 0;
  return DRY_OK;
}
DRY_API int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph,
                                        const void **dependencies, size_t *count) {
  return capture_info(stream, status, id, graph, dependencies, count);
}
DRY_API int cudaStreamGetCaptureInfo_v3(void *stream, int *status, unsigned long long *id, void **graph,
                                        const void **dependencies, const void **edges, size_t *count) {
  if (edges) *edges = NULL;
  return capture_info(stream, status, id, graph, dependencies, count);
}
/* CUDA 13 gave this name to the third form; before, it was the first, with three arguments. */
DRY_API int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id, void **graph,
                                     const void **dependencies, const void **edges, size_t *count) {
  if (wf__dry_runtime() < 13000) return capture_info(stream, status, id, NULL, NULL, NULL);
  return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, edges, count);
}
/* Dependencies aren't kept: a graph counts all of its work. */
DRY_API int cudaStreamUpdateCaptureDependencies(void *stream) { return DRY_OK; }
DRY_API int cudaStreamUpdateCaptureDependencies_v2(void *stream) { return DRY_OK; }
DRY_API int cudaThreadExchangeStreamCaptureMode(int *mode) {
  static __thread int own __attribute__((tls_model("initial-exec")));
  int before = own;
  own = *mode;
  *mode = before;
  return DRY_OK;
}

/* ---- graphs ---- */

DRY_API int cudaGraphCreate(void **handle, unsigned flags) {
  return (*handle = new_graph()) ? DRY_OK : wf__dry_error(DRY_NO_MEMORY);
}

static int destroy(void *handle) {
  wf__dry_graph *graph = graph_of(handle);
  if (!graph) return wf__dry_error(DRY_INVALID_VALUE);
  wf__dry_end_capture(graph); /* no stream may go on writing to it */
  wf__release(graph->work);
  wf__dry_handle_free(graph);
  return DRY_OK;
}
DRY_API int cudaGraphDestroy(void *graph) { return destroy(graph); }
DRY_API int cudaGraphExecDestroy(void *exec) { return destroy(exec); }

static int copy_of(void **made, void *handle, bool is_exec) {
  const wf__dry_graph *graph = graph_of(handle);
  wf__dry_graph *copy = graph ? new_graph() : NULL;
  if (!graph) return wf__dry_error(DRY_INVALID_VALUE);
  if (!copy) return wf__dry_error(DRY_NO_MEMORY);
  copy->is_exec = is_exec;
  for (size_t i = 0; i < graph->count; i++) {
    if (note(copy, graph->work[i])) continue;
    destroy(copy);
    return wf__dry_error(DRY_NO_MEMORY);
  }
  *made = copy;
  return DRY_OK;
}
DRY_API int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags) {
  return copy_of(exec, graph, true);
}
DRY_API int cudaGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
  return copy_of(exec, graph, true);
}
DRY_API int cudaGraphClone(void **clone, void *graph) { return copy_of(clone, graph, false); }

DRY_API int cudaGraphLaunch(void *handle, void *stream) {
  const wf__dry_graph *graph = graph_of(handle);
  if (!graph || !graph->is_exec || !wf__dry_stream_of(stream)) return wf__dry_error(DRY_INVALID_HANDLE);
  wf__dry_contents_forget();
  for (size_t i = 0; i < graph->count; i++) wf__dry_work(stream, graph->work[i]);
  return DRY_OK;
}
DRY_API int cudaGraphUpload(void *exec, void *stream) {
  return graph_of(exec) ? DRY_OK : wf__dry_error(DRY_INVALID_VALUE);
}

/* Nodes are only counted. */
DRY_API int cudaGraphGetNodes(void *handle, void **nodes, size_t *count) {
  const wf__dry_graph *graph = graph_of(handle);
  if (!graph || !count) return wf__dry_error(DRY_INVALID_VALUE);
  size_t given = nodes && *count < graph->count ? *count : graph->count;
  for (size_t i = 0; nodes && i < given; i++) nodes[i] = wf__dry_token();
  *count = given;
  return DRY_OK;
}
DRY_API int cudaGraphNodeGetDependencies(void *node, void **dependencies, size_t *or_edges, size_t *count) {
  if (wf__dry_runtime() < 13000) count = or_edges; /* CUDA 12: three arguments */
  if (count) *count = 0;
  return DRY_OK;
}
DRY_API int cudaGraphNodeGetDependencies_v2(void *node, void **dependencies, void *edges, size_t *count) {
  if (count) *count = 0;
  return DRY_OK;
}
DRY_API int cudaGraphAddNode(void **node, void *handle) {
  wf__dry_graph *graph = graph_of(handle);
  if (!graph) return wf__dry_error(DRY_INVALID_VALUE);
  wf__dry_limit("cudaGraphAddNode", "nodes that are added by hand count as nothing");
  *node = wf__dry_token();
  return DRY_OK;
}
DRY_API int cudaGraphAddNode_v2(void **node, void *graph) { return cudaGraphAddNode(node, graph); }

/* What a graph keeps alive is given up with the process. */
DRY_API int cudaUserObjectCreate(void **object, void *data, void (*destroyer)(void *), unsigned count, unsigned flags) {
  *object = wf__dry_token();
  return DRY_OK;
}
DRY_API int cudaUserObjectRelease(void *object, unsigned count) { return DRY_OK; }
DRY_API int cudaGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags) { return DRY_OK; }
DRY_API int cudaGraphReleaseUserObject(void *graph, void *object, unsigned count) { return DRY_OK; }
DRY_API int cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value) {
  memset(value, 0, sizeof(uint64_t));
  return DRY_OK;
}
DRY_API int cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value) { return DRY_OK; }
DRY_API int cudaDeviceGraphMemTrim(int device) { return DRY_OK; }
