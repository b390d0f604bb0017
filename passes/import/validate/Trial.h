//===- Trial.h - One region on one set of sizes and numbers ---------------===//
#ifndef SHARDC_PASSES_IMPORT_VALIDATE_TRIAL_H
#define SHARDC_PASSES_IMPORT_VALIDATE_TRIAL_H

#include "dialects/onnx/evaluate/Evaluate.h"
#include "passes/import/validate/Region.h"
#include "passes/import/validate/Samples.h"

namespace shardc::import {

/// A region whose values have numbers.
class Program {
public:
  explicit Program(const Region &region);

  /// Elements that an evaluation goes through, about; nothing where a size is
  /// not known before.
  int64_t workFor(const onnx::evaluate::Sizes &sizes) const;

  struct Result {
    onnx::evaluate::Outcome outcome;
    llvm::SmallVector<onnx::evaluate::Tensor, 1> old, made;
    bool overflows = false; ///< a product left its type's range
  };
  Result run(const Sample &sample, const onnx::evaluate::Sizes &sizes,
             onnx::evaluate::Precision precision) const;

  /// What has to do with a leaf first: a product, of which it is a factor, or a
  /// softmax, of which it is a mask; and whether a mixture of experts has.
  struct Uses {
    bool isFactor = false, isMask = false, isMixed = false;
  };
  Uses usesOf(unsigned leaf) const;

private:
  struct Step {
    mlir::Operation *op;
    llvm::SmallVector<unsigned, 4> operands;
    unsigned firstResult;
  };

  const Region &region;
  llvm::SmallVector<Step> steps;
  unsigned numValues = 0;
  llvm::SmallVector<unsigned, 1> old, made;
};

/// Where two results differ by more than `tolerance`, relative to the largest
/// of them; empty if nowhere. `finer` is the old one without rounding, where the
/// made one may be closer to.
std::string differenceOf(const Region &region,
                         const onnx::evaluate::Tensor &old,
                         const onnx::evaluate::Tensor &made,
                         const onnx::evaluate::Tensor *finer, double tolerance);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_VALIDATE_TRIAL_H
