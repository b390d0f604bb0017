#include "passes/import/rows/RowBuilder.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using onnx::RowSymbols;
using namespace onnx;

RowBuilder::RowBuilder(OpBuilder &builder, const RowSizes &sizes,
                       const RowInputs &inputs)
    : sizes(sizes), inputs(inputs), builder(builder),
      loc(builder.getUnknownLoc()) {}

Value RowBuilder::make(StringRef op, Type type, ValueRange operands,
                       ArrayRef<NamedAttribute> attributes) {
  OperationState state(loc, op);
  state.addOperands(operands);
  state.addTypes(type);
  state.addAttributes(attributes);
  return builder.create(state)->getResult(0);
}

NamedAttribute RowBuilder::bounds(ArrayRef<DimExpr> values) {
  return builder.getNamedAttr(
      "bounds", dist::DimsAttr::get(builder.getContext(), values));
}

Value RowBuilder::scalar(Type element, double value) {
  auto type = RankedTensorType::get({}, element);
  Attribute number =
      isa<FloatType>(element)
          ? Attribute(builder.getFloatAttr(element, value))
          : Attribute(builder.getIntegerAttr(element, int64_t(value)));
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, number));
}

Value RowBuilder::integer(int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, builder.getI64IntegerAttr(value)));
}

Value RowBuilder::range(DimExpr size) {
  return make<RangeOp>(builder.getI64Type(), {size}, {},
                       {bounds({DimExpr(int64_t(0)), DimExpr(int64_t(1))})});
}

Value RowBuilder::cast(Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  return make<CastOp>(element, dimsOf(value), {value});
}

/// Not of what `value` is a Reshape of: what is tried out begins at values that
/// ops of the request became.
Value RowBuilder::reshape(Value value, ArrayRef<DimExpr> dims) {
  if (ArrayRef<DimExpr>(dimsOf(value)) == dims)
    return value;
  return make<ReshapeOp>(elementOf(value), dims, {value});
}

Value RowBuilder::gather(Value data, Value indices, int64_t axis) {
  Dims from = dimsOf(data), dims(from.begin(), from.begin() + axis);
  llvm::append_range(dims, dimsOf(indices));
  llvm::append_range(dims, ArrayRef(from).drop_front(axis + 1));
  return make<GatherOp>(elementOf(data), dims, {data, indices},
                        {attribute("axis", axis)});
}

Value RowBuilder::counts() {
  if (ofCounts)
    return ofCounts;
  const Type i64 = builder.getI64Type();
  const DimExpr rows = RowSymbols::rows();
  auto from = [&](int64_t start) {
    return make<SliceOp>(
        i64, {rows}, {inputs.first},
        {bounds({DimExpr(start)}),
         builder.getNamedAttr("steps", builder.getDenseI64ArrayAttr({1}))});
  };
  Value end = from(1), begin = from(0);
  return ofCounts = binary<SubOp>(end, begin, i64, {rows});
}

Value RowBuilder::lengths() {
  return binary<AddOp>(inputs.past, counts(), builder.getI64Type(),
                       {RowSymbols::rows()});
}

Value RowBuilder::ofRows(DimExpr value) {
  const Type i64 = builder.getI64Type();
  const Dims rows{RowSymbols::rows()};
  Value sum;
  for (const DimExpr::Term &term : value.terms()) {
    Value product = integer(term.coefficient);
    for (const dist::detail::DimAtom *atom : term.atoms) {
      if (atom->kind != dist::detail::AtomKind::Symbol)
        return {};
      const DimExpr symbol = DimExpr::symbol(atom->name);
      if (symbol == sizes.ofRequest())
        continue; // 1
      Value factor = symbol == sizes.past       ? inputs.past
                     : symbol == sizes.sequence ? counts()
                     : symbol == sizes.encoder  ? inputs.encoderLengths
                                                : Value();
      if (!factor)
        return {};
      product = binary<MulOp>(product, factor, i64, rows);
    }
    sum = sum ? binary<AddOp>(sum, product, i64, rows) : product;
  }
  sum = sum ? sum : integer(0);
  return dimsOf(sum).empty() ? make<ExpandOp>(i64, rows, {sum}) : sum;
}

Value RowBuilder::index(const TokenSet &set) {
  return binary<SubOp>(set.position, ofTokens(inputs.past, set),
                       builder.getI64Type(), {set.size});
}

Value RowBuilder::padded(Value value, size_t rank) {
  Dims dims = dimsOf(value);
  dims.insert(dims.begin() + 1, rank + 1 - dims.size(), DimExpr(1));
  return reshape(value, dims);
}

Value RowBuilder::spread(Value ofRows, const TokenSet &set, size_t rank,
                         size_t dim) {
  Value value = padded(ofTokens(ofRows, set), rank);
  // [t, d0, .., 1, .., dn]: the tokens take the place of the 1.
  Dims dims = dimsOf(value);
  dims.erase(dims.begin() + 1 + dim);
  value = reshape(value, dims);
  SmallVector<int64_t> order;
  for (size_t d = 0; d < rank; ++d)
    order.push_back(d < dim ? int64_t(d) + 1 : d == dim ? 0 : int64_t(d));
  if (llvm::all_of(ArrayRef(dims).slice(1, dim),
                   [](DimExpr size) { return size.isConstant(1); })) {
    std::rotate(dims.begin(), dims.begin() + 1, dims.begin() + 1 + dim);
    return reshape(value, dims);
  }
  return transposed(builder, loc, value, order);
}

Value RowBuilder::along(Value vector, size_t rank, size_t dim) {
  Dims dims(rank, DimExpr(1));
  dims[dim] = dimsOf(vector)[0];
  return reshape(vector, dims);
}

} // namespace shardc::import
