//===- WalkBranches.cpp - What a condition decides ------------------------===//
//
// An element that either branch of an rt.if writes is followed into both:
//
//   rt.if %c                                %y = onnx.If %c {
//     rt.call "Relu"(%x) into(%a)             onnx.Yield %a
//     rt.set_sizes "n" = 4                  } else {
//     rt.call "Copy"(%a) into(%y)             onnx.Yield %b
//   rt.else                                 }
//     rt.set_sizes "n" = 8
//     rt.call "Copy"(%b) into(%y)
//   rt.end
//
//===----------------------------------------------------------------------===//

#include "passes/verify/lowered/Walk.h"

using namespace mlir;

namespace shardc::verify {

LogicalResult Walk::fork(onnx::IfOp op, const LoweredElement &made,
                         int64_t rank, Operation *reader, Value view,
                         const Index &index, const ReferenceElement &wanted,
                         const Branches &branches) {
  auto bracket = cast<rt::IfOp>(made.op);
  constexpr size_t kMostBranches = 4; // that decide of one element
  if (branches.size() >= kMostBranches)
    return success();
  if (failed(relateAll(rank, bracket, bracket.getCondition(), op.getCondition(),
                       branches)))
    return failure();
  const unsigned number = cast<OpResult>(wanted.value).getResultNumber();
  for (bool isThen : {true, false}) {
    Branches taken = branches;
    taken.emplace_back(bracket, isThen);
    Region &region = isThen ? op.getThenBranch() : op.getElseBranch();
    Value yielded = region.front().getTerminator()->getOperand(number);
    // Sizes that a branch decides have no number before it.
    if (dist::getDims(yielded.getType()) !=
        dist::getDims(wanted.value.getType())) {
      if (failed(
              relateSized(made, isThen, rank, reader, wanted, yielded, taken)))
        return failure();
      continue;
    }
    if (failed(relateView(rank, reader, view, index, {yielded, wanted.index},
                          taken)))
      return failure();
  }
  return success();
}

/// What a branch gives, with the sizes that it binds: they are those of what is
/// yielded, and all that is copied there is.
LogicalResult Walk::relateSized(const LoweredElement &made, bool isThen,
                                int64_t rank, Operation *reader,
                                const ReferenceElement &wanted, Value yielded,
                                const Branches &taken) {
  auto bracket = cast<rt::IfOp>(made.op);
  LoweredState &state = sideOf(rank).state;
  auto isHere = [&](Operation *op) {
    const Branches around = program.around(op);
    return !around.empty() &&
           around.front() == std::pair<Operation *, bool>(bracket, isThen);
  };
  Operation *end = program.endOf(bracket), *middle = bracket;
  while (middle != end && !(isa<rt::ElseOp>(middle) &&
                            program.around(middle).front().first == bracket))
    middle = middle->getNextNode();
  for (auto [result, given] :
       llvm::zip_equal(dist::getDims(wanted.value.getType()),
                       dist::getDims(yielded.getType())))
    if (result != given && program.sizeBetween(isThen ? bracket : middle,
                                               isThen ? middle : end, result)
                                   .value != given)
      return bracket->emitError("has a branch that gives ")
             << given.str() << " elements for a dim of " << result.str()
             << " and does not say so";
  const int64_t address = state.windowOf(made.view)->address(made.index);
  auto buffer = made.view.getDefiningOp<rt::ViewOp>().getBuffer();
  for (const auto &writer : llvm::reverse(program.writersOf(buffer))) {
    const Window *written = state.windowOf(writer.view);
    const auto at =
        written && isHere(writer.op) ? written->find(address) : std::nullopt;
    if (!at)
      continue;
    auto copy = dyn_cast<rt::CallOp>(writer.op);
    if (!copy || copy.getKernel() != "Copy" || *at != wanted.index)
      return breach(reader, made, wanted, "lies elsewhere");
    return relateAll(rank, copy, copy.getInputs()[0], yielded, taken);
  }
  return breach(reader, made, wanted, "a branch does not write");
}

} // namespace shardc::verify
