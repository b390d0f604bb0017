#include "runtime/weights/ConstantMatrix.h"

#include "runtime/artifact/ScalarDependence.h"

namespace shardc::runtime {

std::optional<ConstantMatrix> findConstantMatrix(
    const artifact::Program &program, std::span<const uint8_t> dependence,
    std::span<const int64_t> scalars, uint32_t number, int rank) {
  const artifact::View &view = *program.views()->Get(number);
  const auto isKnown = [&](uint32_t scalar) {
    return isFixed(dependence, scalar);
  };
  const uint32_t all = view.dims()->size(), inside = uint32_t(rank);
  if (all < inside || !isKnown(view.offset()))
    return std::nullopt;
  ConstantMatrix found;
  TensorView &matrix = found.view;
  matrix.element = view.element();
  matrix.rank = rank;
  for (uint32_t d = 0; d < all; ++d) {
    const uint32_t size = view.dims()->Get(d), stride = view.strides()->Get(d);
    const bool isOne = isKnown(size) && scalars[size] == 1;
    const bool isBroadcast = isKnown(stride) && scalars[stride] == 0;
    const bool isInside = d + inside >= all;
    if (isInside ? !isKnown(size) || !isKnown(stride) : !isOne && !isBroadcast)
      return std::nullopt;
    if (!isInside)
      continue;
    matrix.dims[d + inside - all] = scalars[size];
    matrix.strides[d + inside - all] = scalars[stride];
  }
  const int64_t bits = artifact::elementBits(matrix.element);
  const int64_t first = scalars[view.offset()] * bits;
  found.byteOffset = first / 8;
  matrix.skipped = first % 8 / bits;
  return found;
}

} // namespace shardc::runtime
