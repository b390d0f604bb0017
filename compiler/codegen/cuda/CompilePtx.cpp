//===- CompilePtx.cpp - From the llvm dialect to PTX ----------------------===//

#include "compiler/codegen/cuda/CudaKernels.h"
#include "compiler/codegen/cuda/DeviceFunctions.h"
#include "compiler/codegen/llvm/Translate.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/TargetSelect.h"

using namespace llvm;

namespace shardc::codegen {
namespace {

/// Gives the device functions their instructions.
class DeviceBodies {
public:
  explicit DeviceBodies(Module &module)
      : module(module), b(module.getContext()) {}

  void define() {
    read(device::kThread, Intrinsic::nvvm_read_ptx_sreg_tid_x);
    read(device::kThreads, Intrinsic::nvvm_read_ptx_sreg_ntid_x);
    const Intrinsic::ID block[] = {Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                                   Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                   Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
    const Intrinsic::ID blocks[] = {Intrinsic::nvvm_read_ptx_sreg_nctaid_x,
                                    Intrinsic::nvvm_read_ptx_sreg_nctaid_y,
                                    Intrinsic::nvvm_read_ptx_sreg_nctaid_z};
    for (int d = 0; d < 3; ++d) {
      read(device::kBlock[d], block[d]);
      read(device::kBlocks[d], blocks[d]);
    }
    if (Function *shuffle = begin(device::kShuffle))
      b.CreateRet(b.CreateIntrinsic(
          Intrinsic::nvvm_shfl_sync_bfly_f32, ArrayRef<Type *>(),
          {b.getInt32(-1), shuffle->getArg(0), shuffle->getArg(1),
           b.getInt32(device::kWarp - 1)}));
    if (begin(device::kBarrier)) {
      b.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_sync_aligned_all,
                        ArrayRef<Type *>(), {b.getInt32(0)});
      b.CreateRetVoid();
    }
    if (begin(device::kShared))
      b.CreateRet(b.CreateAddrSpaceCast(sharedMemory(), b.getPtrTy()));
  }

private:
  /// At the start of the body of a function that some kernel calls.
  Function *begin(StringRef name) {
    Function *function = module.getFunction(name);
    if (!function)
      return nullptr;
    function->setLinkage(GlobalValue::InternalLinkage);
    function->addFnAttr(Attribute::AlwaysInline);
    b.SetInsertPoint(BasicBlock::Create(module.getContext(), "", function));
    return function;
  }

  void read(StringRef name, Intrinsic::ID special) {
    if (begin(name))
      b.CreateRet(
          b.CreateIntrinsic(special, ArrayRef<Type *>(), ArrayRef<Value *>()));
  }

  /// Its size is the launch's.
  GlobalVariable *sharedMemory() {
    auto *type = ArrayType::get(b.getFloatTy(), 0);
    auto *memory = new GlobalVariable(
        module, type, /*isConstant=*/false, GlobalValue::ExternalLinkage,
        nullptr, "shardc_shared_memory", nullptr, GlobalValue::NotThreadLocal,
        /*AddressSpace=*/3);
    memory->setAlignment(Align(16));
    return memory;
  }

  Module &module;
  IRBuilder<> b;
};

/// The oldest PTX that knows the architecture, so that old drivers take it.
const char *ptxVersion(StringRef architecture) {
  return architecture == "sm_100" ? "+ptx86" : "+ptx80";
}

} // namespace

std::string compilePtx(mlir::ModuleOp lowered, StringRef architecture,
                       std::string &why) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  LLVMContext context;
  std::unique_ptr<TargetMachine> machine = createMachine(
      "nvptx64-nvidia-cuda", architecture, ptxVersion(architecture), why);
  std::unique_ptr<Module> module =
      machine ? translate(lowered, *machine, context, why) : nullptr;
  if (!module)
    return "";
  for (Function &function : *module)
    if (!function.isDeclaration()) {
      function.setCallingConv(CallingConv::PTX_Kernel);
      function.addFnAttr("nvvm.maxntid", std::to_string(device::kMaxThreads));
      // Without it ptxas spills for the sake of even more blocks.
      function.addFnAttr("nvvm.minctasm", "2");
    }
  DeviceBodies(*module).define();
  optimise(*module, *machine, /*unrolls=*/false);
  return emit(*module, *machine, CodeGenFileType::AssemblyFile, why);
}

} // namespace shardc::codegen
