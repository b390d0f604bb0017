//===- Movement.cpp - Instructions earlier or later in a program ----------===//

#include "passes/lower/overlap/Movement.h"

using namespace mlir;

namespace shardc::lower {

Value bufferOf(Value view) {
  auto op = view.getDefiningOp<rt::ViewOp>();
  return op ? op.getBuffer() : Value();
}

Accesses accessesOf(Operation *op) {
  Accesses accesses;
  auto add = [](SmallVectorImpl<Value> &to, ValueRange views) {
    for (Value view : views)
      if (Value buffer = bufferOf(view))
        to.push_back(buffer);
  };
  if (auto call = dyn_cast<rt::CallOp>(op)) {
    add(accesses.reads, call.getInputs());
    add(accesses.writes, call.getOutputs());
  } else if (auto collective = dyn_cast<rt::CollectiveOp>(op)) {
    add(accesses.reads, collective.getInput());
    if (collective.getChoices())
      add(accesses.reads, collective.getChoices());
    add(accesses.writes, collective.getOutput());
  } else if (auto wait = dyn_cast<rt::WaitOp>(op)) {
    add(accesses.reads, wait.getInputs());
    add(accesses.writes, wait.getOutput());
  } else if (isa<rt::ReceiveOp>(op)) {
    add(accesses.writes, op->getOperands());
  } else if (!isa<rt::ViewOp, rt::FreeOp, rt::CacheOp>(op)) {
    add(accesses.reads, op->getOperands());
  }
  return accesses;
}

bool communicates(Operation *op) {
  return isa<rt::CollectiveOp, rt::WaitOp, rt::SendOp, rt::ReceiveOp>(op);
}

bool isBarrier(Operation *op) {
  if (auto call = dyn_cast<rt::CallOp>(op))
    return call.getKernel() == "Guard";
  return isa<rt::ReadyOp, rt::ReadSizesOp, rt::SetSizesOp, rt::IfOp, rt::ElseOp,
             rt::LoopOp, rt::EndOp>(op);
}

static bool overlap(ArrayRef<Value> a, ArrayRef<Value> b) {
  return llvm::any_of(a, [&](Value v) { return llvm::is_contained(b, v); });
}

/// Whether `op`, with these accesses, may be done before `other`.
static bool canPass(Operation *op, const Accesses &mine, Operation *other) {
  if (isBarrier(other) || (communicates(op) && communicates(other)))
    return false;
  const Accesses theirs = accessesOf(other);
  // What it reads has to be there.
  const bool isSource = other->getNumResults() == 1 &&
                        llvm::is_contained(mine.reads, other->getResult(0));
  return !isSource && !overlap(theirs.writes, mine.reads) &&
         !overlap(theirs.writes, mine.writes) &&
         !overlap(theirs.reads, mine.writes);
}

Operation *earliestPlace(Operation *op, Operation *limit) {
  const Accesses mine = accessesOf(op);
  Operation *before = op->getPrevNode();
  while (before && before != limit && canPass(op, mine, before))
    before = before->getPrevNode();
  return before;
}

void moveBehind(Operation *op, Operation *to) {
  Operation *at = to;
  auto bring = [&](Operation *other) {
    if (to->isBeforeInBlock(other)) {
      other->moveAfter(at);
      at = other;
    }
  };
  for (Value buffer : accessesOf(op).writes) {
    bring(buffer.getDefiningOp());
    for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
      if (isa<rt::ViewOp>(user))
        bring(user);
  }
  for (Value operand : op->getOperands())
    bring(operand.getDefiningOp());
  op->moveAfter(at);
}

void delayFrees(Operation *op) {
  const Accesses accesses = accessesOf(op);
  for (ArrayRef<Value> buffers :
       {ArrayRef(accesses.reads), ArrayRef(accesses.writes)})
    for (Value buffer : buffers)
      for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
        if (isa<rt::FreeOp>(user) && user->isBeforeInBlock(op))
          user->moveAfter(op);
}

} // namespace shardc::lower
