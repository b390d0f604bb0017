//===- IndexReader.h - Index tensors of int32 or int64 --------------------===//

#ifndef SHARDC_RUNTIME_KERNELS_INDEX_INDEXREADER_H
#define SHARDC_RUNTIME_KERNELS_INDEX_INDEXREADER_H

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace shardc::runtime::host {

/// Reads elements by their offset in the view.
class IndexReader {
public:
  explicit IndexReader(const TensorView &view)
      : data(view.data), isWide(view.element == artifact::ElementType_Int64) {}

  SHARDC_HOST_DEVICE int64_t operator[](int64_t offset) const {
    return isWide ? reinterpret_cast<const int64_t *>(data)[offset]
                  : reinterpret_cast<const int32_t *>(data)[offset];
  }
  /// Negative indices count from the end of a dim of that size.
  SHARDC_HOST_DEVICE int64_t wrapped(int64_t offset, int64_t size) const {
    const int64_t index = (*this)[offset];
    return index < 0 ? index + size : index;
  }

private:
  const std::byte *data;
  bool isWide;
};

inline Status expectIndices(std::string_view kernel, const TensorView &view) {
  return dispatch(IndexTypes(), view.element, kernel, [](auto) {});
}

inline std::string outsideText(int64_t index, int64_t size) {
  return "index " + std::to_string(index) + " is outside of a dim of size " +
         std::to_string(size);
}

/// What a model chooses by an index follows from its inputs: it is the caller's.
inline Status indexFailure(std::string_view kernel, int64_t index,
                           int64_t size) {
  return Status::error(StatusCode::InvalidArgument,
                       std::string(kernel) + ": " + outsideText(index, size));
}

/// All indices are in [-size, size).
inline Status expectInRange(std::string_view kernel, const TensorView &indices,
                            int64_t size) {
  const IndexReader read(indices);
  bool isBad = false;
  int64_t bad = 0;
  forEachIndex(nestOf(indices), [&](const int64_t (&at)[1]) {
    const int64_t index = read[at[0]];
    if (index < -size || index >= size) {
      isBad = true;
      bad = index;
    }
  });
  return isBad ? indexFailure(kernel, bad, size) : Status::ok();
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_INDEX_INDEXREADER_H
