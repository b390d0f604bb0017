//===- SplitCollectives.cpp - Collectives in parts, beside products -------===//

#include "passes/lower/overlap/SplitCollectives.h"

#include "dialects/dist/NodeName.h"
#include "passes/lower/overlap/Movement.h"
#include "passes/lower/overlap/RowProduct.h"

using namespace mlir;

namespace shardc::lower {

using dist::DimExpr;

namespace {

/// A collective, and the products that are cut with it.
struct Pair {
  rt::CollectiveOp collective;
  bool isProductFirst = true;
  SmallVector<RowProduct, 3> products;
  RowCut cut;
};

class CollectiveSplitter {
public:
  CollectiveSplitter(rt::ProgramOp program, const dist::Mesh &mesh,
                     const OverlapOptions &options)
      : program(program), mesh(mesh), options(options),
        builder(program.getContext()) {}

  std::vector<OverlapDecision> run() {
    SmallVector<rt::CollectiveOp> collectives;
    bool isLoading = true;
    for (Operation &op : program.getBody().front()) {
      isLoading &= !isa<rt::ReadyOp>(op);
      if (auto collective = dyn_cast<rt::CollectiveOp>(op);
          collective && !isLoading)
        collectives.push_back(collective);
    }
    std::vector<OverlapDecision> decisions;
    for (rt::CollectiveOp collective : collectives)
      if (std::optional<Pair> pair = find(collective)) {
        int64_t leastRows = 1;
        decisions.push_back(decide(*pair, leastRows));
        if (decisions.back().parts > 1)
          split(*pair, decisions.back().parts, leastRows);
      }
    return decisions;
  }

private:
  //===--- What may be cut ------------------------------------------------===//

  std::optional<Pair> find(rt::CollectiveOp collective) {
    Pair pair;
    pair.collective = collective;
    const StringRef kernel = collective.getKernel();
    pair.isProductFirst = kernel != "all_gather";
    if (kernel != "all_reduce" && kernel != "reduce_scatter" &&
        kernel != "all_gather")
      return std::nullopt;
    Value between = bufferOf(pair.isProductFirst ? collective.getInput()
                                                 : collective.getOutput());
    auto alloc = between ? between.getDefiningOp<rt::AllocOp>() : rt::AllocOp();
    auto target = bufferOf(collective.getOutput()).getDefiningOp<rt::AllocOp>();
    if (!alloc || alloc.getPersistent() || !target ||
        !findProducts(pair, alloc) || !findCut(pair))
      return std::nullopt;
    return pair;
  }

  /// Of the value between collective and products: nobody else may look at it.
  static bool findProducts(Pair &pair, rt::AllocOp between) {
    SmallVector<rt::CallOp, 3> calls;
    for (Operation *view : between->getUsers()) {
      if (isa<rt::FreeOp>(view))
        continue;
      if (!isa<rt::ViewOp>(view))
        return false;
      for (Operation *user : view->getUsers()) {
        auto call = dyn_cast<rt::CallOp>(user);
        if (user != pair.collective && !call)
          return false;
        if (call && !llvm::is_contained(calls, call))
          calls.push_back(call);
      }
    }
    llvm::sort(calls, [](rt::CallOp a, rt::CallOp b) {
      return a->isBeforeInBlock(b);
    });
    for (rt::CallOp call : calls) {
      std::optional<RowProduct> product = RowProduct::of(call);
      if (!product)
        return false;
      Value view =
          pair.isProductFirst ? product->output() : product->rowInput();
      if (bufferOf(view) != Value(between) || !isPacked(view) ||
          (!pair.isProductFirst && product->readsElsewhere(between)))
        return false;
      // Together with the first, or not at all.
      if (!pair.products.empty() &&
          earliestPlace(call, calls.front()) != calls.front())
        return false;
      pair.products.push_back(*product);
    }
    return pair.isProductFirst
               ? calls.size() == 1 &&
                     earliestPlace(pair.collective, calls.front()) ==
                         calls.front()
               : !calls.empty() &&
                     !isBarrierBetween(pair.collective, calls.front());
  }

