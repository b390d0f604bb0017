//===- Phases.cpp - Phases of the compiler on what nobody vouches for -----===//
#include "tests/fuzz/whole/Phases.h"

#include "compiler/Pipeline.h"
#include "dialects/dist/Dist.h"
#include "passes/verify/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace mlir;

namespace shardc::fuzz {

Compiler::Compiler() : context(MLIRContext::Threading::DISABLED) {
  prepareContext(context);
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (error.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      error = diagnostic.str();
    return success();
  });
}

void Compiler::expectError() {
  if (!error.empty())
    return;
  llvm::errs() << "refused without a word\n";
  std::abort();
}

bool Compiler::isOfPhase(ModuleOp module, StringRef phase) {
  PassManager passes(&context);
  passes.addPass(verify::createVerifyPhase({phase.str()}));
  const bool isIt = succeeded(passes.run(module));
  if (!isIt)
    expectError();
  return isIt;
}

bool Compiler::runPhase(ModuleOp module, StringRef phase) {
  if (phase == "sharded") {
    if (dist::MeshOp old = dist::getMesh(module))
      old.erase();
    OpBuilder builder(module.getBodyRegion());
    dist::MeshOp::create(builder, module.getLoc(), "mesh",
                         dist::MeshAttr::get(&context, mesh));
  }
  PipelineOptions options;
  options.sequenceParallel = sequenceParallel;
  options.contextMode = contextMode;
  options.splitsSteps = sequenceParallel || mesh.find(dist::kContextAxis);
  PassManager passes(&context);
  passes.enableVerifier(false);
  buildPhase(passes, phase, options);
  const bool isDone = succeeded(passes.run(module)) &&
                      succeeded(mlir::verify(module)) && error.empty();
  if (!isDone)
    expectError();
  return isDone;
}

bool Compiler::run(ModuleOp module, StringRef first, StringRef last) {
  for (const llvm::StringLiteral *phase = llvm::find(kPhases, first);
       phase != kPhases.end(); ++phase) {
    if (!runPhase(module, *phase))
      return false;
    if (*phase == last)
      break;
  }
  return true;
}

Folder::Folder() {
  char name[] = "/dev/shm/shardc-fuzz-XXXXXX";
  if (!mkdtemp(name))
    std::exit(2);
  path = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void Folder::write(StringRef file, StringRef bytes) const {
  std::ofstream(path + "/" + file.str(), std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace shardc::fuzz
