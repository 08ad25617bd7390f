/* What differs between oneDNN 2 and oneDNN 3: descriptors of memory are structs in one and handles in the other, and operation descriptors
 * went. The rest of exec/ knows handles only. */
#ifndef WF_EXEC_DNNL_VERSION_H
#define WF_EXEC_DNNL_VERSION_H

#ifdef WF_HAVE_DNNL

#include <dnnl.h>
#include <stdbool.h>

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t wf__dnnl_layout;
typedef const_dnnl_memory_desc_t wf__dnnl_const_layout;
#else
typedef dnnl_memory_desc_t *wf__dnnl_layout;
typedef const dnnl_memory_desc_t *wf__dnnl_const_layout;
#endif

/* An f32 layout with these strides in elements, or in the order that a tag names. NULL: refused, or memory is out. */
wf__dnnl_layout wf__dnnl_layout_strided(int n, const dnnl_dims_t size, const dnnl_dims_t stride);
wf__dnnl_layout wf__dnnl_layout_tagged(int n, const dnnl_dims_t size, dnnl_format_tag_t tag);
/* NULL is ignored. */
void wf__dnnl_layout_free(wf__dnnl_layout layout);

/* A convolution: layouts of its tensors (bias NULL: none) and its steps. */
typedef struct wf__dnnl_conv {
  wf__dnnl_layout input, output, weight, bias;
  dnnl_dims_t stride, dilation, padding;
} wf__dnnl_conv;

/* Describe the convolution and its two derivatives; false: oneDNN doesn't do it. A derivative is described beside its forward. */
bool wf__dnnl_conv_forward(const wf__dnnl_conv *conv, dnnl_primitive_desc_t *made);
bool wf__dnnl_conv_backward_data(const wf__dnnl_conv *conv, dnnl_primitive_desc_t forward, dnnl_primitive_desc_t *made);
bool wf__dnnl_conv_backward_weights(const wf__dnnl_conv *conv, dnnl_primitive_desc_t forward,
                                    dnnl_primitive_desc_t *made);

#endif
#endif
