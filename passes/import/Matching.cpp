//===- Matching.cpp - Reading a graph backwards ---------------------------===//

#include "passes/import/Matching.h"

#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/layout/LayoutChain.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

static DenseElementsAttr splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return elements && elements.isSplat() ? elements : nullptr;
}

std::optional<double> splatConstant(Value value) {
  DenseElementsAttr elements = splatOf(value);
  if (!elements || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  APFloat number = elements.getSplatValue<APFloat>();
  bool losesInfo;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

std::optional<int64_t> splatInteger(Value value) {
  DenseElementsAttr elements = splatOf(value);
  auto type = elements ? dyn_cast<IntegerType>(elements.getElementType())
                       : IntegerType();
  if (!type || type.isUnsigned() || type.getWidth() > 64)
    return std::nullopt;
  APInt number = elements.getSplatValue<APInt>();
  return type.getWidth() == 1 ? number.getZExtValue() : number.getSExtValue();
}

Value otherOperand(Operation *op, Value one) {
  if (op->getNumOperands() != 2)
    return {};
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if ((lhs == one) == (rhs == one))
    return {};
  return lhs == one ? rhs : lhs;
}

Operation *onlyUser(Value value) {
  return value.hasOneUse() ? *value.user_begin() : nullptr;
}

bool isSame(Value a, Value b, unsigned depth) {
  if (a == b)
    return true;
  auto x = dyn_cast<OpResult>(a), y = dyn_cast<OpResult>(b);
  if (!x || !y || depth == 0 || a.getType() != b.getType() ||
      x.getResultNumber() != y.getResultNumber())
    return false;
  Operation *p = x.getOwner(), *q = y.getOwner();
  if (p->getName() != q->getName() ||
      p->getAttrDictionary() != q->getAttrDictionary() ||
      p->getNumOperands() != q->getNumOperands() || p->getNumRegions() != 0 ||
      !isMemoryEffectFree(p))
    return false;
  for (auto [left, right] : llvm::zip(p->getOperands(), q->getOperands()))
    if (!isSame(left, right, depth - 1))
      return false;
  return true;
}

double epsilonOf(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type ? std::ldexp(1.0, -int(type.getFPMantissaWidth()) + 1) : 0;
}

bool isClose(double value, double ideal, Type type, unsigned roundings) {
  // A constant may have been rounded to a wider type before, and products of
  // errors come on top.
  constexpr double kMore = 1 + 1.0 / 64;
  const double limit = kMore * roundings * epsilonOf(type) / 2;
  return std::abs(value - ideal) <= limit * std::abs(ideal);
}

Dims dimsOf(Value value) { return dist::getDims(value.getType()); }

bool haveSameDims(Value a, Value b) { return dimsOf(a) == dimsOf(b); }

Type elementOf(Value value) {
  return cast<TensorType>(value.getType()).getElementType();
}

Value shapedAs(Value value, ArrayRef<DimExpr> dims) {
  if (ArrayRef<DimExpr>(dimsOf(value)) == dims)
    return value;
  auto reshape = value.getDefiningOp<ReshapeOp>();
  return reshape && ArrayRef<DimExpr>(dimsOf(reshape.getData())) == dims
             ? reshape.getData()
             : Value();
}

Value reshaped(OpBuilder &builder, Location loc, Value value,
               ArrayRef<DimExpr> dims) {
  if (auto inner = value.getDefiningOp<ReshapeOp>())
    value = inner.getData();
  if (ArrayRef<DimExpr>(dimsOf(value)) == dims)
    return value;
  return ReshapeOp::create(builder, loc, dist::makeType(elementOf(value), dims),
                           value, ValueRange{});
}

Value transposed(OpBuilder &builder, Location loc, Value value,
                 ArrayRef<int64_t> perm) {
  SmallVector<int64_t> whole(perm);
  auto inner = value.getDefiningOp<TransposeOp>();
  if (inner && inner.getPerm()) {
    for (int64_t &d : whole)
      d = (*inner.getPerm())[d];
    value = inner.getData();
  }
  if (isIdentity(whole))
    return value;
  SmallVector<DimExpr, 4> dims;
  for (int64_t d : whole)
    dims.push_back(dimsOf(value)[d]);
  return TransposeOp::create(builder, loc,
                             dist::makeType(elementOf(value), dims), value,
                             builder.getDenseI64ArrayAttr(whole));
}

unsigned eraseDead(Block &block) {
  unsigned erased = 0;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op)) {
      op.erase();
      ++erased;
    }
  return erased;
}

} // namespace shardc::import
