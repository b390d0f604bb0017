//===- VerifyLowered.cpp - Programs in order, and that of a function ------===//

#include "passes/verify/VerifyLowered.h"

#include "dialects/onnx/ElementTypes.h"
#include "dialects/rt/Provenance.h"
#include "dialects/rt/Rt.h"
#include "passes/verify/lowered/Programs.h"
#include "passes/verify/lowered/Refinement.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetOperations.h"

using namespace mlir;

namespace shardc::verify {

namespace {

class BufferChecker {
public:
  LogicalResult check(rt::ProgramOp program) {
    for (Operation &op : program.getBody().front())
      if (failed(checkOp(op)))
        return failure();
    if (!brackets.empty())
      return brackets.back().op->emitError("has no rt.end");
    return checkLanded();
  }

private:
  LogicalResult checkOp(Operation &op) {
    if (isa<rt::InputOp, rt::WeightOp, rt::JoinOp, rt::ConstantOp>(op)) {
      written.insert(op.getResult(0));
      return success();
    }
    if (isa<rt::ReadyOp>(op)) {
      isLoading = false;
      return success();
    }
    if (isa<rt::CacheOp>(op))
      return success();
    if (auto free = dyn_cast<rt::FreeOp>(op))
      return checkFree(free);
    if (auto call = dyn_cast<rt::CallOp>(op))
      return failure((call.getKernel() == "Guard" && failed(checkLanded())) ||
                     failed(read(op, call.getInputs())) ||
                     failed(write(op, call.getOutputs())));
    if (auto wait = dyn_cast<rt::WaitOp>(op))
      return land(wait);
    auto collective = dyn_cast<rt::CollectiveOp>(op);
    if (collective && collective.getKind() &&
        !onnx::isStored(
            cast<rt::ViewType>(collective.getOutput().getType()).getElement()))
      return op.emitError("adds elements of less than a byte of several ranks, "
                          "which no backend does");
    if (collective && !brackets.empty())
      return op.emitError("communicates where the data decide whether it runs");
    if (collective)
      return failure(failed(read(op, collective.getInput())) ||
                     (collective.getChoices() &&
                      failed(read(op, collective.getChoices()))) ||
                     failed(write(op, collective.getOutput())) ||
                     failed(start(collective)));
    if (isa<rt::SetSizesOp>(op))
      return checkLanded();
    if (auto sizes = dyn_cast<rt::ReadSizesOp>(op))
      return failure(failed(checkLanded()) ||
                     failed(read(op, sizes.getView())));
    if (auto send = dyn_cast<rt::SendOp>(op))
      return read(op, send.getView());
    if (auto receive = dyn_cast<rt::ReceiveOp>(op))
      return write(op, receive.getView());
    if (auto output = dyn_cast<rt::OutputOp>(op))
      return read(op, output.getView());
    if (isa<rt::IfOp, rt::LoopOp, rt::ElseOp, rt::EndOp>(op))
      return checkBracket(op);
    return success();
  }

  /// What only one branch writes, or a loop that may not run at all, is not
  /// written behind it.
  LogicalResult checkBracket(Operation &op) {
    if (failed(checkLanded()))
      return failure();
    if (isa<rt::IfOp, rt::LoopOp>(op)) {
      if (failed(read(op, op.getOperands())))
        return failure();
      brackets.push_back({&op, written, {}, false});
      return success();
    }
    bool isElse = isa<rt::ElseOp>(op);
    if (brackets.empty() || (isa<rt::IfOp>(brackets.back().op) ==
                             brackets.back().hasElse) == isElse)
      return op.emitError("has no op that it belongs to");
    Bracket &bracket = brackets.back();
    if (isElse) {
      bracket.hasElse = true;
      bracket.byThen = std::exchange(written, bracket.before);
      return success();
    }
    if (isa<rt::LoopOp>(bracket.op))
      written = bracket.before;
    else
      llvm::set_intersect(written, bracket.byThen);
    brackets.pop_back();
    return success();
  }

  static Value bufferOf(Value view) {
    auto op = view.getDefiningOp<rt::ViewOp>();
    return op ? op.getBuffer() : Value();
  }

  LogicalResult checkFree(rt::FreeOp free) {
    auto alloc = free.getBuffer().getDefiningOp<rt::AllocOp>();
    if (!alloc || alloc.getPersistent())
      return free.emitError("frees a buffer that is not in the arena");
    if (!freed.insert(free.getBuffer()).second)
      return free.emitError("frees a buffer twice");
    return success();
  }

