//===- Build.h - Compiles and opens in one step ---------------------------===//
//
// The artifact lies in a temporary folder that goes with the build. Statuses
// carry what the compiler printed, and the exit status that users see.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_VERIFY_BUILD_H
#define SHARDC_TOOLS_SHARDC_VERIFY_BUILD_H

#include "compiler/Compile.h"
#include "compiler/files/ScratchFolder.h"
#include "runtime/api/shardrt.hpp"

namespace shardc::verifier {

/// Called after the module's phase; see CompileOptions.
using PhaseHook = std::function<ExitCode(llvm::StringRef, mlir::ModuleOp)>;

/// An empty folder that only this user looks into.
runtime::Status makeFolder(files::ScratchFolder &folder);

/// Runs the compiler only; `warnings` gets what it says before an error.
runtime::Status compileQuietly(const CompileOptions &options,
                               std::string *warnings = nullptr);

class Build {
public:
  /// Once. Any output folder in `options` is replaced. Runs compare the bits of
  /// what every rank holds whole, unless the program is trusted.
  runtime::Status run(CompileOptions options, std::string *warnings = nullptr);

  runtime::Session &session() { return *opened; }

private:
  files::ScratchFolder folder;
  std::unique_ptr<runtime::Session> opened;
};

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_BUILD_H
