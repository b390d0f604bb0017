//===- NvtxRange.h - Names of ONNX nodes for NVIDIA's profilers -----------===//
//
// What a rank enqueues while a range is open, a profiler (Nsight Systems) shows
// below its name: "MatMul /layers.0/up". Costs a branch where there is none.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_TRACE_NVTXRANGE_H
#define SHARDC_RUNTIME_DEVICE_CUDA_TRACE_NVTXRANGE_H

#include "runtime/collectives/Communicator.h"

namespace shardc::runtime {

class NvtxRange {
public:
  explicit NvtxRange(const CollectiveSite &site);
  ~NvtxRange();
  NvtxRange(const NvtxRange &) = delete;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_TRACE_NVTXRANGE_H
