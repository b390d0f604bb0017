//===- TensorView.h - A window on elements in memory ----------------------===//
#ifndef SHARDC_RUNTIME_TENSOR_TENSORVIEW_H
#define SHARDC_RUNTIME_TENSOR_TENSORVIEW_H

#include "runtime/artifact/Format.h"

#include <cstddef>
#include <cstdint>

namespace shardc::runtime {

using artifact::kMaxRank;

/// Strided window on memory that somebody else owns. Strides count elements.
struct TensorView {
  std::byte *data = nullptr; ///< of element (0, ..., 0); null if absent
  artifact::ElementType element = artifact::ElementType_Float32;
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};
  /// Of elements smaller than a byte: how many of the first byte come before
  /// (0, ..., 0). See SubByte.h.
  int64_t skipped = 0;

  bool isAbsent() const { return data == nullptr && rank < 0; }
  int64_t numElements() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d)
      n *= dims[d];
    return n;
  }
  /// Row-major without gaps (dims of size 1 may have any stride).
  bool isContiguous() const {
    int64_t expected = 1;
    for (int d = rank - 1; d >= 0; --d) {
      if (dims[d] != 1 && strides[d] != expected)
        return false;
      expected *= dims[d];
    }
    return true;
  }
  template <typename T> T *as() const { return reinterpret_cast<T *>(data); }
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_TENSORVIEW_H
