//===- TestEmitRows.cpp - A pass for tests of generated kernels -----------===//

#include "tools/shard-opt/TestEmitRows.h"

#include "compiler/codegen/rows/RowEmitter.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace shardc {

namespace {

struct EmitRowsPass : PassWrapper<EmitRowsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitRowsPass)

  StringRef getArgument() const override { return "shardc-test-emit-rows"; }
  StringRef getDescription() const override {
    return "Emits the functions of generated kernels";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    codegen::registerRowDialects(registry);
  }

  /// A function has its kernel's name, so the kernels have to go.
  void runOnOperation() override {
    OwningOpRef<ModuleOp> functions = ModuleOp::create(getOperation().getLoc());
    for (auto kernel : getOperation().getOps<rt::KernelOp>())
      codegen::emitRows(kernel, codegen::RowTarget(), *functions);
    getOperation().getBodyRegion().takeBody(functions->getBodyRegion());
  }
};

} // namespace

void registerTestEmitRows() { PassRegistration<EmitRowsPass>(); }

} // namespace shardc
