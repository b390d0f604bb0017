//===- shardc.cpp - The compiler's command --------------------------------===//

#include "compiler/import/Import.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

static llvm::cl::opt<std::string> model(llvm::cl::Positional,
                                        llvm::cl::desc("MODEL.onnx"),
                                        llvm::cl::Required);
static llvm::cl::opt<std::string>
    to("to", llvm::cl::desc("phase to print: raw"), llvm::cl::init("raw"));

/// "error: NODE: MESSAGE", with notes below it.
static LogicalResult print(Diagnostic &diagnostic) {
  auto name = dyn_cast<NameLoc>(diagnostic.getLocation());
  llvm::errs() << "error: ";
  if (name)
    llvm::errs() << name.getName().getValue() << ": ";
  llvm::errs() << diagnostic << '\n';
  for (Diagnostic &note : diagnostic.getNotes())
    llvm::errs() << "  " << note << '\n';
  return success();
}

int main(int argc, char **argv) {
  registerAsmPrinterCLOptions();
  llvm::cl::ParseCommandLineOptions(argc, argv, "ONNX for many devices\n");
  if (to != "raw") {
    llvm::errs() << "error: --to=" << to << ": expected raw\n";
    return 2;
  }
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, print);
  OwningOpRef<ModuleOp> module = shardc::importer::importOnnx(context, model);
  if (!module)
    return 3;
  module->print(llvm::outs());
  return 0;
}
