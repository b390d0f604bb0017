#include "tests/conformance/cuda/SimulatedDriver.h"

#include "tests/conformance/cuda/SimulatedDevice.h"

#include <map>

namespace shardc::testing {

static std::map<std::string_view, void *> &functions() {
  static std::map<std::string_view, void *> all; // before all files' own
  return all;
}

SimulatedDriver::SimulatedDriver(std::initializer_list<DriverEntry> entries) {
  for (const DriverEntry &entry : entries)
    functions()[entry.name] = entry.function;
}

} // namespace shardc::testing

using namespace shardc::testing;

extern "C" cudaError_t
cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned,
                                 unsigned long long,
                                 cudaDriverEntryPointQueryResult *result) {
  const auto found = functions().find(symbol);
  *function = found == functions().end() ? nullptr : found->second;
  *result = *function ? cudaDriverEntryPointSuccess
                      : cudaDriverEntryPointSymbolNotFound;
  return noted(cudaSuccess);
}
