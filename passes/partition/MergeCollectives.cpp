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
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/rt/Rt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

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

/// How many ops are looked at in all for each op of the function, and behind
/// each all_reduce once that is used up.
constexpr unsigned kLooksPerOp = 256, kLooksAtLeast = 64;

class Merger {
public:
  explicit Merger(func::FuncOp function) : function(function) {}

  unsigned numMerged = 0;

  void run() {
    SmallVector<AllReduceOp> all;
    for (Operation &op : function.front()) {
      looks += kLooksPerOp;
      auto reduce = dyn_cast<AllReduceOp>(op);
      if (!reduce || !isSmall(reduce))
        continue;
      open.insert(reduce);
      all.push_back(reduce);
    }
    unsigned number = 0;
    for (AllReduceOp reduce : all) {
      if (!open.erase(reduce))
        continue;
      Group group = collect(reduce);
      if (group.reduces.size() == 1)
        continue;
      gather(group);
      auto mark =
          IntegerAttr::get(IntegerType::get(function.getContext(), 64), number);
      for (AllReduceOp member : group.reduces) {
        member->setAttr(dist::kTogetherAttr, mark);
        open.erase(member);
        ++numMerged;
      }
      ++number;
    }
  }

private:
  struct Group {
    SmallVector<AllReduceOp> reduces;
    /// What uses them, up to the last of them, in order.
    SmallVector<Operation *> users;
  };

  /// The first one and those behind it that it can wait for.
  Group collect(AllReduceOp first) {
    Group group{{first}, {}};
    llvm::DenseSet<Operation *> moved{first};
    SmallVector<Operation *> users; // behind the last member, too
    unsigned numLooks = 0;
    for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
      if (++numLooks > kLooksAtLeast && looks == 0)
        break;
      looks -= looks > 0;
      if (dependsOn(op, moved)) {
        // The order of transfers is what two stages agreed on.
        if (op->getNumResults() == 0)
          break;
        moved.insert(op);
        users.push_back(op);
        continue;
      }
      auto reduce = dyn_cast<AllReduceOp>(op);
      if (!reduce || !open.contains(reduce) ||
          !dist::canGoTogether(first, reduce))
        continue;
      group.reduces.push_back(reduce);
      group.users = users;
      moved.insert(op);
      numLooks = 0;
    }
    return group;
  }

  /// Moves the group to where its last member is, and what uses it behind that.
  static void gather(const Group &group) {
    AllReduceOp last = group.reduces.back();
    for (AllReduceOp reduce : ArrayRef(group.reduces).drop_back())
      reduce->moveBefore(last);
    Operation *behind = last;
    for (Operation *user : group.users) {
      user->moveAfter(behind);
      behind = user;
    }
  }

  static bool dependsOn(Operation *op, const llvm::DenseSet<Operation *> &set) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return set.contains(operand.getDefiningOp());
    });
  }

  func::FuncOp function;
  llvm::DenseSet<Operation *> open; ///< small ones that are in no group yet
  size_t looks = 0;                 ///< left
};

struct MergeCollectivesPass : impl::MergeCollectivesBase<MergeCollectivesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (onnx::FunctionInfo(function).isProgram()) {
        Merger merger(function);
        merger.run();
        numMerged += merger.numMerged;
      }
  }
};

} // namespace
} // namespace shardc::partition
