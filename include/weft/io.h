/* Files of tensors. */
#ifndef WEFT_IO_H
#define WEFT_IO_H

#include <weft/tensor.h>

WF_EXTERN_C_BEGIN

/** A tensor with its name; both borrowed. */
typedef struct wf_named_tensor {
  const char *name;
  wf_tensor *tensor;
} wf_named_tensor;

/** Writes the tensors to a safetensors file, byte for byte as the reference writer does; `path` is replaced in one step or left as it was.
 *  Tensors may lie on any device in any layout. Errors: WF_VALUE for a name used twice and for tensors that share a storage (the format
 *  can't say so); WF_IO when the file can't be written. Sync. */
WF_API wf_status wf_safetensors_save(const char *path, const wf_named_tensor *tensors, int n);

/** An open safetensors file. */
typedef struct wf_safetensors wf_safetensors;
/** Opens a safetensors file and checks its header completely; reads no tensor yet. Yours. Errors: WF_IO when it can't be read or isn't a
 *  valid file, with the first rule it breaks. */
WF_API wf_safetensors *wf_safetensors_open(const char *path);
/** Closes the file. NULL is accepted. */
WF_API void wf_safetensors_close(wf_safetensors *file);
/** Number of tensors in the file. */
WF_API int wf_safetensors_count(const wf_safetensors *file);
/** Name of the i-th tensor in the order of the file; borrowed. NULL out of range. */
WF_API const char *wf_safetensors_name(const wf_safetensors *file, int i);
/** Reads the tensor of that name into a new row-major cpu tensor. New. Errors: WF_VALUE when there is none of that name; WF_TYPE for a
 *  dtype that Weft doesn't have (the hint names it); WF_IO when the file has changed. */
WF_API wf_tensor *wf_safetensors_get(wf_safetensors *file, const char *name);

WF_EXTERN_C_END
#endif
