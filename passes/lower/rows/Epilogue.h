//===- Epilogue.h - Sums and activations that belong to a product ---------===//
//
// A GPU's library adds a bias and a residual to a product, and applies an
// activation, before it stores it. Where that is all that a row kernel would
// do, the kernel's launch goes, and so do writing and reading the product:
//
//   rt.call "MatMul"(%x, %w) into(%p)
//   rt.call "Add"(%p, %bias) into(%s)       rt.call "Linear"(%x, %w, %bias)
//   rt.call "Relu"(%s) into(%y)                into(%y) {activation = "relu"}
//
// A sum that a norm follows stays in the norm's kernel, which has it at hand.
// What a collective reads is no product's operand: a residual that is added
// behind an all_reduce stays behind it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_ROWS_EPILOGUE_H
#define SHARDC_PASSES_LOWER_ROWS_EPILOGUE_H

#include "passes/lower/rows/RowCall.h"

namespace shardc::lower {

/// Replaces the members of a group, in program order, and the product that the
/// first one reads by one call where the last one stands; false, and nothing is
/// changed, where they are not of this form.
bool foldIntoProduct(llvm::ArrayRef<RowCall *> members);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_ROWS_EPILOGUE_H
