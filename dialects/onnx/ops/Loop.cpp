//===- Loop.cpp - Shape functions of Loop and Scan ------------------------===//

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

ArrayRef<BlockArgument> LoopOp::getCarriedArguments() {
  return ArrayRef<BlockArgument>(getBody().getArguments())
      .slice(2, getNumCarried());
}
ArrayRef<BlockArgument> LoopOp::getCapturedArguments() {
  return ArrayRef<BlockArgument>(getBody().getArguments())
      .drop_front(2 + getNumCarried());
}
OperandRange LoopOp::getNext() {
  return getYielded().slice(1, getNumCarried());
}
OperandRange LoopOp::getScanned() {
  return getYielded().drop_front(1 + getNumCarried());
}

namespace {

/// A loop is written out if that makes no more ops.
constexpr int64_t kMaxUnrolledOps = 1024;

/// Finds the types of what a loop carries, and of its results.
class LoopInference {
public:
  LoopInference(LoopOp loop, ShapeInference &inference)
      : loop(loop), inference(inference) {}

  LogicalResult run() {
    if (failed(checkCounts()))
      return failure();
    replaceInvariants();
    for (Value value : loop.getCarried())
      carried.push_back(inference.dims(value));
    isOwn.resize(carried.size());
    for (auto [dims, own] : llvm::zip(carried, isOwn))
      own.assign(dims.size(), false);
    // The initial sizes are tried first; what the body changes is a symbol.
    do {
      isStable = true;
      if (failed(tryBody()))
        return failure();
    } while (!isStable);
    if (trips && *trips == 0)
      return takeNothing();
    if (goesOnAlways && !ShapeInference::isPresent(loop.getTripCount()))
      return loop.emitOpError("never ends: expected a trip count, or a "
                              "condition that its body computes");
    if (trips && goesOnAlways && *trips <= kMaxUnrolledOps / numBodyOps())
      return unroll();
    return inferForGood();
  }

private:
  LogicalResult checkCounts() {
    unsigned yields = loop.getYielded().size();
    unsigned arguments = 2 + loop.getNumCarried() + loop.getCaptures().size();
    if (loop.getInputs().size() < loop.getNumCarried() ||
        loop.getBody().getNumArguments() != arguments ||
        yields != 1 + loop->getNumResults())
      return loop.emitOpError("has ")
             << loop.getInputs().size() << " inputs and a body of "
             << loop.getBody().getNumArguments() << " inputs and " << yields
             << " outputs, expected the iteration's number, a condition and "
                "the loop's inputs, and a condition and the loop's outputs";
    auto count = inference.knownDims(loop, 0);
    auto condition = inference.knownInts(loop, 1);
    if (count && count->size() == 1)
      tripCount = count->front();
    startsAlways = !ShapeInference::isPresent(loop.getCondition()) ||
                   (condition && condition->front() != 0);
    if (tripCount && tripCount->asConstant())
      trips = std::max<int64_t>(0, *tripCount->asConstant());
    if (condition && condition->front() == 0)
      trips = 0;
    return success();
  }

  int64_t numBodyOps() {
    int64_t count = 0;
    loop.getBody().walk([&](Operation *) { ++count; });
    return count;
  }

  /// What each iteration passes on unchanged is no different from a capture.
  void replaceInvariants() {
    for (unsigned k = 0; k < loop.getNumCarried(); ++k) {
      Value argument = loop.getCarriedArguments()[k];
      Value initial = loop.getCarried()[k];
      if (loop.getNext()[k] != argument)
        continue;
      argument.replaceAllUsesWith(initial);
      loop->getResult(k).replaceAllUsesWith(initial);
    }
  }

