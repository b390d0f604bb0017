//===- CudaPages.h - Memory of a GPU that grows in place ------------------===//
//
// The driver's virtual memory: addresses are reserved once, and pages (2 MiB on
// the GPUs of today) are made and mapped behind them as they are needed, as in
// vAttention (arXiv 2405.04437). Kernels see memory like any other.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_CUDAPAGES_H
#define SHARDC_RUNTIME_DEVICE_CUDA_CUDAPAGES_H

#include "runtime/device/GrowingMemory.h"

#include <cuda.h>
#include <memory>
#include <vector>

namespace shardc::runtime {

/// How a GPU maps its pages.
struct CudaPaging {
  int64_t pageBytes = 0; ///< 0: it cannot; all memory comes at once
  CUmemAllocationProp page = {};
  /// This GPU, and those that reach its memory: unlike cudaMalloc's, pages are
  /// not opened to them by NCCL.
  std::vector<CUmemAccessDesc> access;
};

/// Of the current device. A page is made, to see that it can be: attributes say
/// so on machines, too, whose driver then refuses.
CudaPaging findCudaPaging(int device);

/// For a GPU that can. Null: there are no such addresses.
std::unique_ptr<GrowingMemory> reserveCudaPages(const CudaPaging &paging,
                                                int64_t bytes);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_CUDAPAGES_H
