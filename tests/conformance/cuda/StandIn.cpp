//===- StandIn.cpp - As much of CUDA as kernels need ----------------------===//
//
// Work is done when it is enqueued, device memory is the host's, and products
// are loops. A simulated runtime can be linked instead, with GemmCache.cpp.
//
//===----------------------------------------------------------------------===//
#include "runtime/backend/cuda/GemmCache.h"
#include "runtime/backend/cuda/kernels/Launch.h"

#include "runtime/backend/host/kernels/Dispatch.h"

#include <cstdlib>
#include <cstring>

namespace shardc::testing {

cudaError_t enqueueSimulated(cudaStream_t, std::function<void()> work) {
  work();
  return cudaSuccess;
}

bool isSimulatedGrid(dim3 blocks, dim3 threads, size_t sharedBytes,
                     size_t mostShared) {
  return blocks.x >= 1 && blocks.y - 1 < 65535 && blocks.z - 1 < 65535 &&
         threads.x - 1 < 1024 && sharedBytes <= mostShared;
}

void translateWord(void *) {} // addresses are the host's

} // namespace shardc::testing

extern "C" {

cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t) { return "an error"; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags,
                                         int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  *event = nullptr;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
// No kernel is captured here.
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return cudaErrorNotSupported;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *) {
  return cudaErrorNotSupported;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t,
                                 unsigned long long) {
  return cudaErrorNotSupported;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) {
  return cudaErrorNotSupported;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
cudaError_t cudaMalloc(void **memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void **memory, size_t bytes) {
  return cudaMalloc(memory, bytes);
}
cudaError_t cudaFree(void *memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void *memory) { return cudaFree(memory); }
cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes,
                            cudaStream_t) {
  return cudaMemset(memory, value, bytes);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t,
                              size_t, cudaMemcpyKind, cudaStream_t) {
  std::abort(); // no kernel asks for it
}

} // extern "C"

namespace shardc::runtime {
namespace {

template <typename T>
host::Compute<T> elementOf(const ProductOperand &operand, const std::byte *data,
                           int64_t batch, int64_t row, int64_t column) {
  const int64_t at = batch * operand.batchStride +
                     (operand.isTransposed ? column * operand.leading + row
                                           : row * operand.leading + column);
  return host::Compute<T>(reinterpret_cast<const T *>(data)[at]);
}

template <typename T>
void multiplyAs(const ProductPlan &plan, const std::byte *a, const std::byte *b,
                std::byte *c, double alpha, double beta, const void *bias) {
  for (int64_t batch = 0; batch < plan.batches; ++batch)
    for (int64_t i = 0; i < plan.c.rows; ++i)
      for (int64_t j = 0; j < plan.c.columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < plan.a.columns; ++k)
          sum += double(elementOf<T>(plan.a, a, batch, i, k)) *
                 double(elementOf<T>(plan.b, b, batch, k, j));
        sum *= alpha;
        if (beta != 0)
          sum += beta * double(elementOf<T>(plan.c, c, batch, i, j));
        if (bias)
          sum += double(host::Compute<T>(static_cast<const T *>(bias)[j]));
        const int64_t at = batch * plan.c.batchStride +
                           (plan.c.isTransposed ? j * plan.c.leading + i
                                                : i * plan.c.leading + j);
        reinterpret_cast<T *>(c)[at] = T(host::Compute<T>(sum));
      }
}

} // namespace

GemmCache::~GemmCache() = default;
Status GemmCache::open() { return Status::ok(); }

Status GemmCache::multiply(const ProductPlan &plan,
                           artifact::ElementType element, const std::byte *a,
                           const std::byte *b, std::byte *c, double alpha,
                           double beta, const GemmEpilogue &epilogue,
                           cudaStream_t) {
  return host::dispatch(host::FloatTypes(), element, "product", [&](auto tag) {
    multiplyAs<typename decltype(tag)::Type>(plan, a, b, c, alpha, beta,
                                             epilogue.bias);
  });
}

} // namespace shardc::runtime
