//===- Diagnostics.h - Errors and warnings as users see them --------------===//
#ifndef SHARDC_COMPILER_DIAGNOSTICS_H
#define SHARDC_COMPILER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"

namespace shardc {

/// "error: NODE: MESSAGE", notes indented below it; `about` comes before the
/// node.
void printDiagnostic(mlir::Diagnostic &diagnostic, llvm::StringRef about,
                     llvm::raw_ostream &os);

/// Prints errors and warnings of a context as long as it lives; remarks, which
/// are for reports, are passed over.
class DiagnosticPrinter : public mlir::ScopedDiagnosticHandler {
public:
  DiagnosticPrinter(mlir::MLIRContext &context, llvm::raw_ostream &errors);
};

} // namespace shardc

#endif // SHARDC_COMPILER_DIAGNOSTICS_H
