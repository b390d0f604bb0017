//===- MoveGathers.cpp - all_gathers where they move fewest bytes ---------===//
//
// An op that treats the parts of a dim alike may stand before or behind the
// all_gather of that dim. It computes the same; where its result is smaller
// than its operand (a cast to a narrower type, one position of a sequence) it
// is better done first, where it is larger, afterwards.
//
// Whether an op may be moved is asked of its rule, with the checker that
// verify-phase uses.
//
//===----------------------------------------------------------------------===//

#include "passes/partition/Passes.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/algebra/Collectives.h"
#include "dialects/dist/algebra/StorageAxis.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/WholeSums.h"
#include "dialects/rt/Rt.h"
#include "passes/partition/HeldValues.h"
#include "passes/verify/CheckRule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::partition {
#define GEN_PASS_DEF_MOVEGATHERS
#include "passes/partition/Passes.h.inc"

using dist::AllGatherOp;
using dist::DimExpr;
using dist::Sharding;

namespace {

class GatherMover {
public:
  GatherMover(func::FuncOp function, const dist::Mesh &mesh)
      : function(function), mesh(mesh), builder(function.getContext()) {}

  unsigned numMoved = 0;

  void run() {
    const SmallVector<AllGatherOp> gathers(function.getOps<AllGatherOp>());
    for (AllGatherOp gather : gathers) {
      if (gather->hasAttr(dist::kStoredAttr))
        continue; // what is done at load is not to be done in each run
      while (AllGatherOp moved = move(gather)) {
        gather = moved;
        ++numMoved;
      }
    }
    // What was cut behind an op that a gather has passed was there before it.
    if (numMoved > 0)
      reuseHeldValues(function);
  }

private:
  /// The gather at its better place, or null where it has that already.
  AllGatherOp move(AllGatherOp gather) {
    if (AllGatherOp sunk = sink(gather))
      return sunk;
    return hoist(gather);
  }

  static DimExpr globalBytes(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return rt::storageBytes(type.getElementType(),
                            dist::product(dist::getDims(type)));
  }

  static bool isSmaller(Value a, Value b) {
    const DimExpr small = globalBytes(a), large = globalBytes(b);
    return small != large && (large - small).isKnownNonNegative();
  }

  /// Whether the op satisfies its rule with these shardings.
  bool isLegal(onnx::OnnxOp op, unsigned operand, const Sharding &held,
               const Sharding &given) const {
    SmallVector<Sharding, 3> operands;
    for (OpOperand &each : op->getOpOperands())
      operands.push_back(each.getOperandNumber() == operand
                             ? held
                             : dist::getSharding(each.get().getType()));
    return verify::checkRule(onnx::ruleOf(op), onnx::partialRuleOf(op),
                             operands, {given}, mesh)
        .empty();
  }

  /// The op that may be moved, and its operand that the gather is tied to.
  static bool isMovable(Operation *op) {
    return isa_and_nonnull<onnx::OnnxOp>(op) && op->getNumResults() == 1 &&
           op->getNumRegions() == 0;
  }

  RankedTensorType typed(Value like, const Sharding &sharding) {
    return dist::localize(
        dist::withSharding(cast<RankedTensorType>(like.getType()), sharding),
        mesh);
  }

  AllGatherOp build(AllGatherOp old, Value operand, size_t dim,
                    const Sharding &whole) {
    return AllGatherOp::create(builder, old.getLoc(), typed(operand, whole),
                               operand, builder.getI64IntegerAttr(dim),
                               old.getAxesAttr(), old.getWhyAttr());
  }

