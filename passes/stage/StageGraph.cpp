//===- StageGraph.cpp - What may be cut, what is computed anywhere --------===//

#include "passes/stage/StageGraph.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/OpSeconds.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Source.h"
#include "dialects/rt/Rt.h"

#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace shardc::stage {

using dist::DimExpr;

static double evaluate(DimExpr size) {
  auto nominal = [](StringRef, bool) {
    return std::optional(dist::kNominalSize);
  };
  return static_cast<double>(size.evaluate(nominal).value_or(1));
}

static double bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return evaluate(rt::storageBytes(type.getElementType(),
                                   dist::product(dist::getDims(type))));
}

/// What a cache that crosses counts beside other bytes: it would be sent whole
/// in each step, and profiles that are cut there may hold it in other stages.
static constexpr double kCachePenalty = 1024;

/// A piece's matrices are looked for in so many ops of weights alone; they only
/// weigh choices, too.
static constexpr unsigned kMaxWeightOps = 4096;

/// Values that are returned as present of a cache, and what one op after the
/// other only makes such a value of.
static llvm::DenseSet<Value> cachesOf(func::FuncOp function) {
  llvm::DenseSet<Value> caches;
  Operation *terminator = function.front().getTerminator();
  for (OpOperand &output : terminator->getOpOperands())
    if (onnx::FunctionInfo(function).cache(output.getOperandNumber()))
      caches.insert(output.get());
  for (Operation &op : llvm::reverse(function.front().without_terminator()))
    if (op.getNumOperands() == 1 && op.getNumResults() == 1 &&
        caches.contains(op.getResult(0)))
      caches.insert(op.getOperand(0));
  return caches;
}

/// More than a vector.
static bool isMatrix(Value value) {
  unsigned wide = 0;
  for (DimExpr size : dist::getDims(value.getType()))
    wide += !size.isConstant(1);
  return wide > 1;
}

StageGraph::StageGraph(func::FuncOp function) {
  findReads(function);
  classify(function);
  addPieces(cachesOf(function));
}

void StageGraph::findReads(func::FuncOp function) {
  llvm::StringSet<> ofInputs;
  for (Type type : function.getArgumentTypes())
    for (DimExpr size : dist::getDims(type))
      size.forEachSymbol([&](StringRef name, bool) { ofInputs.insert(name); });
  for (Operation &op : function.front()) {
    auto bind = [&](DimExpr size) {
      size.forEachSymbol([&](StringRef name, bool) {
        if (!ofInputs.contains(name))
          reads.try_emplace(name, &op);
      });
    };
    if (auto read = dyn_cast<onnx::ReadSizesOp>(op))
      llvm::for_each(read.getSizes().getValues(), bind);
    else if (op.getNumRegions() > 0)
      onnx::forEachSize(&op, bind);
  }
}

SmallVector<Operation *, 4> StageGraph::needs(Operation *op) const {
  SmallVector<Operation *, 4> found;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      found.push_back(producer);
  if (reads.empty())
    return found;
  auto addReads = [&](DimExpr size) {
    size.forEachSymbol([&](StringRef name, bool) {
      auto read = reads.find(name);
      if (read != reads.end() && read->second != op)
        found.push_back(read->second);
    });
  };
  onnx::forEachSize(op, addReads);
  // What comes from another stage has sizes, too.
  for (Type type : op->getOperandTypes())
    llvm::for_each(dist::getDims(type), addReads);
  return found;
}

bool StageGraph::readsMatrix(Operation *op) const {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return holdsMatrix.contains(operand.getDefiningOp());
  });
}

void StageGraph::classify(func::FuncOp function) {
  for (Operation &op : function.front().without_terminator()) {
    if (isa<onnx::ReadSizesOp, onnx::GuardOp>(op))
      continue;
    bool isFixed = false, isInput = false;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      isInput |= !producer || dependsOnInputs.contains(producer);
      isFixed |= producer && this->isFixed(producer);
    }
    if (isInput)
      dependsOnInputs.insert(&op);
    else if (readsMatrix(&op) || (isa<onnx::WeightOp, onnx::ConstantOp>(op) &&
                                  isMatrix(op.getResult(0))))
      holdsMatrix.insert(&op);
    if (!isFixed && !(isInput && readsMatrix(&op)))
      continue;
    numbers[&op] = fixedOps.size();
    fixedOps.push_back(&op);
  }
}

