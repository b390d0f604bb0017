//===- LowerRows.cpp - From kernels to the llvm dialect -------------------===//

#include "compiler/codegen/rows/LowerRows.h"

#include "compiler/codegen/rows/RowEmitter.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace shardc::codegen {

FailureOr<OwningOpRef<ModuleOp>>
lowerRows(ModuleOp module,
          llvm::function_ref<void(rt::KernelOp, ModuleOp)> emit) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerRowDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();

  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  for (auto kernel : module.getOps<rt::KernelOp>())
    emit(kernel, *kernels);
  expandMath(*kernels);

  // Memory of bf16 is its bits.
  RewritePatternSet patterns(context);
  arith::populateExpandBFloat16Patterns(patterns);
  if (failed(applyPatternsGreedily(*kernels, std::move(patterns))))
    return failure();
  PassManager passes(context);
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(*kernels)))
    return failure();
  return kernels;
}

} // namespace shardc::codegen