  /// In the body the condition holds.
  void setArguments(LoopOp op) {
    Type i64 = inference.builder.getI64Type();
    inference.setType(op.getIteration(), i64, counterDims(op.getIteration()));
    SmallVector<DimExpr, 1> dims = counterDims(op.getGoesOn());
    inference.setKnown(op.getGoesOn(),
                       count(inference.builder.getI1Type(),
                             SmallVector<int64_t>(dims.size(), 1), 1));
    for (auto [argument, initial, dims] :
         llvm::zip(op.getCarriedArguments(), loop.getCarried(), carried))
      inference.setType(argument, inference.element(initial), dims);
    inference.bindArguments(op.getCapturedArguments(), loop.getCaptures());
  }

  /// Models write both scalars and vectors of one element.
  static SmallVector<DimExpr, 1> counterDims(Value argument) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    return SmallVector<DimExpr, 1>(type && type.getRank() == 1 ? 1 : 0,
                                   DimExpr(int64_t(1)));
  }

  LogicalResult tryBody() {
    OpBuilder::InsertionGuard guard(inference.builder);
    inference.builder.setInsertionPoint(loop);
    auto trial = cast<LoopOp>(inference.builder.clone(*loop));
    setArguments(trial);
    LogicalResult result = inference.inferBody(trial.getBody());
    if (succeeded(result))
      result = compareNext(trial);
    inference.forget(trial.getBody());
    trial.erase();
    return result;
  }

  /// A size that the body changes is a symbol from now on.
  LogicalResult compareNext(LoopOp trial) {
    const KnownValue *goesOn = inference.known(trial.getGoesOnStill());
    auto value = goesOn ? goesOn->asConstants() : std::nullopt;
    goesOnAlways = startsAlways && value && value->front() != 0;
    for (auto [k, next] : llvm::enumerate(trial.getNext())) {
      auto type = dyn_cast<RankedTensorType>(next.getType());
      Type element = inference.element(loop.getCarried()[k]);
      if (!type || type.getElementType() != element ||
          type.getRank() != static_cast<int64_t>(carried[k].size()))
        return loop.emitOpError("has a body that makes ")
               << next.getType() << " of carried value " << k << ", "
               << trial.getCarriedArguments()[k].getType()
               << ": expected its element type and number of dims; export the "
                  "model without the loop";
      for (auto [d, size] : llvm::enumerate(dist::getDims(type)))
        if (!isOwn[k][d] && size != carried[k][d]) {
          carried[k][d] = inference.newSize(loop.getLoc());
          isOwn[k][d] = true;
          isStable = false;
        }
    }
    for (Value row : trial.getScanned())
      if (failed(checkRow(row)))
        return failure();
    rows.assign(trial.getScanned().getTypes().begin(),
                trial.getScanned().getTypes().end());
    return success();
  }

  /// Rows of one size, which what is outside of the body says.
  LogicalResult checkRow(Value row) {
    auto type = dyn_cast<RankedTensorType>(row.getType());
    if (!type)
      return loop.emitOpError("scans an absent value");
    std::string inner;
    for (DimExpr size : dist::getDims(type))
      size.forEachSymbol([&](StringRef name, bool) {
        if (inference.isReadSince(name, firstSymbol))
          inner = size.str();
      });
    if (isStable && !inner.empty())
      return loop.emitOpError("scans rows of size ")
             << inner << ", which depends on the iteration: expected rows of "
             << "one size; export the model without the loop";
    return success();
  }

  //===--- Loops that are none --------------------------------------------===//

  LogicalResult takeNothing() {
    SmallVector<Value> results(loop.getCarried());
    Decomposition d(loop, inference);
    for (Type row : rows) {
      auto type = cast<RankedTensorType>(row);
      SmallVector<DimExpr, 4> dims = dist::getDims(type);
      dims.insert(dims.begin(), DimExpr(int64_t(0)));
      results.push_back(d.expand(d.number(type.getElementType(), 0), dims));
    }
    return d.replaceBy(results);
  }

  static KnownValue count(Type element, ArrayRef<int64_t> shape,
                          int64_t value) {
    return {element, SmallVector<int64_t, 4>(shape), {DimExpr(value)}};
  }

