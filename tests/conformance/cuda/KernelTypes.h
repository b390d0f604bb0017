//===- KernelTypes.h - A test for each element type -----------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_KERNELTYPES_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_KERNELTYPES_H

#include "runtime/kernels/Dispatch.h"

namespace shardc::testing {

/// Calls body with the tag of each type.
template <typename... Ts, typename Body>
void forTypes(runtime::host::TypeList<Ts...>, Body body) {
  (body(runtime::host::Tag<Ts>()), ...);
}

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_KERNELTYPES_H
