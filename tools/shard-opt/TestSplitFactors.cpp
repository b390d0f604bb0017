//===- TestSplitFactors.cpp - Passes for tests of sharding rules ----------===//

#include "tools/shard-opt/TestSplitFactors.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/NodeName.h"
#include "dialects/onnx/Onnx.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace shardc {

using dist::AxisRef;
using dist::DimSharding;
using dist::Sharding;
using onnx::FactorClass;
using onnx::OnnxOp;
using onnx::ShardingRule;

namespace {

bool leavesPartial(const onnx::RuleFactor &factor) {
  return factor.factorClass == FactorClass::Reduce ||
         factor.factorClass == FactorClass::Lookup;
}

//===----------------------------------------------------------------------===//
// List
//===----------------------------------------------------------------------===//

struct ListFactorsPass : PassWrapper<ListFactorsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ListFactorsPass)

  StringRef getArgument() const override { return "shardc-test-list-factors"; }
  StringRef getDescription() const override {
    return "Prints the registered ops and the factors of each op";
  }

  void runOnOperation() override {
    for (RegisteredOperationName name : getContext().getRegisteredOperations())
      if (name.hasInterface<OnnxOp>() && !name.hasTrait<onnx::IsReplaced>())
        llvm::outs() << "registered " << name.getStringRef() << '\n';
    getOperation().walk([](OnnxOp op) {
      llvm::outs() << "factors " << nodeName(op, "?") << ' ' << op->getName();
      for (const onnx::RuleFactor &factor : op.shardingRule().factors)
        llvm::outs() << ' ' << letter(factor.factorClass);
      llvm::outs() << '\n';
    });
  }

  static char letter(FactorClass factorClass) {
    switch (factorClass) {
    case FactorClass::PassThrough:
      return 'P';
    case FactorClass::Reduce:
      return 'R';
    case FactorClass::NeedsReplication:
      return 'N';
    case FactorClass::Lookup:
      return 'L';
    }
    llvm_unreachable("every class has a letter above");
  }
};

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

/// One op's shardings.
struct Wanted {
  SmallVector<Sharding, 4> operands, results;

  explicit Wanted(Operation &op) {
    for (Value operand : op.getOperands())
      operands.push_back(whole(operand));
    for (Value result : op.getResults())
      results.push_back(whole(result));
  }

  static Sharding whole(Value value) {
    return isa<RankedTensorType>(value.getType())
               ? Sharding::replicated(dist::getDims(value.getType()))
               : Sharding();
  }

  /// Splits a factor over an axis.
  void split(const ShardingRule &rule, onnx::PartialRule partialRule,
             unsigned factor, const AxisRef &axis) {
    auto splitAll = [&](ArrayRef<onnx::RuleTensor> tensors,
                        MutableArrayRef<Sharding> shardings) {
      for (auto [tensor, sharding] : llvm::zip(tensors, shardings))
        for (auto [dim, pattern] : llvm::zip(sharding.dims, tensor))
          splitDim(rule, pattern, factor, axis, dim);
    };
    splitAll(rule.operands, operands);
    splitAll(rule.results, results);
    const onnx::RuleFactor &split = rule.factors[factor];
    if (!leavesPartial(split))
      return;
    dist::ReduceKind kind = split.factorClass == FactorClass::Reduce
                                ? split.reduceKind
                                : dist::ReduceKind::Sum;
    for (Sharding &result : results)
      result.partial = {{axis, kind}};
    if (partialRule == onnx::PartialRule::Affine && operands.size() > 2)
      operands[2].partial = {{axis, kind}};
  }

private:
  static void splitDim(const ShardingRule &rule, const onnx::RuleDim &pattern,
                       unsigned factor, const AxisRef &axis, DimSharding &dim) {
    if (pattern.segments.empty())
      return;
    dim.segments.clear();
    for (ArrayRef<unsigned> numbers : pattern.segments) {
      dist::Segment &segment = dim.segments.emplace_back();
      for (unsigned number : numbers) {
        segment.factors.push_back({rule.factors[number].size, {}});
        if (number == factor)
          segment.factors.back().axes = {axis};
      }
    }
    dim.normalize();
  }
};

