//===- KernelComparison.h - Kernels of two backends side by side ----------===//
//
//   Tensor y = Tensor::filled<float>({2, 3}, 9);
//   compare("Relu", {x}, {y}, {}, kExact);
//
// runs the host's kernel and the backend `cuda`'s on the same operands, each
// with outputs of its own, and expects what they write to agree, and nothing to
// be written between the elements of a view. Which plugin that is,
// SHARDC_BACKENDS says: that on a simulated CUDA, or the real one where there
// is a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_KERNELCOMPARISON_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_KERNELCOMPARISON_H

#include "runtime/device/Backend.h"
#include "tests/unit/kernels/KernelTest.h"

namespace shardc::testing {

using runtime::Status;
using runtime::host::Attributes;
using runtime::host::Dims;
using runtime::host::Tensor;

/// Largest difference, relative to values above 1.
inline constexpr double kExact = 0;

/// How near results of that type are that were computed in different orders.
double toleranceOf(artifact::ElementType element);

/// Runs a kernel on copies of the operands there and waits for it, `times` in
/// a row; what the outputs hold then comes back.
Status runOn(runtime::Device &device, runtime::DeviceStream &stream,
             std::string_view name, const std::vector<Tensor> &inputs,
             const std::vector<Tensor> &outputs,
             const Attributes &attributes = {}, int times = 1);

/// On the backend's first device.
Status runOnDevice(std::string_view name, const std::vector<Tensor> &inputs,
                   const std::vector<Tensor> &outputs,
                   const Attributes &attributes = {});

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
