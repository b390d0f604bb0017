//===- QuantizeWeights.cpp - Products with weights in fewer bits ----------===//
//
//   y = MatMul x, w      q = Weight [n, k] of i4, s = Weight [n, k/32]
//                        d = DequantizeLinear q, s {axis = 1, block_size = 32}
//                        y = MatMul x, (Transpose d)
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/QuantizedMatrix.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/Passes.h"
#include "passes/import/weights/GemmProduct.h"
#include "passes/import/weights/QuantizedPlaces.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_QUANTIZEWEIGHTS
#include "passes/import/Passes.h.inc"

using namespace onnx;

namespace {

bool isProduct(Operation *op) {
  auto gemm = dyn_cast<GemmOp>(op);
  return gemm ? isProductAndMore(gemm) : isa<MatMulOp>(op);
}

/// The operands of an op that are such matrices: [k, n] of a product, [experts,
/// k, n] of a mixture.
SmallVector<OpOperand *, 2> matricesOf(Operation *op) {
  SmallVector<OpOperand *, 2> found;
  auto add = [&](OpOperand &operand, int64_t rank) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (type && type.getRank() == rank &&
        (WeightSource::of(operand.get()) || ExpertStack::of(operand.get())))
      found.push_back(&operand);
  };
  if (auto experts = dyn_cast<MixtureOfExpertsOp>(op)) {
    add(experts.getUpMutable(), 3);
    add(experts.getDownMutable(), 3);
  } else if (isProduct(op) && dimsOf(op->getOperand(0)).size() >= 2) {
    add(op->getOpOperand(1), 2);
  }
  return found;
}

/// Calls `visit` for what reads results of `op`, or what it stands in.
template <typename Visit> void forEachUser(Operation *op, Visit visit) {
  Block *block = op->getBlock();
  for (Operation *user : op->getUsers())
    if (Operation *here = block->findAncestorOpInBlock(*user))
      visit(here);
}

/// What follows products of one block.
class Followers {
public:
  explicit Followers(Block &block) {
    for (Operation &op : llvm::reverse(block))
      forEachUser(&op, [&](Operation *user) {
        const bool isProduct = !matricesOf(user).empty();
        if (isProduct || beforeProduct.contains(user))
          beforeProduct.insert(&op);
        if (isa<TopKOp>(user) || (beforeChoice.contains(user) && !isProduct))
          beforeChoice.insert(&op);
      });
  }
  bool isLast(Operation *product) const {
    return !beforeProduct.contains(product);
  }
  /// By what a TopK chooses, without another product in between.
  bool isRouter(Operation *product) const {
    return beforeChoice.contains(product);
  }

private:
  llvm::SmallPtrSet<Operation *, 32> beforeProduct, beforeChoice;
};

/// Rewrites the products of one function.
class FunctionQuantizer {
public:
  FunctionQuantizer(func::FuncOp function, Type stored, Type storedLast,
                    bool casts, QuantizedPlaces &places)
      : function(function), builder(function.getContext()), stored(stored),
        storedLast(storedLast), casts(casts), places(places) {}

  unsigned run() {
    unsigned count = 0;
    function.walk([&](Block *block) {
      const Followers followers(*block);
      for (Operation &op : llvm::make_early_inc_range(*block)) {
        if (followers.isRouter(&op))
          continue;
        const Type type =
            block->getParentOp() == function && followers.isLast(&op)
                ? storedLast
                : stored;
        if (quantize(&op, type))
          ++count;
      }
    });
    return count;
  }

private:
  bool quantize(Operation *op, Type type) {
    SmallVector<OpOperand *, 2> operands = matricesOf(op);
    if (type.isBF16())
      llvm::erase_if(operands, [](OpOperand *operand) {
        return !elementOf(operand->get()).isF32();
      });
    if (operands.empty())
      return false;
    builder.setInsertionPoint(op);
    loc = op->getLoc();
    auto gemm = dyn_cast<GemmOp>(op);
    bool isAny = false;
    for (OpOperand *operand : operands) {
      std::optional<WeightSource> source = WeightSource::of(operand->get());
      if (source && gemm && gemm.getTransB())
        source->isTransposed = !source->isTransposed;
      Value numbers =
          source ? numbersOf(*source, type) : numbersOf(operand->get(), type);
      if (numbers)
        operand->set(numbers);
      isAny |= bool(numbers);
    }
    if (gemm)
      replaceByProduct(builder, gemm, gemm.getRhs());
    return isAny;
  }

