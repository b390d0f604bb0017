//===- MergeCollectives.cpp - Small all_reduces done together -------------===//
//
// What a small collective costs is its start. Several that do not depend on
// each other are started once: they are put behind each other and get one
// `dist.together`; lowering packs their operands into one buffer. Each stays
// the op it was, so nothing has to be proved that was not before.
//
//===----------------------------------------------------------------------===//

#include "passes/partition/Passes.h"

#include "dialects/dist/Together.h"
#include "dialects/rt/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc::partition {
#define GEN_PASS_DEF_MERGECOLLECTIVES
#include "passes/partition/Passes.h.inc"

using dist::AllReduceOp;

namespace {

/// Packing copies the bytes twice, starting a collective takes microseconds:
/// what a core copies in less than that.
constexpr int64_t kSmallBytes = 16 << 10;

bool isSmall(AllReduceOp reduce) {
  auto type = cast<RankedTensorType>(reduce.getType());
  std::optional<int64_t> bytes =
      rt::storageBytes(type.getElementType(),
                       dist::product(dist::getDims(type)))
          .asConstant();
  return bytes && *bytes <= kSmallBytes;
}

class Merger {
public:
  explicit Merger(func::FuncOp function) : function(function) {}

  unsigned numMerged = 0;

  void run() {
    SmallVector<SmallVector<AllReduceOp>> groups;
    for (auto reduce : function.getOps<AllReduceOp>())
      if (isSmall(reduce))
        all.push_back(reduce);
    for (size_t i = 0; i < all.size(); ++i)
      if (!taken.contains(all[i]))
        if (auto group = collect(i); group.size() > 1)
          groups.push_back(group);
    for (auto [number, group] : llvm::enumerate(groups))
      for (AllReduceOp reduce : group) {
        reduce->setAttr(
            dist::kTogetherAttr,
            IntegerAttr::get(IntegerType::get(function.getContext(), 64),
                             number));
        ++numMerged;
      }
  }

private:
  /// all[first] and those behind it that it can wait for.
  SmallVector<AllReduceOp> collect(size_t first) {
    SmallVector<AllReduceOp> group{all[first]};
    for (size_t i = first + 1; i < all.size(); ++i)
      if (!taken.contains(all[i]) && group.back()->isBeforeInBlock(all[i]) &&
          dist::canGoTogether(group.front(), all[i]) && moveTo(group, all[i]))
        group.push_back(all[i]);
    if (group.size() > 1)
      taken.insert(group.begin(), group.end());
    return group;
  }

  /// Moves the group to right before `last`, and what uses it behind that.
  static bool moveTo(ArrayRef<AllReduceOp> group, AllReduceOp last) {
    llvm::SmallSetVector<Operation *, 8> moved(group.begin(), group.end());
    for (Operation *op = group.back()->getNextNode(); op != last;
         op = op->getNextNode()) {
      if (!dependsOn(op, moved))
        continue;
      // The order of transfers is what two stages agreed on.
      if (op->getNumResults() == 0)
        return false;
      moved.insert(op);
    }
    if (dependsOn(last, moved))
      return false;
    Operation *behind = last;
    for (Operation *op : moved.getArrayRef().drop_front(group.size())) {
      op->moveAfter(behind);
      behind = op;
    }
    for (AllReduceOp reduce : group)
      reduce->moveBefore(last);
    return true;
  }

  static bool dependsOn(Operation *op,
                        const llvm::SmallSetVector<Operation *, 8> &set) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return set.contains(operand.getDefiningOp());
    });
  }

  func::FuncOp function;
  SmallVector<AllReduceOp> all;
  llvm::DenseSet<Operation *> taken;
};

struct MergeCollectivesPass : impl::MergeCollectivesBase<MergeCollectivesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr("dist.sharded")) {
        Merger merger(function);
        merger.run();
        numMerged += merger.numMerged;
      }
  }
};

} // namespace
} // namespace shardc::partition
