/* All of Weft's public face but weft/sys/. */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/autograd.h>
#include <weft/base.h>
#include <weft/call.h>
#include <weft/copy.h>
#include <weft/create.h>
#include <weft/data.h>
#include <weft/device.h>
#include <weft/explain.h>
#include <weft/dtype.h>
#include <weft/functional.h>
#include <weft/index.h>
#include <weft/io.h>
#include <weft/join.h>
#include <weft/linalg.h>
#include <weft/math.h>
#include <weft/memory.h>
#include <weft/nn.h>
#include <weft/optim.h>
#include <weft/reduce.h>
#include <weft/random.h>
#include <weft/tensor.h>
#include <weft/trace.h>
#include <weft/view.h>

#endif
