/* What names mean to the rules: operators of PyTorch, calls of the CUDA and HIP runtimes, kinds of transfer, annotations, Python frames. */
#define _GNU_SOURCE
#include <string.h>

#include "audit/names.h"

static const struct {
  const char *name;
  wf__meaning meaning;
} exact[] = {
    {"aten::copy_", WF__MEANS_COPY},
    {"aten::contiguous", WF__MEANS_LAYOUT},
    {"aten::reshape", WF__MEANS_LAYOUT},
    {"aten::flatten", WF__MEANS_LAYOUT},
    {"aten::_reshape_copy", WF__MEANS_LAYOUT},
    {"aten::reshape_as", WF__MEANS_LAYOUT},
    {"aten::ravel", WF__MEANS_LAYOUT},
    {"aten::clone", WF__MEANS_DUPLICATE},
    {"aten::to", WF__MEANS_CONVERSION},
    {"aten::_to_copy", WF__MEANS_CONVERSION},
    {"aten::type_as", WF__MEANS_CONVERSION},
    {"aten::_autocast_to_reduced_precision", WF__MEANS_CONVERSION},
    {"aten::_autocast_to_full_precision", WF__MEANS_CONVERSION},
    {"aten::item", WF__MEANS_READBACK},
    {"aten::_local_scalar_dense", WF__MEANS_READBACK},
    {"aten::is_nonzero", WF__MEANS_READBACK},
    {"aten::equal", WF__MEANS_READBACK},
    {"aten::nonzero", WF__MEANS_READBACK},
    {"aten::nonzero_numpy", WF__MEANS_READBACK},
    {"aten::argwhere", WF__MEANS_READBACK},
    {"aten::masked_select", WF__MEANS_READBACK},
    {"aten::index", WF__MEANS_READBACK},
    {"aten::index_put_", WF__MEANS_READBACK},
    {"aten::_unique2", WF__MEANS_READBACK},
    {"aten::unique_consecutive", WF__MEANS_READBACK},
    {"aten::unique_dim", WF__MEANS_READBACK},
    {"aten::repeat_interleave", WF__MEANS_READBACK},
    {"aten::bincount", WF__MEANS_READBACK},
    {"cudaStreamSynchronize", WF__MEANS_SYNC},
    {"cudaDeviceSynchronize", WF__MEANS_SYNC},
    {"cudaEventSynchronize", WF__MEANS_SYNC},
    {"cuStreamSynchronize", WF__MEANS_SYNC},
    {"cuCtxSynchronize", WF__MEANS_SYNC},
    {"cuEventSynchronize", WF__MEANS_SYNC},
    {"hipStreamSynchronize", WF__MEANS_SYNC},
    {"hipDeviceSynchronize", WF__MEANS_SYNC},
    {"hipEventSynchronize", WF__MEANS_SYNC},
    {"cudaMemcpyAsync", WF__MEANS_MEMCPY_CALL},
    {"cudaMemcpy2DAsync", WF__MEANS_MEMCPY_CALL},
    {"cudaMemcpyPeerAsync", WF__MEANS_MEMCPY_CALL},
    {"hipMemcpyAsync", WF__MEANS_MEMCPY_CALL},
    {"cudaMemcpy", WF__MEANS_BLOCKING_MEMCPY},
    {"cudaMemcpy2D", WF__MEANS_BLOCKING_MEMCPY},
    {"hipMemcpy", WF__MEANS_BLOCKING_MEMCPY},
    {"hipMemcpyWithStream", WF__MEANS_BLOCKING_MEMCPY},
    {"cudaMalloc", WF__MEANS_DEVICE_ALLOC},
    {"cudaMallocManaged", WF__MEANS_DEVICE_ALLOC},
    {"cuMemCreate", WF__MEANS_DEVICE_ALLOC},
    {"cuMemMap", WF__MEANS_DEVICE_ALLOC},
    {"hipMalloc", WF__MEANS_DEVICE_ALLOC},
    {"hipExtMallocWithFlags", WF__MEANS_DEVICE_ALLOC},
    {"cudaFree", WF__MEANS_DEVICE_FREE},
    {"cuMemUnmap", WF__MEANS_DEVICE_FREE},
    {"cuMemRelease", WF__MEANS_DEVICE_FREE},
    {"hipFree", WF__MEANS_DEVICE_FREE},
    {"cudaHostAlloc", WF__MEANS_HOST_ALLOC},
    {"cudaMallocHost", WF__MEANS_HOST_ALLOC},
    {"cudaHostRegister", WF__MEANS_HOST_ALLOC},
    {"hipHostMalloc", WF__MEANS_HOST_ALLOC},
    {"[memory]", WF__MEANS_MEMORY},
};

static bool begins(const char *text, size_t size, const char *with) {
  size_t n = strlen(with);
  return size >= n && !memcmp(text, with, n);
}

static bool has(const char *text, size_t size, const char *part) {
  return memmem(text, size, part, strlen(part)) != NULL;
}

