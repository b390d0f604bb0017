//===- ControlFlow.cpp - Lowering of If and Loop --------------------------===//
//
// Bodies are written in brackets. Results are buffers from before them:
//
//   %y = onnx.If %c { yield %a } else { yield %b }      %y: tensor<n x 96>
//
//   rt.if %c
//     ... %a                       [seq, 96]
//     rt.set_sizes n = seq         n is known from here on
//     rt.call "Copy"(%a) into(%y)
//   rt.else
//     ... %b                       [4, 96]
//     rt.set_sizes n = 4
//     rt.call "Copy"(%b) into(%y)
//   rt.end
//
// See Loop.cpp beside this file for loops.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/ControlFlow.h"

#include "passes/lower/ops/BodySizes.h"

using namespace mlir;

namespace shardc::lower {

using dist::DimExpr;

SmallVector<DimExpr> sizesOf(TypeRange types) {
  SmallVector<DimExpr> sizes;
  for (Type type : types)
    llvm::append_range(sizes, dist::getDims(type));
  return sizes;
}

BodySizes::BodySizes(Lowering &lowering, ArrayRef<DimExpr> sizes)
    : lowering(lowering), sizes(sizes) {
  for (DimExpr size : sizes)
    if (std::optional<StringRef> name = size.asSymbol();
        name && !lowering.isBound(*name) && !llvm::is_contained(own, size))
      own.push_back(size);
}

void BodySizes::setTo(Operation *op, ArrayRef<DimExpr> values,
                      const Rename &rename) const {
  SmallVector<DimExpr> bound, boundTo;
  SmallVector<std::pair<DimExpr, DimExpr>> checks;
  for (auto [size, value] : llvm::zip_equal(sizes, values)) {
    auto known = llvm::find(bound, rename(size));
    if (!llvm::is_contained(own, size)) {
      checks.emplace_back(size, value);
    } else if (known != bound.end()) {
      checks.emplace_back(boundTo[known - bound.begin()], value);
    } else {
      bound.push_back(rename(size));
      boundTo.push_back(value);
    }
  }
  for (auto [expected, found] : checks)
    if (expected != found)
      lowering.guard(op, expected, "equal", found,
                     "a body gives a value of another size");
  if (!bound.empty())
    lowering.setSizes(op, bound, boundTo);
}

} // namespace shardc::lower

namespace shardc::onnx {

using namespace lower;

LogicalResult IfOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  BodySizes sizes(lowering, sizesOf(op->getResultTypes()));
  SmallVector<ValueView> results;
  for (Value result : op->getResults())
    results.push_back(lowering.allocateAtRun(op, result));
  lowering.begin<rt::IfOp>(op, lowering.view(getCondition()));
  for (Region *body : {&getThenBranch(), &getElseBranch()}) {
    for (auto [argument, capture] :
         llvm::zip(body->getArguments(), getCaptures()))
      lowering.bind(argument, lowering.view(capture));
    if (failed(lowering.lowerBody(body->front())))
      return failure();
    ValueRange yielded = body->front().getTerminator()->getOperands();
    sizes.setTo(op, sizesOf(yielded.getTypes()));
    for (auto [value, result] : llvm::zip(yielded, results))
      lowering.copy(op, lowering.view(value), result);
    if (body == &getThenBranch())
      rt::ElseOp::create(lowering.atRun(), op->getLoc());
  }
  lowering.end(op);
  sizes.markBound();
  return success();
}

} // namespace shardc::onnx
