//===- HeldValues.cpp - A value that is held in several ways --------------===//

#include "passes/partition/HeldValues.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/algebra/StorageAxis.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace shardc::partition {

/// Whether all of the op's operand is in its result, held in another way.
/// Weights that are stored in parts are put together once for each use; a rank
/// that experts or a ring send something to has it in part or for a while.
static bool onlyMoves(Operation &op) {
  return isa<dist::AllGatherOp, dist::AllReduceOp, dist::AllToAllOp,
             dist::OnceOp, dist::ReduceScatterOp, dist::SliceOp>(op) &&
         !op.hasAttr(dist::kStoredAttr);
}

unsigned reuseHeldValues(func::FuncOp program) {
  /// What no collective made, of what one made.
  llvm::DenseMap<Value, Value> origins;
  llvm::DenseMap<std::pair<Value, Type>, Value> held; ///< by origin
  SmallVector<Operation *> collectives;
  for (Operation &op : program.front()) {
    if (!onlyMoves(op))
      continue;
    const Value from = op.getOperand(0), result = op.getResult(0);
    const Value origin = origins.try_emplace(from, from).first->second;
    held.try_emplace({origin, origin.getType()}, origin);
    const Value first =
        held.try_emplace({origin, result.getType()}, result).first->second;
    if (first != result)
      op.getResult(0).replaceAllUsesWith(first);
    origins.try_emplace(result, origin);
    collectives.push_back(&op);
  }
  unsigned numErased = 0;
  for (Operation *op : llvm::reverse(collectives))
    if (op->use_empty()) {
      op->erase();
      ++numErased;
    }
  return numErased;
}

} // namespace shardc::partition
