//===- MergeProducts.cpp - Products of one operand as one -----------------===//

#include "passes/lower/Passes.h"

#include "dialects/rt/Provenance.h"
#include "passes/lower/JoinedOperands.h"
#include "passes/lower/RowWindow.h"
#include "passes/lower/overlap/Movement.h"
#include "passes/lower/overlap/RowProduct.h"
#include "passes/lower/rows/RowKernel.h"

using namespace mlir;

namespace shardc::lower {
#define GEN_PASS_DEF_MERGEPRODUCTS
#include "passes/lower/Passes.h.inc"

using dist::DimExpr;

namespace {

/// x W, where nobody else reads W, and calls alone read the product; with what
/// the kernel has for the columns of W.
struct Product {
  // Handles, whose accessors are not const.
  mutable rt::CallOp call;
  mutable rt::WeightOp weight;
  mutable rt::AllocOp alloc;
  bool isTransposed = false; ///< W lies as [n, k]

  static std::optional<Product> of(rt::CallOp call);

  Value view() const { return call.getOutputs()[0]; }
  DimExpr columns() const { return layoutOf(view()).dims.back(); }
  bool fits(const Product &other) const;

private:
  bool readWeight();
  bool readResult();
};

} // namespace

/// All of the weight's slice, which batch dims repeat.
bool Product::readWeight() {
  Value operand = call.getInputs()[1];
  auto view = operand.getDefiningOp<rt::ViewOp>();
  weight =
      view ? view.getBuffer().getDefiningOp<rt::WeightOp>() : rt::WeightOp();
  if (!weight || !operand.hasOneUse() || !weight.getBuffer().hasOneUse())
    return false;
  const std::optional<StridedLayout> matrix = matrixOf(layoutOf(operand));
  if (!matrix || matrix->offset != 0)
    return false;
  const Sizes &dims = matrix->dims;
  isTransposed = matrix->strides != Sizes{dims[1], 1};
  // What comes to lie side by side ends where a byte does.
  const unsigned bits = weight.getElement().getIntOrFloatBitWidth();
  const DimExpr run = isTransposed ? dims[0] * dims[1] : dims[1];
  if (bits < 8 && !run.exactDiv(8 / bits).has_value())
    return false;
  dist::ValueAttr value = weight.getValue();
  const ArrayRef<DimExpr> local =
      value.getHasLocal() ? value.getLocal() : value.getDims();
  return isTransposed ? matrix->strides == Sizes{1, dims[0]} &&
                            Sizes(local) == Sizes{dims[1], dims[0]}
                      : Sizes(local) == dims;
}

/// All of a temporary that calls read.
bool Product::readResult() {
  Value buffer = bufferOf(view());
  alloc = buffer.getDefiningOp<rt::AllocOp>();
  if (!alloc || alloc.getPersistent() || !layoutOf(view()).isContiguous() ||
      layoutOf(view()).offset != 0)
    return false;
  for (Operation *user : buffer.getUsers()) {
    if (!isa<rt::ViewOp, rt::FreeOp>(user))
      return false;
    for (Operation *reader : user->getUsers())
      if (!isa<rt::CallOp>(reader))
        return false;
  }
  return true;
}

std::optional<Product> Product::of(rt::CallOp call) {
  Product product{call, {}, {}};
  const StringRef kernel = call.getKernel();
  const size_t inputs = call.getInputs().size();
  // A residual has rows as well.
  const bool isKnown =
      kernel == "MatMul" || (kernel == "Linear" && inputs <= 3) ||
      (kernel == "MatMulDequantized" && inputs >= 3 && inputs <= 4);
  if (!isKnown || call.getOutputs().size() != 1 || !product.readWeight() ||
      !product.readResult())
    return std::nullopt;
  return product;
}

/// Of the same x and of weights that differ in their columns alone, with
/// nothing in between that is done, or not done, for both. What is the same on
/// all ranks is computed by the same product on all of them: a library may take
/// another kernel, with other bits, for rows of another length.
bool Product::fits(const Product &other) const {
  Value mine = call.getInputs()[0], theirs = other.call.getInputs()[0];
  if (cast<rt::ViewType>(view().getType()).getReplicated() !=
      cast<rt::ViewType>(other.view().getType()).getReplicated())
    return false;
  if (mine.getType() != theirs.getType() ||
      bufferOf(mine) != bufferOf(theirs) ||
      weight.getElement() != other.weight.getElement() ||
      isTransposed != other.isTransposed ||
      call.getKernel() != other.call.getKernel() ||
      call.getConfig() != other.call.getConfig() ||
      call.getInputs().size() != other.call.getInputs().size())
    return false;
  for (auto [a, b] : llvm::zip(call.getInputs().drop_front(2),
                               other.call.getInputs().drop_front(2)))
    if (!canJoin({a, b}))
      return false;
  for (Operation *op = call->getNextNode(); op != other.call.getOperation();
       op = op->getNextNode())
    if (!op || isBarrier(op) ||
        llvm::is_contained(accessesOf(op).writes, bufferOf(mine)))
      return false;
  return true;
}

namespace {

/// What is seen of a product, in the rows of the merged one.
struct MovedView {
  rt::ViewOp view;
  StridedLayout layout;
};

class Merge {
public:
  explicit Merge(ArrayRef<Product> products) : products(products) {
    for (const Product &product : products)
      columns = columns + product.columns();
  }

