//===- BlockLayout.h - A rank's part of a tensor, within the whole --------===//
//
// Programs count elements of a rank's own, dense part of a weight. Where the part
// is a block of the row-major whole, a view of it may be one of the whole as well,
// and nothing need be copied. Columns 3 to 5 of a weight [4, 6]:
//
//   of the part     [4, 3], strides {3, 1}, offset 0
//   of the whole    [4, 3], strides {6, 1}, from the block's first element on
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TENSOR_BLOCKLAYOUT_H
#define SHARDC_RUNTIME_TENSOR_BLOCKLAYOUT_H

#include "runtime/tensor/Ownership.h"
#include "runtime/tensor/TensorView.h"

#include <optional>

namespace shardc::runtime {

/// Where the elements of a part lie, from its first one on.
class BlockLayout {
public:
  /// Nothing where the part is empty, or some dim of it is no single run.
  static std::optional<BlockLayout> of(std::span<const OwnedRuns> owned);

  /// The first element of the part, in the whole.
  int64_t first() const { return firstElement; }
  /// From there to behind the last one.
  int64_t extent() const;

  /// Makes strides and offset of a view of the part those of the same view of the
  /// whole. False where it goes from one row of the block to the next as if they
  /// were dense: then nothing is changed.
  bool see(TensorView &view, int64_t &offset) const;

private:
  /// Neighbours that lie dense in the whole are one.
  struct Dim {
    int64_t size, stride, wholeStride;
  };
  std::vector<Dim> dims; ///< innermost first, none of size 1
  int64_t firstElement = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_BLOCKLAYOUT_H
