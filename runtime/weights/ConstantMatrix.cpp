#include "runtime/weights/ConstantMatrix.h"

#include "runtime/artifact/ScalarDependence.h"

namespace shardc::runtime {

bool findConstantMatrix(const artifact::Program &program,
                        std::span<const uint8_t> dependence,
                        std::span<const int64_t> scalars, uint32_t number,
                        int rank, TensorView &matrix) {
  const artifact::View &view = *program.views()->Get(number);
  const auto isFixed = [&](uint32_t scalar) {
    return (dependence[scalar] & kOnSymbols) == 0;
  };
  const uint32_t all = view.dims()->size(), inside = uint32_t(rank);
  if (all < inside || !isFixed(view.offset()))
    return false;
  matrix = TensorView();
  matrix.element = view.element();
  matrix.rank = rank;
  for (uint32_t d = 0; d < all; ++d) {
    const uint32_t size = view.dims()->Get(d), stride = view.strides()->Get(d);
    const bool isOne = isFixed(size) && scalars[size] == 1;
    const bool isBroadcast = isFixed(stride) && scalars[stride] == 0;
    const bool isInside = d + inside >= all;
    if (isInside ? !isFixed(size) || !isFixed(stride) : !isOne && !isBroadcast)
      return false;
    if (!isInside)
      continue;
    matrix.dims[d + inside - all] = scalars[size];
    matrix.strides[d + inside - all] = scalars[stride];
  }
  return true;
}

} // namespace shardc::runtime
