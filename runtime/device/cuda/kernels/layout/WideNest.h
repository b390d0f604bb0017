//===- WideNest.h - Elements that are moved several at a time -------------===//
//
//   Nest<2> nest = nestOf(to, from);          // [12, 128, 64] of halves
//   WideNest<2> wide(nest, {&to, &from}, 2);  // 12 x 128 x 8 words of 16 bytes
//   step / wide.factor                        // what else counts elements
//
// A word is of 1, 2, 4, 8 or 16 bytes: the most that divides what lies side by
// side, all distances, and where memory begins.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_WIDENEST_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_WIDENEST_H

#include "runtime/device/cuda/kernels/layout/Nest.h"

#include <initializer_list>

namespace shardc::runtime::cuda {

/// `moved` are the first views of the nest; the others stand still along the
/// last dim, or else elements stay as they are. `distances` are others that
/// words have to divide.
template <int N> class WideNest {
public:
  static constexpr int64_t kMostBytes = 16;

  WideNest(const Nest<N> &nest, std::initializer_list<const TensorView *> moved,
           int64_t bytes, std::initializer_list<int64_t> distances = {})
      : nest(nest), bytes(bytes), numMoved(static_cast<int>(moved.size())) {
    for (; factor * this->bytes < kMostBytes; factor *= 2)
      if (!divides(2 * factor, moved, distances))
        break;
    if (factor == 1)
      return;
    const int last = nest.rank - 1;
    this->bytes *= factor;
    this->nest.count /= factor;
    this->nest.dims[last] /= factor;
    for (int v = 0; v < numMoved; ++v)
      for (int d = 0; d < last; ++d)
        this->nest.strides[v][d] /= factor;
  }

  Nest<N> nest;
  int64_t bytes;      ///< of a word
  int64_t factor = 1; ///< elements of a word

private:
  bool divides(int64_t by, std::initializer_list<const TensorView *> moved,
               std::initializer_list<int64_t> distances) const {
    const int last = nest.rank - 1;
    if (last < 0 || bytes <= 0 || nest.dims[last] % by != 0)
      return false;
    for (int v = 0; v < N; ++v) {
      if (nest.strides[v][last] != (v < numMoved ? 1 : 0))
        return false;
      for (int d = 0; d < last && v < numMoved; ++d)
        if (nest.strides[v][d] % by != 0)
          return false;
    }
    for (const TensorView *view : moved)
      if (reinterpret_cast<uintptr_t>(view->data) %
              static_cast<uintptr_t>(by * bytes) !=
          0)
        return false;
    return std::all_of(distances.begin(), distances.end(),
                       [=](int64_t distance) { return distance % by == 0; });
  }

  int numMoved;
};

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_WIDENEST_H
