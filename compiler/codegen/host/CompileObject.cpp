//===- CompileObject.cpp - From the llvm dialect to an object file --------===//

#include "compiler/codegen/host/HostKernels.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace shardc::codegen {

static std::unique_ptr<llvm::TargetMachine>
createMachine(const llvm::Triple &triple, StringRef cpu, std::string &why) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, cpu, "", llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  // Loops are vectors already.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

std::string compileObject(ModuleOp lowered, StringRef cpu, std::string &why) {
  registerBuiltinDialectTranslation(*lowered.getContext());
  registerLLVMDialectTranslation(*lowered.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(lowered, context, "kernels");
  if (!module) {
    why = "the kernels cannot be translated to LLVM";
    return "";
  }
  const llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::unique_ptr<llvm::TargetMachine> machine =
      createMachine(triple, cpu, why);
  if (!machine)
    return "";
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : *module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", cpu);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (cpu == "x86-64-v4") // half as wide is what it prefers by itself
      function.addFnAttr("prefer-vector-width", "512");
  }
  optimise(*module, *machine);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager emit;
  if (machine->addPassesToEmitFile(emit, os, nullptr,
                                   llvm::CodeGenFileType::ObjectFile)) {
    why = "LLVM cannot write object files for " + cpu.str();
    return "";
  }
  emit.run(*module);
  return std::string(object.data(), object.size());
}

} // namespace shardc::codegen