  LogicalResult touch(Operation &op, Value buffer) {
    if (!buffer)
      return op.emitError("has an operand that is no view on a buffer");
    if (freed.contains(buffer))
      return op.emitError("uses a buffer after it was freed");
    auto alloc = buffer.getDefiningOp<rt::AllocOp>();
    bool ofRequest = isa<rt::InputOp>(buffer.getDefiningOp()) ||
                     (alloc && !alloc.getPersistent());
    if (isLoading && ofRequest)
      return op.emitError("runs at load but uses a buffer of a request");
    return success();
  }

  LogicalResult read(Operation &op, ValueRange views) {
    for (Value view : views) {
      if (isa<NoneType>(view.getType()))
        continue;
      Value buffer = bufferOf(view);
      if (failed(touch(op, buffer)))
        return failure();
      if (!written.contains(buffer))
        return op.emitError("reads a buffer before it was written");
      if (failed(checkFlights(op, buffer, /*isWrite=*/false)))
        return failure();
    }
    return success();
  }

  LogicalResult write(Operation &op, ValueRange views) {
    for (Value view : views) {
      Value buffer = bufferOf(view);
      if (failed(touch(op, buffer)))
        return failure();
      if (!buffer.getDefiningOp<rt::AllocOp>())
        return op.emitError("writes a buffer that is not its own");
      if (failed(checkFlights(op, buffer, /*isWrite=*/true)))
        return failure();
      written.insert(buffer);
    }
    return success();
  }

  LogicalResult start(rt::CollectiveOp collective) {
    if (!collective.getFlight())
      return success();
    if (!flights.try_emplace(*collective.getFlight(), collective).second)
      return collective.emitError("starts a flight that is under way");
    return success();
  }

  LogicalResult land(rt::WaitOp wait) {
    auto found = flights.find(wait.getFlight());
    if (found == flights.end())
      return wait.emitError("waits for a flight that was not started");
    rt::CollectiveOp collective = found->second;
    SmallVector<Value, 2> inputs{collective.getInput()};
    if (collective.getChoices())
      inputs.push_back(collective.getChoices());
    flights.erase(found);
    if (wait.getOutput() != collective.getOutput() ||
        !llvm::equal(wait.getInputs(), inputs))
      return wait.emitError("has other operands than what it waits for");
    return failure(failed(read(*wait.getOperation(), inputs)) ||
                   failed(write(*wait.getOperation(), wait.getOutput())));
  }

  LogicalResult checkLanded() {
    if (flights.empty())
      return success();
    return flights.begin()->second.emitError("is not awaited in time");
  }

  /// Other collectives keep their order; all else has to wait.
  LogicalResult checkFlights(Operation &op, Value buffer, bool isWrite) {
    if (isa<rt::CollectiveOp, rt::WaitOp>(op))
      return success();
    for (auto &[number, collective] : flights) {
      const bool isRead = bufferOf(collective.getInput()) == buffer ||
                          (collective.getChoices() &&
                           bufferOf(collective.getChoices()) == buffer);
      if (bufferOf(collective.getOutput()) == buffer || (isWrite && isRead))
        return op.emitError("touches a buffer of a collective in flight");
    }
    return success();
  }

  struct Bracket {
    Operation *op;
    llvm::DenseSet<Value> before, byThen; ///< written until then
    bool hasElse;
  };

  llvm::DenseSet<Value> written, freed;
  std::map<int64_t, rt::CollectiveOp> flights; ///< not awaited yet
  SmallVector<Bracket> brackets;
  bool isLoading = true;
};

} // namespace

/// That of the function it was made of.
static LogicalResult verifyMeaning(ModuleOp module, rt::ProgramOp program,
                                   bool allowsUnrecorded) {
  FlatSymbolRefAttr name = rt::partitionedOf(program);
  if (!name && allowsUnrecorded)
    return success();
  auto function =
      name ? module.lookupSymbol<func::FuncOp>(name.getAttr()) : func::FuncOp();
  dist::MeshOp mesh = dist::getMesh(module);
  if (!function || !mesh)
    return program.emitError("lacks the function it was made of "
                             "(rt.partitioned), without which nothing says "
                             "what it computes");
  return verifyRefinement(program, function, *mesh.getMesh().getMesh());
}

LogicalResult verifyLowered(ModuleOp module, bool allowsUnrecorded) {
  for (rt::ProgramOp program : module.getOps<rt::ProgramOp>())
    if (failed(BufferChecker().check(program)) ||
        failed(verifyMeaning(module, program, allowsUnrecorded)))
      return failure();
  return verifyPrograms(module);
}

} // namespace shardc::verify
