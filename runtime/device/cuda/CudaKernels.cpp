#include "runtime/device/cuda/CudaKernels.h"

#include <map>
#include <string>

namespace shardc::runtime {

// A function's static, so that it exists before any registration runs.
static std::map<std::string, Kernel, std::less<>> &registry() {
  static auto &kernels = *new std::map<std::string, Kernel, std::less<>>;
  return kernels;
}

const Kernel *findCudaKernel(std::string_view name) {
  auto it = registry().find(name);
  return it == registry().end() ? nullptr : &it->second;
}

CudaKernelRegistration::CudaKernelRegistration(std::string_view name,
                                               Kernel kernel) {
  registry().emplace(name, kernel);
}

} // namespace shardc::runtime