  /// False, and nothing is changed, where a view has no place in longer rows,
  /// or parameters cannot be one.
  bool run(rt::ReadyOp ready) {
    OpBuilder builder(products.front().call);
    if (!moveViews() || !joinParameters(ready, builder))
      return false;
    Value weights = join(builder), result = allocate(builder);
    for (MovedView &moved : views) {
      builder.setInsertionPointAfterValue(result);
      Value view = moved.view.getView();
      view.replaceAllUsesWith(viewLike(view, result, moved.layout, builder));
    }
    replaceCalls(weights, result);
    return true;
  }

private:
  bool moveViews() {
    DimExpr column = 0;
    for (const Product &product : products) {
      for (Operation *user : product.alloc->getUsers()) {
        auto view = dyn_cast<rt::ViewOp>(user);
        if (!view)
          continue;
        std::optional<StridedLayout> layout = withinRows(
            layoutOf(view.getView()), {product.columns(), columns, column});
        if (!layout)
          return false;
        views.push_back({view, *layout});
      }
      column = column + product.columns();
    }
    return true;
  }

  /// All that comes behind x and W.
  bool joinParameters(rt::ReadyOp ready, OpBuilder &builder) {
    SmallVector<SmallVector<Value>> operands;
    for (unsigned i = 2; i < products.front().call.getInputs().size(); ++i) {
      SmallVector<Value> &all = operands.emplace_back();
      for (const Product &product : products)
        all.push_back(product.call.getInputs()[i]);
      if (!canJoin(all))
        return false;
    }
    for (ArrayRef<Value> all : operands)
      parameters.push_back(joinOperands(all, ready, builder));
    return true;
  }

  /// Where all of its weights are there.
  Value join(OpBuilder &builder) const {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Value> weights;
    Operation *last = nullptr;
    for (const Product &product : products) {
      Operation *weight = product.weight;
      weights.push_back(weight->getResult(0));
      if (!last || last->isBeforeInBlock(weight))
        last = weight;
    }
    builder.setInsertionPointAfter(last);
    return rt::JoinOp::create(builder, last->getLoc(),
                              builder.getType<rt::BufferType>(), weights,
                              products.front().isTransposed ? 0 : 1);
  }

  Value allocate(OpBuilder &builder) const {
    const Product &first = products.front();
    const StridedLayout layout = layoutOf(first.view());
    const DimExpr bytes =
        dist::product(ArrayRef(layout.dims).drop_back()) * columns *
        rt::elementBytes(
            cast<rt::ViewType>(first.view().getType()).getElement());
    Operation *last = nullptr; // that frees one of them
    for (const Product &product : products)
      for (Operation *user : product.alloc->getUsers())
        if (isa<rt::FreeOp>(user) && (!last || last->isBeforeInBlock(user)))
          last = user;
    Value result = rt::AllocOp::create(
        builder, first.call.getLoc(), builder.getType<rt::BufferType>(),
        dist::DimsAttr::get(builder.getContext(), {bytes}),
        /*persistent=*/false);
    if (last) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfter(last);
      rt::FreeOp::create(builder, last->getLoc(), result);
    }
    return result;
  }

  void replaceCalls(Value weights, Value result) const {
    rt::CallOp first = products.front().call;
    SmallVector<rt::CallOp> calls;
    for (const Product &product : products)
      calls.push_back(product.call);
    OpBuilder builder(first);
    StridedLayout matrix = layoutOf(first.getInputs()[1]);
    matrix.dims.back() = columns;
    if (!products.front().isTransposed)
      matrix.strides[matrix.strides.size() - 2] = columns;
    StridedLayout rows = layoutOf(first.getInputs()[0]);
    rows.dims.back() = columns;
    const StridedLayout whole = StridedLayout::contiguous(rows.dims);
    Value operand = viewLike(first.getInputs()[1], weights, matrix, builder);
    Value output = viewLike(first.getOutputs()[0], result, whole, builder);
    SmallVector<Value, 4> inputs = {first.getInputs()[0], operand};
    inputs.append(parameters);
    rt::copyMembers(first, rt::CallOp::create(builder, nodesOf(calls),
                                              first.getKernel(), inputs, output,
                                              first.getConfig()));
    for (rt::CallOp call : calls)
      eraseWithOperands(call);
    for (const Product &product : products) {
      for (Operation *user :
           llvm::make_early_inc_range(product.alloc->getUsers()))
        user->erase();
      product.alloc->erase();
    }
  }

  /// And with views of them, and constants, that nobody else reads.
  static void eraseWithOperands(rt::CallOp call) {
    const SmallVector<Value, 4> operands(call.getInputs().drop_front());
    call->erase();
    for (Value operand : operands) {
      auto view = operand.getDefiningOp<rt::ViewOp>();
      if (!view || !view->use_empty())
        continue;
      auto constant = view.getBuffer().getDefiningOp<rt::ConstantOp>();
      view->erase();
      if (constant && constant->use_empty())
        constant->erase();
    }
  }

  ArrayRef<Product> products;
  DimExpr columns = 0; ///< of all
  SmallVector<Value> parameters;
  SmallVector<MovedView> views;
};

struct MergeProductsPass : impl::MergeProductsBase<MergeProductsPass> {
  using MergeProductsBase::MergeProductsBase;

  void runOnOperation() override {
    for (auto program : getOperation().getOps<rt::ProgramOp>()) {
      auto ready = *program.getOps<rt::ReadyOp>().begin();
      SmallVector<SmallVector<Product>> groups;
      for (auto call : program.getOps<rt::CallOp>())
        if (std::optional<Product> product = Product::of(call))
          add(*product, groups);
      for (ArrayRef<Product> group : groups)
        if (group.size() > 1 && Merge(group).run(ready))
          numMerged += group.size() - 1;
    }
  }

private:
  static void add(const Product &product,
                  SmallVectorImpl<SmallVector<Product>> &groups) {
    for (SmallVector<Product> &group : groups)
      if (group.front().fits(product)) {
        group.push_back(product);
        return;
      }
    groups.push_back({product});
  }
};

} // namespace
} // namespace shardc::lower