  LogicalResult unroll() {
    OpBuilder &builder = inference.builder;
    OpBuilder::InsertionGuard guard(builder);
    Decomposition d(loop, inference);
    SmallVector<Value> now(loop.getCarried());
    SmallVector<SmallVector<Value>> scanned(loop.getNumScans());
    for (int64_t i = 0; i < *trips; ++i) {
      builder.setInsertionPoint(loop);
      IRMapping mapping;
      SmallVector<int64_t, 1> shape(counterDims(loop.getIteration()).size(), 1);
      mapping.map(loop.getIteration(),
                  inference.constant(loop, count(d.i64(), shape, i)));
      shape.assign(counterDims(loop.getGoesOn()).size(), 1);
      mapping.map(loop.getGoesOn(),
                  inference.constant(loop, count(d.i1(), shape, 1)));
      mapping.map(loop.getCarriedArguments(), now);
      mapping.map(loop.getCapturedArguments(), loop.getCaptures());
      SmallVector<Operation *> ops;
      for (Operation &op : loop.getBody().front())
        ops.push_back(builder.clone(op, mapping));
      if (failed(inference.inferOps(ops)))
        return failure();
      SmallVector<Value> yielded(ops.back()->getOperands());
      ops.back()->erase();
      for (size_t k = 0; k < now.size(); ++k)
        now[k] = yielded[1 + k];
      for (auto [j, rows] : llvm::enumerate(scanned)) {
        Value row = yielded[1 + now.size() + j];
        SmallVector<DimExpr, 4> dims = inference.dims(row);
        dims.insert(dims.begin(), DimExpr(int64_t(1)));
        rows.push_back(d.reshape(row, dims));
      }
    }
    for (ArrayRef<Value> rows : scanned)
      now.push_back(d.concat(rows, 0));
    return d.replaceBy(now);
  }

  //===--- Loops that run as such -----------------------------------------===//

  LogicalResult inferForGood() {
    setArguments(loop);
    if (failed(inference.inferBody(loop.getBody())))
      return failure();
    for (auto [k, result] :
         llvm::enumerate(loop->getResults().take_front(loop.getNumCarried()))) {
      SmallVector<DimExpr, 4> dims = carried[k];
      for (auto [d, size] : llvm::enumerate(dims))
        if (isOwn[k][d])
          size = inference.newSize(loop.getLoc());
      inference.setType(result, inference.element(loop.getCarried()[k]), dims);
    }
    if (loop.getNumScans() == 0)
      return success();
    bool isCounted =
        tripCount && goesOnAlways && inference.isKnownAtLeast(*tripCount, 0);
    DimExpr count = isCounted ? *tripCount : inference.newSize(loop.getLoc());
    for (auto [result, row] :
         llvm::zip(loop->getResults().drop_front(loop.getNumCarried()),
                   loop.getScanned())) {
      SmallVector<DimExpr, 4> dims = dist::getDims(row.getType());
      dims.insert(dims.begin(), count);
      inference.setType(result, inference.element(row), dims);
    }
    return success();
  }

  LoopOp loop;
  ShapeInference &inference;
  const unsigned firstSymbol = inference.numReads();
  std::optional<DimExpr> tripCount; ///< known, maybe negative
  std::optional<int64_t> trips;     ///< at most so many, if constant
  bool startsAlways = false;        ///< the condition is true at first
  bool goesOnAlways = false;        ///< and stays true
  bool isStable = false;
  SmallVector<SmallVector<DimExpr, 4>> carried; ///< sizes of the arguments
  SmallVector<SmallVector<bool, 4>> isOwn;      ///< which are new symbols
  SmallVector<Type> rows;                       ///< of what is scanned
};

} // namespace

LogicalResult LoopOp::inferTypes(ShapeInference &inference) {
  return LoopInference(*this, inference).run();
}

ShardingRule LoopOp::shardingRule() { return replicatedRule(*this); }

} // namespace shardc::onnx
