//===- Diagnostics.cpp - Errors and warnings as users see them ------------===//

#include "compiler/Diagnostics.h"

#include "mlir/IR/Location.h"

using namespace mlir;

namespace shardc {

void printDiagnostic(Diagnostic &diagnostic, StringRef about,
                     llvm::raw_ostream &os) {
  os << (diagnostic.getSeverity() == DiagnosticSeverity::Warning ? "warning: "
                                                                 : "error: ")
     << about;
  if (auto name = dyn_cast<NameLoc>(diagnostic.getLocation()))
    os << name.getName().getValue() << ": ";
  else if (auto file = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
    os << file.getFilename().getValue() << ":" << file.getLine() << ": ";
  os << diagnostic << '\n';
  for (Diagnostic &note : diagnostic.getNotes()) {
    os << "  note: ";
    if (auto name = dyn_cast<NameLoc>(note.getLocation()))
      os << name.getName().getValue() << ": ";
    os << note << '\n';
  }
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context,
                                     llvm::raw_ostream &errors)
    : ScopedDiagnosticHandler(&context) {
  setHandler([&errors](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
      printDiagnostic(diagnostic, "", errors);
    return success();
  });
}

} // namespace shardc
