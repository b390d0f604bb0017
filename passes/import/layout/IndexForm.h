//===- IndexForm.h - Integers that follow from their place ----------------===//
//
// Exporters index and mask by tensors that count. Each element is a linear form
// of its own indices; for dims [b, 1, s]:
//
//   Reshape(Range(b)) * seq + Range(s)     element [i, 0, j] is  seq * i + j
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_LAYOUT_INDEXFORM_H
#define SHARDC_PASSES_IMPORT_LAYOUT_INDEXFORM_H

#include "dialects/dist/algebra/DimExpr.h"

#include "mlir/IR/Value.h"

namespace shardc::import {

struct IndexForm {
  /// By dim; 0 for dims of size 1 and for those along which all is the same.
  llvm::SmallVector<dist::DimExpr, 4> coefficients;
  dist::DimExpr offset = 0;
};

/// What an integer tensor is as such a form; nothing if it is another, or takes
/// hundreds of ops to compute.
std::optional<IndexForm> indexFormOf(mlir::Value value);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_LAYOUT_INDEXFORM_H