static uint8_t memory_kind(const char *text, size_t size) {
  static const struct {
    const char *word;
    wf__memory_kind kind;
  } kinds[] = {{"Pageable", WF__MEMORY_PAGEABLE},
               {"Pinned", WF__MEMORY_PINNED},
               {"Device", WF__MEMORY_DEVICE},
               {"Host", WF__MEMORY_HOST}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (begins(text, size, kinds[i].word)) return (uint8_t)kinds[i].kind;
  return WF__MEMORY_OTHER;
}

/* "Memcpy HtoD (Pageable -> Device)"; roctracer's older form is "CopyHostToDevice". */
static bool judge_transfer(wf__name *name) {
  static const struct {
    const char *form;
    wf__memory_kind from, to;
  } old[] = {{"CopyHostToDevice", WF__MEMORY_HOST, WF__MEMORY_DEVICE},
             {"CopyDeviceToHost", WF__MEMORY_DEVICE, WF__MEMORY_HOST},
             {"CopyDeviceToDevice", WF__MEMORY_DEVICE, WF__MEMORY_DEVICE}};
  for (size_t i = 0; i < sizeof old / sizeof *old; i++)
    if (begins(name->text, name->size, old[i].form)) {
      name->from = (uint8_t)old[i].from;
      name->to = (uint8_t)old[i].to;
      name->meaning = WF__MEANS_TRANSFER;
      return true;
    }
  if (!begins(name->text, name->size, "Memcpy ")) return false;
  const char *end = name->text + name->size, *open = memchr(name->text, '(', name->size);
  const char *arrow = memmem(name->text, name->size, "-> ", 3);
  name->meaning = WF__MEANS_TRANSFER;
  if (open && arrow) {
    name->from = memory_kind(open + 1, (size_t)(end - open - 1));
    name->to = memory_kind(arrow + 3, (size_t)(end - arrow - 3));
  }
  return true;
}

bool wf__is_user_source(const char *text, size_t size) {
  /* What comes with Python and shows in the stack of every training. Kineto cuts the folders of sys.path off the names. */
  static const char *const library[] = {
      "torch/",         "threading.py",         "contextlib.py",    "typing.py",   "runpy.py",
      "functools.py",   "concurrent/",          "multiprocessing/", "asyncio/",    "enum.py",
      "abc.py",         "importlib/",           "torchvision/",     "torchaudio/", "collections/",
      "dataclasses.py", "typing_extensions.py", "queue.py",         "<frozen",     "<string>",
      "copy.py",        "weakref.py",           "selectors.py",     "logging/",    "inspect.py"};
  static const char *const folders[] = {"/torch/", "site-packages/", "dist-packages/", "lib/python3"};
  const char *paren = memchr(text, '(', size);
  size_t path = paren ? (size_t)(paren - text) : size;
  for (size_t i = 0; i < sizeof library / sizeof *library; i++)
    if (begins(text, size, library[i])) return false;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    if (has(text, path, folders[i])) return false;
  return has(text, size, ".py(") || has(text, size, ".py:") || has(text, size, ".ipynb") ||
         begins(text, size, "<ipython");
}

/* "file.py(12): function", as the profiler names a Python function. */
static bool is_frame(const wf__name *name) { return has(name->text, name->size, "): "); }

static bool judge_frame(wf__name *name) {
  if (begins(name->text, name->size, "nn.Module: ")) name->meaning = WF__MEANS_MODULE;
  else if (begins(name->text, name->size, "<built-in")) name->meaning = WF__MEANS_BUILTIN;
  else if (is_frame(name))
    name->meaning = wf__is_user_source(name->text, name->size) ? WF__MEANS_USER_FRAME : WF__MEANS_LIBRARY_FRAME;
  else return false;
  return true;
}

static bool is_copy_kernel(const wf__name *name) {
  return has(name->text, name->size, "direct_copy_kernel") || has(name->text, name->size, "copy_kernel_cuda") ||
         has(name->text, name->size, "CatArrayBatchedCopy") ||
         (has(name->text, name->size, "elementwise_kernel") && has(name->text, name->size, "copy"));
}

void wf__name_judge(wf__name *name) {
  name->meaning = WF__MEANS_NOTHING;
  for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
    if (name->size == strlen(exact[i].name) && !memcmp(name->text, exact[i].name, name->size)) {
      name->meaning = (uint8_t)exact[i].meaning;
      return;
    }
  if (begins(name->text, name->size, "aten::")) return;
  if (begins(name->text, name->size, "ProfilerStep#")) name->meaning = WF__MEANS_PROFILER_STEP;
  else if (begins(name->text, name->size, "Optimizer.step#")) name->meaning = WF__MEANS_OPTIMIZER_STEP;
  else if (begins(name->text, name->size, "enumerate(DataLoader)")) name->meaning = WF__MEANS_LOADER;
  else if (!judge_transfer(name) && !judge_frame(name) && is_copy_kernel(name)) name->meaning = WF__MEANS_COPY_KERNEL;
}
