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
  std::optional<int64_t> size = integerOf(number);
  if (size && (value.getElementType().isSignlessInteger(64) ||
               value.getElementType().isSignlessInteger(32)))
    number = double(call.sizes.of(*size));
  llvm::fill(y->data, number);
  return Outcome::Done;
}

/// Places that count along the only dim that is longer than 1: from smaller
/// sizes on, as positions that are computed do.
static bool counts(const Call &call, const Tensor &whole, Tensor &part) {
  if (!whole.element.isSignlessInteger(64) &&
      !whole.element.isSignlessInteger(32))
    return false;
  if (llvm::count_if(whole.shape, [](int64_t size) { return size != 1; }) != 1)
    return false;
  const double start = whole.data[0], step = whole.data[1] - start;
  for (auto [i, number] : llvm::enumerate(whole.data))
    if (number != start + double(i) * step)
      return false;
  const auto first = integerOf(start), by = integerOf(step);
  if (!first || !by)
    return false;
  for (auto [i, number] : llvm::enumerate(part.data))
    number =
        double(call.sizes.of(*first)) + double(i) * double(call.sizes.of(*by));
  return true;
}

/// Whether each row is the same twice, as tables of rotations are.
static bool isTwice(const Tensor &whole) {
  const int64_t columns = whole.shape.back();
  if (columns % 2 != 0)
    return false;
  for (int64_t i = 0; i < whole.size(); ++i)
    if (i % columns < columns / 2 &&
        whole.data[i] != whole.data[i + columns / 2])
      return false;
  return true;
}

/// The first elements of a constant that has more than sizes ask for: a part of
/// a triangle is one, and of counted places; of two halves it has both.
static bool shorten(const Call &call, const Tensor &whole, Tensor &part) {
  if (whole.rank() != part.rank() || whole.rank() == 0)
    return false;
  for (auto [size, all] : llvm::zip(part.shape, whole.shape))
    if (size > all)
      return false;
  if (part.size() == 0 || counts(call, whole, part))
    return true;
  const int64_t columns = whole.shape.back(), kept = part.shape.back();
  const bool hasHalves = kept < columns && kept % 2 == 0 && isTwice(whole);
  const Shape strides = stridesOf(whole.shape);
  double *to = part.data.data();
  int64_t column = 0;
  forEachPosition<1>(part.shape, {strides}, [&](const int64_t (&at)[1]) {
    const bool isSecond = hasHalves && column % kept >= kept / 2;
    *to++ = whole.data[at[0] + (isSecond ? columns / 2 - kept / 2 : 0)];
    ++column;
  });
  return true;
}

static Outcome constant(Call &call) {
  ElementsAttr value = cast<ConstantOp>(call.op).getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    return splat(call, dense);
  std::optional<KnownValue> known = readKnown(value, kMaxElements);
  Tensor *y = call.addResult();
  if (!known)
    return Outcome::Unknown;
  if (!y)
    return Outcome::Unfit;
  Tensor whole(y->element, known->shape);
  for (auto [to, scalar] : llvm::zip(whole.data, known->elements))
    to = numberOf(scalar);
  if (whole.shape == y->shape)
    y->data = std::move(whole.data);
  else if (!shorten(call, whole, *y))
    return Outcome::Unfit;
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
