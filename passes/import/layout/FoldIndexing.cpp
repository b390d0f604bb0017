//===- FoldIndexing.cpp - Gathers and scatters by indices that count ------===//
//
// What exporters index by positions in order is the data itself, with its dims
// elsewhere:
//
//   GatherND mask, (i, j)                 mask [b, s] as [b, 1, 1, s]
//   GatherND mask [b, all], (i, j)        mask [:, :s] as [b, 1, 1, s]
//   Gather (mask as [b * s]), i * s + j   the same
//   ScatterND x, (i, j), updates          the updates
//
// and what they index by one number for all of a row is a Gather of rows:
//
//   GatherElements (table to [b, n, d]),  Gather table, i
//       (i [b, s] to [b, s, d])
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/KnownValue.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/layout/IndexForm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_FOLDINDEXING
#include "passes/import/Passes.h.inc"

using dist::DimExpr;
using namespace onnx;

namespace {

/// For each dim of the indices the dim of the data along which it counts, -1
/// for one along which all is the same.
using Places = SmallVector<int64_t, 4>;

/// Constants with more elements are not read.
constexpr int64_t kMostStored = 1 << 12;

/// What takes the place of a gather: data with its dims in another order, those
/// of the indices and between them ones along which it is repeated. What
/// `order` leaves out comes last: dims of size 1, and those behind.
Value laidOut(OpBuilder &builder, Operation *gather, Value data,
              SmallVector<int64_t> order, ArrayRef<DimExpr> dims) {
  Location loc = gather->getLoc();
  for (size_t d = 0; d < dimsOf(data).size(); ++d)
    if (!llvm::is_contained(order, static_cast<int64_t>(d)))
      order.push_back(static_cast<int64_t>(d));
  Value value = transposed(builder, loc, data, order);
  value = reshaped(builder, loc, value, dims);
  auto type = cast<RankedTensorType>(gather->getResult(0).getType());
  if (dist::getDims(type) == dimsOf(value))
    return value;
  return ExpandOp::create(builder, loc, type, value, ValueRange{});
}

/// The dims of the data that one dim stands for: those that a Reshape merged.
struct Source {
  Value data;
  size_t first, last; ///< dims [first, last) of it
};

std::optional<Source> sourceOf(Value data, size_t axis) {
  auto reshape = data.getDefiningOp<ReshapeOp>();
  if (!reshape)
    return Source{data, axis, axis + 1};
  Dims from = dimsOf(reshape.getData()), to = dimsOf(data);
  Source source{reshape.getData(), 0, 0};
  size_t next = 0;
  for (auto [d, size] : llvm::enumerate(to)) {
    if (d == axis) {
      source.first = next;
      DimExpr all = 1;
      while (all != size && next < from.size())
        all = all * from[next++];
      source.last = next;
      if (all != size)
        return Source{data, axis, axis + 1};
    } else if (next < from.size() && from[next] == size) {
      ++next;
    } else if (!size.isConstant(1)) {
      return Source{data, axis, axis + 1};
    }
  }
  return next == from.size() ? source : Source{data, axis, axis + 1};
}

/// Where the indices count through all of the source's dims, each once and from
/// its first element to its last; of a single dim to the one before `end`, if
/// that is asked for.
std::optional<Places> placesIn(const Source &source, Value indices,
                               DimExpr *end = nullptr) {
  std::optional<IndexForm> form = indexFormOf(indices);
  if (!form || !form->offset.isConstant(0))
    return std::nullopt;
  Dims from = dimsOf(source.data), dims = dimsOf(indices);
  Places places(dims.size(), -1);
  DimExpr stride = 1;
  for (size_t d = source.last; d-- > source.first;) {
    if (from[d].isConstant(1))
      continue;
    size_t i = 0;
    while (i < dims.size() &&
           (places[i] >= 0 || form->coefficients[i] != stride ||
            (!end && dims[i] != from[d])))
      ++i;
    if (i == dims.size())
      return std::nullopt;
    if (end)
      *end = dims[i];
    places[i] = static_cast<int64_t>(d);
    stride = stride * from[d];
  }
  for (auto [place, coefficient] : llvm::zip(places, form->coefficients))
    if (place < 0 && !coefficient.isConstant(0))
      return std::nullopt;
  return places;
}

/// Dims of `places` first, 1 where there is none; then `order` is what is left.
void place(ArrayRef<int64_t> places, ArrayRef<DimExpr> from,
           SmallVectorImpl<int64_t> &order, Dims &dims) {
  for (int64_t place : places) {
    dims.push_back(place < 0 ? DimExpr(1) : from[place]);
    if (place >= 0)
      order.push_back(place);
  }
}

Value fold(OpBuilder &builder, GatherOp gather) {
  const auto axis = static_cast<size_t>(gather.getAxis());
  std::optional<Source> source = sourceOf(gather.getData(), axis);
  auto places = source ? placesIn(*source, gather.getIndices()) : std::nullopt;
  if (!places)
    return {};
  Dims from = dimsOf(source->data), outer = dimsOf(gather.getData()), dims;
  SmallVector<int64_t> order;
  for (size_t d = 0; d < source->first; ++d)
    order.push_back(static_cast<int64_t>(d));
  llvm::append_range(dims, ArrayRef(outer).take_front(axis));
  place(*places, from, order, dims);
  llvm::append_range(dims, ArrayRef(outer).drop_front(axis + 1));
  return laidOut(builder, gather, source->data, order, dims);
}

/// Rows of a stored matrix that are zeros and then the row's number.
bool isCounted(Value indices) {
  if (auto weight = indices.getDefiningOp<WeightOp>())
    return weight.getPattern() == "counted";
  auto constant = indices.getDefiningOp<ConstantOp>();
  auto known =
      constant ? readKnown(constant.getValue(), kMostStored) : std::nullopt;
  auto values = known ? known->asConstants() : std::nullopt;
  const Dims dims = dimsOf(indices);
  if (!values || dims.size() < 2 ||
      dims[dims.size() - 2] * *dims.back().asConstant() !=
          DimExpr(int64_t(values->size())))
    return false;
  const int64_t columns = *dims.back().asConstant();
  for (auto [i, value] : llvm::enumerate(*values))
    if (value !=
        (int64_t(i) % columns + 1 < columns ? 0 : int64_t(i) / columns))
      return false;
  return true;
}

/// Of stored indices whose last column counts their rows, all others being 0.
std::optional<Places> placesOfStored(Value indices, ArrayRef<DimExpr> data,
                                     Dims *ends) {
  const Dims dims = dimsOf(indices);
  const auto columns = dims.back().asConstant();
  if (!columns || size_t(*columns) > data.size() || !isCounted(indices))
    return std::nullopt;
  const DimExpr end = dims[dims.size() - 2];
  for (DimExpr size : data.take_front(*columns - 1))
    if (!size.isConstant(1))
      return std::nullopt;
  if (!ends && data[*columns - 1] != end)
    return std::nullopt;
  if (ends)
    (*ends)[*columns - 1] = end;
  Places places(dims.size() - 1, -1);
  places.back() = *columns - 1;
  return places;
}

/// Of indices whose last dim has one index for each of the first dims of the
/// data. `ends`, if it is asked for, are the sizes of the part that they count
/// through.
std::optional<Places> placesOfColumns(Value data, Value indices,
                                      Dims *ends = nullptr) {
  if (isa_and_nonnull<WeightOp, ConstantOp>(indices.getDefiningOp()))
    return placesOfStored(indices, dimsOf(data), ends);
  auto columns = indices.getDefiningOp<ConcatOp>();
  const size_t rank = dimsOf(indices).size();
  if (!columns || static_cast<size_t>(columns.getAxis()) + 1 != rank ||
      columns->getNumOperands() > dimsOf(data).size())
    return std::nullopt;
  Places places(rank - 1, -1);
  for (auto [d, column] : llvm::enumerate(columns.getInputs())) {
    auto found =
        dimsOf(column).back().isConstant(1)
            ? placesIn({data, d, d + 1}, column, ends ? &(*ends)[d] : nullptr)
            : std::nullopt;
    if (!found)
      return std::nullopt;
    for (auto [place, other] : llvm::zip(places, *found)) {
      if (place >= 0 && other >= 0)
        return std::nullopt; // a diagonal
      place = std::max(place, other);
    }
  }
  return places;
}

/// The first `ends` of the data; what there are no indices for was an error, and
/// is one. Null where no request could have as many.
Value frontOf(OpBuilder &builder, GatherNDOp gather, const Dims &ends) {
  Value data = gather.getData();
  const Dims from = dimsOf(data);
  if (ends == from)
    return data;
  MLIRContext *context = builder.getContext();
  for (auto [size, end] : llvm::zip(from, ends))
    if ((end - size).isKnownAtLeast(1))
      return {};
  for (auto [size, end] : llvm::zip(from, ends))
    if (!(size - end).isKnownNonNegative())
      onnx::GuardOp::create(
          builder, gather.getLoc(), dist::DimsAttr::get(context, size),
          stringify(GuardKind::AtLeast), dist::DimsAttr::get(context, end),
          "GatherND: indices up to " + end.str() + " of a dim of " +
              size.str());
  return SliceOp::create(
      builder, gather.getLoc(), dist::makeType(elementOf(data), ends), data,
      ValueRange{}, DenseI64ArrayAttr(), DenseI64ArrayAttr(),
      DenseI64ArrayAttr(),
      dist::DimsAttr::get(context, Dims(from.size(), DimExpr())),
      builder.getDenseI64ArrayAttr(SmallVector<int64_t>(from.size(), 1)));
}

Value fold(OpBuilder &builder, GatherNDOp gather) {
  Dims ends = dimsOf(gather.getData());
  auto places =
      gather.getBatchDims() == 0
          ? placesOfColumns(gather.getData(), gather.getIndices(), &ends)
          : std::nullopt;
  Value data = places ? frontOf(builder, gather, ends) : Value();
  if (!data)
    return {};
  Dims from = dimsOf(data), dims;
  const auto columns = dimsOf(gather.getIndices()).back().asConstant();
  SmallVector<int64_t> order;
  place(*places, from, order, dims);
  llvm::append_range(dims, ArrayRef(from).drop_front(*columns));
  return laidOut(builder, gather, data, order, dims);
}

/// Every element is written once, in order: nothing is left of the data.
Value fold(OpBuilder &, ScatterNDOp scatter) {
  auto places = scatter.getReduction() == "none"
                    ? placesOfColumns(scatter.getData(), scatter.getIndices())
                    : std::nullopt;
  if (!places || !haveSameDims(scatter.getData(), scatter.getUpdates()))
    return {};
  for (auto [i, place] : llvm::enumerate(*places))
    if (place >= 0 && place != int64_t(i))
      return {};
  return scatter.getUpdates();
}

/// What a value repeats along these dims, without them; null if it does not.
Value unrepeated(OpBuilder &builder, Value value, size_t first, size_t last) {
  if (first == last)
    return value;
  const Dims dims = dimsOf(value);
  Value inner = value;
  while (auto expand = inner.getDefiningOp<ExpandOp>())
    inner = expand.getData();
  Dims from = dimsOf(inner);
  from.insert(from.begin(), dims.size() - from.size(), DimExpr(1));
  for (auto [d, size] : llvm::enumerate(from)) {
    const bool goes = d >= first && d < last;
    if (goes ? !size.isConstant(1) : size != dims[d])
      return {};
  }
  from.erase(from.begin() + first, from.begin() + last);
  return reshaped(builder, value.getLoc(), inner, from);
}

/// Indices that are the same along all dims behind `axis`, of data that is the
/// same along all dims before it.
Value fold(OpBuilder &builder, GatherElementsOp gather) {
  const auto axis = static_cast<size_t>(gather.getAxis());
  const Dims dims = dimsOf(gather.getIndices());
  const Dims from = dimsOf(gather.getData());
  if (axis + 1 == dims.size() || ArrayRef(dims).drop_front(axis + 1) !=
                                     ArrayRef(from).drop_front(axis + 1))
    return {};
  Value table = unrepeated(builder, gather.getData(), 0, axis);
  Value rows =
      table ? unrepeated(builder, gather.getIndices(), axis + 1, dims.size())
            : Value();
  return rows ? Value(GatherOp::create(builder, gather.getLoc(),
                                       gather.getResult().getType(), table,
                                       rows, uint64_t(0)))
              : Value();
}

struct FoldIndexing : impl::FoldIndexingBase<FoldIndexing> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        run(block);
  }

private:
  void run(Block &block) {
    OpBuilder builder(&getContext());
    bool hasChanged = false;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      builder.setInsertionPoint(&op);
      Value folded;
      if (auto gather = dyn_cast<GatherOp>(op))
        folded = fold(builder, gather);
      else if (auto gather = dyn_cast<GatherNDOp>(op))
        folded = fold(builder, gather);
      else if (auto scatter = dyn_cast<ScatterNDOp>(op))
        folded = fold(builder, scatter);
      else if (auto gather = dyn_cast<GatherElementsOp>(op))
        folded = fold(builder, gather);
      if (!folded)
        continue;
      op.getResult(0).replaceAllUsesWith(folded);
      op.erase();
      hasChanged = true;
      ++numFolded;
    }
    if (hasChanged)
      eraseDead(block);
  }
};

} // namespace
} // namespace shardc::import
