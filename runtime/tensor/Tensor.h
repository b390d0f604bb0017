//===- Tensor.h - Inputs and outputs of a run -----------------------------===//
#ifndef SHARDC_RUNTIME_TENSOR_TENSOR_H
#define SHARDC_RUNTIME_TENSOR_TENSOR_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/base/Status.h"
#include "runtime/tensor/DeviceView.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

using artifact::ElementType;
using enum artifact::ElementType; // ElementType_Int64

/// An input: the caller's memory, dense and row-major, aligned to its elements.
/// Read during run() only, and never written.
struct InputTensor {
  std::string_view name;
  ElementType element = artifact::ElementType_Float32;
  std::span<const int64_t> dims;
  const void *data = nullptr; ///< may be null if there are no elements
  /// The same in memory of a device, of any strides; `data` is its address. Null:
  /// it is the host's.
  const DeviceView *onDevice = nullptr;
};

/// An output: dense, row-major, in memory of its own or in the caller's.
class Tensor {
public:
  Tensor() = default; ///< owns memory that grows as needed and is reused
  /// The memory goes along; `other` is as if new.
  Tensor(Tensor &&other) noexcept { swap(other); }
  Tensor &operator=(Tensor &&other) noexcept {
    Tensor taken(std::move(other));
    swap(taken);
    return *this;
  }
  /// Uses `capacity` bytes at `data`, aligned to the elements; a run that needs
  /// more is an error. The caller keeps the memory alive.
  static Tensor borrow(void *data, int64_t capacity);
  /// In memory of a device, of any strides, with elements and dims as they are.
  /// The view lives longer; the host does not follow data().
  static Tensor onDevice(const DeviceView &memory);

  ElementType element() const { return type; }
  std::span<const int64_t> dims() const {
    return {sizes, static_cast<size_t>(rank)};
  }
  int64_t numElements() const;
  int64_t bytes() const;
  std::byte *data() const { return memory; }
  /// Null: it is in the host's memory.
  const DeviceView *deviceView() const { return device; }
  template <typename T> T *as() const { return reinterpret_cast<T *>(memory); }

  /// Sets type and shape; contents are undefined afterwards.
  Status reshape(ElementType element, std::span<const int64_t> dims);
  /// From now on a run that makes anything else than it has now is an error.
  void fix() { isFixed = true; }

private:
  void swap(Tensor &other) noexcept;

  ElementType type = artifact::ElementType_Float32;
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
  std::byte *memory = nullptr;
  int64_t capacity = 0;
  bool borrowed = false, isFixed = false;
  const DeviceView *device = nullptr;
  AlignedBuffer owned;
};

struct TensorInfo {
  std::string name;
  ElementType element;
  std::vector<std::string> dims; ///< "8", "batch", "past + seq"
  /// Elements look up rows of a table that has so many; 0: none, as far as it is
  /// known.
  int64_t numRows = 0;
};

/// "int64 [batch, seq]"
std::string typeText(const TensorInfo &info);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_TENSOR_H
