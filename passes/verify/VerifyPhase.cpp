//===- VerifyPhase.cpp - What each phase guarantees -----------------------===//

#include "passes/verify/Passes.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/verify/CheckRule.h"
#include "passes/verify/Terms.h"
#include "passes/verify/VerifyLowered.h"
#include "passes/verify/VerifyRings.h"
#include "passes/verify/VerifyStages.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

#include <set>

using namespace mlir;

namespace shardc::verify {
#define GEN_PASS_DEF_VERIFYPHASE
#define GEN_PASS_DEF_FINGERPRINT
#include "passes/verify/Passes.h.inc"

namespace {

/// The symbols of every size are an input's, or were bound before: by what is
/// read of the data, or by the op that has bodies. What a body binds is its
/// own.
LogicalResult verifySymbols(Block &block, llvm::StringSet<> bound) {
  auto bind = [&](StringRef name, bool) { bound.insert(name); };
  for (Type type : block.getArgumentTypes())
    for (dist::DimExpr size : dist::getDims(type))
      size.forEachSymbol(bind);
  for (Operation &op : block) {
    std::string unbound;
    auto check = [&](dist::DimExpr size) {
      size.forEachSymbol([&](StringRef name, bool isCoordinate) {
        if (!isCoordinate && !bound.contains(name))
          unbound = name.str();
      });
    };
    for (Region &body : op.getRegions())
      if (failed(verifySymbols(body.front(), bound)))
        return failure();
    if (isa<onnx::ReadSizesOp>(op) || op.getNumRegions() > 0) {
      onnx::forEachSize(&op,
                        [&](dist::DimExpr size) { size.forEachSymbol(bind); });
      continue;
    }
    // A function checks a guard once all of its symbols are bound.
    bool isLater =
        isa<onnx::GuardOp>(op) && isa<func::FuncOp>(block.getParentOp());
    if (!isLater)
      onnx::forEachSize(&op, check);
    if (!unbound.empty())
      return op.emitError("needs the size \"")
             << unbound << "\", which no input has and nothing before it reads";
  }
  return success();
}

LogicalResult verifySymbols(func::FuncOp function) {
  return verifySymbols(function.front(), {});
}

/// A body is a program of its own: it sees its arguments, and every rank runs
/// the whole of it.
LogicalResult verifyBody(Region &body) {
  for (Operation &op : body.front()) {
    if (isa<dist::DistDialect>(op.getDialect()))
      return op.emitError("stands in a body of control flow, which every rank "
                          "runs whole");
    for (Value operand : op.getOperands())
      if (operand.getParentRegion() != &body)
        return op.emitError("uses a value from around the body it stands in");
    for (Value result : op.getResults()) {
      dist::ValueAttr encoding = dist::getValueAttr(result.getType());
      if (encoding && encoding.getSharding())
        return op.emitError("has a sharding in a body of control flow: ")
               << result.getType();
    }
    for (Region &inner : op.getRegions())
      if (failed(verifyBody(inner)))
        return failure();
  }
  return success();
}

/// Each last argument of a body is the operand that it stands for.
LogicalResult verifyArguments(Operation &op,
                              ArrayRef<BlockArgument> arguments) {
  ValueRange operands = op.getOperands().take_back(arguments.size());
  for (auto [argument, operand] : llvm::zip_equal(arguments, operands)) {
    auto found = dyn_cast<RankedTensorType>(argument.getType());
    auto expected = dyn_cast<RankedTensorType>(operand.getType());
    if (!found || !expected ||
        found.getElementType() != expected.getElementType() ||
        dist::getDims(found) != dist::getDims(expected))
      return op.emitError("has a body with an argument ")
             << argument.getType() << " for an operand " << operand.getType();
  }
  return success();
}

LogicalResult verifyBodies(Operation &op) {
  // Of a loop the first two are its iteration and condition, of a branch the
  // first operand is none of the bodies'.
  const unsigned own = isa<onnx::IfOp>(op) ? 1 : 0;
  for (Region &body : op.getRegions()) {
    if (body.getNumArguments() + own != op.getNumOperands())
      return op.emitError("has a body of ")
             << body.getNumArguments() << " arguments, expected "
             << op.getNumOperands() - own;
    if (failed(verifyBody(body)))
      return failure();
    if (isa<onnx::IfOp>(op) && failed(verifyArguments(op, body.getArguments())))
      return failure();
  }
  if (auto loop = dyn_cast<onnx::LoopOp>(op))
    return verifyArguments(op, loop.getCapturedArguments());
  return success();
}

/// Every op is one of ours, every size a constant or an expression over
/// symbols.
LogicalResult verifyImported(func::FuncOp function) {
  auto sizesKnown = [&](Value value, Operation *at) -> LogicalResult {
    if (isa<NoneType>(value.getType()))
      return success();
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return at->emitError("has a value of unknown type: ") << value.getType();
    for (dist::DimExpr size : dist::getDims(type))
      if (size == dist::DimExpr::symbol("?"))
        return at->emitError("has a value of unknown size: ") << type;
    return success();
  };
  for (Value argument : function.getArguments())
    if (failed(sizesKnown(argument, function)))
      return failure();
  auto result = function.getBody().walk([&](Operation *op) {
    if (!isa<onnx::OnnxOp, onnx::NoneOp, onnx::GuardOp, onnx::YieldOp,
             func::ReturnOp>(op) ||
        op->hasTrait<onnx::IsReplaced>()) {
      op->emitError("is not an op of phase imported");
      return WalkResult::interrupt();
    }
    for (Value result : op->getResults())
      if (failed(sizesKnown(result, op)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (Operation &op : function.front())
    if (failed(verifyBodies(op)))
      return failure();
  return verifySymbols(function);
}

/// Types carry shardings that fit the mesh, ops satisfy their rules.
class ShardingVerifier {
public:
  ShardingVerifier(func::FuncOp function, const dist::Mesh &mesh, bool isLocal)
      : function(function), mesh(mesh), isLocal(isLocal) {}

  LogicalResult verify() {
    for (Value argument : function.getArguments())
      if (failed(verifyType(argument, function)))
        return failure();
    for (Operation &op : function.front()) {
      for (Value result : op.getResults())
        if (failed(verifyType(result, &op)))
          return failure();
      if (failed(verifyOp(op)))
        return failure();
    }
    return success();
  }

private:
  LogicalResult verifyType(Value value, Operation *at) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return success();
    dist::ValueAttr encoding = dist::getValueAttr(type);
    if (!encoding || !encoding.getSharding())
      return at->emitError("has a value without sharding: ") << type;
    std::string problem =
        dist::findProblem(*encoding.getSharding(), encoding.getDims(), mesh);
    if (!problem.empty())
      return at->emitError("has a value with an impossible sharding: ")
             << problem << ", in " << type;
    RankedTensorType expected =
        isLocal ? dist::localize(type, mesh)
                : dist::withSharding(type, *encoding.getSharding());
    if (type != expected)
      return at->emitError("has a value whose local sizes do not follow from "
                           "its sharding: expected ")
             << expected << ", found " << type;
    return success();
  }

  LogicalResult verifyOp(Operation &op) {
    if (isa<onnx::NoneOp, onnx::GuardOp>(op))
      return success();
    if (isa<func::ReturnOp>(op)) {
      for (Value operand : op.getOperands())
        if (dist::getSharding(operand.getType()).isPartial())
          return op.emitError("returns a partial value: ") << operand.getType();
      return success();
    }
    if (isa<dist::SendOp, dist::ReceiveOp>(op))
      return success();
    if (auto ring = dyn_cast<dist::RingOp>(op))
      return verifyRing(ring);
    if (isa<dist::DistDialect>(op.getDialect())) {
      if (isLocal == isa<dist::ReshardOp>(op))
        return op.emitError(isLocal ? "is left to plan"
                                    : "belongs to phase partitioned");
      return success();
    }
    auto onnxOp = dyn_cast<onnx::OnnxOp>(op);
    if (!onnxOp)
      return op.emitError("is unknown in this phase");
    if (failed(verifyBodies(op)))
      return failure();
    SmallVector<dist::Sharding, 3> operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(dist::getSharding(operand.getType()));
    for (Value result : op.getResults())
      results.push_back(dist::getSharding(result.getType()));
    std::string problem = checkRule(onnxOp.shardingRule(), onnxOp.partialRule(),
                                    operands, results);
    if (!problem.empty())
      return op.emitError("does not satisfy its sharding rule: ") << problem;
    return success();
  }

  func::FuncOp function;
  const dist::Mesh &mesh;
  bool isLocal;
};

/// Whether collectives led to that value from one that was held the same way.
bool goesBack(Operation *collective) {
  Type held = collective->getResult(0).getType();
  while (collective && isa<dist::DistDialect>(collective->getDialect()) &&
         !isa<dist::ReceiveOp>(collective)) {
    Value from = collective->getOperand(0);
    if (from.getType() == held)
      return true;
    collective = from.getDefiningOp();
  }
  return false;
}

/// Collectives that change nothing: nobody reads them, they were done before,
/// or they undo another one.
LogicalResult verifyNoIdleCollective(func::FuncOp function) {
  llvm::DenseMap<std::pair<OperationName, Value>, SmallVector<Operation *, 1>>
      seen;
  for (Operation &op : function.front()) {
    if (!isa<dist::DistDialect>(op.getDialect()) || isa<dist::SendOp>(op))
      continue;
    if (op.use_empty())
      return op.emitError("is not needed: nobody uses its result");
    if (isa<dist::ReceiveOp>(op))
      continue;
    if (goesBack(&op))
      return op.emitError("is not needed: the value was held like this before");
    for (Operation *other : seen[{op.getName(), op.getOperand(0)}])
      if (other->getAttrDictionary() == op.getAttrDictionary() &&
          other->getResultTypes() == op.getResultTypes()) {
        InFlightDiagnostic diagnostic =
            op.emitError("is not needed: the same was done before");
        diagnostic.attachNote(other->getLoc()) << "here";
        return diagnostic;
      }
    seen[{op.getName(), op.getOperand(0)}].push_back(&op);
  }
  return success();
}

/// Outputs of the local program are the terms that the sharded one computes.
LogicalResult verifyTerms(func::FuncOp program, func::FuncOp sharded) {
  Terms local(program), global(sharded);
  if (local.fingerprint() == global.fingerprint())
    return success();
  std::set<Term> known;
  for (Operation &op : sharded.front())
    for (Value result : op.getResults())
      known.insert(global.of(result));
  for (Operation &op : program.front())
    for (Value result : op.getResults())
      if (!known.count(local.of(result)))
        return op.emitError("computes what no op of the sharded function "
                            "computes");
  for (auto [i, terms] :
       llvm::enumerate(llvm::zip(local.outputs(), global.outputs())))
    if (std::get<0>(terms) != std::get<1>(terms))
      return program.emitError("output ")
             << i << " does not compute what the sharded function computes";
  return program.emitError("has other outputs, names or guards than the "
                           "sharded function");
}

/// Inputs and outputs of the local program are held as in the sharded one.
LogicalResult verifyHeldAlike(func::FuncOp program, func::FuncOp sharded) {
  for (StringRef name : {dist::kStageAttr, dist::kOutputsAttr})
    if (program->getAttr(name) != sharded->getAttr(name))
      return program.emitError("has another ")
             << name << " than the sharded function";
  auto localReturn = program.front().getTerminator();
  auto globalReturn = sharded.front().getTerminator();
  for (auto [i, values] : llvm::enumerate(llvm::zip(
           localReturn->getOperandTypes(), globalReturn->getOperandTypes())))
    if (dist::getSharding(std::get<0>(values)) !=
        dist::getSharding(std::get<1>(values)))
      return program.emitError("output ") << i
                                          << " is held in another sharding "
                                             "than the sharded function says";
  for (auto [i, types] : llvm::enumerate(
           llvm::zip(program.getArgumentTypes(), sharded.getArgumentTypes())))
    if (dist::getSharding(std::get<0>(types)) !=
        dist::getSharding(std::get<1>(types)))
      return program.emitError("input ") << i
                                         << " is held in another sharding "
                                            "than the sharded function says";
  return success();
}

struct VerifyPhasePass : impl::VerifyPhaseBase<VerifyPhasePass> {
  using VerifyPhaseBase::VerifyPhaseBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verify(module)))
      signalPassFailure();
  }

  LogicalResult verify(ModuleOp module) {
    if (phase == "imported") {
      for (func::FuncOp function : module.getOps<func::FuncOp>())
        if (failed(verifyImported(function)))
          return failure();
      return success();
    }
    if (phase == "lowered")
      return verifyLowered(module);
    dist::MeshOp mesh = dist::getMesh(module);
    if (!mesh)
      return module.emitError("has no dist.mesh");
    if (phase == "sharded" || phase == "staged") {
      for (const Pipeline &stages :
           pipelinesOf(module, [](func::FuncOp) { return true; }))
        if (failed(verifyGlobal(stages, *mesh.getMesh().getMesh())))
          return failure();
      return success();
    }
    if (phase == "partitioned")
      return verifyPartitioned(module, *mesh.getMesh().getMesh());
    return module.emitError("unknown phase \"")
           << phase << "\": expected imported, sharded, staged, partitioned or "
           << "lowered";
  }

  LogicalResult verifyGlobal(ArrayRef<func::FuncOp> stages,
                             const dist::Mesh &mesh) {
    if (failed(verifyTransfers(stages)))
      return failure();
    // Before the rules, which trust attributes to fit the op.
    func::FuncOp first = stages.front();
    auto imported = first->getAttrOfType<StringAttr>("onnx.fingerprint");
    if (imported && Terms(stages).fingerprint() != imported.getValue())
      return first.emitError("does not compute what the imported model "
                             "computes");
    for (func::FuncOp function : stages)
      if (failed(
              ShardingVerifier(function, mesh, /*isLocal=*/false).verify()) ||
          failed(verifySymbols(function)))
        return failure();
    return success();
  }

  LogicalResult verifyPartitioned(ModuleOp module, const dist::Mesh &mesh) {
    llvm::DenseSet<Attribute> references;
    for (func::FuncOp program : module.getOps<func::FuncOp>())
      if (auto reference =
              program->getAttrOfType<FlatSymbolRefAttr>("dist.sharded"))
        references.insert(reference.getAttr());
    for (const Pipeline &stages :
         pipelinesOf(module, [&](func::FuncOp function) {
           return references.contains(function.getSymNameAttr());
         }))
      if (failed(verifyGlobal(stages, mesh)))
        return failure();
    for (func::FuncOp program : module.getOps<func::FuncOp>()) {
      auto reference =
          program->getAttrOfType<FlatSymbolRefAttr>("dist.sharded");
      if (!reference)
        continue;
      auto sharded = module.lookupSymbol<func::FuncOp>(reference.getAttr());
      if (!sharded)
        return program.emitError("has lost its sharded function ") << reference;
      if (failed(verifyTerms(program, sharded)) ||
          failed(ShardingVerifier(program, mesh, /*isLocal=*/true).verify()) ||
          failed(verifySymbols(program)) ||
          failed(verifyNoIdleCollective(program)) ||
          failed(verifyHeldAlike(program, sharded)))
        return failure();
    }
    return success();
  }
};

struct FingerprintPass : impl::FingerprintBase<FingerprintPass> {
  void runOnOperation() override {
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      function->setAttr(
          "onnx.fingerprint",
          StringAttr::get(&getContext(), Terms(function).fingerprint()));
  }
};

} // namespace
} // namespace shardc::verify
