#include "passes/import/rows/StaticWrite.h"

#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "passes/import/layout/IndexForm.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using namespace onnx;

namespace {

Value beforeExpansion(Value value) {
  while (auto expand = value.getDefiningOp<ExpandOp>())
    value = expand->getOperand(0);
  return value;
}

/// Along which dims of `rank`, counted from behind, the elements of an integer
/// value differ: where it is not one of ones, or a repetition.
SmallVector<int64_t, 4> dimsThatDiffer(Value value, size_t rank) {
  value = beforeExpansion(value);
  SmallVector<int64_t, 4> differ;
  const Dims dims = dimsOf(value);
  for (auto [d, size] : llvm::enumerate(dims))
    if (!size.isConstant(1))
      differ.push_back(int64_t(rank - dims.size() + d));
  return differ;
}

/// The axis along which places are written, places of dim `d`. Rows may have their
/// own; of one place nothing but that says along which.
std::optional<int64_t> axisOf(Value places, size_t rank, int64_t d) {
  const auto differ = dimsThatDiffer(places, rank);
  if (differ.empty() || (differ.size() == 1 && differ[0] == 0))
    return d;
  if (differ.size() == 1)
    return differ[0];
  return differ.size() == 2 && differ[0] == 0 ? std::optional(differ[1])
                                              : std::nullopt;
}

/// Index [.., i] of every element: i itself along dim d of the data.
bool countsAlong(Value column, size_t d) {
  std::optional<IndexForm> form = indexFormOf(column);
  if (!form || !form->offset.isConstant(0))
    return false;
  for (auto [i, coefficient] : llvm::enumerate(form->coefficients))
    if (!coefficient.isConstant(i == d ? 1 : 0))
      return false;
  return true;
}

struct Places {
  Value value;
  int64_t axis; ///< of the data
};

/// Of ScatterND: one column of its indices says places, the others count.
std::optional<Places> placesOf(ScatterNDOp scatter) {
  Value indices = scatter.getIndices();
  const Dims data = dimsOf(scatter.getData()), dims = dimsOf(indices);
  if (scatter.getReduction() != "none")
    return std::nullopt;
  if (dims.size() == 2 && dims[1].isConstant(1))
    return Places{indices, 0};
  auto columns = indices.getDefiningOp<ConcatOp>();
  const size_t depth = dims.size() - 1;
  if (!columns || size_t(columns.getAxis()) != depth ||
      columns->getNumOperands() != depth || depth > data.size())
    return std::nullopt;
  std::optional<Places> places;
  for (auto [d, column] : llvm::enumerate(columns.getInputs())) {
    if (data[d].isConstant(1) || countsAlong(column, d))
      continue;
    const auto axis = axisOf(column, depth + 1, int64_t(d));
    if (places || !axis || *axis != int64_t(d))
      return std::nullopt;
    places = Places{column, *axis};
  }
  return places;
}

std::optional<Places> placesOf(Operation *scatter) {
  if (auto nd = dyn_cast<ScatterNDOp>(scatter))
    return placesOf(nd);
  auto elements = dyn_cast<ScatterElementsOp>(scatter);
  if (!elements || elements.getReduction() != "none")
    return std::nullopt;
  const size_t rank = dimsOf(elements.getData()).size();
  const auto differ = dimsThatDiffer(elements.getIndices(), rank);
  const int64_t axis = elements.getAxis();
  if (llvm::any_of(differ, [&](int64_t d) { return d != axis && d != 0; }))
    return std::nullopt;
  return Places{elements.getIndices(), axis};
}

} // namespace

std::optional<StaticWrite> findStaticWrite(Value present) {
  Operation *scatter = present.getDefiningOp();
  auto back = dyn_cast_or_null<TransposeOp>(scatter);
  if (back)
    scatter = back.getData().getDefiningOp();
  if (!isa_and_nonnull<ScatterNDOp, ScatterElementsOp>(scatter))
    return std::nullopt;
  Value data = scatter->getOperand(0);
  auto there = data.getDefiningOp<TransposeOp>();
  if (bool(there) != bool(back) || (there && !data.hasOneUse()) ||
      (there && (!there.getPerm() || !back.getPerm())))
    return std::nullopt;
  auto past = dyn_cast<BlockArgument>(there ? there.getData() : data);
  const auto places = placesOf(scatter);
  if (!past || !past.hasOneUse() || !places)
    return std::nullopt;
  const Dims from = dimsOf(past), added = dimsOf(scatter->getOperand(2));
  SmallVector<int64_t, 4> order;
  for (int64_t d = 0; d < int64_t(from.size()); ++d) {
    order.push_back(there ? (*there.getPerm())[d] : d);
    if (back && (*there.getPerm())[(*back.getPerm())[d]] != d)
      return std::nullopt;
  }
  if (added.size() != from.size())
    return std::nullopt;
  const int64_t axis = order[places->axis];
  for (auto [d, size] : llvm::enumerate(added))
    if (order[d] != axis && size != from[order[d]])
      return std::nullopt;
  return StaticWrite{past,
                     scatter,
                     order,
                     axis,
                     scatter->getOperand(2),
                     beforeExpansion(places->value)};
}

} // namespace shardc::import