  /// All of its buffer, in order: what a product calls a row is one to the
  /// collective, too.
  static bool isPacked(Value view) {
    const StridedLayout layout = layoutOf(view);
    return layout.isContiguous() && layout.offset.isConstant(0);
  }

  static bool isBarrierBetween(Operation *from, Operation *to) {
    for (Operation *op = from->getNextNode(); op != to; op = op->getNextNode())
      if (isBarrier(op))
        return true;
    return false;
  }

  bool findCut(Pair &pair) const {
    rt::CollectiveOp op = pair.collective;
    const StridedLayout in = layoutOf(op.getInput()),
                        out = layoutOf(op.getOutput());
    const StridedLayout &whole = pair.isProductFirst ? in : out;
    if (whole.dims.empty() || !in.isContiguous() || !out.isContiguous() ||
        !isPacked(pair.isProductFirst ? op.getInput() : op.getOutput()))
      return false;
    for (const RowCut &cut : cutsOf(op, whole, pair.isProductFirst ? out : in))
      if (fits(pair, cut)) {
        pair.cut = cut;
        return true;
      }
    return false;
  }

  /// In the order in which they are preferred.
  SmallVector<RowCut, 2> cutsOf(rt::CollectiveOp op, const StridedLayout &whole,
                                const StridedLayout &part) const {
    if (!op.getDim())
      return {cutAnywhere(dist::product(ArrayRef(whole.dims).drop_back()))};
    const auto dim = static_cast<size_t>(*op.getDim());
    const dist::DimSharding split = op.getValue()->getSharding()->dims[dim];
    const SmallVector<dist::AxisRef> axes = axesOf(op);
    SmallVector<RowCut, 2> cuts;
    const bool isSplitAsWhole =
        split == dist::DimSharding::whole(split.size(), axes) &&
        split.size() == whole.dims[dim] && !dist::hasShares(axes, mesh);
    if (std::optional<RowCut> cut =
            cutEachPart(whole.dims, dim, dist::numWays(axes));
        cut && isSplitAsWhole &&
        (cut->splitSize || cut->dims[dim + 1] == part.dims[dim]))
      cuts.push_back(*cut);
    if (std::optional<RowCut> cut = cutOutside(whole.dims, dim)) {
      // Neighbouring rows lie as they are sent.
      const bool isBetter =
          cuts.empty() ||
          typical(whole.dims[0]) >= std::max<int64_t>(options.parts, 4);
      cuts.insert(isBetter ? cuts.begin() : cuts.end(), *cut);
    }
    return cuts;
  }

  static bool fits(const Pair &pair, const RowCut &cut) {
    const auto uncut = uncutRows(cut);
    return llvm::all_of(pair.products, [&](const RowProduct &product) {
      return product.canCut(cut) && (!uncut || product.canCut(uncut->first));
    });
  }

  //===--- Whether it pays ------------------------------------------------===//

  int64_t typical(DimExpr size) const {
    return size
        .evaluate([&](StringRef name, bool isCoordinate) {
          auto it = options.sizes.find(name);
          return isCoordinate ? std::optional<int64_t>(0)
                 : it != options.sizes.end()
                     ? std::optional<int64_t>(it->second)
                     : std::optional<int64_t>(options.nominalSize);
        })
        .value_or(0);
  }

