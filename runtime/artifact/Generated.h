//===- Generated.h - The form of a generated kernel -----------------------===//
//
// kernels/<target>.so has for each kernel a function and a constant that says
// what it is called with, so that a program and kernels that do not belong
// together are found before anything runs:
//
//   rows_Swish_Mul_1f6b0c3a5d2e        GeneratedFunction
//   rows_Swish_Mul_1f6b0c3a5d2e_form   int32_t[]: {version, inputs, outputs,
//                                      slots, mixesColumns, operands...}
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_GENERATED_H
#define SHARDC_RUNTIME_ARTIFACT_GENERATED_H

#include "runtime/artifact/Format.h"

#include <vector>

namespace shardc::artifact {

inline constexpr char kFormSuffix[] = "_form";
/// Raised whenever functions are called in another way.
inline constexpr int32_t kGeneratedVersion = 1;
/// Columns of a vector: rows of scratch are rounded up to more than that.
inline constexpr int64_t kGeneratedWidth = 16;

inline constexpr int32_t kMaxGeneratedOperands = 32;

/// Computes rows firstRow to endRow - 1. `operands`: inputs, then outputs, at
/// row 0. `sizes`: columns, then for each operand how many elements it is from
/// row to row. `scratch`: one row of each slot.
using GeneratedFunction = void (*)(void *const *operands, const int64_t *sizes,
                                   int64_t firstRow, int64_t endRow,
                                   float *scratch);

/// Element type, and whether there is one element a row instead of one a
/// column.
inline int32_t generatedOperand(ElementType element, bool isPerRow) {
  return static_cast<int32_t>(element) * 2 + (isPerRow ? 1 : 0);
}

struct GeneratedForm {
  int32_t numInputs = 0, numOutputs = 0;
  int32_t slots = 0;        ///< f32 values that a row keeps for each column
  int32_t mixesColumns = 0; ///< 0: a column follows from its own inputs alone
  std::vector<int32_t> operands; ///< inputs, then outputs: generatedOperand
};

inline std::vector<int32_t> wordsOf(const GeneratedForm &form) {
  std::vector<int32_t> words{kGeneratedVersion, form.numInputs, form.numOutputs,
                             form.slots, form.mixesColumns};
  words.insert(words.end(), form.operands.begin(), form.operands.end());
  return words;
}

/// Floats of one row of all slots.
inline int64_t scratchFloats(int64_t slots, int64_t columns) {
  return slots * (columns / kGeneratedWidth + 1) * kGeneratedWidth;
}

} // namespace shardc::artifact

#endif // SHARDC_RUNTIME_ARTIFACT_GENERATED_H
