//===- Together.h - Collectives that are done as one ----------------------===//
//
// All_reduces that follow each other and have the same `dist.together` are
// lowered to one collective, on a buffer that has their operands behind each
// other:
//
//   %a = dist.all_reduce %0 over <["tp"=2]> "max" {dist.together = 0 : i64}
//   %b = dist.all_reduce %1 over <["tp"=2]> "max" {dist.together = 0 : i64}
//
// They have the same axes and element type, and one kind; but a maximum and a
// minimum of floats go together, since min(x) = -max(-x).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_TOGETHER_H
#define SHARDC_DIALECTS_DIST_TOGETHER_H

#include "dialects/dist/Dist.h"

#include "mlir/IR/TypeUtilities.h"

namespace shardc::dist {

inline constexpr llvm::StringLiteral kTogetherAttr = "dist.together";

/// Whether one collective can do both.
inline bool canGoTogether(AllReduceOp a, AllReduceOp b) {
  mlir::Type element = mlir::getElementTypeOrSelf(a.getType());
  return a.getAxes() == b.getAxes() &&
         element == mlir::getElementTypeOrSelf(b.getType()) &&
         (a.getKind() == b.getKind() ||
          (mlir::isa<mlir::FloatType>(element) && a.getKind() != "sum" &&
           b.getKind() != "sum"));
}

/// The next one that goes together with it; null if none does.
inline AllReduceOp nextTogether(AllReduceOp op) {
  auto next = llvm::dyn_cast_or_null<AllReduceOp>(op->getNextNode());
  mlir::Attribute mark = op->getAttr(kTogetherAttr);
  return next && mark && next->getAttr(kTogetherAttr) == mark &&
                 canGoTogether(op, next)
             ? next
             : AllReduceOp();
}

/// Whether one before it does it.
inline bool isDoneBefore(AllReduceOp op) {
  auto previous = llvm::dyn_cast_or_null<AllReduceOp>(op->getPrevNode());
  return previous && nextTogether(previous) == op;
}

} // namespace shardc::dist

#endif // SHARDC_DIALECTS_DIST_TOGETHER_H
