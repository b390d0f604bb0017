//===- KernelTest.h - Tensors and calls for kernel tests ------------------===//
//
// Oracles are naive loops in double over small-integer data, so that products
// and sums are exact and results compare with ==. Views come in every layout:
//
//   Tensor x = Tensor::integers<float>({2, 3, 4});
//   Tensor y = Tensor::filled<float>({4, 2, 3}, 9);
//   EXPECT_OK(runKernel("Copy", {x.permuted({2, 0, 1})}, {y}));
//   EXPECT_EQ(y.at<float>({3, 1, 2}), x.at<float>({1, 2, 3}));
//
// Scratch is exactly as large as the kernel asked for; writing beyond it fails
// the test.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_UNIT_KERNELS_KERNELTEST_H
#define SHARDC_TESTS_UNIT_KERNELS_KERNELTEST_H

#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/StorageTypes.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime::host {

using Dims = std::vector<int64_t>;

/// A view together with the memory that it points to, which copies share.
class Tensor {
public:
  template <typename T> static Tensor filled(const Dims &dims, T value) {
    Tensor tensor(elementTypeOf<T>(), dims);
    for (int64_t i = 0; i < tensor.view.numElements(); ++i)
      tensor.view.as<T>()[i] = value;
    return tensor;
  }
  template <typename T>
  static Tensor of(const Dims &dims, const std::vector<Compute<T>> &values) {
    Tensor tensor(elementTypeOf<T>(), dims);
    EXPECT_EQ(tensor.view.numElements(), int64_t(values.size()));
    for (size_t i = 0; i < values.size(); ++i)
      tensor.view.as<T>()[i] = T(values[i]);
    return tensor;
  }
  /// Small integers from -3 to 3, different for each seed.
  template <typename T>
  static Tensor integers(const Dims &dims, uint32_t seed = 1) {
    Tensor tensor(elementTypeOf<T>(), dims);
    uint32_t state = seed * 2654435761u + 12345u;
    for (int64_t i = 0; i < tensor.view.numElements(); ++i) {
      state = state * 1664525u + 1013904223u;
      tensor.view.as<T>()[i] = T(Compute<T>(int(state >> 16) % 7 - 3));
    }
    return tensor;
  }
  static Tensor absent() {
    Tensor tensor(artifact::ElementType_Float32, {0});
    tensor.view = TensorView();
    tensor.view.rank = -1;
    return tensor;
  }

  /// With memory of its own.
  Tensor copy() const;
  /// Whether all memory is alike, also what views leave out.
  bool hasMemoryOf(const Tensor &other) const {
    return *memory == *other.memory;
  }

  /// All memory, also what views leave out.
  std::span<std::byte> bytes() const {
    return std::as_writable_bytes(std::span(*memory));
  }

  Dims dims() const { return Dims(view.dims, view.dims + view.rank); }
  /// Dim d of the result is dim order[d] of this.
  Tensor permuted(const std::vector<int> &order) const;
  /// Size 1 or missing leading dims become the given ones, with stride 0.
  Tensor broadcast(const Dims &dims) const;
  /// Elements begin, begin + step, ... of a dim.
  Tensor slice(int dim, int64_t begin, int64_t size, int64_t step = 1) const;
  /// The same values in memory with gaps and in another order of dims.
  Tensor scattered() const;

  int64_t offset(const Dims &index) const {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * view.strides[d];
    return offset;
  }
  template <typename T> Compute<T> at(const Dims &index) const {
    return Compute<T>(view.as<T>()[offset(index)]);
  }
  /// All elements in row-major order.
  template <typename T> std::vector<Compute<T>> values() const;

  TensorView view;

private:
  Tensor(artifact::ElementType element, const Dims &dims);
  std::shared_ptr<std::vector<uint64_t>> memory;
};

/// Calls body for every index of the dims, in row-major order.
void forEach(const Dims &dims, const std::function<void(const Dims &)> &body);

template <typename T> std::vector<Compute<T>> Tensor::values() const {
  std::vector<Compute<T>> result;
  forEach(dims(), [&](const Dims &index) { result.push_back(at<T>(index)); });
  return result;
}

class Attributes {
public:
  Attributes &&ints(std::string_view name, std::vector<int64_t> values) &&;
  Attributes &&number(std::string_view name, double value) &&;
  Attributes &&text(std::string_view name, std::string_view value) &&;
  std::vector<KernelAttribute> list() const;

private:
  struct Entry {
    std::string_view name, text;
    std::vector<int64_t> ints;
    std::vector<double> floats;
  };
  std::vector<Entry> entries;
};

Status runKernel(std::string_view name, const std::vector<Tensor> &inputs,
                 const std::vector<Tensor> &outputs,
                 const Attributes &attributes = {});
/// The same with the operand that the kernel packs packed, if it can be.
Status runPacked(std::string_view name, const std::vector<Tensor> &inputs,
                 const std::vector<Tensor> &outputs,
                 const Attributes &attributes = {});

#define EXPECT_OK(expression)                                                  \
  do {                                                                         \
    const ::shardc::runtime::Status status_ = (expression);                    \
    EXPECT_TRUE(status_.isOk()) << status_.message();                          \
  } while (false)

} // namespace shardc::runtime::host

#endif // SHARDC_TESTS_UNIT_KERNELS_KERNELTEST_H