  /// A weight beside the one that it is made of.
  Value weight(WeightOp source, const Twine &suffix, RankedTensorType type,
               uint64_t offset, uint64_t length) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(source);
    return WeightOp::create(builder, source.getLoc(), type,
                            builder.getStringAttr(source.getName() + suffix),
                            builder.getStringAttr(kQuantizedFile),
                            builder.getI64IntegerAttr(offset),
                            builder.getI64IntegerAttr(length), StringAttr());
  }

  /// [.., k, n] in the source's type.
  Value numbersOf(const WeightSource &source, Type type) {
    const QuantizedPlace place = places.of(source, type);
    SmallVector<int64_t, 3> dims = {place.rows, place.columns};
    if (source.type().getRank() == 3)
      dims.insert(dims.begin(), source.type().getDimSize(0));
    if (isScaled(type))
      return scaledNumbers(source.weight, "", place, dims);
    if (!source.isTransposed)
      std::swap(dims.end()[-1], dims.end()[-2]);
    Value data =
        weight(source.weight, suffixOf(type), RankedTensorType::get(dims, type),
               place.dataOffset, place.dataBytes);
    Value numbers = widened(data, place.element);
    return source.isTransposed ? turned(numbers) : numbers;
  }

  /// The same of experts that were put together; null where they stay.
  Value numbersOf(Value matrices, Type type) {
    const ExpertStack stack = *ExpertStack::of(matrices);
    if (!isScaled(type))
      return widened(rounded(matrices, type), elementOf(matrices));
    const std::optional<QuantizedPlace> place = places.of(stack, type);
    return place ? scaledNumbers(stack.first().weight, ".experts", *place,
                                 {int64_t(stack.experts.size()), place->rows,
                                  place->columns})
                 : Value();
  }

  Value scaledNumbers(WeightOp source, StringRef kind,
                      const QuantizedPlace &place,
                      SmallVector<int64_t, 3> dims) {
    auto result = RankedTensorType::get(dims, place.element);
    Value data = weight(source, kind + suffixOf(place.stored),
                        RankedTensorType::get(dims, place.stored),
                        place.dataOffset, place.dataBytes);
    dims.back() = place.groups;
    Value scales = weight(source, kind + ".scales",
                          RankedTensorType::get(dims, place.element),
                          place.scaleOffset, place.scaleBytes);
    return turned(dequantized(data, scales, result, place.group));
  }

  /// What was rounded alone, in the model's type.
  Value widened(Value data, Type element) {
    auto type = cast<RankedTensorType>(data.getType());
    auto result = RankedTensorType::get(type.getShape(), element);
    return casts ? CastOp::create(builder, loc, result, data, IntegerAttr())
                 : dequantized(data, one(type.getRank()), result, 0);
  }

  /// What puts a stack together does so with rounded weights, and zeros.
  Value rounded(Value value, Type type) {
    auto result = RankedTensorType::get(
        cast<RankedTensorType>(value.getType()).getShape(), type);
    if (auto source = value.getDefiningOp<WeightOp>()) {
      const QuantizedPlace place = places.of(WeightSource{source, false}, type);
      return weight(source, suffixOf(type), result, place.dataOffset,
                    place.dataBytes);
    }
    Operation *op = value.getDefiningOp();
    if (isa<ConstantOp>(op))
      return ConstantOp::create(
          builder, loc, result,
          DenseElementsAttr::get(result,
                                 Attribute(builder.getFloatAttr(type, 0))));
    IRMapping made;
    for (Value operand : op->getOperands())
      if (elementOf(operand) == elementOf(value))
        made.map(operand, rounded(operand, type));
    Operation *clone = builder.clone(*op, made);
    clone->getResult(0).setType(result);
    return clone->getResult(0);
  }

  Value dequantized(Value data, Value scales, Type result, int64_t group) {
    const int64_t last = cast<ShapedType>(result).getRank() - 1;
    return DequantizeLinearOp::create(builder, loc, result, data, scales,
                                      ValueRange(), last, group, IntegerAttr(),
                                      IntegerAttr());
  }

  /// The scale of what is rounded alone, so that its kernels keep it small.
  Value one(int64_t rank) {
    auto scalar = RankedTensorType::get(SmallVector<int64_t, 3>(rank, 1),
                                        builder.getF32Type());
    return ConstantOp::create(builder, loc, scalar,
                              DenseElementsAttr::get(scalar, 1.0f));
  }

  static bool isScaled(Type type) { return !type.isBF16(); }
  static StringRef suffixOf(Type type) {
    return type.isInteger(4)   ? ".int4"
           : type.isInteger(8) ? ".int8"
           : type.isBF16()     ? ".bf16"
                               : ".fp8";
  }

  Value turned(Value matrix) {
    return transposed(builder, loc, matrix,
                      matrixTransposition(dimsOf(matrix).size()));
  }

  func::FuncOp function;
  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
  Type stored, storedLast;
  bool casts;
  QuantizedPlaces &places;
};

/// Of what is quantised in the file.
Operation *findQuantized(ModuleOp module) {
  Operation *found = nullptr;
  module.walk([&](Operation *op) {
    if (isa<DequantizeLinearOp>(op) &&
        op->getOperand(0).getDefiningOp<WeightOp>())
      found = op;
    if (isa<MatMulIntegerOp>(op) && op->getOperand(1).getDefiningOp<WeightOp>())
      found = op;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

struct QuantizeWeights : impl::QuantizeWeightsBase<QuantizeWeights> {
  using QuantizeWeightsBase::QuantizeWeightsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (Operation *known = findQuantized(module)) {
      known->emitError("has weights that are quantised already: leave "
                       "--weights-type out, or compile the model in floats");
      return signalPassFailure();
    }
    Builder b(&getContext());
    const Type bytes = b.getIntegerType(8);
    const Type stored = type == "int4"   ? Type(b.getIntegerType(4))
                        : type == "int8" ? bytes
                        : type == "fp8"
                            ? Type(Float8E4M3FNType::get(&getContext()))
                            : Type(b.getBF16Type());
    QuantizedPlaces places(group);
    for (auto function : module.getOps<func::FuncOp>()) {
      numQuantized +=
          FunctionQuantizer(function, stored, type == "int4" ? bytes : stored,
                            casts, places)
              .run();
      for (Block &block : function.getBody())
        eraseDead(block);
    }
    if (places.all().empty()) {
      module.emitError("--weights-type ")
          << type << ": no product has a matrix of "
          << (type == "bf16" ? "f32" : "floats")
          << " in the model's files as its weights; leave it out";
      return signalPassFailure();
    }
    setQuantizedMatrices(module, places.all());
  }
};

} // namespace
} // namespace shardc::import
