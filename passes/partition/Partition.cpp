//===- Partition.cpp - One local SPMD program per stage -------------------===//

#include "passes/partition/Passes.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/algebra/ReshardPlan.h"
#include "dialects/dist/algebra/StorageAxis.h"
#include "dialects/onnx/FunctionInfo.h"
#include "passes/partition/HeldValues.h"

using namespace mlir;

namespace shardc::partition {
#define GEN_PASS_DEF_PARTITION
#include "passes/partition/Passes.h.inc"

using dist::ReshardStep;
using dist::StepKind;

namespace {

class Partitioner {
public:
  Partitioner(func::FuncOp function, const dist::Mesh &mesh)
      : function(function), mesh(mesh), builder(function.getContext()) {}

  unsigned numCollectives = 0;

  LogicalResult run() {
    for (Operation &op : llvm::make_early_inc_range(function.front()))
      if (auto reshard = dyn_cast<dist::ReshardOp>(op);
          reshard && failed(replace(reshard)))
        return failure();
    reuseHeldValues(function);
    numCollectives = llvm::count_if(function.front(), [](Operation &op) {
      return isa<dist::AllGatherOp, dist::AllReduceOp, dist::AllToAllOp,
                 dist::ReduceScatterOp>(op);
    });
    for (Value argument : function.getArguments())
      localize(argument);
    for (Operation &op : function.front())
      for (Value result : op.getResults())
        localize(result);
    function.setType(FunctionType::get(
        function.getContext(), function.front().getArgumentTypes(),
        function.front().getTerminator()->getOperandTypes()));
    return success();
  }

private:
  using Steps = std::vector<ReshardStep>;

  void localize(Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      value.setType(dist::localize(type, mesh));
  }

  LogicalResult replace(dist::ReshardOp reshard) {
    builder.setInsertionPoint(reshard);
    Value value = reshard.getOperand();
    auto type = cast<RankedTensorType>(value.getType());
    std::optional<Steps> steps = plan(reshard);
    if (!steps)
      return reshard.emitOpError("has no collectives that make ")
             << reshard.getType() << " of " << type
             << ": this is a mistake of the compiler";
    for (const ReshardStep &step : *steps) {
      const Type made = dist::withSharding(type, step.after);
      value = reshard->hasAttr(dist::kStoredAttr)
                  ? buildStored(reshard, step, value, made)
                  : buildOnce(reshard, step, value, made);
    }
    reshard.replaceAllUsesWith(value);
    reshard.erase();
    return success();
  }

  static std::optional<Steps> plan(dist::ReshardOp reshard, bool moves) {
    return dist::planReshard(dist::getSharding(reshard.getOperand().getType()),
                             dist::getSharding(reshard.getType()), moves);
  }

  /// What another reshard of the value gathers in any case need only be cut.
  std::optional<Steps> plan(dist::ReshardOp reshard) const {
    std::optional<Steps> direct = plan(reshard, /*moves=*/true);
    if (!direct || direct->empty() ||
        direct->front().kind != StepKind::AllToAll)
      return direct;
    std::optional<Steps> cut = plan(reshard, /*moves=*/false);
    if (!cut || cut->empty())
      return direct;
    const dist::Sharding &first = cut->front().after;
    auto begins = [&](Operation *user) {
      auto other = dyn_cast<dist::ReshardOp>(user);
      std::optional<Steps> beside =
          other ? plan(other, /*moves=*/true) : std::nullopt;
      return beside && !beside->empty() && beside->front().after == first;
    };
    Value value = reshard.getOperand();
    Type gathered =
        dist::withSharding(cast<RankedTensorType>(value.getType()), first);
    return made.contains({value, gathered}) ||
                   llvm::any_of(value.getUsers(), begins)
               ? cut
               : direct;
  }

  /// Two reshards of a value may begin alike: gather it, then cut it in one way
  /// or another.
  Value buildOnce(dist::ReshardOp reshard, const ReshardStep &step, Value value,
                  Type type) {
    Value &result = made[{value, type}];
    if (!result)
      result = build(reshard, step, value, type);
    return result;
  }

  /// What is gathered for one op, and gone behind it.
  Value buildStored(dist::ReshardOp reshard, const ReshardStep &step,
                    Value value, Type type) {
    Value result = build(reshard, step, value, type);
    for (StringRef name : {dist::kStoredAttr, dist::kLayerAttr})
      if (Attribute attribute = reshard->getAttr(name))
        result.getDefiningOp()->setAttr(name, attribute);
    return result;
  }

  Value build(dist::ReshardOp reshard, const ReshardStep &step, Value value,
              Type type) {
    Location loc = reshard.getLoc();
    auto axes = dist::AxesAttr::get(builder.getContext(), step.axes);
    switch (step.kind) {
    case StepKind::ReduceScatter:
      return dist::ReduceScatterOp::create(
          builder, loc, type, value, builder.getI64IntegerAttr(step.dim), axes,
          builder.getStringAttr(dist::stringify(step.reduceKind)),
          reshard.getWhyAttr());
    case StepKind::AllReduce:
      return dist::AllReduceOp::create(
          builder, loc, type, value, axes,
          builder.getStringAttr(dist::stringify(step.reduceKind)),
          reshard.getWhyAttr());
    case StepKind::AllGather:
      return dist::AllGatherOp::create(builder, loc, type, value,
                                       builder.getI64IntegerAttr(step.dim),
                                       axes, reshard.getWhyAttr());
    case StepKind::AllToAll:
      return dist::AllToAllOp::create(
          builder, loc, type, value, builder.getI64IntegerAttr(step.dim),
          builder.getI64IntegerAttr(step.toDim), axes, reshard.getWhyAttr());
    case StepKind::Slice:
      return dist::SliceOp::create(builder, loc, type, value);
    case StepKind::Once:
      return dist::OnceOp::create(builder, loc, type, value, axes);
    }
    llvm_unreachable("every kind of step is built above");
  }

  func::FuncOp function;
  const dist::Mesh &mesh;
  OpBuilder builder;
  /// The result of each step, by its operand and type.
  llvm::DenseMap<std::pair<Value, Type>, Value> made;
};

struct PartitionPass : impl::PartitionBase<PartitionPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    dist::MeshOp mesh = dist::getMesh(module);
    if (!mesh) {
      module.emitError("has no dist.mesh");
      return signalPassFailure();
    }
    for (func::FuncOp function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      func::FuncOp sharded = function.clone();
      sharded.setSymName((function.getSymName() + ".sharded").str());
      sharded.setPrivate();
      module.insert(std::next(function->getIterator()), sharded);
      onnx::FunctionInfo(function).setSharded(sharded);
      Partitioner partitioner(function, *mesh.getMesh().getMesh());
      if (failed(partitioner.run()))
        return signalPassFailure();
      numCollectives += partitioner.numCollectives;
    }
  }
};

} // namespace
} // namespace shardc::partition
