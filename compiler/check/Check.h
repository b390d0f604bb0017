//===- Check.h - What a model needs before it compiles --------------------===//
//
// One pass over the whole model that stops at nothing: everything unsupported,
// every error of shape inference that does not follow from another one, and
// notes on what compiles but serves badly, each with its remedy.
//
//   does not compile: 2 problems
//   unsupported operator If (1 node: /If): export one branch ...
//   error: /layer0/MatMul: has operands of different types: f32 and f16
//   note: batch_size: every input has a fixed batch of 2; export with ...
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CHECK_CHECK_H
#define SHARDC_COMPILER_CHECK_CHECK_H

#include "compiler/Compile.h"

#include "llvm/ADT/StringRef.h"

namespace shardc {

/// `shardc check`: prints text or JSON to `output`. Done if the model compiles
/// on one rank, else Model.
ExitCode checkModel(llvm::StringRef model, bool asJson,
                    llvm::raw_ostream &output);

} // namespace shardc

#endif // SHARDC_COMPILER_CHECK_CHECK_H
