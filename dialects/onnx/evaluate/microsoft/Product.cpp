//===- Product.cpp - What com.microsoft's fused products compute ----------===//
//
//   FusedMatMul   y[..., i, j] = alpha sum_k a[..., i, k] b[..., k, j]
//
// with a[..., k, i] of transA; of transBatchA the first dim and those before
// the last one change places: a[i, ..., k], or a[k, ..., i] of both.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/microsoft/Product.h"
#include "dialects/onnx/evaluate/microsoft/Windows.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

namespace {

/// A factor as a stack of matrices, whose dims are read in another order.
struct Factor {
  const Tensor &x;
  bool isTransposed, isBatchTransposed, isLeft;

  bool isVector() const { return x.rank() == 1; }
  /// Dims of the stack, then of the matrix.
  Shape batch() const {
    if (x.rank() < 3)
      return {};
    const int64_t first = isBatchTransposed ? 1 : 0;
    return Shape(x.shape.begin() + first,
                 x.shape.begin() + first + x.rank() - 2);
  }
  int64_t rows() const {
    return isVector() ? (isLeft ? 1 : x.shape[0]) : side(0);
  }
  int64_t columns() const {
    return isVector() ? (isLeft ? x.shape[0] : 1) : side(1);
  }
  double operator()(Index stack, int64_t row, int64_t column) const {
    if (isVector())
      return valueAt(x, isLeft ? column : row);
    if (isTransposed)
      std::swap(row, column);
    // The stack may broadcast.
    const Shape own = batch();
    Shape index(x.rank(), 0);
    const int64_t first = isBatchTransposed ? 1 : 0;
    for (size_t i = 0; i < own.size(); ++i)
      index[first + i] = own[i] == 1 ? 0 : stack[stack.size() - own.size() + i];
    index[isBatchTransposed ? 0 : x.rank() - 2] = row;
    index[x.rank() - 1] = column;
    return at(x, index);
  }

private:
  int64_t side(int which) const {
    const bool isFirst = (which == 0) != isTransposed;
    return isFirst ? x.shape[isBatchTransposed ? 0 : x.rank() - 2]
                   : x.shape.back();
  }
};

} // namespace

/// alpha a b, of no type if the sizes do not fit.
static Tensor multiplied(const Definition &d, const Factor &a, const Factor &b,
                         double alpha) {
  Shape batch = a.batch();
  if (a.x.rank() == 0 || b.x.rank() == 0 || a.columns() != b.rows() ||
      !broadcast(batch, b.batch()))
    return {};
  Shape whole = batch;
  whole.append({a.rows(), b.columns()});
  Tensor y(a.x.element, whole);
  forEachIndex(whole, [&](Index i) {
    const Index stack = i.drop_back(2);
    double sum = 0;
    for (int64_t k = 0; k < a.columns(); ++k)
      sum += a(stack, i[i.size() - 2], k) * b(stack, k, i.back());
    at(y, i) = d.as(y.element, d.as(y.element, sum) * alpha);
  });
  if (b.isVector())
    y.shape.pop_back();
  if (a.isVector())
    y.shape.erase(y.shape.end() - (b.isVector() ? 1 : 2));
  return y;
}

template <typename OpTy> static Tensor productOf(const Definition &d, OpTy op) {
  const Tensor &a = *d.operand(0), &b = *d.operand(1);
  return multiplied(d,
                    {a, op.getTransA() != 0 && a.rank() > 1,
                     op.getTransBatchA() != 0 && a.rank() > 1, true},
                    {b, op.getTransB() != 0 && b.rank() > 1,
                     op.getTransBatchB() != 0 && b.rank() > 1, false},
                    op.getAlpha().convertToFloat());
}

template <typename OpTy> static Outcome fusedProduct(Call &call) {
  Definition d(call);
  Tensor y = productOf(d, cast<OpTy>(call.op));
  if (!y.element)
    return Outcome::Unfit;
  call.results.push_back(std::move(y));
  return Outcome::Done;
}

static std::optional<double> number(std::optional<llvm::APFloat> given) {
  return given ? std::optional<double>(given->convertToFloat()) : std::nullopt;
}

/// Every element, of the result's type; false for an activation that is none.
static bool activateAll(const Definition &d, Tensor &y, StringRef name,
                        std::optional<double> alpha,
                        std::optional<double> beta) {
  if (!activated(name, 0, alpha, beta))
    return false;
  for (double &x : y.data)
    x = *activated(name, d.as(y.element, x), alpha, beta);
  return true;
}