  /// user(gather(x)) as gather(user(x)).
  AllGatherOp sink(AllGatherOp gather) {
    if (!gather->hasOneUse())
      return {};
    OpOperand &use = *gather->use_begin();
    Operation *user = use.getOwner();
    if (!isMovable(user) || !isSmaller(user->getResult(0), gather))
      return {};
    const Sharding held = dist::getSharding(gather.getOperand().getType());
    const Sharding whole = dist::getSharding(user->getResult(0).getType());
    for (size_t d = 0; d < whole.dims.size(); ++d) {
      Sharding part = whole;
      part.dims[d] = held.dims[gather.getDim()];
      auto gathered = dist::allGather(part, d, gather.getAxes().getAxes());
      const SmallVector<DimExpr, 4> dims =
          dist::getDims(user->getResult(0).getType());
      if (!gathered || *gathered != whole ||
          !dist::findProblem(part, dims, mesh).empty() ||
          !isLegal(cast<onnx::OnnxOp>(user), use.getOperandNumber(), held,
                   part))
        continue;
      builder.setInsertionPointAfter(user);
      use.set(gather.getOperand());
      Value result = user->getResult(0);
      result.setType(typed(result, part));
      AllGatherOp moved = build(gather, result, d, whole);
      result.replaceAllUsesExcept(moved, moved);
      gather.erase();
      return moved;
    }
    return {};
  }

  /// A product, say: each rank would compute all of it, of a matrix that is
  /// gathered in each run, though that may be smaller than what it is times.
  static bool addsUp(onnx::OnnxOp op) {
    return llvm::any_of(
        op.shardingRule().factors, [](const onnx::RuleFactor &factor) {
          return factor.factorClass == onnx::FactorClass::Reduce;
        });
  }

  /// gather(producer(y)) as producer(gather(y)).
  AllGatherOp hoist(AllGatherOp gather) {
    Operation *producer = gather.getOperand().getDefiningOp();
    if (!isMovable(producer) || !gather.getOperand().hasOneUse() ||
        addsUp(cast<onnx::OnnxOp>(producer)))
      return {};
    for (OpOperand &operand : producer->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()) &&
          isSmaller(operand.get(), gather.getOperand()))
        if (auto moved = hoist(gather, producer, operand))
          return *moved;
    return {};
  }

  /// Nothing where it stays; null where nothing is left of it.
  std::optional<AllGatherOp> hoist(AllGatherOp gather, Operation *producer,
                                   OpOperand &operand) {
    const Sharding held = dist::getSharding(operand.get().getType());
    const Sharding whole = dist::getSharding(gather.getType());
    for (size_t d = 0; d < held.dims.size(); ++d) {
      auto gathered = dist::allGather(held, d, gather.getAxes().getAxes());
      if (!gathered || !isLegal(cast<onnx::OnnxOp>(producer),
                                operand.getOperandNumber(), *gathered, whole))
        continue;
      builder.setInsertionPoint(producer);
      AllGatherOp moved = build(gather, operand.get(), d, *gathered);
      operand.set(wholeOf(moved));
      Value result = producer->getResult(0);
      result.setType(gather.getType());
      gather.replaceAllUsesWith(result);
      gather.erase();
      if (!moved.use_empty())
        return moved;
      // It is there already.
      auto cut = moved.getOperand().getDefiningOp<dist::SliceOp>();
      moved.erase();
      if (cut && cut.use_empty())
        cut.erase();
      ++numMoved;
      return AllGatherOp();
    }
    return std::nullopt;
  }

  /// What the gather makes, from where it is already: the value that its
  /// operand was cut from, or another gather like it.
  Value wholeOf(AllGatherOp gather) {
    auto cut = gather.getOperand().getDefiningOp<dist::SliceOp>();
    if (cut && cut.getOperand().getType() == gather.getType())
      return cut.getOperand();
    for (Operation *user : gather.getOperand().getUsers()) {
      auto other = dyn_cast<AllGatherOp>(user);
      if (!other || other == gather || other.getType() != gather.getType() ||
          other.getDim() != gather.getDim() ||
          other.getAxes() != gather.getAxes())
        continue;
      if (gather->isBeforeInBlock(other))
        other->moveBefore(gather);
      return other;
    }
    return gather;
  }

  func::FuncOp function;
  const dist::Mesh &mesh;
  OpBuilder builder;
};

struct MoveGathersPass : impl::MoveGathersBase<MoveGathersPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    dist::MeshOp mesh = dist::getMesh(module);
    if (!mesh)
      return;
    for (auto function : module.getOps<func::FuncOp>())
      if (onnx::FunctionInfo(function).isProgram()) {
        GatherMover mover(function, *mesh.getMesh().getMesh());
        mover.run();
        numMoved += mover.numMoved;
      }
  }
};

} // namespace
} // namespace shardc::partition
