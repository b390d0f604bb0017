//===- RowTables.cpp - Slices of tables by places of tokens and keys ------===//
//
// What a model has of each of so many positions, it slices by the sizes of a
// request. A step chooses the elements of each row's places:
//
//   Slice table [n, m], past.., of sequence rows    Gather table, position
//   Slice that, 0.., of past + sequence columns     Gather that, key
//   Slice table [n], n - past - sequence..          Gather table, n - length + key
//
// Of keys that a row does not have the choice is any element.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "passes/import/rows/RowTranslation.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using onnx::RowSymbols;
using namespace onnx;

/// Whether a dim of the result is a part of a table that differs from row to row.
bool RowTranslation::isCutByRow(SliceOp op, size_t dim) const {
  const DimExpr size = dimsOf(op.getResult())[dim];
  return dependsOnRow(op.getBoundsAttr().getValues()[dim]) ||
         ((sizes.isOfTokens(size) || sizes.isOfKeys(size)) &&
          dimsOf(op.getData())[dim].asConstant());
}

bool RowTranslation::isOfTable(Operation *op) const {
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice || !slice.getBoundsAttr() || !slice.getSteps())
    return false;
  const RowKind kind = kindOf(slice.getData());
  bool isCut = false;
  for (size_t d = 0; d < dimsOf(slice.getResult()).size(); ++d)
    isCut |= isCutByRow(slice, d);
  return isCut && (kind == RowKind::Shared || kind == RowKind::Tokens);
}

/// What is cut the same for all rows, with all else whole.
Value RowTranslation::cutByAll(SliceOp op, Value data) {
  Dims bounds(op.getBoundsAttr().getValues()), dims = dimsOf(data);
  SmallVector<int64_t> steps(*op.getSteps());
  bool isCut = false;
  for (size_t d = 0; d < dims.size(); ++d) {
    const DimExpr from = dimsOf(op.getData())[d];
    const DimExpr to = dimsOf(op.getResult())[d];
    if (isCutByRow(op, d) || from == to) {
      isCut |= !isCutByRow(op, d) && steps[d] != 1;
      bounds[d] = isCutByRow(op, d) ? DimExpr(int64_t(0)) : bounds[d];
      continue;
    }
    dims[d] = to;
    isCut = true;
  }
  if (!isCut)
    return data;
  return rows.make<SliceOp>(
      elementOf(data), dims, {data},
      {rows.bounds(bounds),
       builder.getNamedAttr("steps", builder.getDenseI64ArrayAttr(steps))});
}

/// Of `count` places from `start` on, which may differ from row to row: [count],
/// [t] or [r, count], within a table of so many elements. Null where sizes do not
/// say them.
Value RowTranslation::placesFrom(DimExpr start, DimExpr count, int64_t table,
                                 Tokens &tokens) {
  const Type i64 = builder.getI64Type();
  Value place;
  if (count == sizes.sequence && !sizes.takesOne) {
    Value first = rows.ofRows(start);
    if (!first)
      return {};
    place = rows.binary<AddOp>(rows.ofTokens(first, tokens.set),
                               rows.index(tokens.set), i64, {tokens.set.size});
  } else if (count == sizes.all() || count.asConstant()) {
    const DimExpr size = *sizes.inStep(count);
    place = rows.range(size);
    Dims dims{size};
    Value first = dependsOnRow(start) ? rows.ofRows(start) : Value();
    if (dependsOnRow(start) && !first)
      return {};
    if (first) {
      dims.insert(dims.begin(), RowSymbols::rows());
      first = rows.reshape(first, {RowSymbols::rows(), 1});
    } else {
      const auto constant = start.asConstant();
      if (!constant)
        return {};
      first = rows.integer(*constant);
    }
    place = rows.binary<AddOp>(first, place, i64, dims);
  } else {
    return {};
  }
  place = rows.binary<MaxOp>(place, rows.integer(0), i64, dimsOf(place));
  return rows.binary<MinOp>(place, rows.integer(table - 1), i64, dimsOf(place));
}

LogicalResult RowTranslation::translateTable(SliceOp op, Tokens &tokens) {
  const Dims from = dimsOf(op.getData()), to = dimsOf(op.getResult());
  const bool isOfTokens = kindOf(op.getResult()) == RowKind::Tokens;
  Value data = kindOf(op.getData()) == RowKind::Tokens
                   ? ofTokens(op.getData(), tokens)
                   : values.lookup(op.getData());
  if (!data)
    return refuse(op, "what it takes a part of has no place in a step");
  data = cutByAll(op, data);
  bool isOfRows = false;
  for (size_t d = 0; d < to.size(); ++d) {
    if (!isCutByRow(op, d))
      continue;
    const auto table = from[d].asConstant();
    Value place = table && (*op.getSteps())[d] == 1
                      ? placesFrom(op.getBoundsAttr().getValues()[d], to[d],
                                   *table, tokens)
                      : Value();
    const bool isOfRow = place && dimsOf(place).size() == 2;
    if (!place || (isOfRow && (isOfTokens || isOfRows)))
      return refuse(op, "its part of a table is none that follows from a "
                        "row's sizes");
    isOfRows |= isOfRow;
    // Rows in front already take a dim.
    data = rows.gather(data, place, int64_t(d) + (isOfRows && !isOfRow));
    if (!isOfRow)
      continue;
    SmallVector<int64_t> order{int64_t(d)};
    for (int64_t i = 0; i <= int64_t(to.size()); ++i)
      if (i != int64_t(d))
        order.push_back(i);
    data = transposed(builder, op.getLoc(), data, order);
  }
  if (isOfTokens) {
    tokens.values[op.getResult()] = data;
    return success();
  }
  if (kindOf(op.getResult()) == RowKind::OfRows && !isOfRows)
    return refuse(op, "its part of a table is the same for all rows");
  values[op.getResult()] = data;
  return success();
}

} // namespace shardc::import
