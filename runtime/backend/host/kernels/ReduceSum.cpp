//===- ReduceSum.cpp - Sums and products, their means and norms -----------===//
//
// Floats are accumulated in double; integers wrap around. An empty reduction
// writes the identity, which is what an empty rank of a partial sum must hold;
// a mean's `count` is the global one there.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/Reduce.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

using SummedTypes = decltype(FloatTypes() + IndexTypes());

template <typename T>
using Wide =
    std::conditional_t<std::is_floating_point_v<Compute<T>>, double, uint64_t>;

struct ReduceSum {
  static constexpr char kName[] = "ReduceSum";
  using Types = SummedTypes;
  template <typename T> struct State {
    Wide<T> sum = 0;
    void add(Compute<T> x) { sum += Wide<T>(x); }
    void merge(const State &other) { sum += other.sum; }
  };
  template <typename C, typename S> static C finish(const S &state, int64_t) {
    return C(state.sum);
  }
};
struct ReduceMean : ReduceSum {
  static constexpr char kName[] = "ReduceMean";
  template <typename C, typename S>
  static C finish(const S &state, int64_t count) {
    using Signed = std::conditional_t<std::is_integral_v<C>, int64_t, double>;
    return count == 0 ? C(0) : C(Signed(state.sum) / Signed(count));
  }
};
struct ReduceL1 : ReduceSum {
  static constexpr char kName[] = "ReduceL1";
  template <typename T> struct State : ReduceSum::State<T> {
    void add(Compute<T> x) {
      this->sum += x < Compute<T>(0) ? Wide<T>(0) - Wide<T>(x) : Wide<T>(x);
    }
  };
};
struct ReduceSumSquare : ReduceSum {
  static constexpr char kName[] = "ReduceSumSquare";
  template <typename T> struct State : ReduceSum::State<T> {
    void add(Compute<T> x) { this->sum += Wide<T>(x) * Wide<T>(x); }
  };
};
struct ReduceL2 : ReduceSumSquare {
  static constexpr char kName[] = "ReduceL2";
  template <typename C, typename S> static C finish(const S &state, int64_t) {
    return C(std::sqrt(double(state.sum)));
  }
};
struct ReduceProd {
  static constexpr char kName[] = "ReduceProd";
  using Types = SummedTypes;
  template <typename T> struct State {
    Wide<T> product = 1;
    void add(Compute<T> x) { product *= Wide<T>(x); }
    void merge(const State &other) { product *= other.product; }
  };
  template <typename C, typename S> static C finish(const S &state, int64_t) {
    return C(state.product);
  }
};

const HostKernelRegistration registrations[] = {
    {ReduceSum::kName, {runReduce<ReduceSum>, nullptr}},
    {ReduceMean::kName, {runReduce<ReduceMean>, nullptr}},
    {ReduceL1::kName, {runReduce<ReduceL1>, nullptr}},
    {ReduceL2::kName, {runReduce<ReduceL2>, nullptr}},
    {ReduceSumSquare::kName, {runReduce<ReduceSumSquare>, nullptr}},
    {ReduceProd::kName, {runReduce<ReduceProd>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
