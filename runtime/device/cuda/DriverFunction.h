//===- DriverFunction.h - A function of the driver ------------------------===//
//
// The driver is not linked: a plugin that needs it could not be opened where
// there is none.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_DRIVERFUNCTION_H
#define SHARDC_RUNTIME_DEVICE_CUDA_DRIVERFUNCTION_H

#include <cuda_runtime_api.h>

namespace shardc::runtime {

/// As it was in CUDA 12; null: the driver has none. `name` is without the
/// suffix that cuda.h may give it.
template <typename Function>
bool findDriverFunction(const char *name, Function &function) {
  constexpr unsigned kSince = 12000;
  void *found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = cudaGetDriverEntryPointByVersion(
      name, &found, kSince, cudaEnableDefault, &result);
  if (error != cudaSuccess)
    (void)cudaGetLastError();
  const bool isFound =
      error == cudaSuccess && found && result == cudaDriverEntryPointSuccess;
  function = isFound ? reinterpret_cast<Function>(found) : nullptr;
  return isFound;
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_DEVICE_CUDA_DRIVERFUNCTION_H
