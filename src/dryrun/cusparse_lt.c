/* cuSPARSELt: sizes of compressed matrices. A descriptor is the caller's own 1024 bytes or more; what matters of the matrix is kept in them. */
#include "dryrun/stand_in.h"

typedef struct matrix {
  int64_t rows, columns, element_bytes;
} matrix;

/* cudaDataType_t. */
static int64_t bytes_of(int type) {
  enum { FLOAT = 0, HALF = 2, BFLOAT16 = 14 };
  return type == FLOAT ? 4 : type == HALF || type == BFLOAT16 ? 2 : 1;
}

DRY_API int cusparseLtStructuredDescriptorInit(const void *handle, matrix *m, int64_t rows, int64_t columns,
                                               int64_t stride, uint32_t alignment, int type, int order, int sparsity) {
  *m = (matrix){rows, columns, bytes_of(type)};
  return DRY_OK;
}

/* Half of the elements, and two bits for the place of each. */
DRY_API int cusparseLtSpMMACompressedSize2(const void *handle, const matrix *m, size_t *bytes, size_t *buffer) {
  int64_t elements = m->rows * m->columns;
  *bytes = (size_t)(elements * m->element_bytes / 2 + elements / 8);
  *buffer = 0;
  return DRY_OK;
}
