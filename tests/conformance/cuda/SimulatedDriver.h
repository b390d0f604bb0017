//===- SimulatedDriver.h - Functions of the driver ------------------------===//
//
// They are found by name, as the plugin finds those of the driver, which it
// does not link.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDDRIVER_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDDRIVER_H

#include <cuda.h>
#include <initializer_list>
#include <string_view>

namespace shardc::testing {

struct DriverEntry {
  std::string_view name;
  void *function;
};

/// Also says that it has the form of the driver's.
template <typename Function>
DriverEntry driverEntry(std::string_view name, Function *function) {
  return {name, reinterpret_cast<void *>(function)};
}

/// A file's, there before main.
struct SimulatedDriver {
  SimulatedDriver(std::initializer_list<DriverEntry> entries);
};

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_SIMULATEDDRIVER_H
