//===- ReduceFunctions.h - What ReduceSum and its relatives add up --------===//
//
// For every backend. An op names its kernel, lists its Types, and has
//   State<T>              add(x), merge(other); starts as the identity
//   finish<C>(state, n)   the result, n being how many elements a mean is over
//
// Floats are summed in double; integers wrap around. An empty reduction writes
// the identity, which is what an empty rank of a partial sum must hold; a
// mean's `count` is the global one there. NaN propagates through maxima.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_REDUCE_REDUCEFUNCTIONS_H
#define SHARDC_RUNTIME_KERNELS_REDUCE_REDUCEFUNCTIONS_H

#include "runtime/kernels/Dispatch.h"

#include <cmath>
#include <limits>
#include <string>

namespace shardc::runtime::host {

/// Which dims of the input are reduced, and how many elements are of each
/// result.
struct ReducedDims {
  bool isReduced[kMaxRank] = {};
  int64_t count = 1;
};

inline Status readReducedDims(const KernelCall &call, const char *name,
                              ReducedDims &dims) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 1));
  const TensorView &x = call.inputs[0];
  if (const KernelAttribute *axes = call.find("axes"))
    for (int i = 0; i < axes->numInts; ++i) {
      if (axes->ints[i] < 0 || axes->ints[i] >= x.rank)
        return failure(name, "axis " + std::to_string(axes->ints[i]) +
                                 " is outside of rank " +
                                 std::to_string(x.rank));
      dims.isReduced[axes->ints[i]] = true;
    }
  TensorView expected = x;
  for (int d = 0; d < x.rank; ++d)
    if (dims.isReduced[d]) {
      expected.dims[d] = 1;
      dims.count *= x.dims[d];
    }
  return expectLike(name, expected, call.outputs[0]);
}

using SummedTypes = decltype(FloatTypes() + IndexTypes());

template <typename T>
using Wide =
    std::conditional_t<std::is_floating_point_v<Compute<T>>, double, uint64_t>;

struct ReduceSum {
  static constexpr char kName[] = "ReduceSum";
  using Types = SummedTypes;
  template <typename T> struct State {
    Wide<T> sum = 0;
    SHARDC_HOST_DEVICE void add(Compute<T> x) { sum += Wide<T>(x); }
    SHARDC_HOST_DEVICE void merge(const State &other) { sum += other.sum; }
  };
  template <typename C, typename S>
  SHARDC_HOST_DEVICE static C finish(const S &state, int64_t) {
    return C(state.sum);
  }
};
struct ReduceMean : ReduceSum {
  static constexpr char kName[] = "ReduceMean";
  template <typename C, typename S>
  SHARDC_HOST_DEVICE static C finish(const S &state, int64_t count) {
    using Signed = std::conditional_t<std::is_integral_v<C>, int64_t, double>;
    return count == 0 ? C(0) : C(Signed(state.sum) / Signed(count));
  }
};
struct ReduceL1 : ReduceSum {
  static constexpr char kName[] = "ReduceL1";
  template <typename T> struct State : ReduceSum::State<T> {
    SHARDC_HOST_DEVICE void add(Compute<T> x) {
      this->sum += x < Compute<T>(0) ? Wide<T>(0) - Wide<T>(x) : Wide<T>(x);
    }
  };
};
struct ReduceSumSquare : ReduceSum {
  static constexpr char kName[] = "ReduceSumSquare";
  template <typename T> struct State : ReduceSum::State<T> {
    SHARDC_HOST_DEVICE void add(Compute<T> x) {
      this->sum += Wide<T>(x) * Wide<T>(x);
    }
  };
};
struct ReduceL2 : ReduceSumSquare {
  static constexpr char kName[] = "ReduceL2";
  template <typename C, typename S>
  SHARDC_HOST_DEVICE static C finish(const S &state, int64_t) {
    return C(std::sqrt(double(state.sum)));
  }
};
struct ReduceProd {
  static constexpr char kName[] = "ReduceProd";
  using Types = SummedTypes;
  template <typename T> struct State {
    Wide<T> product = 1;
    SHARDC_HOST_DEVICE void add(Compute<T> x) { product *= Wide<T>(x); }
    SHARDC_HOST_DEVICE void merge(const State &other) {
      product *= other.product;
    }
  };
  template <typename C, typename S>
  SHARDC_HOST_DEVICE static C finish(const S &state, int64_t) {
    return C(state.product);
  }
};

using OrderedTypes = decltype(FloatTypes() + IndexTypes() +
                              TypeList<int8_t, uint8_t, Boolean>());

struct ReduceMax {
  static constexpr char kName[] = "ReduceMax";
  using Types = OrderedTypes;
  template <typename T> struct State {
    using C = Compute<T>;
    using Limits = std::numeric_limits<C>;
    C best = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    SHARDC_HOST_DEVICE void add(C x) { best = x > best || x != x ? x : best; }
    SHARDC_HOST_DEVICE void merge(const State &other) { add(other.best); }
  };
  template <typename C, typename S>
  SHARDC_HOST_DEVICE static C finish(const S &state, int64_t) {
    return state.best;
  }
};
struct ReduceMin : ReduceMax {
  static constexpr char kName[] = "ReduceMin";
  template <typename T> struct State {
    using C = Compute<T>;
    using Limits = std::numeric_limits<C>;
    C best = Limits::has_infinity ? Limits::infinity() : Limits::max();
    SHARDC_HOST_DEVICE void add(C x) { best = x < best || x != x ? x : best; }
    SHARDC_HOST_DEVICE void merge(const State &other) { add(other.best); }
  };
};
/// In one pass: the sum is rescaled whenever the maximum rises.
struct ReduceLogSumExp {
  static constexpr char kName[] = "ReduceLogSumExp";
  using Types = FloatTypes;
  template <typename T> struct State {
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    SHARDC_HOST_DEVICE void add(double x) { merge(State{x, 1}); }
    SHARDC_HOST_DEVICE void merge(const State &other) {
      if (other.maximum == maximum) {
        sum += other.sum;
      } else if (other.maximum < maximum) {
        sum += other.sum * std::exp(other.maximum - maximum);
      } else { // NaN too, which then stays
        sum = sum * std::exp(maximum - other.maximum) + other.sum;
        maximum = other.maximum;
      }
    }
  };
  template <typename C, typename S>
  SHARDC_HOST_DEVICE static C finish(const S &state, int64_t) {
    return C(std::log(state.sum) + state.maximum);
  }
};

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_REDUCE_REDUCEFUNCTIONS_H