SmallVector<Operation *> StageGraph::fixedNeeds(Operation *op) const {
  SmallVector<Operation *> found;
  llvm::SmallSetVector<Operation *, 8> open;
  open.insert(op);
  for (size_t i = 0; i < open.size(); ++i)
    for (Operation *needed : needs(open[i])) {
      if (isFixed(needed))
        found.push_back(needed);
      else if (isa<onnx::ReadSizesOp>(needed))
        open.insert(needed);
    }
  return found;
}

/// Bytes that cross behind each fixed op; infinite where a sum is not complete.
std::vector<double>
StageGraph::crossings(const llvm::DenseSet<Value> &caches) const {
  std::vector<double> change(fixedOps.size() + 1, 0);
  std::vector<unsigned> lastUse(fixedOps.size());
  for (auto [number, op] : llvm::enumerate(fixedOps)) {
    lastUse[number] = number;
    for (Operation *producer : fixedNeeds(op))
      lastUse[numberOf(producer)] = number;
  }
  std::vector<double> crossing(fixedOps.size(), 0), partial(change);
  // Sizes that a branch or loop leaves behind are known in its stage only.
  for (auto [number, op] : llvm::enumerate(fixedOps))
    if (op->getNumRegions() > 0 && !op->use_empty()) {
      partial[number] += 1;
      partial[lastUse[number]] -= 1;
    }
  for (auto [number, op] : llvm::enumerate(fixedOps))
    for (Value result : op->getResults()) {
      bool isPartial = dist::getSharding(result.getType()).isPartial();
      auto &list = isPartial ? partial : change;
      double bytes = isPartial ? 1 : bytesOf(result);
      if (!isPartial && caches.contains(result))
        bytes *= kCachePenalty;
      list[number] += bytes;
      list[lastUse[number]] -= bytes;
    }
  double bytes = 0, partials = 0;
  for (size_t i = 0; i < crossing.size(); ++i) {
    bytes += change[i];
    partials += partial[i];
    crossing[i] = partials > 0.5 ? std::numeric_limits<double>::infinity()
                                 : std::max(bytes, 0.0);
  }
  return crossing;
}

bool StageGraph::mayCutBefore(unsigned number) const {
  return std::isfinite(crossing[number - 1]);
}

SmallVector<Operation *> StageGraph::sourcesOf(size_t piece) const {
  SmallVector<Operation *> sources;
  llvm::SmallSetVector<Operation *, 8> open;
  auto addOperands = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          holdsMatrix.contains(source) && open.size() < kMaxWeightOps)
        open.insert(source);
  };
  size_t next = 0;
  for (unsigned number = firstOps[piece]; number < firstOps[piece + 1];
       ++number) {
    addOperands(fixedOps[number]);
    for (; next < open.size(); ++next) {
      addOperands(open[next]);
      if (open[next]->getNumOperands() == 0)
        sources.push_back(open[next]);
    }
  }
  return sources;
}

SmallVector<Attribute, 2> StageGraph::matrices(size_t piece) const {
  llvm::SmallSetVector<Attribute, 2> matrices;
  for (Operation *source : sourcesOf(piece))
    matrices.insert(source->getAttrDictionary());
  return SmallVector<Attribute, 2>(matrices.getArrayRef());
}

void StageGraph::addPieces(const llvm::DenseSet<Value> &caches) {
  crossing = crossings(caches);
  // A cut behind the op with the least crossing between two products.
  size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  bool isBehindProduct = false;
  firstOps.push_back(0);
  for (auto [number, op] : llvm::enumerate(fixedOps)) {
    if (readsMatrix(op)) {
      if (isBehindProduct && std::isfinite(least))
        firstOps.push_back(best + 1);
      isBehindProduct = true;
      least = std::numeric_limits<double>::infinity();
    }
    if (crossing[number] < least) {
      best = number;
      least = crossing[number];
    }
  }
  firstOps.push_back(fixedOps.size());
  for (size_t p = 0; p + 1 < firstOps.size(); ++p) {
    plan::Piece &piece = pieces.emplace_back();
    for (unsigned number = firstOps[p]; number < firstOps[p + 1]; ++number) {
      Operation *fixed = fixedOps[number];
      if (auto op = dyn_cast<onnx::OnnxOp>(fixed))
        piece.work += evaluate(op.multiplyAdds());
      const ArrayRef<double> seconds = dist::opSeconds(fixed);
      piece.seconds.resize(std::max(piece.seconds.size(), seconds.size()), 0);
      for (auto [sum, own] : llvm::zip(piece.seconds, seconds))
        sum += own;
    }
    for (Operation *source : sourcesOf(p))
      piece.weightBytes += bytesOf(source->getResult(0));
    if (firstOps[p + 1] > 0)
      piece.crossingBytes = crossing[firstOps[p + 1] - 1];
  }
}

} // namespace shardc::stage
