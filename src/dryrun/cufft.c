/* cuFFT: how much work area its plans ask for. Its documentation gives the bounds, once to eight times as many complex elements as are transformed; which of
 * them only a device tells. Counted is once, and the report says what it may be at most. */
#include "dryrun/stand_in.h"

enum { MOST_TIMES = 8 };

static int64_t product(int rank, const long long *sizes, int64_t batch) {
  for (int i = 0; i < rank; i++) batch = wf__dry_times(batch, sizes[i]);
  return batch;
}

static int plan(int64_t elements, int64_t complex_bytes, size_t *work) {
  enum { INVALID_SIZE = 8 };
  int64_t least = elements > 0 ? wf__dry_times(elements, complex_bytes) : 0, most = wf__dry_times(MOST_TIMES, least);
  if (most == INT64_MAX) return INVALID_SIZE;
  wf__dry_limit_up_to("cuFFT",
                      "work areas of its plans are counted once the size of what is transformed, as complex numbers: "
                      "the least that its documentation names; 8 times that is the most",
                      most);
  wf__dry_work_space(least);
  if (work) *work = (size_t)least;
  return DRY_OK;
}

/* cufftType: kinds of single precision are 0x2., of double precision 0x6. */
static int64_t bytes_of(int type) { return (type & 0x40) != 0 ? 16 : 8; }
/* cudaDataType, of the arithmetic. */
static int64_t bytes_of_data(int type) {
  enum {
    REAL_HALF = 2,
    COMPLEX_HALF = 6,
    REAL_BFLOAT16 = 14,
    COMPLEX_BFLOAT16 = 15,
    REAL_DOUBLE = 1,
    COMPLEX_DOUBLE = 5
  };
  switch (type) {
    case REAL_DOUBLE:
    case COMPLEX_DOUBLE: return 16;
    case REAL_HALF:
    case COMPLEX_HALF:
    case REAL_BFLOAT16:
    case COMPLEX_BFLOAT16: return 4;
    default: return 8;
  }
}

static int plan_of_ints(int rank, const int *n, int type, int batch, size_t *work) {
  int64_t elements = batch;
  for (int i = 0; i < rank; i++) elements = wf__dry_times(elements, n[i]);
  return plan(elements, bytes_of(type), work);
}

DRY_API int cufftMakePlan1d(int handle, int n, int type, int batch, size_t *work) {
  return plan_of_ints(1, &n, type, batch, work);
}
DRY_API int cufftMakePlan2d(int handle, int nx, int ny, int type, size_t *work) {
  return plan_of_ints(2, (int[]){nx, ny}, type, 1, work);
}
DRY_API int cufftMakePlan3d(int handle, int nx, int ny, int nz, int type, size_t *work) {
  return plan_of_ints(3, (int[]){nx, ny, nz}, type, 1, work);
}
DRY_API int cufftMakePlanMany(int handle, int rank, const int *n, const int *in, int in_stride, int in_distance,
                              const int *out, int out_stride, int out_distance, int type, int batch, size_t *work) {
  return plan_of_ints(rank, n, type, batch, work);
}
DRY_API int cufftMakePlanMany64(int handle, int rank, const long long *n, const long long *in, long long in_stride,
                                long long in_distance, const long long *out, long long out_stride,
                                long long out_distance, int type, long long batch, size_t *work) {
  return plan(product(rank, n, batch), bytes_of(type), work);
}
DRY_API int cufftXtMakePlanMany(int handle, int rank, const long long *n, const long long *in, long long in_stride,
                                long long in_distance, int in_type, const long long *out, long long out_stride,
                                long long out_distance, int out_type, long long batch, size_t *work, int type) {
  return plan(product(rank, n, batch), bytes_of_data(type), work);
}
