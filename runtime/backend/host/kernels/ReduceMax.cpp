//===- ReduceMax.cpp - ReduceMax, ReduceMin and ReduceLogSumExp -----------===//
//
// NaN propagates. Nothing reduced gives the identity: an infinity, or an
// integer type's limit.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/Reduce.h"

#include <cmath>
#include <limits>

namespace shardc::runtime::host {
namespace {

using OrderedTypes = decltype(FloatTypes() + IndexTypes() +
                              TypeList<int8_t, uint8_t, Boolean>());

struct ReduceMax {
  static constexpr char kName[] = "ReduceMax";
  using Types = OrderedTypes;
  template <typename T> struct State {
    using C = Compute<T>;
    using Limits = std::numeric_limits<C>;
    C best = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    void add(C x) { best = x > best || x != x ? x : best; }
    void merge(const State &other) { add(other.best); }
  };
  template <typename C, typename S> static C finish(const S &state, int64_t) {
    return state.best;
  }
};
struct ReduceMin : ReduceMax {
  static constexpr char kName[] = "ReduceMin";
  template <typename T> struct State {
    using C = Compute<T>;
    using Limits = std::numeric_limits<C>;
    C best = Limits::has_infinity ? Limits::infinity() : Limits::max();
    void add(C x) { best = x < best || x != x ? x : best; }
    void merge(const State &other) { add(other.best); }
  };
};
/// In one pass: the sum is rescaled whenever the maximum rises.
struct ReduceLogSumExp {
  static constexpr char kName[] = "ReduceLogSumExp";
  using Types = FloatTypes;
  template <typename T> struct State {
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    void add(double x) { merge(State{x, 1}); }
    void merge(const State &other) {
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
  template <typename C, typename S> static C finish(const S &state, int64_t) {
    return C(std::log(state.sum) + state.maximum);
  }
};

const HostKernelRegistration registrations[] = {
    {ReduceMax::kName, {runReduce<ReduceMax>, nullptr}},
    {ReduceMin::kName, {runReduce<ReduceMin>, nullptr}},
    {ReduceLogSumExp::kName, {runReduce<ReduceLogSumExp>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
