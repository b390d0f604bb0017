//===- VerifyPhase.cpp - What each phase guarantees -----------------------===//

#include "passes/verify/Passes.h"

#include "dialects/dist/Dist.h"
#include "dialects/dist/algebra/StorageAxis.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Profiles.h"
#include "dialects/onnx/WholeSums.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/verify/CheckRule.h"
#include "passes/verify/Terms.h"
#include "passes/verify/VerifyImported.h"
#include "passes/verify/VerifyLowered.h"
#include "passes/verify/VerifyRings.h"
#include "passes/verify/VerifyRouting.h"
#include "passes/verify/VerifyStages.h"

#include "llvm/ADT/DenseSet.h"

#include <set>

using namespace mlir;

namespace shardc::verify {
#define GEN_PASS_DEF_VERIFYPHASE
#define GEN_PASS_DEF_FINGERPRINT
#include "passes/verify/Passes.h.inc"

namespace {

/// Weights are loaded before there is an input, whose sizes must not say which
/// part of them a rank holds.
LogicalResult verifySource(Operation &op) {
  bool needsInput = false;
  auto check = [&](StringRef, bool isCoordinate) {
    needsInput |= !isCoordinate;
  };
  const dist::Sharding sharding = dist::getSharding(op.getResult(0).getType());
  for (const dist::DimSharding &dim : sharding.dims)
    for (const dist::Segment &segment : dim.segments)
      for (const dist::Factor &factor : segment.factors)
        factor.size.forEachSymbol(check);
  return needsInput ? op.emitError("is split by a size of the inputs, which is "
                                   "not known when it is loaded: ")
                          << sharding.str()
                    : success();
}

/// Types carry shardings that fit the mesh, ops satisfy their rules.
class ShardingVerifier {
public:
  ShardingVerifier(func::FuncOp function, const dist::Mesh &mesh, bool isLocal)
      : function(function), mesh(mesh), isLocal(isLocal) {}

  LogicalResult verify() {
    if (failed(verifyTypes()))
      return failure();
    for (Operation &op : function.front())
      if (failed(verifyOp(op)))
        return failure();
    return success();
  }

  LogicalResult verifyTypes() {
    for (Value argument : function.getArguments())
      if (failed(verifyType(argument, function)))
        return failure();
    for (Operation &op : function.front())
      for (Value result : op.getResults())
        if (failed(verifyType(result, &op)))
          return failure();
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
    if (failed(verifyBodies(op)) ||
        (isa<onnx::WeightOp, onnx::ConstantOp>(op) && failed(verifySource(op))))
      return failure();
    SmallVector<dist::Sharding, 3> operands, results;
    for (Value operand : op.getOperands())
      operands.push_back(dist::getSharding(operand.getType()));
    for (Value result : op.getResults())
      results.push_back(dist::getSharding(result.getType()));
    std::string problem =
        checkRule(onnx::ruleOf(onnxOp), onnx::partialRuleOf(onnxOp), operands,
                  results, mesh);
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
    if (op.hasAttr(dist::kStoredAttr))
      continue; // once for each op that uses the weight
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
  return program.emitError(
      "has other inputs, outputs, names or guards than the "
      "sharded function");
}

/// Inputs and outputs of the local program are held as in the sharded one.
LogicalResult verifyHeldAlike(func::FuncOp program, func::FuncOp sharded) {
  if (auto other = onnx::FunctionInfo(program).firstOtherPlace(
          onnx::FunctionInfo(sharded)))
    return program.emitError("has another ")
           << *other << " than the sharded function";
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
    for (Operation &op : module.getOps())
      if (failed(onnx::FunctionInfo(&op).verify()))
        return failure();
    // All functions say what is computed, but for programs that name one.
    const std::vector<Pipeline> profiles =
        pipelinesOf(module, [this](func::FuncOp function) {
          return phase != "partitioned" ||
                 !onnx::FunctionInfo(function).isProgram();
        });
    if (phase == "imported") {
      for (func::FuncOp function : module.getOps<func::FuncOp>())
        if (failed(verifyImported(function)))
          return failure();
      return verifyFingerprints(profiles);
    }
    if (phase == "lowered") {
      for (const Pipeline &stages : profiles)
        if (failed(verifyTransfers(stages)))
          return failure();
      return failure(failed(verifyFingerprints(profiles)) ||
                     failed(verifyPartitionedSizes(module)) ||
                     failed(verifyLowered(module, allowsUnrecorded)));
    }
    dist::MeshOp mesh = dist::getMesh(module);
    if (!mesh)
      return module.emitError("has no dist.mesh");
    if (phase == "sharded" || phase == "staged")
      return verifyGlobal(profiles, *mesh.getMesh().getMesh());
    if (phase == "partitioned")
      return failure(
          failed(verifyGlobal(profiles, *mesh.getMesh().getMesh())) ||
          failed(verifyPrograms(module, *mesh.getMesh().getMesh())));
    return module.emitError("unknown phase \"")
           << phase << "\": expected imported, sharded, staged, partitioned or "
           << "lowered";
  }

