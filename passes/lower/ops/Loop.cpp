//===- Loop.cpp - Lowering of Loop ----------------------------------------===//
//
// What is carried has a buffer from before the loop, which an iteration writes
// when it has read all of it:
//
//   copy the initial values; %goesOn = 0 < trips and condition
//   rt.loop %goesOn
//     ... the body ...
//     rt.set_sizes count = count + 1, n' = n + 1      the next sizes
//     copy the next values aside, and rows to row count - 1 of what is scanned
//     %i = %i + 1; %goesOn = %i < trips and condition
//     rt.set_sizes n = n'
//     copy the next values in place
//   rt.end
//   rt.set_sizes the results' symbols = n, count
//
// Where no size changes, what the body itself allocated need not go aside.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/ControlFlow.h"

#include "passes/lower/ops/BodySizes.h"

using namespace mlir;

namespace shardc::onnx {

using namespace lower;

using dist::DimExpr;

namespace {

class LoopLowering {
public:
  LoopLowering(onnx::LoopOp loop, Lowering &lowering)
      : loop(loop), lowering(lowering), b(loop.getContext()),
        sizes(lowering, sizesOf(argumentTypes())),
        count(lowering.newSymbol(loop, "iterations")) {}

  LogicalResult run() {
    start();
    lowering.begin<rt::LoopOp>(loop, goesOn);
    lowering.bind(loop.getIteration(), window(iteration, loop.getIteration()));
    lowering.bind(loop.getGoesOn(), window(goesOn, loop.getGoesOn()));
    for (auto [k, argument] : llvm::enumerate(loop.getCarriedArguments()))
      lowering.bind(argument, carried[k]);
    for (auto [i, argument] : llvm::enumerate(loop.getCapturedArguments()))
      lowering.bind(argument, lowering.view(loop.getCaptures()[i]));
    if (failed(lowering.lowerBody(loop.getBody().front())))
      return failure();
    next();
    lowering.end(loop);
    finish();
    return success();
  }

private:
  SmallVector<Type> argumentTypes() {
    return llvm::map_to_vector(loop.getCarriedArguments(),
                               [](Value value) { return value.getType(); });
  }

  static SmallVector<DimExpr> sizesOfValues(ValueRange values) {
    return sizesOf(values.getTypes());
  }

  ValueView scalar(Type element) {
    return lowering.allocateAtRun(loop, element, {});
  }
  ValueView constant(Attribute value, Type element) {
    return lowering.constant(
        loop,
        DenseElementsAttr::get(RankedTensorType::get({}, element), value));
  }
  /// A buffer of one element as scalar, or as what a type of one element says.
  static ValueView window(const ValueView &view, Value as) {
    StridedLayout layout =
        StridedLayout::contiguous(dist::getDims(as.getType()));
    layout.offset = view.layout.offset;
    return view.with(layout);
  }
  static ValueView asScalar(const ValueView &view) {
    StridedLayout layout = StridedLayout::contiguous({});
    layout.offset = view.layout.offset;
    return view.with(layout);
  }

  bool isUsed(size_t k) {
    return !loop.getCarriedArguments()[k].use_empty() ||
           !loop->getResult(k).use_empty();
  }

  /// `goesOn` = iteration < trips and `condition`, each if there is one.
  void decide(Value condition, bool hasCondition) {
    SmallVector<ValueView, 2> parts;
    if (hasCondition)
      parts.push_back(asScalar(lowering.view(condition)));
    if (!isa<NoneType>(loop.getTripCount().getType())) {
      ValueView isBelow = scalar(b.getI1Type());
      lowering.call(loop, "Less",
                    {iteration, asScalar(lowering.view(loop.getTripCount()))},
                    {isBelow});
      parts.push_back(isBelow);
    }
    if (parts.size() == 2)
      lowering.call(loop, "And", parts, {goesOn});
    else
      lowering.copy(loop,
                    parts.empty() ? constant(b.getBoolAttr(true), b.getI1Type())
                                  : parts.front(),
                    goesOn);
  }

  void start() {
    iteration = scalar(b.getI64Type());
    goesOn = scalar(b.getI1Type());
    for (Value argument : loop.getCarriedArguments())
      carried.push_back(lowering.allocateAtRun(loop, argument));
    lowering.copy(loop, constant(b.getI64IntegerAttr(0), b.getI64Type()),
                  iteration);
    decide(loop.getCondition(), !isa<NoneType>(loop.getCondition().getType()));
    sizes.setTo(loop, sizesOfValues(loop.getCarried()));
    if (loop.getNumScans() > 0)
      lowering.setSizes(loop, {count}, {DimExpr(int64_t(0))});
    sizes.markBound();
    for (auto [k, initial] : llvm::enumerate(loop.getCarried()))
      if (isUsed(k))
        lowering.copy(loop, lowering.view(initial), carried[k]);
    for (Value row : loop.getScanned())
      startScan(row);
  }

