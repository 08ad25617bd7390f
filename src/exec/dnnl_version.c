/* One block for each major version of oneDNN; see dnnl_version.h. */
#include "exec/dnnl_version.h"

#ifdef WF_HAVE_DNNL
#include "exec/dnnl_cache.h"

#define ATTRIBUTES wf__dnnl_attributes()
#define ENGINE wf__dnnl_engine()

#if DNNL_VERSION_MAJOR >= 3

wf__dnnl_layout wf__dnnl_layout_strided(int n, const dnnl_dims_t size, const dnnl_dims_t stride) {
  dnnl_memory_desc_t layout;
  return dnnl_memory_desc_create_with_strides(&layout, n, size, dnnl_f32, stride) == dnnl_success ? layout : NULL;
}

wf__dnnl_layout wf__dnnl_layout_tagged(int n, const dnnl_dims_t size, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t layout;
  return dnnl_memory_desc_create_with_tag(&layout, n, size, dnnl_f32, tag) == dnnl_success ? layout : NULL;
}

void wf__dnnl_layout_free(wf__dnnl_layout layout) {
  if (layout) dnnl_memory_desc_destroy(layout);
}

bool wf__dnnl_conv_forward(const wf__dnnl_conv *c, dnnl_primitive_desc_t *made) {
  return dnnl_convolution_forward_primitive_desc_create(made, ENGINE, dnnl_forward_training, dnnl_convolution_direct,
                                                        c->input, c->weight, c->bias, c->output, c->stride, c->dilation,
                                                        c->padding, c->padding, ATTRIBUTES) == dnnl_success;
}

bool wf__dnnl_conv_backward_data(const wf__dnnl_conv *c, dnnl_primitive_desc_t forward, dnnl_primitive_desc_t *made) {
  return dnnl_convolution_backward_data_primitive_desc_create(made, ENGINE, dnnl_convolution_direct, c->input,
                                                              c->weight, c->output, c->stride, c->dilation, c->padding,
                                                              c->padding, forward, ATTRIBUTES) == dnnl_success;
}

bool wf__dnnl_conv_backward_weights(const wf__dnnl_conv *c, dnnl_primitive_desc_t forward,
                                    dnnl_primitive_desc_t *made) {
  return dnnl_convolution_backward_weights_primitive_desc_create(
             made, ENGINE, dnnl_convolution_direct, c->input, c->weight, c->bias, c->output, c->stride, c->dilation,
             c->padding, c->padding, forward, ATTRIBUTES) == dnnl_success;
}

#else

#include "base/host.h"

static wf__dnnl_layout kept(dnnl_memory_desc_t layout, dnnl_status_t status) {
  wf__dnnl_layout copy = status == dnnl_success ? wf__malloc(sizeof layout) : NULL;
  if (copy) *copy = layout;
  return copy;
}

wf__dnnl_layout wf__dnnl_layout_strided(int n, const dnnl_dims_t size, const dnnl_dims_t stride) {
  dnnl_memory_desc_t layout;
  dnnl_status_t status = dnnl_memory_desc_init_by_strides(&layout, n, size, dnnl_f32, stride);
  return kept(layout, status);
}

wf__dnnl_layout wf__dnnl_layout_tagged(int n, const dnnl_dims_t size, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t layout;
  dnnl_status_t status = dnnl_memory_desc_init_by_tag(&layout, n, size, dnnl_f32, tag);
  return kept(layout, status);
}

void wf__dnnl_layout_free(wf__dnnl_layout layout) { wf__release(layout); }

bool wf__dnnl_conv_forward(const wf__dnnl_conv *c, dnnl_primitive_desc_t *made) {
  dnnl_convolution_desc_t operation;
  return dnnl_dilated_convolution_forward_desc_init(&operation, dnnl_forward_training, dnnl_convolution_direct,
                                                    c->input, c->weight, c->bias, c->output, c->stride, c->dilation,
                                                    c->padding, c->padding) == dnnl_success &&
         dnnl_primitive_desc_create(made, &operation, ATTRIBUTES, ENGINE, NULL) == dnnl_success;
}

bool wf__dnnl_conv_backward_data(const wf__dnnl_conv *c, dnnl_primitive_desc_t forward, dnnl_primitive_desc_t *made) {
  dnnl_convolution_desc_t operation;
  return dnnl_dilated_convolution_backward_data_desc_init(&operation, dnnl_convolution_direct, c->input, c->weight,
                                                          c->output, c->stride, c->dilation, c->padding,
                                                          c->padding) == dnnl_success &&
         dnnl_primitive_desc_create(made, &operation, ATTRIBUTES, ENGINE, forward) == dnnl_success;
}

bool wf__dnnl_conv_backward_weights(const wf__dnnl_conv *c, dnnl_primitive_desc_t forward,
                                    dnnl_primitive_desc_t *made) {
  dnnl_convolution_desc_t operation;
  return dnnl_dilated_convolution_backward_weights_desc_init(&operation, dnnl_convolution_direct, c->input, c->weight,
                                                             c->bias, c->output, c->stride, c->dilation, c->padding,
                                                             c->padding) == dnnl_success &&
         dnnl_primitive_desc_create(made, &operation, ATTRIBUTES, ENGINE, forward) == dnnl_success;
}

#endif
#endif
