//===- Compare.cpp - Comparisons: two numbers to a bool -------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/Elementwise.h"

#include <cmath>

namespace shardc::runtime::host {
namespace {

struct Equal {
  static constexpr char kName[] = "Equal";
  using Types = AllTypes;
  template <typename T> bool operator()(T a, T b) const { return a == b; }
};
struct Less {
  static constexpr char kName[] = "Less";
  using Types = NumericTypes;
  template <typename T> bool operator()(T a, T b) const { return a < b; }
};
struct LessOrEqual {
  static constexpr char kName[] = "LessOrEqual";
  using Types = NumericTypes;
  template <typename T> bool operator()(T a, T b) const { return a <= b; }
};
struct Greater {
  static constexpr char kName[] = "Greater";
  using Types = NumericTypes;
  template <typename T> bool operator()(T a, T b) const { return a > b; }
};
struct GreaterOrEqual {
  static constexpr char kName[] = "GreaterOrEqual";
  using Types = NumericTypes;
  template <typename T> bool operator()(T a, T b) const { return a >= b; }
};

template <typename Op> Status compare(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, Op::kName, 2));
  const TensorView &a = call.inputs[0], &b = call.inputs[1];
  const TensorView &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectDims(Op::kName, out, a));
  SHARDC_RETURN_IF_ERROR(expectLike(Op::kName, a, b));
  SHARDC_RETURN_IF_ERROR(
      expectElement(Op::kName, artifact::ElementType_Bool, out));
  return dispatch(typename Op::Types(), a.element, Op::kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapBinary<Boolean, T, T>(out, a, b, Op());
  });
}

struct IsNaN {
  static constexpr char kName[] = "IsNaN";
  explicit IsNaN(const KernelCall &) {}
  template <typename T> bool operator()(T x) const { return x != x; }
};
struct IsInf {
  static constexpr char kName[] = "IsInf";
  bool positive, negative;
  explicit IsInf(const KernelCall &call)
      : positive(call.intOr("detect_positive", 1) != 0),
        negative(call.intOr("detect_negative", 1) != 0) {}
  template <typename T> bool operator()(T x) const {
    return std::isinf(x) && (x > 0 ? positive : negative);
  }
};

template <typename Op> Status classify(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, Op::kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectDims(Op::kName, out, x));
  SHARDC_RETURN_IF_ERROR(
      expectElement(Op::kName, artifact::ElementType_Bool, out));
  return dispatch(FloatTypes(), x.element, Op::kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    mapUnary<Boolean, T>(out, x, Op(call));
  });
}

const HostKernelRegistration registrations[] = {
    {Equal::kName, {compare<Equal>, nullptr}},
    {Less::kName, {compare<Less>, nullptr}},
    {LessOrEqual::kName, {compare<LessOrEqual>, nullptr}},
    {Greater::kName, {compare<Greater>, nullptr}},
    {GreaterOrEqual::kName, {compare<GreaterOrEqual>, nullptr}},
    {IsNaN::kName, {classify<IsNaN>, nullptr}},
    {IsInf::kName, {classify<IsInf>, nullptr}},
};

} // namespace
} // namespace shardc::runtime::host
