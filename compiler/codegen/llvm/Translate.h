//===- Translate.h - From the llvm dialect to a target's code -------------===//
#ifndef SHARDC_COMPILER_CODEGEN_LLVM_TRANSLATE_H
#define SHARDC_COMPILER_CODEGEN_LLVM_TRANSLATE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <string>

namespace shardc::codegen {

/// Null where this LLVM does not have the target, and then why.
std::unique_ptr<llvm::TargetMachine> createMachine(llvm::StringRef triple,
                                                   llvm::StringRef cpu,
                                                   llvm::StringRef features,
                                                   std::string &why);

/// The module for that machine; null where it cannot be translated.
std::unique_ptr<llvm::Module> translate(mlir::ModuleOp lowered,
                                        const llvm::TargetMachine &machine,
                                        llvm::LLVMContext &context,
                                        std::string &why);

/// O3 without vectorisers: loops are vectors already. A GPU has threads in
/// place of unrolled loops, and no registers for these.
void optimise(llvm::Module &module, llvm::TargetMachine &machine, bool unrolls);

/// The module as assembly or as an object file; "" where that fails.
std::string emit(llvm::Module &module, llvm::TargetMachine &machine,
                 llvm::CodeGenFileType type, std::string &why);

} // namespace shardc::codegen

#endif // SHARDC_COMPILER_CODEGEN_LLVM_TRANSLATE_H
