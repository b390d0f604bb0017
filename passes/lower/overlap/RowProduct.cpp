//===- RowProduct.cpp - A product whose rows are independent --------------===//

#include "passes/lower/overlap/RowProduct.h"

#include "dialects/rt/Provenance.h"
#include "passes/lower/overlap/Movement.h"

using namespace mlir;

namespace shardc::lower {

using dist::DimExpr;

namespace {

/// A kernel, and its inputs that have the rows of its output.
struct RowKernel {
  StringRef name;
  ArrayRef<unsigned> rowInputs;
  bool takesBatches; ///< else operands are matrices
};
constexpr StringRef kDequantized = "MatMulDequantized";
constexpr unsigned kLhs[] = {0}, kLhsAndAddend[] = {0, 2},
                   kLhsAndAddends[] = {0, 2, 3};
constexpr RowKernel kKernels[] = {{"MatMul", kLhs, true},
                                  {kDequantized, kLhs, true},
                                  {"Linear", kLhsAndAddends, true},
                                  {"Gemm", kLhsAndAddend, false}};

const RowKernel *kernelOf(rt::CallOp call) {
  return llvm::find_if(kKernels, [&](const RowKernel &kernel) {
    return kernel.name == call.getKernel();
  });
}

/// As one matrix of so many rows; nothing where its rows are not one dim.
std::optional<StridedLayout> flattened(const StridedLayout &layout) {
  return withRows(layout, dist::product(ArrayRef(layout.dims).drop_back()));
}

/// That of the same product where operands have so many dims: blocks of weights
/// lie along the dim that is summed, the last but one.
DictionaryAttr configOf(rt::CallOp call, int64_t rank) {
  constexpr StringRef kAxis = "axis";
  NamedAttrList config(call.getConfigAttr());
  if (config.get(kAxis))
    config.set(kAxis, DenseI64ArrayAttr::get(call.getContext(), {rank - 2}));
  return config.getDictionary(call.getContext());
}

} // namespace

std::optional<StridedLayout> matrixOf(const StridedLayout &layout) {
  if (layout.dims.size() < 2)
    return std::nullopt;
  const size_t batch = layout.dims.size() - 2;
  for (size_t d = 0; d < batch; ++d)
    if (!layout.strides[d].isConstant(0) && !layout.dims[d].isConstant(1))
      return std::nullopt;
  return StridedLayout{Sizes(ArrayRef(layout.dims).drop_front(batch)),
                       Sizes(ArrayRef(layout.strides).drop_front(batch)),
                       layout.offset};
}

StridedLayout layoutOf(Value view) {
  auto type = cast<rt::ViewType>(view.getType());
  return {Sizes(type.getDims()), Sizes(type.getStrides()), type.getOffset()};
}

Value viewLike(Value view, Value buffer, const StridedLayout &layout,
               OpBuilder &builder) {
  auto old = cast<rt::ViewType>(view.getType());
  auto type =
      rt::ViewType::get(builder.getContext(), old.getElement(), layout.dims,
                        layout.strides, layout.offset, old.getReplicated());
  for (Operation *user : buffer.getUsers())
    if (auto made = dyn_cast<rt::ViewOp>(user); made && made.getType() == type)
      return made;
  // Where all users of the buffer see it.
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(buffer);
  return rt::ViewOp::create(builder, view.getLoc(), type, buffer);
}

std::optional<RowProduct> RowProduct::of(rt::CallOp call) {
  const RowKernel *kernel = kernelOf(call);
  if (kernel == std::end(kKernels) || call.getOutputs().size() != 1)
    return std::nullopt;
  RowProduct product{call, {}};
  for (auto [i, input] : llvm::enumerate(call.getInputs())) {
    if (!isa<rt::ViewType>(input.getType()))
      continue; // absent
    if (llvm::is_contained(kernel->rowInputs, i))
      product.rowInputs.push_back(i);
    else if (!matrixOf(layoutOf(input)))
      return std::nullopt;
  }
  return product;
}

int64_t RowProduct::elementBits() const {
  return cast<rt::ViewType>(output().getType())
      .getElement()
      .getIntOrFloatBitWidth();
}

bool RowProduct::isDequantized() const {
  return call.getKernel() == kDequantized;
}

bool RowProduct::readsElsewhere(Value buffer) const {
  for (auto [i, input] : llvm::enumerate(call.getInputs()))
    if (i != rowInputs.front() && bufferOf(input) == buffer)
      return true;
  return false;
}

bool RowProduct::canCut(const RowCut &cut) const {
  const RowPart any{0, DimExpr::symbol("any")};
  auto canCut = [&](Value view) {
    const std::optional<StridedLayout> rows = withRows(layoutOf(view), cut);
    return rows && (kernelOf(call)->takesBatches ||
                    flattened(rows->sliced(cut.dim, any.start, any.size)));
  };
  return canCut(output()) && llvm::all_of(rowInputs, [&](unsigned i) {
           return canCut(call.getInputs()[i]);
         });
}

void RowProduct::addPart(const RowCut &cut, const RowPart &part, Value between,
                         bool isOutput, OpBuilder &builder) const {
  SmallVector<Value, 4> views(call.getInputs());
  views.push_back(output());
  SmallVector<std::optional<StridedLayout>, 4> layouts(views.size());
  SmallVector<size_t, 3> cutViews(rowInputs.begin(), rowInputs.end());
  cutViews.push_back(views.size() - 1);
  const size_t ofBetween = isOutput ? views.size() - 1 : rowInputs.front();
  bool isFlat = true;
  for (size_t i : cutViews) {
    StridedLayout layout = withRows(layoutOf(views[i]), cut)
                               ->sliced(cut.dim, part.start, part.size);
    if (i == ofBetween)
      layout = StridedLayout::contiguous(layout.dims);
    isFlat &= flattened(layout).has_value();
    layouts[i] = layout;
  }
  if (isFlat)
    for (size_t i : cutViews)
      layouts[i] = flattened(*layouts[i]);
  const Sizes batch(ArrayRef(layouts.back()->dims).drop_back(2));
  for (size_t i = 0; i < views.size(); ++i) {
    if (!layouts[i] && isa<rt::ViewType>(views[i].getType())) {
      Sizes dims = batch;
      const StridedLayout matrix = *matrixOf(layoutOf(views[i]));
      dims.append(matrix.dims);
      layouts[i] = matrix.broadcast(dims);
    }
    if (layouts[i])
      views[i] =
          viewLike(views[i], i == ofBetween ? between : bufferOf(views[i]),
                   *layouts[i], builder);
  }
  Value to = views.pop_back_val();
  const auto rank = static_cast<int64_t>(layouts.back()->dims.size());
  rt::copyMembers(call, rt::CallOp::create(builder, call.getLoc(),
                                           call.getKernelAttr(), views, to,
                                           configOf(call, rank)));
}

} // namespace shardc::lower