  OverlapDecision decide(const Pair &pair, int64_t &leastRows) const {
    rt::CollectiveOp op = pair.collective;
    OverlapDecision decision;
    decision.node = nodeName(op).str();
    decision.kind = op.getKernel().str();
    decision.rows = typical(pair.cut.numRows());
    const SmallVector<dist::AxisRef> axes = axesOf(op);
    const plan::Route route = plan::routeOf(options.machine, mesh, axes);
    Value whole = pair.isProductFirst ? op.getInput() : op.getOutput();
    auto type = cast<rt::ViewType>(whole.getType());
    const auto rowBytes =
        static_cast<double>(typical(type.getDims().back())) *
        static_cast<double>(rt::elementBytes(type.getElement()));
    auto collective = [&](int64_t rows) {
      return plan::collectiveSeconds(
          options.machine, artifact::collectiveForm(op.getKernel())->kind,
          route, static_cast<double>(rows) * rowBytes);
    };
    auto products = [&](int64_t rows) {
      double seconds = 0;
      for (const RowProduct &product : pair.products)
        seconds += plan::productSeconds(
            options.device,
            {rows, typical(product.depth()), typical(product.columns()),
             product.elementBits(), product.isDequantized()});
      return seconds;
    };
    const plan::OverlapCase what{
        decision.rows, std::max<int64_t>(typical(pair.cut.rowsPerUnit()), 1),
        pair.isProductFirst, products, collective};
    plan::OverlapChoice choice = plan::chooseParts(options.device, what);
    if (options.parts > 0 && decision.rows > 0) {
      choice.parts = options.parts;
      choice.leastRows = 1;
      choice.after =
          plan::overlappedSeconds(options.device, what, options.parts, 1);
    }
    decision.parts = choice.parts;
    decision.before = choice.before;
    decision.after = choice.after;
    leastRows = choice.leastRows;
    return decision;
  }

  //===--- The parts ------------------------------------------------------===//

  void split(Pair &pair, int64_t parts, int64_t leastRows) {
    rt::CallOp first = pair.products.front().call;
    rt::CollectiveOp collective = pair.collective;
    if (pair.isProductFirst)
      moveBehind(collective, first);
    for (const RowProduct &product : ArrayRef(pair.products).drop_front())
      moveBehind(product.call, first);
    // Parts of the products are done in turn, behind the last of them.
    Operation *at =
        pair.isProductFirst ? collective.getOperation() : lastOf(pair.products);
    for (const RowPart &part : partsOf(pair.cut, parts, leastRows))
      if (!part.size.isConstant(0))
        addPart(pair, pair.cut, part, at);
    if (const auto uncut = uncutRows(pair.cut))
      addPart(pair, uncut->first, uncut->second, at);
    erase(pair);
  }

  void addPart(const Pair &pair, const RowCut &cut, const RowPart &part,
               Operation *at) {
    Operation *collective = pair.collective;
    builder.setInsertionPoint(pair.isProductFirst ? at : collective);
    Value between = allocate(pair, cut, part);
    if (pair.isProductFirst)
      addProducts(pair, cut, part, between);
    addCollective(pair, cut, part, between);
    builder.setInsertionPoint(at);
    if (!pair.isProductFirst)
      addProducts(pair, cut, part, between);
    rt::FreeOp::create(builder, collective->getLoc(), between);
  }

  static Operation *lastOf(ArrayRef<RowProduct> products) {
    Operation *last = products.front().call;
    for (const RowProduct &product : products)
      if (last->isBeforeInBlock(product.call))
        last = product.call;
    return last;
  }

  /// The part of what is between.
  Value allocate(const Pair &pair, const RowCut &cut, const RowPart &part) {
    rt::CollectiveOp op = pair.collective;
    auto type = cast<rt::ViewType>(
        (pair.isProductFirst ? op.getInput() : op.getOutput()).getType());
    const DimExpr bytes =
        rt::storageBytes(type.getElement(),
                         cut.rowsPerUnit() * part.size * type.getDims().back());
    return rt::AllocOp::create(
        builder, op.getLoc(), builder.getType<rt::BufferType>(),
        dist::DimsAttr::get(builder.getContext(), {bytes}),
        /*persistent=*/false);
  }

  void addProducts(const Pair &pair, const RowCut &cut, const RowPart &part,
                   Value between) {
    for (const RowProduct &product : pair.products)
      product.addPart(cut, part, between, pair.isProductFirst, builder);
  }

