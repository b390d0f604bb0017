//===- CompileObject.cpp - From the llvm dialect to an object file --------===//

#include "compiler/codegen/host/HostKernels.h"

#include "compiler/codegen/llvm/Translate.h"

#include "llvm/Support/TargetSelect.h"

using namespace mlir;

namespace shardc::codegen {

std::string compileObject(ModuleOp lowered, StringRef cpu, std::string &why) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine =
      createMachine("x86_64-unknown-linux-gnu", cpu, "", why);
  std::unique_ptr<llvm::Module> module =
      machine ? translate(lowered, *machine, context, why) : nullptr;
  if (!module)
    return "";
  if (cpu == "x86-64-v4") // half as wide is what it prefers by itself
    for (llvm::Function &function : *module)
      if (!function.isDeclaration())
        function.addFnAttr("prefer-vector-width", "512");
  optimise(*module, *machine, /*unrolls=*/true);
  return emit(*module, *machine, llvm::CodeGenFileType::ObjectFile, why);
}

} // namespace shardc::codegen
