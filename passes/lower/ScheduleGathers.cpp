//===- ScheduleGathers.cpp - Shared weights, a layer before their use -----===//

#include "passes/lower/Passes.h"

#include "dialects/dist/algebra/StorageAxis.h"
#include "passes/lower/overlap/GatherSchedule.h"
#include "passes/lower/overlap/Movement.h"

using namespace mlir;

namespace shardc::lower {
#define GEN_PASS_DEF_SCHEDULEGATHERS
#include "passes/lower/Passes.h.inc"

namespace {

class GatherScheduler {
public:
  GatherScheduler(rt::ProgramOp program, const dist::Mesh &mesh) : mesh(mesh) {
    for (Operation &op : program.getBody().front()) {
      numbers[&op] = ops.size();
      ops.push_back(&op);
    }
  }

  void run() {
    find();
    std::vector<GatheredWeight> weights;
    for (const Gather &gather : gathers)
      weights.push_back(gather.weight);
    for (auto [gather, start] : llvm::zip(gathers, scheduleGathers(weights)))
      place(gather, ops[start]);
  }

  unsigned numAhead = 0; ///< gathers that start before another weight is used

private:
  struct Gather {
    rt::CollectiveOp op;
    GatheredWeight weight;
  };

  void find() {
    std::vector<size_t> barriers{0};
    for (auto [number, op] : llvm::enumerate(ops)) {
      if (isBarrier(op))
        barriers.push_back(number + 1);
      auto collective = dyn_cast<rt::CollectiveOp>(op);
      if (!collective || !collective->hasAttr(dist::kStoredAttr))
        continue;
      Gather gather{collective, {}};
      if (isKept(collective) && measure(gather))
        gathers.push_back(gather);
    }
    // What is used between brackets is gathered in front of them.
    for (Gather &gather : gathers) {
      const size_t stands = numbers.lookup(gather.op);
      auto behind = [&](size_t number) {
        return *std::prev(llvm::upper_bound(barriers, number));
      };
      GatheredWeight &weight = gather.weight;
      if (behind(stands) != behind(weight.firstUse))
        weight.firstUse = stands;
      weight.earliest = behind(weight.firstUse);
    }
    llvm::stable_sort(gathers, [](const Gather &a, const Gather &b) {
      return a.weight.firstUse < b.weight.firstUse;
    });
  }

  /// Right before an instruction, with the buffer that it writes. It may have stood
  /// before or behind that: with what dequantises a weight, say, which then turned
  /// out to be part of a product.
  void place(Gather gather, Operation *before) {
    numAhead += before != ops[gather.weight.firstUse];
    Operation *alloc = bufferOf(gather.op.getOutput()).getDefiningOp();
    alloc->moveBefore(before);
    Operation *last = alloc;
    for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
      if (isa<rt::ViewOp>(user)) {
        user->moveAfter(last);
        last = user;
      }
    if (before != gather.op)
      gather.op->moveBefore(before);
  }

  /// Whether its parts are there from load on: not rows of a table that were found
  /// in this run.
  static bool isKept(rt::CollectiveOp gather) {
    Operation *source = bufferOf(gather.getInput()).getDefiningOp();
    auto alloc = dyn_cast<rt::AllocOp>(source);
    return isa<rt::WeightOp, rt::JoinOp, rt::ConstantOp>(source) ||
           (alloc && alloc.getPersistent());
  }

  /// Whether somebody uses what it gathers.
  bool measure(Gather &gather) {
    auto alloc = bufferOf(gather.op.getOutput()).getDefiningOp<rt::AllocOp>();
    if (!alloc)
      return false;
    GatheredWeight &weight = gather.weight;
    weight.firstUse = weight.lastUse = ops.size();
    for (Operation *view : alloc->getUsers()) {
      if (isa<rt::FreeOp>(view)) // behind loops that it is used in
        weight.lastUse = numbers.lookup(view);
      for (Operation *user : view->getUsers())
        if (user != gather.op)
          weight.firstUse = std::min(weight.firstUse, numbers.lookup(user));
    }
    weight.bytes = bytesOf(alloc);
    if (auto layer = gather.op->getAttrOfType<IntegerAttr>(dist::kLayerAttr))
      weight.layer = layer.getInt();
    return weight.firstUse < ops.size();
  }

  /// Of the last rank, which has the most of what does not divide.
  int64_t bytesOf(rt::AllocOp alloc) {
    return alloc.getBytes()
        .getValues()[0]
        .evaluate([&](StringRef name, bool isCoordinate) {
          return isCoordinate ? std::optional(mesh.sizeOf(name) - 1)
                              : std::nullopt;
        })
        .value_or(0);
  }

  const dist::Mesh &mesh;
  std::vector<Operation *> ops; ///< before any moves
  llvm::DenseMap<Operation *, size_t> numbers;
  std::vector<Gather> gathers;
};

struct ScheduleGathersPass : impl::ScheduleGathersBase<ScheduleGathersPass> {
  void runOnOperation() override {
    dist::MeshOp mesh = dist::getMesh(getOperation());
    if (!mesh || !mesh.getMesh().getMesh()->find(dist::kStorageAxis))
      return;
    for (auto program : getOperation().getOps<rt::ProgramOp>()) {
      GatherScheduler scheduler(program, *mesh.getMesh().getMesh());
      scheduler.run();
      numAhead += scheduler.numAhead;
    }
  }
};

} // namespace
} // namespace shardc::lower