  /// Programs are compared with functions whose sizes are those of this mesh.
  static LogicalResult verifyPartitionedSizes(ModuleOp module) {
    dist::MeshOp mesh = dist::getMesh(module);
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      if (mesh && failed(ShardingVerifier(function, *mesh.getMesh().getMesh(),
                                          /*isLocal=*/true)
                             .verifyTypes()))
        return failure();
    return success();
  }

  /// Each profile, of all stages, is that of the imported model.
  LogicalResult verifyFingerprints(ArrayRef<Pipeline> profiles) {
    for (auto [number, stages] : llvm::enumerate(profiles)) {
      func::FuncOp first = stages.front();
      StringAttr recorded = onnx::FunctionInfo(first).fingerprint();
      for (func::FuncOp stage : stages) {
        if (!recorded && allowsUnrecorded)
          continue;
        if (!recorded || onnx::FunctionInfo(stage).fingerprint() != recorded) {
          InFlightDiagnostic error =
              stage.emitError("lacks the onnx.fingerprint of the imported "
                              "model, without which nothing says what it "
                              "computes");
          error.attachNote() << "`shard-opt --shardc-fingerprint` records that "
                                "of an imported model";
          return error;
        }
      }
      if (recorded && Terms(stages).fingerprint(number, profiles.size()) !=
                          recorded.getValue())
        return first.emitError("does not compute what the imported "
                               "model computes");
    }
    return success();
  }

  LogicalResult verifyGlobal(ArrayRef<Pipeline> profiles,
                             const dist::Mesh &mesh) {
    for (const Pipeline &stages : profiles)
      if (failed(verifyTransfers(stages)))
        return failure();
    // Before the rules, which trust attributes to fit the op.
    if (failed(verifyFingerprints(profiles)))
      return failure();
    for (const Pipeline &stages : profiles)
      for (func::FuncOp function : stages)
        if (failed(
                ShardingVerifier(function, mesh, /*isLocal=*/false).verify()) ||
            failed(verifySymbols(function)))
          return failure();
    return success();
  }

  /// No stage or profile is lost, nor run twice.
  static LogicalResult verifyEachIsRun(ModuleOp module) {
    llvm::DenseSet<Attribute> run;
    for (func::FuncOp program : module.getOps<func::FuncOp>())
      if (auto name = onnx::FunctionInfo(program).sharded();
          name && !run.insert(name.getAttr()).second)
        return program.emitError("computes what another program computes: ")
               << name;
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      if (!onnx::FunctionInfo(function).isProgram() &&
          !run.contains(function.getSymNameAttr()))
        return function.emitError("is computed by no program");
    return success();
  }

  LogicalResult verifyPrograms(ModuleOp module, const dist::Mesh &mesh) {
    if (failed(verifyEachIsRun(module)))
      return failure();
    for (func::FuncOp program : module.getOps<func::FuncOp>()) {
      auto reference = onnx::FunctionInfo(program).sharded();
      if (!reference)
        continue;
      auto sharded = module.lookupSymbol<func::FuncOp>(reference.getAttr());
      if (!sharded || onnx::FunctionInfo(sharded).isProgram())
        return program.emitError("has lost its sharded function ") << reference;
      if (failed(verifyTerms(program, sharded)) ||
          failed(ShardingVerifier(program, mesh, /*isLocal=*/true).verify()) ||
          failed(verifySymbols(program)) ||
          failed(verifyNoIdleCollective(program)) ||
          failed(verifyRouting(program)) ||
          failed(verifyHeldAlike(program, sharded)))
        return failure();
    }
    // What the programs themselves send must be what they receive.
    for (const Pipeline &programs :
         pipelinesOf(module, [](func::FuncOp function) {
           return onnx::FunctionInfo(function).isProgram();
         }))
      if (failed(verifyTransfers(programs)))
        return failure();
    return success();
  }
};

struct FingerprintPass : impl::FingerprintBase<FingerprintPass> {
  void runOnOperation() override {
    const auto functions =
        llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (auto [number, function] : llvm::enumerate(functions))
      onnx::FunctionInfo(function).setFingerprint(
          Terms(function).fingerprint(number, functions.size()));
  }
};

} // namespace
} // namespace shardc::verify
