//===- WeightPattern.h - What a weight's elements are known to be ---------===//
//
// Some weights are tables that another op could compute, and whose use is only
// understood by what they hold:
//
//   [1, 1, 1024, 1024] of bool, 1 where j <= i       "triangle", GPT-2's mask
//   [4096, 128] of cosines, each angle twice         "halves" or "pairs"
//   [1, 4096, 2] of indices, 0 and the row's number  "counted", of a GatherND
//   [4096] of eight bits of float, all 0             "zeros", a zero point
//
// Such weights are read row by row until one differs, others not at all.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_IMPORT_WEIGHTPATTERN_H
#define SHARDC_COMPILER_IMPORT_WEIGHTPATTERN_H

#include "compiler/import/ModelFile.h"

#include "mlir/IR/BuiltinTypes.h"

namespace shardc::importer {

/// A value of the attribute `pattern` of onnx.Weight; empty if it has none.
llvm::Expected<llvm::StringRef> weightPattern(const ModelFile &file,
                                              mlir::RankedTensorType type,
                                              const DataRange &range);

} // namespace shardc::importer

#endif // SHARDC_COMPILER_IMPORT_WEIGHTPATTERN_H
