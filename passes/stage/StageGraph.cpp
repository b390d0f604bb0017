//===- StageGraph.cpp - What may be cut, what is computed anywhere --------===//

#include "passes/stage/StageGraph.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Source.h"
#include "dialects/rt/Rt.h"

#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace shardc::stage {

using dist::DimExpr;

/// For sizes that are not known; only weighs choices.
static constexpr int64_t kNominalSize = 64;

static double evaluate(DimExpr size) {
  auto nominal = [](StringRef, bool) { return std::optional(kNominalSize); };
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

/// Whether the value, or what one op after the other only makes of it, is
/// returned as present of a cache.
static bool isCache(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    auto function = dyn_cast<func::FuncOp>(user->getParentOp());
    if (isa<func::ReturnOp>(user)
            ? function &&
                  function.getResultAttr(use.getOperandNumber(), "onnx.cache")
            : user->getNumOperands() == 1 && user->getNumResults() == 1 &&
                  isCache(user->getResult(0)))
      return true;
  }
  return false;
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
  addPieces();
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
      llvm::for_each(cast<dist::DimsAttr>(read.getSizes()).getValues(), bind);
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
  onnx::forEachSize(op, [&](DimExpr size) {
    size.forEachSymbol([&](StringRef name, bool) {
      auto read = reads.find(name);
      if (read != reads.end() && read->second != op)
        found.push_back(read->second);
    });
  });
  return found;
}

/// Whether some operand comes from a matrix of the model.
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

void StageGraph::addFixedNeeds(
    Operation *op, llvm::SmallSetVector<Operation *, 8> &found) const {
  for (Operation *needed : needs(op)) {
    if (isFixed(needed))
      found.insert(needed);
    else if (isa<onnx::ReadSizesOp>(needed))
      addFixedNeeds(needed, found);
  }
}

/// Bytes that cross behind each fixed op; infinite where a sum is not complete.
std::vector<double> StageGraph::crossings() const {
  std::vector<double> change(fixedOps.size() + 1, 0);
  std::vector<unsigned> lastUse(fixedOps.size());
  for (auto [number, op] : llvm::enumerate(fixedOps)) {
    lastUse[number] = number;
    llvm::SmallSetVector<Operation *, 8> used;
    addFixedNeeds(op, used);
    for (Operation *producer : used)
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
      if (!isPartial && isCache(result))
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

void StageGraph::addMatrices(
    Operation *op, llvm::SmallSetVector<Operation *, 2> &found) const {
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (!source || !holdsMatrix.contains(source))
      continue;
    if (source->getNumOperands() == 0)
      found.insert(source);
    else
      addMatrices(source, found);
  }
}

SmallVector<Attribute, 2> StageGraph::matrices(size_t piece) const {
  llvm::SmallSetVector<Operation *, 2> found;
  for (unsigned number = firstOps[piece]; number < firstOps[piece + 1];
       ++number)
    addMatrices(fixedOps[number], found);
  SmallVector<Attribute, 2> matrices;
  for (Operation *source : found)
    if (!llvm::is_contained(matrices, source->getAttrDictionary()))
      matrices.push_back(source->getAttrDictionary());
  return matrices;
}

void StageGraph::addPieces() {
  const std::vector<double> crossing = crossings();
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
    Piece &piece = pieces.emplace_back();
    llvm::SmallSetVector<Operation *, 2> matrices;
    for (unsigned number = firstOps[p]; number < firstOps[p + 1]; ++number) {
      if (auto op = dyn_cast<onnx::OnnxOp>(fixedOps[number]))
        piece.work += evaluate(op.multiplyAdds());
      addMatrices(fixedOps[number], matrices);
    }
    for (Operation *source : matrices)
      piece.weightBytes += bytesOf(source->getResult(0));
    if (firstOps[p + 1] > 0)
      piece.crossingBytes = crossing[firstOps[p + 1] - 1];
  }
}

} // namespace shardc::stage
