//===- Samples.h - Numbers to try a region on -----------------------------===//
//
// What shows a difference between two functions that are nearly the same: rows
// that a mask hides as a whole, minima that are finite, NaN, infinity, ties,
// zeros of both signs, numbers whose squares are out of range. One leaf at a
// time has such numbers; the others are between -1 and 1. Always the same ones.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_VALIDATE_SAMPLES_H
#define SHARDC_PASSES_IMPORT_VALIDATE_SAMPLES_H

#include "dialects/onnx/evaluate/Sizes.h"
#include "mlir/IR/Value.h"

namespace shardc::import {

enum class SampleKind {
  Random,  ///< normal
  Usual,   ///< between -1 and 1
  Equal,   ///< all elements of all leaves the same
  Zeros,   ///< of both signs, among others
  Hidden,  ///< 0 and -inf; whole rows of -inf
  Minimum, ///< 0 and the least finite number; whole rows of it
  Special, ///< NaN and infinities among others
  Large,   ///< squares of it are out of range
};

struct Sample {
  SampleKind kind = SampleKind::Random;
  unsigned leaf = 0; ///< which one has them
  unsigned seed = 0;

  /// Errors of scores this large make any difference in a softmax.
  bool isCoarse() const { return kind == SampleKind::Large; }
};

/// All samples of so many leaves; the first three have nothing special.
llvm::SmallVector<Sample> samplesOf(unsigned numLeaves);

/// The elements of a leaf; nothing where its size is not known.
std::optional<onnx::evaluate::Tensor>
sampleLeaf(mlir::Value leaf, unsigned number, const Sample &sample,
           const onnx::evaluate::Sizes &sizes);

/// Of a leaf of elements of less than a byte: the leaf that has the same place of a file as
/// bytes, by number; nothing where none has.
std::optional<unsigned> bytesOfFields(llvm::ArrayRef<mlir::Value> leaves,
                                      mlir::Value leaf);

/// What is in the same place of a file has the same bits: elements of four and
/// two bits are those of the bytes, the lowest first.
void shareBytes(llvm::ArrayRef<mlir::Value> leaves,
                llvm::MutableArrayRef<onnx::evaluate::Tensor> tensors);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_VALIDATE_SAMPLES_H
