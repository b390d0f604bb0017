//===- Work.h - What an instruction cannot do without ---------------------===//
//
// The bytes of its operands, each once, and the multiply-adds of products: with
// what a device can do at best (device/DeviceLimits.h) the shortest time that it can
// take, the roofline of Williams, Waterman and Patterson (2009).
//
//   MatMul [128, 768] x [768, 3072] in f32   302 million multiply-adds, 11.4 MB
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRACE_WORK_H
#define SHARDC_RUNTIME_TRACE_WORK_H

#include "runtime/kernels/Kernel.h"

namespace shardc::runtime {

struct Work {
  int64_t bytes = 0;
  int64_t multiplyAdds = 0;
};

/// Of a kernel of that name. Attention counts all pairs of queries and keys,
/// masked ones too.
Work workOf(std::string_view kernel, const KernelCall &call);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRACE_WORK_H