  /// Room for rows, of which there are none.
  void startScan(Value row) {
    Type element = cast<RankedTensorType>(row.getType()).getElementType();
    Sizes dims = dist::getDims(row.getType());
    dims.insert(dims.begin(), count);
    ValueView rows = lowering.allocateAtRun(loop, element, dims);
    scanned.push_back(rows);
    rows.layout.dims[0] = 0;
    ValueView nothing = constant(b.getZeroAttr(element), element);
    nothing.layout = nothing.layout.broadcast(rows.layout.dims);
    lowering.copy(loop, nothing, rows);
  }

  /// Row number `count` - 1.
  void append(Value row, ValueView rows) {
    Sizes dims = dist::getDims(row.getType());
    rows.layout = StridedLayout::contiguous(dims);
    rows.layout.offset = (count - 1) * dist::product(dims);
    lowering.copy(loop, lowering.view(row), rows);
  }

  DimExpr nextOf(DimExpr size) {
    return size.replaceSymbols([&](StringRef name) -> std::optional<DimExpr> {
      auto it = nextSymbols.find(name);
      return it == nextSymbols.end() ? std::nullopt : std::optional(it->second);
    });
  }

  void next() {
    for (DimExpr own : sizes.ownSymbols())
      nextSymbols[*own.asSymbol()] =
          lowering.newSymbol(loop, "next " + *own.asSymbol());
    auto rename = [&](DimExpr size) { return nextOf(size); };
    sizes.setTo(loop, sizesOfValues(loop.getNext()), rename);
    if (loop.getNumScans() > 0)
      lowering.setSizes(loop, {count}, {count + 1});
    for (auto [row, rows] : llvm::zip(loop.getScanned(), scanned))
      append(row, rows);
    SmallVector<ValueView> values;
    for (size_t k = 0; k < carried.size(); ++k)
      values.push_back(aside(k));
    ValueView one = constant(b.getI64IntegerAttr(1), b.getI64Type());
    lowering.call(loop, "Add", {iteration, one}, {iteration});
    decide(loop.getGoesOnStill(), /*hasCondition=*/true);
    SmallVector<DimExpr> now(sizes.ownSymbols()), then;
    for (DimExpr size : now)
      then.push_back(nextOf(size));
    if (sizes.hasOwn())
      lowering.setSizes(loop, now, then);
    for (size_t k = 0; k < carried.size(); ++k)
      if (isUsed(k))
        lowering.copy(loop, values[k], carried[k]);
  }

  /// The next value where writing carried ones cannot change it.
  ValueView aside(size_t k) {
    ValueView value = lowering.view(loop.getNext()[k]);
    if (!isUsed(k))
      return value;
    auto isOurs = [&](const ValueView &view) {
      return view.buffer == value.buffer;
    };
    if (!sizes.hasOwn() && llvm::none_of(carried, isOurs) &&
        !isOurs(iteration) && !isOurs(goesOn))
      return value;
    Sizes dims;
    for (DimExpr size : dist::getDims(loop.getCarriedArguments()[k].getType()))
      dims.push_back(nextOf(size));
    ValueView copy = lowering.allocateAtRun(loop, value.element, dims);
    lowering.copy(loop, value, copy);
    return copy;
  }

  void finish() {
    SmallVector<DimExpr> values = sizesOf(argumentTypes());
    for (Value row : loop.getScanned()) {
      values.push_back(count);
      llvm::append_range(values, dist::getDims(row.getType()));
    }
    BodySizes results(lowering, sizesOf(loop->getResultTypes()));
    results.setTo(loop, values);
    results.markBound();
    llvm::append_range(carried, scanned);
    for (auto [result, view] : llvm::zip(loop->getResults(), carried))
      lowering.bind(result, view.with(StridedLayout::contiguous(
                                Lowering::localDims(result))));
  }

  onnx::LoopOp loop;
  Lowering &lowering;
  Builder b;
  BodySizes sizes;
  const DimExpr count; ///< iterations that are over
  ValueView iteration, goesOn;
  SmallVector<ValueView> carried, scanned;
  llvm::StringMap<DimExpr> nextSymbols; ///< of the sizes that change
};

} // namespace

LogicalResult LoopOp::lower(Lowering &lowering) {
  return LoopLowering(*this, lowering).run();
}

} // namespace shardc::onnx
