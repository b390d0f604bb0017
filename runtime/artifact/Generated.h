//===- Generated.h - The form of a generated kernel -----------------------===//
//
// A program's calls of generated kernels, and the kernels in kernels/, come
// from one description, which manifest.json holds: what does not belong
// together is found before anything runs.
//
//   "kernels": {"rows_Swish_Mul_1f6b0c3a5d2e": {
//     "inputs": 2, "slots": 0, "mixes_columns": false,
//     "operands": [{"element": "Float32", "per": "column"}, ...]}}
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_GENERATED_H
#define SHARDC_RUNTIME_ARTIFACT_GENERATED_H

#include "runtime/artifact/Format.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::artifact {

/// Columns of a vector: rows of scratch are rounded up to more than that.
inline constexpr int64_t kGeneratedWidth = 16;

inline constexpr size_t kMaxGeneratedOperands = 32;

/// Of kernels/x86-64-v3.so and its like. Computes rows firstRow to endRow - 1.
/// `operands`: inputs, then outputs, at row 0. `sizes`: columns, then for each
/// operand how many elements it is from row to row. `scratch`: one row of each
/// slot.
using GeneratedFunction = void (*)(void *const *operands, const int64_t *sizes,
                                   int64_t firstRow, int64_t endRow,
                                   float *scratch);

struct GeneratedOperand {
  ElementType element = ElementType_Float32;
  bool isPerRow = false; ///< one element a row instead of one a column
};

struct GeneratedForm {
  std::vector<GeneratedOperand> operands; ///< inputs, then outputs
  int numInputs = 0;
  int slots = 0;             ///< f32 values that a row keeps for each column
  bool mixesColumns = false; ///< else a column follows from its inputs alone
};

/// By the kernel's name.
using GeneratedForms = std::map<std::string, GeneratedForm, std::less<>>;

/// Whether a kernel of that name is in the artifact instead of a backend.
inline bool isGeneratedKernel(std::string_view name) {
  return name.substr(0, sizeof kGeneratedPrefix - 1) == kGeneratedPrefix;
}

/// Floats of one row of all slots.
inline int64_t scratchFloats(int64_t slots, int64_t columns) {
  return slots * (columns / kGeneratedWidth + 1) * kGeneratedWidth;
}

} // namespace shardc::artifact

#endif // SHARDC_RUNTIME_ARTIFACT_GENERATED_H
