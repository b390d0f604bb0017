//===- Translate.cpp - From the llvm dialect to a target's code -----------===//

#include "compiler/codegen/llvm/Translate.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"

namespace shardc::codegen {

std::unique_ptr<llvm::TargetMachine> createMachine(llvm::StringRef name,
                                                   llvm::StringRef cpu,
                                                   llvm::StringRef features,
                                                   std::string &why) {
  const llvm::Triple triple(name);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

std::unique_ptr<llvm::Module> translate(mlir::ModuleOp lowered,
                                        const llvm::TargetMachine &machine,
                                        llvm::LLVMContext &context,
                                        std::string &why) {
  mlir::registerBuiltinDialectTranslation(*lowered.getContext());
  mlir::registerLLVMDialectTranslation(*lowered.getContext());
  std::unique_ptr<llvm::Module> module =
      mlir::translateModuleToLLVMIR(lowered, context, "kernels");
  if (!module) {
    why = "the kernels cannot be translated to LLVM";
    return nullptr;
  }
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *module)
    if (!function.isDeclaration()) {
      function.addFnAttr("target-cpu", machine.getTargetCPU());
      function.addFnAttr(llvm::Attribute::NoUnwind);
    }
  return module;
}

void optimise(llvm::Module &module, llvm::TargetMachine &machine,
              bool unrolls) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = unrolls;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

std::string emit(llvm::Module &module, llvm::TargetMachine &machine,
                 llvm::CodeGenFileType type, std::string &why) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr, type)) {
    why = ("LLVM cannot write code for " + machine.getTargetCPU()).str();
    return "";
  }
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

} // namespace shardc::codegen