/// Rows along the axis become shares of 1.
static bool softmaxAlong(Tensor &y, int64_t given) {
  const auto axis = placeIn(double(given), y.rank());
  if (!axis)
    return false;
  const Tensor x = y;
  forEachIndex(y.shape, [&](Index i) {
    Shape other(i.begin(), i.end());
    double largest = -INFINITY, sum = 0;
    for (other[*axis] = 0; other[*axis] < y.shape[*axis]; ++other[*axis])
      largest = std::max(largest, at(x, other));
    for (other[*axis] = 0; other[*axis] < y.shape[*axis]; ++other[*axis])
      sum += std::exp(at(x, other) - largest);
    at(y, i) = std::exp(at(x, i) - largest) / sum;
  });
  return true;
}

static Outcome activatedProduct(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftFusedMatMulActivationOp>(call.op);
  Tensor y = productOf(d, op);
  if (!y.element)
    return Outcome::Unfit;
  const bool isKnown = op.getActivation() == "Softmax"
                           ? softmaxAlong(y, op.getActivationAxis())
                           : activateAll(d, y, op.getActivation(),
                                         number(op.getActivationAlpha()),
                                         number(op.getActivationBeta()));
  call.results.push_back(std::move(y));
  return isKnown ? Outcome::Done : Outcome::Unknown;
}

/// activation(alpha a b + beta c)
static Outcome fusedGemm(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftFusedGemmOp>(call.op);
  const Tensor &a = *d.operand(0), &b = *d.operand(1), *c = d.operand(2);
  if (a.rank() != 2 || b.rank() != 2)
    return Outcome::Unfit;
  Tensor y = multiplied(d, {a, op.getTransA() != 0, false, true},
                        {b, op.getTransB() != 0, false, false},
                        op.getAlpha().convertToFloat());
  if (!y.element || (c && !reaches(*c, y.shape)))
    return Outcome::Unfit;
  const double beta = op.getBeta().convertToFloat();
  forEachIndex(y.shape, [&](Index i) { at(y, i) += c ? beta * at(*c, i) : 0; });
  const bool isKnown =
      activateAll(d, y, op.getActivation(), number(op.getActivationAlpha()),
                  number(op.getActivationBeta()));
  call.results.push_back(std::move(y));
  return isKnown ? Outcome::Done : Outcome::Unknown;
}

//===----------------------------------------------------------------------===//
// FusedConv
//===----------------------------------------------------------------------===//

/// Before the activation: the sum over a group's channels and a window, bias
/// and summand.
static Outcome fusedConv(Call &call) {
  Definition d(call);
  auto op = cast<MicrosoftFusedConvOp>(call.op);
  const Tensor &x = *d.operand(0), &w = *d.operand(1);
  const Tensor *bias = d.operand(2), *summand = d.operand(3);
  if (x.rank() != w.rank() || x.rank() < 3)
    return Outcome::Unfit;
  const auto windows = Windows::of(d, Index(w.shape).drop_front(2), 2);
  const int64_t groups = op.getGroup();
  if (!windows || groups <= 0 || w.shape[0] % groups != 0 ||
      x.shape[1] != groups * w.shape[1])
    return Outcome::Unfit;
  Shape shape = {x.shape[0], w.shape[0]};
  shape.append(windows->counts);
  Tensor &y = d.result(x.element, shape);
  if (summand && !reaches(*summand, shape))
    return Outcome::Unfit;
  const int64_t perGroup = w.shape[0] / groups;
  forEachIndex(shape, [&](Index o) {
    double sum = 0;
    forEachIndex(Index(w.shape).drop_front(), [&](Index k) {
      Shape from = {o[0], o[1] / perGroup * w.shape[1] + k[0]};
      Shape weight = {o[1]};
      weight.append(k.begin(), k.end());
      for (size_t s = 0; s + 1 < k.size(); ++s) {
        from.push_back(windows->place(s, o[2 + s], k[1 + s]));
        if (from.back() < 0)
          return;
      }
      sum += at(x, from) * at(w, weight);
    });
    at(y, o) = d.as(y.element, sum + (bias ? valueAt(*bias, o[1]) : 0)) +
               (summand ? at(*summand, o) : 0);
  });
  SmallVector<double, 2> params;
  if (ArrayAttr given = op.getActivationParamsAttr())
    for (FloatAttr param : given.getAsRange<FloatAttr>())
      params.push_back(param.getValue().convertToFloat());
  auto param = [&](size_t i) {
    return i < params.size() ? std::optional(params[i]) : std::nullopt;
  };
  return activateAll(d, y, op.getActivation(), param(0), param(1))
             ? Outcome::Done
             : Outcome::Unknown;
}

void defineProduct(Evaluators &all) {
  all.add<MicrosoftFusedMatMulOp>(fusedProduct<MicrosoftFusedMatMulOp>);
  all.add<MicrosoftTransposeMatMulOp>(fusedProduct<MicrosoftTransposeMatMulOp>);
  all.add<MicrosoftFusedMatMulActivationOp>(activatedProduct);
  all.add<MicrosoftFusedGemmOp>(fusedGemm);
  all.add<MicrosoftFusedConvOp>(fusedConv);
}

} // namespace shardc::onnx::evaluate
