//===- Lower.cpp - Local programs become kernel calls ---------------------===//

#include "passes/lower/Passes.h"

#include "dialects/onnx/ops/Source.h"
#include "passes/lower/Lowering.h"

using namespace mlir;

namespace shardc::lower {
#define GEN_PASS_DEF_LOWER
#include "passes/lower/Passes.h.inc"

namespace {

LoweringMap allLowerings() {
  LoweringMap map;
  addCollectiveLowerings(map);
  addContractionLowerings(map);
  addControlFlowLowerings(map);
  addDynamicLowerings(map);
  addExpertsLowerings(map);
  addElementwiseLowerings(map);
  addImageLowerings(map);
  addIndexingLowerings(map);
  addLayoutLowerings(map);
  addNormalizationLowerings(map);
  addQuantizationLowerings(map);
  addReductionLowerings(map);
  addSourceLowerings(map);
  return map;
}

class ProgramLowering {
public:
  ProgramLowering(func::FuncOp function, rt::ProgramOp program,
                  const dist::Mesh &mesh, const LoweringMap &map)
      : function(function), lowering(program, mesh, map) {}

  LogicalResult run() {
    findCaches();
    for (auto [i, argument] : llvm::enumerate(function.getArguments()))
      addInput(i, argument);
    for (Operation &op : function.front())
      if (failed(lower(op)))
        return failure();
    lowering.freeBuffers();
    return success();
  }

private:
  /// A rank keeps its part of a cache where past and present are held alike and
  /// no rank holds but a part of the dim that grows.
  void findCaches() {
    for (Operation &op : function.front()) {
      auto cache = op.getAttrOfType<DictionaryAttr>("onnx.cache");
      if (!cache)
        continue;
      auto number = [&](StringRef name) {
        return cache.getAs<IntegerAttr>(name).getInt();
      };
      int64_t dim = number("dim");
      Value past = function.getArgument(number("input"));
      auto isWhole = [&](Value value) {
        return !dist::getSharding(value.getType()).dims[dim].isSplit();
      };
      auto others = [&](Value value) {
        Sizes dims = Lowering::localDims(value);
        dims[dim] = 0;
        return dims;
      };
      if (op.getOperand(0) != past || !isWhole(past) ||
          !isWhole(op.getResult(0)) || others(past) != others(op.getResult(0)))
        continue;
      lowering.addCache(&op, {number("input"), number("output"), dim});
      cacheDims[number("input")] = dim;
    }
  }

  void addInput(unsigned index, BlockArgument argument) {
    auto type = cast<RankedTensorType>(argument.getType());
    OpBuilder &b = lowering.atRun();
    auto name = function.getArgAttrOfType<StringAttr>(index, "onnx.name");
    auto input = rt::InputOp::create(
        b, argument.getLoc(), b.getType<rt::BufferType>(),
        b.getI64IntegerAttr(index), name ? name : b.getStringAttr(""),
        TypeAttr::get(type.getElementType()), dist::getValueAttr(type),
        IntegerAttr());
    StridedLayout layout =
        StridedLayout::contiguous(Lowering::localDims(argument));
    if (auto cache = cacheDims.find(index); cache != cacheDims.end()) {
      input.setCacheDim(cache->second);
      layout = Lowering::cacheLayout(layout.dims, cache->second);
    }
    lowering.bindSymbols(dist::getDims(type));
    lowering.bind(argument, {input, type.getElementType(), layout, false,
                             dist::getSharding(type).isReplicated()});
  }

  LogicalResult lower(Operation &op) {
    if (auto terminator = dyn_cast<func::ReturnOp>(op)) {
      for (OpOperand &operand : terminator->getOpOperands())
        addOutput(terminator, operand);
      return success();
    }
    return lowering.lower(&op);
  }

  void addOutput(func::ReturnOp terminator, OpOperand &operand) {
    unsigned index = operand.getOperandNumber();
    // An output owns its bytes: an input or weight that is passed through, or
    // a window on something else, is copied.
    ValueView view = lowering.view(operand.get());
    auto alloc = view.buffer.getDefiningOp<rt::AllocOp>();
    bool isCache =
        alloc && llvm::any_of(alloc->getUsers(), [&](Operation *user) {
          auto cache = dyn_cast<rt::CacheOp>(user);
          return cache && cache.getOutput() == index;
        });
    bool isOwn =
        isCache || (alloc && !view.isLoadTime && view.layout.isContiguous());
    if (!isOwn) {
      ValueView own = lowering.allocate(terminator, view.element,
                                        view.layout.dims, view.isReplicated);
      lowering.copy(terminator, view, own);
      view = own;
    }
    OpBuilder &b = lowering.atRun();
    auto type = rt::ViewType::get(b.getContext(), view.element,
                                  view.layout.dims, view.layout.strides,
                                  view.layout.offset, view.isReplicated);
    auto name = function.getResultAttrOfType<StringAttr>(index, "onnx.name");
    Value window =
        rt::ViewOp::create(b, terminator.getLoc(), type, view.buffer);
    rt::OutputOp::create(b, terminator.getLoc(), window,
                         b.getI64IntegerAttr(index),
                         name ? name : b.getStringAttr(""),
                         dist::getValueAttr(operand.get().getType()));
  }

  func::FuncOp function;
  Lowering lowering;
  llvm::DenseMap<unsigned, int64_t> cacheDims; ///< by input
};

struct LowerPass : impl::LowerBase<LowerPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    dist::MeshOp mesh = dist::getMesh(module);
    if (!mesh) {
      module.emitError("has no dist.mesh");
      return signalPassFailure();
    }
    LoweringMap map = allLowerings();
    OpBuilder builder(module.getBodyRegion());
    for (func::FuncOp function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (function->hasAttr("dist.sharded")) {
        builder.setInsertionPoint(function);
        auto program = rt::ProgramOp::create(builder, function.getLoc(),
                                             function.getSymName());
        if (Attribute when = function->getAttr("onnx.when"))
          program->setAttr("when", when);
        if (failed(ProgramLowering(function, program, *mesh.getMesh().getMesh(),
                                   map)
                       .run()))
          return signalPassFailure();
      }
    }
    for (func::FuncOp function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      function.erase();
  }
};

} // namespace
} // namespace shardc::lower
