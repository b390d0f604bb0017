//===- Lower.cpp - Local programs become kernel calls ---------------------===//

#include "passes/lower/Passes.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/WholeSums.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Source.h"
#include "dialects/rt/Provenance.h"
#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::lower {
#define GEN_PASS_DEF_LOWER
#include "passes/lower/Passes.h.inc"

namespace {

class ProgramLowering {
public:
  ProgramLowering(func::FuncOp function, rt::ProgramOp program,
                  const dist::Mesh &mesh, Lowering::Form form,
                  ArrayRef<Cache> caches)
      : function(function), lowering(program, mesh, form), caches(caches) {}

  LogicalResult run() {
    for (const Cache &cache : caches)
      if (isMadeInPlace(cache))
        lowering.addCache(presentOf(cache).getDefiningOp(), cache);
    for (auto [i, argument] : llvm::enumerate(function.getArguments()))
      addInput(i, argument);
    for (Operation &op : function.front())
      if (failed(lower(op)))
        return failure();
    lowering.freeBuffers();
    return success();
  }

private:
  void addInput(unsigned index, BlockArgument argument) {
    auto type = cast<RankedTensorType>(argument.getType());
    OpBuilder &b = lowering.atRun();
    const onnx::FunctionInfo info(function);
    StringAttr name = info.inputName(index);
    auto input = rt::InputOp::create(
        b, argument.getLoc(), b.getType<rt::BufferType>(),
        b.getI64IntegerAttr(index), name ? name : b.getStringAttr(""),
        TypeAttr::get(type.getElementType()), info.inputGiven(index),
        dist::getValueAttr(type), IntegerAttr(), /*dim_first=*/UnitAttr());
    StridedLayout layout =
        StridedLayout::contiguous(Lowering::localDims(argument));
    auto cache = llvm::find_if(
        caches, [&](const Cache &c) { return c.input == int64_t(index); });
    if (cache != caches.end() && cache->kind != "set") {
      if (cache->dim)
        input.setCacheDim(*cache->dim);
      input.setDimFirst(cache->isDimFirst);
      layout = Lowering::cacheLayout(layout.dims, *cache);
      if (cache->kind == "keep")
        lowering.addCacheOp(argument.getLoc(), input, *cache);
    }
    lowering.bindSymbols(dist::getDims(type));
    lowering.bind(argument, {input, type.getElementType(), layout, false,
                             dist::getSharding(type).isReplicated()});
  }

  /// Whether what computes present writes it where the cache lies.
  bool isMadeInPlace(const Cache &cache) {
    if (cache.isReplaced())
      return isa_and_nonnull<onnx::GatherElementsOp>(
          presentOf(cache).getDefiningOp());
    return cache.kind == "append" || cache.kind == "write";
  }

  Value presentOf(const Cache &cache) {
    return function.front().getTerminator()->getOperand(cache.output);
  }

  LogicalResult lower(Operation &op) {
    if (auto terminator = dyn_cast<func::ReturnOp>(op)) {
      for (OpOperand &operand : terminator->getOpOperands())
        addOutput(terminator, operand);
      return success();
    }
    return lowering.lower(&op);
  }

  /// An output owns its bytes: an input or weight that is passed through, or a
  /// window on something else, is copied; but caches are kept where they are.
  ValueView viewOfOutput(func::ReturnOp terminator, OpOperand &operand) {
    ValueView view = lowering.view(operand.get());
    auto alloc = view.buffer.getDefiningOp<rt::AllocOp>();
    auto cache = llvm::find_if(caches, [&](const Cache &c) {
      return c.output == int64_t(operand.getOperandNumber());
    });
    const bool isKept = cache != caches.end();
    const bool isInPlace = isKept && isMadeInPlace(*cache);
    const bool isCopied =
        isKept && (cache->kind == "set" || (cache->isReplaced() && !isInPlace));
    if ((isInPlace && alloc) ||
        (isKept && cache->kind == "keep" &&
         operand.get() == function.getArgument(cache->input)))
      return view;
    if (!isCopied && alloc && !view.isLoadTime && view.layout.isContiguous())
      return view;
    ValueView own =
        isCopied ? lowering.allocateCache(operand.get().getLoc(), operand.get(),
                                          *cache)
                 : lowering.allocate(terminator, view.element, view.layout.dims,
                                     view.isReplicated);
    lowering.copy(terminator, view, own);
    return own;
  }

  void addOutput(func::ReturnOp terminator, OpOperand &operand) {
    const unsigned result = operand.getOperandNumber();
    ValueView view = viewOfOutput(terminator, operand);
    OpBuilder &b = lowering.atRun();
    auto type = rt::ViewType::get(b.getContext(), view.element,
                                  view.layout.dims, view.layout.strides,
                                  view.layout.offset, view.isReplicated);
    const onnx::FunctionInfo info(function);
    StringAttr name = info.outputName(result);
    Value window =
        rt::ViewOp::create(b, terminator.getLoc(), type, view.buffer);
    rt::OutputOp::create(b, terminator.getLoc(), window,
                         b.getI64IntegerAttr(info.modelOutput(result)),
                         name ? name : b.getStringAttr(""),
                         info.outputGiven(result),
                         dist::getValueAttr(operand.get().getType()));
  }

  func::FuncOp function;
  Lowering lowering;
  ArrayRef<Cache> caches;
};

struct LowerPass : impl::LowerBase<LowerPass> {
  using LowerBase::LowerBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    dist::MeshOp mesh = dist::getMesh(module);
    if (!mesh) {
      module.emitError("has no dist.mesh");
      return signalPassFailure();
    }
    // A rank runs its stage of every profile, with one set of caches.
    std::map<int64_t, SmallVector<func::FuncOp>> stages;
    for (auto function : module.getOps<func::FuncOp>())
      if (onnx::FunctionInfo(function).isProgram())
        stages[onnx::FunctionInfo(function).stage()].push_back(function);
    for (auto &[stage, functions] : stages)
      if (failed(lowerStage(functions, *mesh.getMesh().getMesh())))
        return signalPassFailure();
    for (func::FuncOp function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!onnx::FunctionInfo(function).isProgram())
        function.erase();
  }

  LogicalResult lowerStage(ArrayRef<func::FuncOp> functions,
                           const dist::Mesh &mesh) {
    func::FuncOp first = functions.front();
    OpBuilder builder(first.getContext());
    // On the host a step of 16 heads of 64 takes 1.5 times as long that way
    // (500 positions, one core), and memory that is not touched costs nothing
    // anyway.
    const bool isForHost = target == "host";
    const auto caches = findCaches(functions, /*hasPages=*/!isForHost);
    for (size_t i = 0; i < functions.size(); ++i) {
      func::FuncOp function = functions[i];
      builder.setInsertionPoint(function);
      auto program = rt::ProgramOp::create(builder, function.getLoc(),
                                           function.getSymName());
      onnx::FunctionInfo(function).copyTo(program);
      if (failed(ProgramLowering(function, program, mesh,
                                 {isForHost, onnx::isSummedInOrder(function)},
                                 caches[i])
                     .run()))
        return failure();
      function.setSymName((function.getSymName() + ".partitioned").str());
      rt::setPartitioned(program, function.getSymNameAttr());
    }
    return success();
  }
};

} // namespace
} // namespace shardc::lower
