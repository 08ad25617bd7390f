/* Element types. One table; everything else expands it. */
#ifndef WEFT_DTYPE_H
#define WEFT_DTYPE_H

#include <weft/base.h>

WF_EXTERN_C_BEGIN

/* X(NAME, value, bytes, kind, short name, PyTorch's name, ScalarType name, C++ type name, Python tensor type)
 * value is ABI: append only. kind: WF_KIND_*. */
#define WF_DTYPE_TABLE(X)                                                                  \
  X(U8, 1, 1, UINT, "u8", "uint8", "Byte", "unsigned char", "torch.ByteTensor")            \
  X(I8, 2, 1, INT, "i8", "int8", "Char", "signed char", "torch.CharTensor")                \
  X(I16, 3, 2, INT, "i16", "int16", "Short", "short int", "torch.ShortTensor")             \
  X(I32, 4, 4, INT, "i32", "int32", "Int", "int", "torch.IntTensor")                       \
  X(I64, 5, 8, INT, "i64", "int64", "Long", "long int", "torch.LongTensor")                \
  X(F16, 6, 2, FLOAT, "f16", "float16", "Half", "c10::Half", "torch.HalfTensor")           \
  X(BF16, 7, 2, FLOAT, "bf16", "bfloat16", "BFloat16", "c10::BFloat16", "CPUBFloat16Type") \
  X(F32, 8, 4, FLOAT, "f32", "float32", "Float", "float", "torch.FloatTensor")             \
  X(F64, 9, 8, FLOAT, "f64", "float64", "Double", "double", "torch.DoubleTensor")          \
  X(BOOL, 10, 1, BOOL, "bool", "bool", "Bool", "bool", "CPUBoolType")

/** Element type of a tensor. WF_DTYPE_NONE as an argument: not given. */
typedef enum wf_dtype {
  WF_DTYPE_NONE = 0,
#define WF_X(NAME, value, ...) WF_##NAME = value,
  WF_DTYPE_TABLE(WF_X)
#undef WF_X
      WF_DTYPE_COUNT
} wf_dtype;

/** What the elements of a dtype are: the category by which promotion goes first. */
typedef enum wf_dtype_kind {
  WF_KIND_NONE = 0,
  WF_KIND_BOOL = 1,
  WF_KIND_UINT = 2,
  WF_KIND_INT = 3,
  WF_KIND_FLOAT = 4
} wf_dtype_kind;

/** Bytes of one element; 0 for WF_DTYPE_NONE. */
WF_API size_t wf_dtype_size(wf_dtype dtype);
/** The kind of a dtype; WF_KIND_NONE for WF_DTYPE_NONE. */
WF_API wf_dtype_kind wf_dtype_kind_of(wf_dtype dtype);
/** "float32"; "none" for WF_DTYPE_NONE. Never NULL. */
WF_API const char *wf_dtype_name(wf_dtype dtype);
/** The reverse: accepts "float32" and "f32"; WF_DTYPE_NONE when there is no such dtype. */
WF_API wf_dtype wf_dtype_parse(const char *name);
static inline bool wf_dtype_is_float(wf_dtype d) { return wf_dtype_kind_of(d) == WF_KIND_FLOAT; }
/** The dtype that `a` and `b`, both of rank 1 or more, promote to (torch.promote_types). */
WF_API wf_dtype wf_promote_types(wf_dtype a, wf_dtype b);
/** Whether an in-place result of dtype `from` may be stored as `to` (torch.can_cast). */
WF_API bool wf_can_cast(wf_dtype from, wf_dtype to);

/** Order of dimensions in memory. */
typedef enum wf_memory_format {
  WF_FORMAT_CONTIGUOUS = 0,      /* row-major */
  WF_FORMAT_PRESERVE = 1,        /* like the source */
  WF_FORMAT_CHANNELS_LAST = 2,   /* rank 4: N H W C in memory */
  WF_FORMAT_CHANNELS_LAST_3D = 3 /* rank 5: N D H W C in memory */
} wf_memory_format;

WF_EXTERN_C_END
#endif
