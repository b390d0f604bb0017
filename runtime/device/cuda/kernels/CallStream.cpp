#include "runtime/device/cuda/kernels/CallStream.h"

#include "runtime/device/cuda/CudaStream.h"

namespace shardc::runtime::cuda {

cudaStream_t streamOf(const KernelCall &call) {
  return CudaStream::of(call).stream();
}

Fault mayFail(const KernelCall &call, const char *problem, StatusCode code) {
  CudaStream &stream = CudaStream::of(call);
  return {stream.faultWord(), stream.mayFail(problem, code)};
}

} // namespace shardc::runtime::cuda
