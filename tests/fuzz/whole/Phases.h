//===- Phases.h - Phases of the compiler on what nobody vouches for -------===//
#ifndef SHARDC_TESTS_FUZZ_WHOLE_PHASES_H
#define SHARDC_TESTS_FUZZ_WHOLE_PHASES_H

#include "dialects/dist/algebra/Mesh.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

namespace shardc::fuzz {

/// A context that counts the errors it reports, and keeps the first.
class Compiler {
public:
  Compiler();

  /// Fails where a phase refuses the module, which says why: otherwise the
  /// program ends. `first` up to `last` are words of --to.
  bool run(mlir::ModuleOp module, llvm::StringRef first, llvm::StringRef last);
  /// Whether the module is what that phase guarantees.
  bool isOfPhase(mlir::ModuleOp module, llvm::StringRef phase);
  /// Ends the program where nothing was said of what went wrong.
  void expectError();

  mlir::MLIRContext context;
  dist::Mesh mesh;
  bool sequenceParallel = false;
  std::string contextMode = "ring";
  std::string error;

private:
  bool runPhase(mlir::ModuleOp module, llvm::StringRef phase);
};

/// A folder in memory that goes when the program ends well.
class Folder {
public:
  Folder();
  ~Folder();
  void write(llvm::StringRef file, llvm::StringRef bytes) const;
  std::string path;
};

} // namespace shardc::fuzz

#endif // SHARDC_TESTS_FUZZ_WHOLE_PHASES_H
