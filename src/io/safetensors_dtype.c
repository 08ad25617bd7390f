/* The dtypes of safetensors, in the order in which its writer sorts tensors (wide ones first, so that all stay aligned). */
#include "io/safetensors.h"

#include <string.h>

static const wf__safetensors_dtype table[] = {{"U64", 64, WF_DTYPE_NONE},
                                              {"I64", 64, WF_I64},
                                              {"F64", 64, WF_F64},
                                              {"C64", 64, WF_DTYPE_NONE},
                                              {"F32", 32, WF_F32},
                                              {"U32", 32, WF_DTYPE_NONE},
                                              {"I32", 32, WF_I32},
                                              {"BF16", 16, WF_BF16},
                                              {"F16", 16, WF_F16},
                                              {"U16", 16, WF_DTYPE_NONE},
                                              {"I16", 16, WF_I16},
                                              {"F8_E5M2FNUZ", 8, WF_DTYPE_NONE},
                                              {"F8_E4M3FNUZ", 8, WF_DTYPE_NONE},
                                              {"F8_E8M0", 8, WF_DTYPE_NONE},
                                              {"F8_E4M3", 8, WF_DTYPE_NONE},
                                              {"F8_E5M2", 8, WF_DTYPE_NONE},
                                              {"I8", 8, WF_I8},
                                              {"U8", 8, WF_U8},
                                              {"F6_E3M2", 6, WF_DTYPE_NONE},
                                              {"F6_E2M3", 6, WF_DTYPE_NONE},
                                              {"F4", 4, WF_DTYPE_NONE},
                                              {"BOOL", 8, WF_BOOL}};

#define ROWS ((int)(sizeof table / sizeof *table))

const wf__safetensors_dtype *wf__safetensors_dtype_named(const char *name) {
  for (int i = 0; i < ROWS; i++)
    if (!strcmp(table[i].name, name)) return &table[i];
  return NULL;
}

const wf__safetensors_dtype *wf__safetensors_dtype_of(wf_dtype dtype, int *rank) {
  for (*rank = 0; *rank < ROWS; ++*rank)
    if (table[*rank].dtype == dtype && dtype) return &table[*rank];
  return NULL;
}
