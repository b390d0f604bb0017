//===- AttentionRows.h - What rows of attention have seen -----------------===//
//
// Shared by the host's attention and that of GPUs.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_ATTENTION_ATTENTIONROWS_H
#define SHARDC_RUNTIME_KERNELS_ATTENTION_ATTENTIONROWS_H

#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/elementwise/FloatMath.h"

#include <algorithm>
#include <limits>

namespace shardc::runtime::host {

/// Which rows of the softmax are zero instead: those that see no key, all that
/// are NaN, or none of them.
enum class ZeroRows { Hidden, NaN, None };

inline ZeroRows zeroRowsOf(const KernelCall &call) {
  const KernelAttribute *rows = call.find("zero_rows");
  return !rows                  ? ZeroRows::Hidden
         : rows->text == "nan"  ? ZeroRows::NaN
         : rows->text == "none" ? ZeroRows::None
                                : ZeroRows::Hidden;
}

/// Without any key a row is a sum of nothing, whatever zero_rows says.
inline ZeroRows zeroRowsOf(const KernelCall &call, const TensorView &keys) {
  return keys.dims[2] == 0 ? ZeroRows::NaN : zeroRowsOf(call);
}

/// What a row has seen so far: values relative to the maximum, not divided by
/// the sum yet.
template <typename Acc> struct RowState {
  static constexpr Acc kInfinity = std::numeric_limits<Acc>::infinity();
  Acc *values;
  Acc *stats; ///< maximum, sum

  void clear(int64_t columns) const {
    std::fill(values, values + columns, Acc(0));
    stats[0] = -kInfinity;
    stats[1] = 0;
  }
  /// What values and sum are to be multiplied by under a maximum that is no
  /// smaller.
  Acc factorFor(Acc maximum) const {
    return stats[0] == maximum ? Acc(1) : exponential(stats[0] - maximum);
  }
};

/// Makes the result of a row that has seen this maximum and sum. `sink` is one
/// more score, without a value; -inf where there is none.
template <typename Acc> class RowResult {
public:
  SHARDC_HOST_DEVICE RowResult(Acc seen, Acc sum, Acc sink, ZeroRows zeroRows) {
    constexpr Acc infinity = std::numeric_limits<Acc>::infinity();
    const Acc maximum = sink > seen ? sink : seen;
    isEmpty = zeroRows == ZeroRows::Hidden ? maximum == -infinity
                                           : !std::isfinite(maximum);
    empty = zeroRows == ZeroRows::None ? std::numeric_limits<Acc>::quiet_NaN()
                                       : Acc(0);
    factor = seen == maximum ? Acc(1) : exponential(seen - maximum);
    total = sum * factor +
            (sink == -infinity ? Acc(0) : exponential(sink - maximum));
  }
  SHARDC_HOST_DEVICE Acc of(Acc value) const {
    return isEmpty ? empty : value * factor / total;
  }

private:
  bool isEmpty;
  Acc empty, factor, total;
};

/// Places and sizes of the pieces of a dim; one of all `whole` elements where
/// the call does not say.
class Pieces {
public:
  Pieces(const KernelCall &call, std::string_view name, int64_t whole)
      : only{0, whole} {
    if (const KernelAttribute *found = call.find(name)) {
      pairs = found->ints;
      numPairs = found->numInts / 2;
    }
  }
  int count() const { return numPairs; }
  int64_t place(int piece) const { return (pairs ? pairs : only)[2 * piece]; }
  int64_t size(int piece) const {
    return (pairs ? pairs : only)[2 * piece + 1];
  }

private:
  const int64_t only[2];
  const int64_t *pairs = nullptr;
  int numPairs = 1;
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_ATTENTION_ATTENTIONROWS_H