struct SplitFactorsPass
    : PassWrapper<SplitFactorsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitFactorsPass)

  SplitFactorsPass() = default;
  SplitFactorsPass(const SplitFactorsPass &other) : PassWrapper(other) {}

  Option<int64_t> ways{*this, "ways", llvm::cl::desc("Size of the axis \"tp\""),
                       llvm::cl::init(2)};
  Option<unsigned> factor{
      *this, "factor",
      llvm::cl::desc("Which of an op's factors that may be split; ops with "
                     "fewer stay whole"),
      llvm::cl::init(0)};
  Option<std::string> blocked{
      *this, "blocked",
      llvm::cl::desc(
          "Split only the op of this name, and that wrongly: along a "
          "factor that needs replication"),
      llvm::cl::init("")};
  Option<bool> partial{
      *this, "partial",
      llvm::cl::desc(
          "Split only reductions named part.*, keep what they leave "
          "partial through every op that allows it, and print those"),
      llvm::cl::init(false)};

  StringRef getArgument() const override { return "shardc-test-split-factors"; }
  StringRef getDescription() const override {
    return "Splits each op along one factor of its own rule";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<dist::DistDialect>();
  }

  void runOnOperation() override {
    OpBuilder builder(getOperation().getBodyRegion());
    dist::Mesh mesh{{dist::Axis{"tp", ways}}};
    dist::MeshOp::create(builder, getOperation().getLoc(), "mesh",
                         dist::MeshAttr::get(&getContext(), mesh));
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      shard(function);
  }

private:
  void shard(func::FuncOp function) {
    reshards.clear();
    for (Value argument : function.getArguments())
      setSharding(argument, Wanted::whole(argument));
    for (Operation &op : llvm::make_early_inc_range(function.front())) {
      if (isa<func::ReturnOp>(op)) {
        finish(op);
        continue;
      }
      Wanted wanted(op);
      if (auto onnxOp = dyn_cast<OnnxOp>(op))
        choose(onnxOp, wanted);
      for (auto [operand, sharding] :
           llvm::zip(op.getOpOperands(), wanted.operands))
        connect(operand, sharding);
      for (auto [result, sharding] : llvm::zip(op.getResults(), wanted.results))
        setSharding(result, sharding);
    }
    Operation *terminator = function.front().getTerminator();
    function.setType(FunctionType::get(&getContext(),
                                       function.front().getArgumentTypes(),
                                       terminator->getOperandTypes()));
  }

  void choose(OnnxOp op, Wanted &wanted) {
    ShardingRule rule = op.shardingRule();
    AxisRef axis{"tp", 1, ways};
    if (partial && !nodeName(op, "?").starts_with("part.")) {
      carryPartial(op, wanted);
      return;
    }
    if (!blocked.empty() && nodeName(op, "?") != blocked)
      return;
    unsigned seen = 0;
    for (auto [number, candidate] : llvm::enumerate(rule.factors)) {
      bool isBlocked = candidate.factorClass == FactorClass::NeedsReplication;
      if (candidate.size.isConstant(0))
        continue; // nothing to split
      if (isBlocked == blocked.empty() ||
          (partial && !leavesPartial(candidate)))
        continue;
      if (seen++ == factor) {
        wanted.split(rule, op.partialRule(), number, axis);
        return;
      }
    }
  }

  void carryPartial(OnnxOp op, Wanted &wanted) {
    SmallVector<ArrayRef<dist::PartialAxis>, 4> given;
    SmallVector<Sharding, 4> shardings;
    for (Value operand : op->getOperands())
      shardings.push_back(dist::getSharding(operand.getType()));
    bool isPartial = false;
    for (const Sharding &sharding : shardings) {
      given.push_back(sharding.partial);
      isPartial |= sharding.isPartial();
    }
    if (!isPartial)
      return;
    auto result = onnx::partialResult(op.partialRule(), given);
    llvm::outs() << (result ? "carries " : "refuses ") << nodeName(op, "?")
                 << '\n';
    if (!result)
      return;
    for (auto [sharding, operand] : llvm::zip(wanted.operands, shardings))
      sharding.partial = operand.partial;
    for (Sharding &sharding : wanted.results)
      sharding.partial.assign(result->begin(), result->end());
  }

  /// Every second output stays split.
  void finish(Operation &terminator) {
    for (OpOperand &operand : terminator.getOpOperands()) {
      Sharding held = dist::getSharding(operand.get().getType());
      if (held.isPartial() || dist::isSplitInPart(held) ||
          operand.getOperandNumber() % 2 == 0)
        connect(operand, Wanted::whole(operand.get()));
    }
  }

  static void setSharding(Value value, const Sharding &sharding) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      value.setType(dist::withSharding(type, sharding));
  }

  void connect(OpOperand &operand, const Sharding &sharding) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || dist::getSharding(type) == sharding)
      return;
    Type wanted = dist::withSharding(type, sharding);
    Value &made = reshards[{operand.get(), wanted}];
    if (!made) {
      OpBuilder builder(operand.getOwner());
      made = dist::ReshardOp::create(builder, operand.getOwner()->getLoc(),
                                     wanted, operand.get(),
                                     builder.getStringAttr("a test wants it"));
    }
    operand.set(made);
  }

  llvm::DenseMap<std::pair<Value, Type>, Value> reshards;
};

} // namespace

void registerTestSplitFactors() {
  PassRegistration<ListFactorsPass>();
  PassRegistration<SplitFactorsPass>();
}

} // namespace shardc
