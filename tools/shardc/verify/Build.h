//===- Build.h - Compiles and opens in one step ---------------------------===//
//
// The artifact lies in a temporary folder that goes with the build. Statuses
// carry what the compiler printed, and the exit status that users see.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_VERIFY_BUILD_H
#define SHARDC_TOOLS_SHARDC_VERIFY_BUILD_H

#include "compiler/Compile.h"
#include "runtime/api/shardrt.hpp"

namespace shardc::verifier {

/// Called after the module's phase; see CompileOptions.
using PhaseHook = std::function<ExitCode(llvm::StringRef, mlir::ModuleOp)>;

/// Runs the compiler only; `warnings` gets what it says before an error.
runtime::Status compileQuietly(const CompileOptions &options,
                               std::string *warnings = nullptr);

class Build {
public:
  Build() = default;
  Build(const Build &) = delete;
  ~Build();

  /// Once. Any output folder in `options` is replaced. Runs compare the bits of
  /// what every rank holds whole, unless the program is trusted.
  runtime::Status run(CompileOptions options, std::string *warnings = nullptr);

  runtime::Session &session() { return *opened; }

private:
  std::string folder;
  std::unique_ptr<runtime::Session> opened;
};

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_BUILD_H
