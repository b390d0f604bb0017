//===- Source.cpp - What Constant, Symbols and Range hold -----------------===//

#include "dialects/onnx/ops/Source.h"
#include "dialects/onnx/evaluate/Evaluate.h"

using namespace mlir;

namespace shardc::onnx::evaluate {

/// Constants with more elements are not read.
constexpr int64_t kMaxElements = 1 << 16;

static double numberOf(const KnownScalar &scalar) {
  if (const double *number = std::get_if<double>(&scalar))
    return *number;
  return double(std::get<dist::DimExpr>(scalar).asConstant().value_or(0));
}

/// One number, repeated: it may stand for a size, as sizes for others do.
static Outcome splat(Call &call, DenseElementsAttr value) {
  auto known = readKnown(
      value.resizeSplat(RankedTensorType::get({}, value.getElementType())), 1);
  Tensor *y = call.addResult();
  if (!known)
    return Outcome::Unknown;
  if (!y)
    return Outcome::Unfit;
  double number = numberOf(known->elements.front());
  if (value.getElementType().isSignlessInteger(64) ||
      value.getElementType().isSignlessInteger(32))
    number = double(call.sizes.of(int64_t(number)));
  llvm::fill(y->data, number);
  return Outcome::Done;
}

static Outcome constant(Call &call) {
  ElementsAttr value = cast<ConstantOp>(call.op).getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    return splat(call, dense);
  std::optional<KnownValue> known = readKnown(value, kMaxElements);
  Tensor *y = call.addResult();
  if (!known)
    return Outcome::Unknown;
  if (!y || y->size() != int64_t(known->elements.size()))
    return Outcome::Unfit;
  for (auto [to, scalar] : llvm::zip(y->data, known->elements))
    to = numberOf(scalar);
  return Outcome::Done;
}

static Outcome symbols(Call &call) {
  dist::DimsAttr values = cast<SymbolsOp>(call.op).getValues();
  Tensor *y = call.addResult();
  if (!y || y->size() != int64_t(values.getValues().size()))
    return Outcome::Unfit;
  for (auto [to, value] : llvm::zip(y->data, values.getValues())) {
    std::optional<int64_t> number = call.sizes.of(value);
    if (!number)
      return Outcome::Unfit;
    to = double(*number);
  }
  return Outcome::Done;
}

/// start + i * delta
static Outcome range(Call &call) {
  auto op = cast<RangeOp>(call.op);
  dist::DimsAttr bounds = op.getBoundsAttr();
  double start = 0, delta = 1;
  if (bounds) {
    auto first = call.sizes.of(bounds.getValues()[0]);
    auto step = call.sizes.of(bounds.getValues()[1]);
    if (!first || !step)
      return Outcome::Unfit;
    start = double(*first);
    delta = double(*step);
  } else if (call.operands.size() == 3) {
    start = call.operand(0).data[0];
    delta = call.operand(2).data[0];
  } else {
    return Outcome::Unknown;
  }
  Tensor *y = call.addResult();
  if (!y)
    return Outcome::Unfit;
  for (auto [i, value] : llvm::enumerate(y->data))
    value = start + double(i) * delta;
  return Outcome::Done;
}

void addSource(Evaluators &all) {
  all.add<ConstantOp>(constant);
  all.add<SymbolsOp>(symbols);
  all.add<RangeOp>(range);
  all.add<NoneOp>([](Call &call) {
    call.results.emplace_back();
    return Outcome::Done;
  });
}

} // namespace shardc::onnx::evaluate
