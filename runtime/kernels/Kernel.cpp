#include "runtime/kernels/Kernel.h"

#include <cassert>
#include <map>
#include <string>

namespace shardc::runtime {

// A function's static, so that it exists before any registration runs; never
// destroyed, since a rank that hangs may still call a kernel while main
// returns.
static std::map<std::string, Kernel, std::less<>> &registry() {
  static auto &kernels = *new std::map<std::string, Kernel, std::less<>>;
  return kernels;
}

const Kernel *findHostKernel(std::string_view name) {
  auto it = registry().find(name);
  return it == registry().end() ? nullptr : &it->second;
}

HostKernelRegistration::HostKernelRegistration(std::string_view name,
                                               Kernel kernel) {
  [[maybe_unused]] bool fresh = registry().emplace(name, kernel).second;
  assert(fresh && "two kernels have the same name");
}

const KernelAttribute *KernelCall::find(std::string_view name) const {
  for (int i = 0; i < numAttributes; ++i)
    if (attributes[i].name == name)
      return &attributes[i];
  return nullptr;
}

int64_t KernelCall::intOr(std::string_view name, int64_t otherwise) const {
  const KernelAttribute *attribute = find(name);
  return attribute && attribute->numInts > 0 ? attribute->ints[0] : otherwise;
}

double KernelCall::floatOr(std::string_view name, double otherwise) const {
  const KernelAttribute *attribute = find(name);
  return attribute && attribute->numFloats > 0 ? attribute->floats[0]
                                               : otherwise;
}

} // namespace shardc::runtime