  void addCollective(const Pair &pair, const RowCut &cut, const RowPart &part,
                     Value between) {
    rt::CollectiveOp op = pair.collective;
    Value whole = pair.isProductFirst ? op.getInput() : op.getOutput();
    auto window = [&](Value view) {
      const StridedLayout layout =
          view == whole ? withRows(layoutOf(view), cut)
                              ->sliced(cut.dim, part.start, part.size)
                        : rowsOfRank(layoutOf(view), cut, part, axesOf(op));
      if (bufferOf(view) != bufferOf(whole))
        return viewLike(view, bufferOf(view), layout, builder);
      return viewLike(view, between, StridedLayout::contiguous(layout.dims),
                      builder);
    };
    auto made = cast<rt::CollectiveOp>(builder.clone(*op));
    made.getInputMutable().assign(window(op.getInput()));
    made.getOutputMutable().assign(window(op.getOutput()));
    if (cut.split && cut.dim >= *cut.split)
      made.setValueAttr(valueOf(cut, part, op));
  }

  /// Of the side that has the rows of one rank.
  StridedLayout rowsOfRank(const StridedLayout &layout, const RowCut &cut,
                           const RowPart &part,
                           ArrayRef<dist::AxisRef> axes) const {
    Sizes dims = cut.wholeDims();
    if (!cut.split) // as many as all
      return withRows(layout, dims)->sliced(cut.dim, part.start, part.size);
    const size_t split = *cut.split;
    dims[split] = layout.dims[split];
    const StridedLayout rows = *withRows(layout, dims);
    if (cut.isOfEachPart()) // one way, and the rows of that
      return rows.expanded(split, {1, dims[split]})
          .sliced(cut.dim, part.start, part.size);
    const DimExpr size =
        cut.dim == split
            ? dist::DimSharding::whole(part.size, axes).localSize(mesh)
            : part.size;
    return rows.sliced(cut.dim, part.start, size);
  }

  /// What the collective moves, where its own dim is another one than before.
  dist::ValueAttr valueOf(const RowCut &cut, const RowPart &part,
                          rt::CollectiveOp op) {
    Value side =
        op.getKernel() == "all_gather" ? op.getOutput() : op.getInput();
    Sizes dims = cut.dims;
    dims[cut.dim] = part.size;
    dims.push_back(layoutOf(side).dims.back());
    dist::Sharding sharding = dist::Sharding::replicated(dims);
    sharding.dims[*cut.split] =
        dist::DimSharding::whole(dims[*cut.split], axesOf(op));
    return dist::ValueAttr::get(builder.getContext(), dims,
                                dist::ShardingRef(sharding), {}, false);
  }

  /// What the parts replace, with the buffer between.
  void erase(Pair &pair) {
    rt::CollectiveOp op = pair.collective;
    Value between =
        bufferOf(pair.isProductFirst ? op.getInput() : op.getOutput());
    SmallVector<Operation *> ops{op};
    for (const RowProduct &product : pair.products)
      ops.push_back(product.call);
    llvm::SmallSetVector<Operation *, 8> views;
    for (Operation *each : ops) {
      for (Value operand : each->getOperands())
        views.insert(operand.getDefiningOp());
      each->erase();
    }
    for (Operation *view : views)
      if (view->use_empty())
        view->erase();
    for (Operation *user : llvm::make_early_inc_range(between.getUsers()))
      user->erase();
    between.getDefiningOp()->erase();
  }

  static SmallVector<dist::AxisRef> axesOf(rt::CollectiveOp op) {
    return SmallVector<dist::AxisRef>(op.getAxes().getAxes());
  }

  rt::ProgramOp program;
  const dist::Mesh &mesh;
  const OverlapOptions &options;
  OpBuilder builder;
};

} // namespace

std::vector<OverlapDecision> splitCollectives(rt::ProgramOp program,
                                              const dist::Mesh &mesh,
                                              const OverlapOptions &options) {
  return CollectiveSplitter(program, mesh, options).run();
}

} // namespace shardc::lower
