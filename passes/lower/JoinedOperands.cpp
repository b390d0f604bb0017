//===- JoinedOperands.cpp - Parameters of products that become one --------===//

#include "passes/lower/JoinedOperands.h"

#include "passes/lower/overlap/Movement.h"
#include "passes/lower/overlap/RowProduct.h"

using namespace mlir;

namespace shardc::lower {

using dist::DimExpr;

namespace {

rt::ViewType typeOf(Value view) { return cast<rt::ViewType>(view.getType()); }

bool isKnownAtLoad(DimExpr size) {
  bool isKnown = true;
  size.forEachSymbol(
      [&](StringRef, bool isCoordinate) { isKnown &= isCoordinate; });
  return isKnown;
}

/// What a view has for its columns, those outermost: [n], or [n, rows] where
/// rows differ. Nothing where it is of several matrices.
std::optional<StridedLayout> byColumns(Value view) {
  std::optional<StridedLayout> matrix = matrixOf(layoutOf(view));
  if (!matrix)
    return std::nullopt;
  const Sizes &dims = matrix->dims, &strides = matrix->strides;
  if (strides[0].isConstant(0) || dims[0].isConstant(1))
    return StridedLayout{{dims[1]}, {strides[1]}, matrix->offset};
  return StridedLayout{
      {dims[1], dims[0]}, {strides[1], strides[0]}, matrix->offset};
}

/// One element for all rows and columns.
bool isOne(Value view) {
  const std::optional<StridedLayout> columns = byColumns(view);
  return columns && columns->dims.size() == 1 &&
         columns->strides[0].isConstant(0);
}

/// The same one.
bool isShared(Value mine, Value theirs) {
  if (!isOne(mine) || !isOne(theirs) ||
      layoutOf(mine).offset != layoutOf(theirs).offset)
    return false;
  auto first = bufferOf(mine).getDefiningOp<rt::ConstantOp>(),
       other = bufferOf(theirs).getDefiningOp<rt::ConstantOp>();
  return bufferOf(mine) == bufferOf(theirs) ||
         (first && other && first.getElements() == other.getElements());
}

bool canCopy(Value view) {
  Operation *source = bufferOf(view).getDefiningOp();
  auto alloc = dyn_cast_or_null<rt::AllocOp>(source);
  const bool isThere = isa_and_nonnull<rt::WeightOp, rt::ConstantOp>(source) ||
                       (alloc && alloc.getPersistent());
  const std::optional<StridedLayout> columns = byColumns(view);
  if (!isThere || !columns || !llvm::all_of(columns->dims, isKnownAtLoad) ||
      !isKnownAtLoad(columns->offset))
    return false;
  // A part ends where a byte does.
  const unsigned bits = typeOf(view).getElement().getIntOrFloatBitWidth();
  return bits >= 8 ||
         dist::product(columns->dims).exactDiv(8 / bits).has_value();
}

/// But for the number of columns.
bool areAlike(Value mine, Value theirs) {
  if (!isa<rt::ViewType>(mine.getType()) ||
      !isa<rt::ViewType>(theirs.getType()))
    return mine.getType() == theirs.getType();
  const rt::ViewType type = typeOf(mine), other = typeOf(theirs);
  return type.getElement() == other.getElement() &&
         type.getReplicated() == other.getReplicated() &&
         Sizes(type.getDims().drop_back()) ==
             Sizes(other.getDims().drop_back());
}

bool areShared(ArrayRef<Value> operands) {
  return llvm::all_of(operands.drop_front(), [&](Value other) {
    return isShared(operands.front(), other);
  });
}

} // namespace

bool canJoin(ArrayRef<Value> operands) {
  Value first = operands.front();
  for (Value other : operands.drop_front())
    if (!areAlike(first, other))
      return false;
  if (!isa<rt::ViewType>(first.getType()) || areShared(operands))
    return true;
  return llvm::all_of(operands, [&](Value operand) {
    return canCopy(operand) &&
           byColumns(operand)->dims.size() == byColumns(first)->dims.size();
  });
}

Value joinOperands(ArrayRef<Value> operands, rt::ReadyOp ready,
                   OpBuilder &builder) {
  Value first = operands.front();
  if (!isa<rt::ViewType>(first.getType()))
    return first; // absent
  DimExpr count = 0;
  for (Value operand : operands)
    count = count + layoutOf(operand).dims.back();
  StridedLayout joined = layoutOf(first);
  joined.dims.back() = count;
  if (areShared(operands))
    return viewLike(first, bufferOf(first), joined, builder);
  OpBuilder atLoad(ready);
  Sizes dims = byColumns(first)->dims;
  dims[0] = count;
  Value buffer = rt::AllocOp::create(
      atLoad, first.getLoc(), atLoad.getType<rt::BufferType>(),
      dist::DimsAttr::get(
          atLoad.getContext(),
          {rt::storageBytes(typeOf(first).getElement(), dist::product(dims))}),
      /*persistent=*/true);
  const StridedLayout whole = StridedLayout::contiguous(dims);
  DimExpr at = 0;
  for (Value operand : operands) {
    const StridedLayout columns = *byColumns(operand);
    Value from = viewLike(operand, bufferOf(operand), columns, atLoad);
    Value to =
        viewLike(operand, buffer, whole.sliced(0, at, columns.dims[0]), atLoad);
    rt::CallOp::create(atLoad, operand.getLoc(), "Copy", from, to,
                       atLoad.getDictionaryAttr({}));
    at = at + columns.dims[0];
  }
  const bool hasRows = dims.size() > 1;
  joined.offset = 0;
  joined.strides.back() = whole.strides[0];
  joined.strides.end()[-2] = hasRows ? whole.strides[1] : DimExpr(int64_t(0));
  return viewLike(first, buffer, joined, builder);
}

} // namespace shardc::lower
