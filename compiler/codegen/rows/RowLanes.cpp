//===- RowLanes.cpp - Reductions over the columns of a row ----------------===//

#include "compiler/codegen/rows/RowLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace shardc::codegen {

Value RowLanes::identity(rt::ReduceOp reduce) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float value = reduce.getKind() == "sum"   ? 0.f
                      : reduce.getKind() == "min" ? infinity
                                                  : -infinity;
  auto type = VectorType::get({target.width}, b.getF32Type());
  return arith::ConstantOp::create(
      b, loc, TypedAttr(DenseElementsAttr::get(type, value)));
}

/// The larger or smaller one; a NaN in either is the result. Which zero it is
/// follows from the order, not from the processor.
Value RowLanes::combine(rt::ReduceOp reduce, Value x, Value y) {
  if (reduce.getKind() == "sum")
    return arith::AddFOp::create(b, loc, x, y);
  const auto better = reduce.getKind() == "min" ? arith::CmpFPredicate::OLT
                                                : arith::CmpFPredicate::OGT;
  Value isBetter = arith::CmpFOp::create(b, loc, better, y, x);
  if (reduce.getKind() == "max_number")
    return arith::SelectOp::create(b, loc, isBetter, y, x);
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, y, y);
  Value takes = arith::OrIOp::create(b, loc, isBetter, isNan);
  return arith::SelectOp::create(b, loc, takes, y, x);
}

RowLanes::Values RowLanes::addUp(rt::ReduceOp reduce, Values vectors) {
  while (vectors.size() > size_t(parts())) {
    const size_t half = vectors.size() / 2;
    for (size_t i = 0; i < half; ++i)
      vectors[i] = combine(reduce, vectors[i], vectors[i + half]);
    vectors.resize(half);
  }
  return vectors;
}

Value RowLanes::across(rt::ReduceOp reduce, Values parts) {
  for (size_t half = parts.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      parts[i] = combine(reduce, parts[i], parts[i + half]);
  Value lanes = parts.front();
  for (int64_t half = target.width / 2; half > 0; half /= 2) {
    SmallVector<int64_t, 8> low, high;
    for (int64_t i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(half + i);
    }
    Value first = vector::ShuffleOp::create(b, loc, lanes, lanes, low);
    Value second = vector::ShuffleOp::create(b, loc, lanes, lanes, high);
    lanes = combine(reduce, first, second);
  }
  return vector::ExtractOp::create(b, loc, lanes, ArrayRef<int64_t>{0});
}

} // namespace shardc::codegen
