//===- KernelComparison.h - Kernels of two backends side by side ----------===//
//
//   Tensor y = Tensor::filled<float>({2, 3}, 9);
//   compare("Relu", {x}, {y}, {}, kExact);
//
// runs the host's kernel and the CUDA plugin's on the same operands, each with
// outputs of its own, and expects what they write to agree, and nothing to be
// written between the elements of a view.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_KERNELCOMPARISON_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_KERNELCOMPARISON_H

#include "tests/unit/kernels/KernelTest.h"

#include <functional>

namespace shardc::runtime {
class CudaStream;
}

namespace shardc::testing {

using runtime::Status;
using runtime::host::Attributes;
using runtime::host::Dims;
using runtime::host::Tensor;

/// Largest difference, relative to values above 1.
inline constexpr double kExact = 0;

/// How near results of that type are that were computed in different orders.
double toleranceOf(artifact::ElementType element);

/// Runs the plugin's kernel and waits for it. With `prepare` twice, on a stream
/// that it was given before.
Status
runOnDevice(std::string_view name, const std::vector<Tensor> &inputs,
            const std::vector<Tensor> &outputs,
            const Attributes &attributes = {},
            const std::function<void(runtime::CudaStream &)> &prepare = {});

void expectNear(std::string_view name, const Tensor &expected,
                const Tensor &found, double tolerance);

/// Outputs are the host's; they hold its results afterwards. An output that is
/// an input, too, stays one.
void compare(std::string_view name, const std::vector<Tensor> &inputs,
             const std::vector<Tensor> &outputs, const Attributes &attributes,
             double tolerance);

/// Numbers from -2 to 2 that differ with the seed, rounded to T.
template <typename T> Tensor numbers(const Dims &dims, uint32_t seed = 1) {
  using C = runtime::host::Compute<T>;
  Tensor tensor = Tensor::filled<T>(dims, T());
  uint32_t state = seed * 2654435761u + 12345u;
  for (int64_t i = 0; i < tensor.view.numElements(); ++i) {
    state = state * 1664525u + 1013904223u;
    if constexpr (std::is_integral_v<C>)
      tensor.view.as<T>()[i] = T(C(state >> 9));
    else
      tensor.view.as<T>()[i] = T(C(double(state >> 8) / double(1 << 22) - 2));
  }
  return tensor;
}

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_KERNELCOMPARISON_H
