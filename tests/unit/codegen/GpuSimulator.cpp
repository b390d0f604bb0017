#include "tests/unit/codegen/GpuSimulator.h"

#include "compiler/codegen/cuda/DeviceFunctions.h"
#include "compiler/codegen/llvm/Translate.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/TargetSelect.h"

#include <gtest/gtest.h>
#include <ucontext.h>

using namespace llvm;
namespace device = shardc::codegen::device;

namespace shardc::testing {
namespace {

/// A thread of the block that is running.
struct Thread {
  enum class State { Runs, AtBarrier, AtShuffle, Ended };
  State state = State::Runs;
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  static constexpr size_t kStackBytes = 64 << 10;
  float shuffled = 0;
};

struct Block {
  const Launch *launch;
  int place[3];
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<float> shared;
  ucontext_t scheduler;
  size_t current = 0;
  void (*body)(const uint64_t *) = nullptr;
  const uint64_t *arguments = nullptr;

  Thread &thread() { return *threads[current]; }
  void wait(Thread::State state) {
    thread().state = state;
    swapcontext(&thread().context, &scheduler);
  }
};

Block *running = nullptr;

void threadMain() {
  running->body(running->arguments);
  running->wait(Thread::State::Ended);
}

/// Lets all of these threads go on if all of them wait alike; whether they did.
bool release(Block &block, size_t first, size_t end, Thread::State state) {
  for (size_t i = first; i < end; ++i)
    if (block.threads[i]->state != state)
      return false;
  for (size_t i = first; i < end; ++i)
    block.threads[i]->state = Thread::State::Runs;
  return true;
}

std::string runBlock(Block &block) {
  for (auto &thread : block.threads) {
    getcontext(&thread->context);
    thread->context.uc_stack.ss_sp = thread->stack.get();
    thread->context.uc_stack.ss_size = Thread::kStackBytes;
    thread->state = Thread::State::Runs;
    thread->context.uc_link = nullptr;
    makecontext(&thread->context, threadMain, 0);
  }
  const size_t count = block.threads.size();
  for (;;) {
    bool anyRan = false;
    for (size_t i = 0; i < count; ++i) {
      block.current = i;
      if (block.threads[i]->state != Thread::State::Runs)
        continue;
      anyRan = true;
      swapcontext(&block.scheduler, &block.threads[i]->context);
    }
    for (size_t warp = 0; warp < count; warp += device::kWarp)
      release(block, warp, warp + device::kWarp, Thread::State::AtShuffle);
    release(block, 0, count, Thread::State::AtBarrier);
    bool allEnded = true;
    for (auto &thread : block.threads)
      allEnded &= thread->state == Thread::State::Ended;
    if (allEnded)
      return "";
    if (!anyRan)
      return "some threads wait for others that do something else";
  }
}

//===--- The device functions ---------------------------------------------===//

int32_t threadNumber() { return static_cast<int32_t>(running->current); }
int32_t threadCount() { return running->launch->threads; }
template <int D> int32_t blockPlace() { return running->place[D]; }
template <int D> int32_t blockCount() { return running->launch->blocks[D]; }
void barrier() { running->wait(Thread::State::AtBarrier); }
void *sharedMemory() { return running->shared.data(); }

float shuffle(float value, int32_t mask) {
  Block &block = *running;
  const size_t mine = block.current;
  block.thread().shuffled = value;
  block.wait(Thread::State::AtShuffle); // all of the warp have written
  const float result =
      block.threads[mine ^ static_cast<size_t>(mask)]->shuffled;
  block.wait(Thread::State::AtShuffle); // all of the warp have read
  return result;
}

orc::SymbolMap deviceFunctions(orc::LLJIT &jit) {
  orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                          JITSymbolFlags::Exported};
  };
  add(device::kThread, threadNumber);
  add(device::kThreads, threadCount);
  add(device::kBlock[0], blockPlace<0>);
  add(device::kBlock[1], blockPlace<1>);
  add(device::kBlock[2], blockPlace<2>);
  add(device::kBlocks[0], blockCount<0>);
  add(device::kBlocks[1], blockCount<1>);
  add(device::kBlocks[2], blockCount<2>);
  add(device::kShuffle, shuffle);
  add(device::kBarrier, barrier);
  add(device::kShared, sharedMemory);
  return symbols;
}

std::string packedName(StringRef kernel) { return (kernel + "_packed").str(); }

/// void f_packed(const uint64_t *arguments): f with them.
void addPacked(Function &kernel) {
  Module &module = *kernel.getParent();
  IRBuilder<> b(module.getContext());
  auto *type = FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  Function *packed = Function::Create(type, GlobalValue::ExternalLinkage,
                                      packedName(kernel.getName()), module);
  b.SetInsertPoint(BasicBlock::Create(module.getContext(), "", packed));
  std::vector<Value *> arguments;
  for (Argument &argument : kernel.args())
    arguments.push_back(b.CreateAlignedLoad(
        argument.getType(),
        b.CreateConstGEP1_64(b.getInt64Ty(), packed->getArg(0),
                             argument.getArgNo()),
        Align(8)));
  b.CreateCall(&kernel, arguments);
  b.CreateRetVoid();
}

} // namespace

struct GpuSimulator::Jit {
  std::unique_ptr<orc::LLJIT> jit;
};

static void compile(mlir::ModuleOp lowered, orc::LLJIT &jit) {
  std::string why;
  auto context = std::make_unique<LLVMContext>();
  auto machine =
      codegen::createMachine(jit.getTargetTriple().str(), "x86-64-v3", "", why);
  ASSERT_NE(machine, nullptr) << why;
  auto module = codegen::translate(lowered, *machine, *context, why);
  ASSERT_NE(module, nullptr) << why;
  module->setDataLayout(jit.getDataLayout());
  std::vector<Function *> kernels;
  for (Function &function : *module)
    if (!function.isDeclaration())
      kernels.push_back(&function);
  for (Function *kernel : kernels)
    addPacked(*kernel);
  orc::JITDylib &library = jit.getMainJITDylib();
  cantFail(library.define(orc::absoluteSymbols(deviceFunctions(jit))));
  cantFail(jit.addIRModule(
      orc::ThreadSafeModule(std::move(module), std::move(context))));
}

GpuSimulator::GpuSimulator(mlir::ModuleOp lowered)
    : jit(std::make_unique<Jit>()) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  jit->jit = cantFail(orc::LLJITBuilder().create());
  compile(lowered, *jit->jit);
}

GpuSimulator::~GpuSimulator() = default;

std::string GpuSimulator::run(const std::string &kernel, const Launch &launch,
                              const std::vector<uint64_t> &arguments) {
  auto address = jit->jit->lookup(packedName(kernel));
  if (!address)
    return toString(address.takeError());
  Block block;
  block.launch = &launch;
  block.body = address->toPtr<void (*)(const uint64_t *)>();
  block.arguments = arguments.data();
  for (int i = 0; i < launch.threads; ++i)
    block.threads.push_back(std::make_unique<Thread>());
  for (block.place[2] = 0; block.place[2] < launch.blocks[2]; ++block.place[2])
    for (block.place[1] = 0; block.place[1] < launch.blocks[1];
         ++block.place[1])
      for (block.place[0] = 0; block.place[0] < launch.blocks[0];
           ++block.place[0]) {
        // What other blocks left there is nothing to rely on.
        block.shared.assign(launch.sharedBytes / sizeof(float), NAN);
        running = &block;
        if (std::string why = runBlock(block); !why.empty())
          return why;
      }
  return "";
}

} // namespace shardc::testing
