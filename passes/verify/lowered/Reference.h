//===- Reference.h - What a partitioned function computes, by element -----===//
//
// Ops that only arrange elements are looked through: an element of a value is
// one of an input, of a weight, or of what an op computes.
//
//   %1 = onnx.Transpose %0 {perm = [1, 0]}      element [3, 0] of %2 is
//   %2 = onnx.Slice %1 from [4, 0]              element [0, 7] of %0
//
// A dim that is split counts by what each rank has of the whole value: nothing
// here knows of buffers, nor of how they are addressed.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_VERIFY_LOWERED_REFERENCE_H
#define SHARDC_PASSES_VERIFY_LOWERED_REFERENCE_H

#include "dialects/onnx/ops/ControlFlow.h"
#include "passes/verify/lowered/Point.h"

namespace shardc::verify {

struct ReferenceElement {
  mlir::Value value;
  Index index; ///< on this rank
};

/// The loop of which the element is a result, or what an iteration starts with;
/// null if there is none.
onnx::LoopOp loopOf(const ReferenceElement &element);
/// Whether what a loop carries has the same sizes in all iterations and behind
/// it: those that change are not followed.
bool keepsSizes(onnx::LoopOp loop);

/// Whether an op is looked through.
bool arranges(mlir::Operation *op);

class Reference {
public:
  explicit Reference(const Point &point) : point(point) {}

  /// Nothing where the rank does not have what an op arranges, or the index is
  /// outside of the value.
  std::optional<ReferenceElement> rootOf(ReferenceElement element);
  /// Sizes on this rank; null where one has no number.
  const Index *dimsOf(mlir::Value value);
  /// Elements that are first or last of an operand of the Concat, or of those
  /// below it, that makes the value.
  std::vector<Index> seamsOf(mlir::Value value);

  const Point &point;

private:
  std::optional<ReferenceElement> step(mlir::Operation *op,
                                       const ReferenceElement &element);

  llvm::DenseMap<mlir::Value, std::unique_ptr<Index>> sizes;
};

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_LOWERED_REFERENCE_H
