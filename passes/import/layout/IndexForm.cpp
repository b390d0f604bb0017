#include "passes/import/layout/IndexForm.h"

#include "dialects/dist/algebra/DimLimits.h"
#include "dialects/onnx/KnownValue.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

/// Constants with more elements are not read.
constexpr int64_t kMaxListed = 1 << 16;
/// Nor is arithmetic of more ops: exporters' indices take a dozen.
constexpr unsigned kMaxOps = 256;

static bool isZero(DimExpr size) { return size.isConstant(0); }

static IndexForm constantForm(size_t rank, DimExpr value) {
  return {SmallVector<DimExpr, 4>(rank, DimExpr(int64_t(0))), value};
}

/// The value of a tensor of one element that is known symbolically.
static std::optional<DimExpr> scalarOf(Value value) {
  if (product(dimsOf(value)) != DimExpr(1))
    return std::nullopt;
  if (std::optional<int64_t> constant = splatInteger(value))
    return DimExpr(*constant);
  auto symbols = value.getDefiningOp<SymbolsOp>();
  dist::DimsAttr dims = symbols ? symbols.getValues() : dist::DimsAttr();
  return dims ? std::optional<DimExpr>(dims.getValues()[0]) : std::nullopt;
}

/// Along dims that are added or repeated all is the same.
static std::optional<IndexForm>
broadcast(const IndexForm &form, ArrayRef<DimExpr> from, ArrayRef<DimExpr> to) {
  if (from.size() > to.size())
    return std::nullopt;
  IndexForm wide = constantForm(to.size(), form.offset);
  const size_t added = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != to[added + d] && !isZero(form.coefficients[d]))
      return std::nullopt;
    wide.coefficients[added + d] = form.coefficients[d];
  }
  return wide;
}

static std::optional<IndexForm> counted(RangeOp op) {
  dist::DimsAttr bounds = op.getBoundsAttr();
  if (!bounds || !isa<IntegerType>(elementOf(op)))
    return std::nullopt;
  IndexForm form = constantForm(1, bounds.getValues()[0]);
  if (!dimsOf(op)[0].isConstant(1))
    form.coefficients[0] = bounds.getValues()[1];
  return form;
}

/// A constant that counts along its only dim.
static std::optional<IndexForm> listed(ConstantOp op) {
  Dims dims = dimsOf(op);
  auto isLong = [](DimExpr size) { return !size.isConstant(1); };
  auto place = llvm::find_if(dims, isLong);
  if (llvm::count_if(dims, isLong) != 1)
    return std::nullopt;
  auto known = readKnown(op.getValue(), kMaxListed);
  auto values = known ? known->asConstants() : std::nullopt;
  if (!values || values->size() < 2)
    return std::nullopt;
  const DimExpr start = values->front(), step = DimExpr((*values)[1]) - start;
  for (auto [i, element] : llvm::enumerate(*values))
    if (start + step * int64_t(i) != DimExpr(element))
      return std::nullopt;
  IndexForm form = constantForm(dims.size(), start);
  form.coefficients[place - dims.begin()] = step;
  return form;
}

static IndexForm scaled(IndexForm form, DimExpr factor) {
  for (DimExpr &coefficient : form.coefficients)
    coefficient = coefficient * factor;
  form.offset = form.offset * factor;
  return form;
}

namespace {

/// Reads each value once, however many ways lead to it.
class FormReader {
public:
  std::optional<IndexForm> read(Value value);

private:
  std::optional<IndexForm> compute(Value value);
  std::optional<IndexForm> reshaped(ReshapeOp op);
  std::optional<IndexForm> combined(Operation *op);
  std::optional<IndexForm> broadcastTo(Value operand, Value result) {
    std::optional<IndexForm> form = read(operand);
    return form ? broadcast(*form, dimsOf(operand), dimsOf(result))
                : std::nullopt;
  }

  llvm::DenseMap<Value, std::optional<IndexForm>> forms;
};

} // namespace

/// Dims that come and go are of size 1, or split one that was: element [i, j] of
/// [b, s] is i * s + j of [b * s].
std::optional<IndexForm> FormReader::reshaped(ReshapeOp op) {
  std::optional<IndexForm> inner = read(op.getData());
  if (!inner)
    return std::nullopt;
  const Dims from = dimsOf(op.getData()), to = dimsOf(op);
  IndexForm form = constantForm(to.size(), inner->offset);
  size_t next = to.size(); // from the last dim to the first
  for (size_t d = from.size(); d-- > 0;) {
    DimExpr held = 1;
    while (held != from[d]) {
      if (next == 0)
        return std::nullopt;
      --next;
      if (!to[next].isConstant(1))
        form.coefficients[next] = inner->coefficients[d] * held;
      held = held * to[next];
    }
  }
  return llvm::all_of(ArrayRef(to).take_front(next),
                      [](DimExpr size) { return size.isConstant(1); })
             ? std::optional(form)
             : std::nullopt;
}

std::optional<IndexForm> FormReader::combined(Operation *op) {
  Value result = op->getResult(0);
  std::optional<IndexForm> lhs = broadcastTo(op->getOperand(0), result);
  std::optional<IndexForm> rhs =
      lhs ? broadcastTo(op->getOperand(1), result) : std::nullopt;
  if (!rhs)
    return std::nullopt;
  if (isa<MulOp>(op)) {
    if (llvm::all_of(rhs->coefficients, isZero))
      return scaled(*lhs, rhs->offset);
    if (llvm::all_of(lhs->coefficients, isZero))
      return scaled(*rhs, lhs->offset);
    return std::nullopt;
  }
  const int64_t sign = isa<AddOp>(op) ? 1 : -1;
  for (auto [a, b] : llvm::zip(lhs->coefficients, rhs->coefficients))
    a = a + b * sign;
  lhs->offset = lhs->offset + rhs->offset * sign;
  return lhs;
}

/// Whether sums and products of places and sizes stay what they are in it: a
/// narrow or unsigned one wraps around.
static bool holdsPlaces(Type element) {
  auto type = dyn_cast<IntegerType>(element);
  return type && type.getWidth() >= 32 && !type.isUnsigned();
}

std::optional<IndexForm> FormReader::read(Value value) {
  if (auto known = forms.find(value); known != forms.end())
    return known->second;
  if (forms.size() == kMaxOps)
    return std::nullopt;
  forms[value] = std::nullopt; // counts it, too
  std::optional<IndexForm> form = compute(value);
  if (form && (dist::isTooLarge(form->offset) ||
               llvm::any_of(form->coefficients, dist::isTooLarge)))
    form.reset();
  forms[value] = form;
  return form;
}

std::optional<IndexForm> FormReader::compute(Value value) {
  if (!isa<RankedTensorType>(value.getType()) || !holdsPlaces(elementOf(value)))
    return std::nullopt;
  if (auto scalar = scalarOf(value))
    return constantForm(dimsOf(value).size(), *scalar);
  Operation *op = value.getDefiningOp();
  if (auto range = dyn_cast_or_null<RangeOp>(op))
    return counted(range);
  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    return listed(constant);
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op))
    return reshaped(reshape);
  if (auto expand = dyn_cast_or_null<ExpandOp>(op))
    return broadcastTo(expand.getData(), expand);
  if (isa_and_nonnull<AddOp, SubOp, MulOp>(op))
    return combined(op);
  return std::nullopt;
}

std::optional<IndexForm> indexFormOf(Value value) {
  return FormReader().read(value);
}

} // namespace shardc::import
