//===- RoundProducts.cpp - Products in fewer bits than the model has ------===//
//
// Nothing is rounded here: products say that their kernels may.
//
//   y = MatMul x, w      y = MatMul x, w {operand_bits = 16}
//
//===----------------------------------------------------------------------===//

#include "passes/import/Passes.h"

#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_ROUNDPRODUCTS
#include "passes/import/Passes.h.inc"

using namespace onnx;

namespace {

/// What follows from weights alone.
class Constants {
public:
  bool contains(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumRegions() > 0)
      return false;
    if (isa<WeightOp, ConstantOp>(op))
      return true;
    auto [entry, isNew] = known.try_emplace(op, false);
    if (!isNew)
      return entry->second;
    const bool isConstant = op->getNumOperands() > 0 &&
                            llvm::all_of(op->getOperands(), [&](Value operand) {
                              return contains(operand);
                            });
    return known[op] = isConstant;
  }

private:
  llvm::DenseMap<Operation *, bool> known;
};

struct RoundProducts : impl::RoundProductsBase<RoundProducts> {
  using RoundProductsBase::RoundProductsBase;

  void runOnOperation() override {
    unsigned count = 0;
    const bool isBytes = type == "int8";
    getOperation().walk([&](Operation *op) {
      const Value scores = scoresOf(op);
      choosesByScores |= bool(scores);
      if (scores && isReadByOthers(op))
        addRouters(scores);
    });
    getOperation().walk([&](Operation *op) {
      if (isBytes ? roundActivations(op, 8)
                  : roundOperands(op) || roundActivations(op, 16))
        ++count;
    });
    numRounded += count;
    if (count == 0)
      getOperation().emitWarning("--compute ")
          << type << ": " << (isBytes ? "" : "there is no attention, and ")
          << "no product has "
          << (isBytes ? "quantised weights of 2, 4 or 8 bits"
                      : "constant weights of f32 or f16, or quantised ones of "
                        "2, 4 or 8 bits")
          << ": all is computed in the model's own types";
  }

private:
  static IntegerAttr number(Operation *op, int64_t bits) {
    return IntegerAttr::get(IntegerType::get(op->getContext(), 64), bits);
  }

  static bool isFloatOf16Or32(Value value) {
    const Type element = getElementTypeOrSelf(value.getType());
    return element.isF32() || element.isF16() || element.isBF16();
  }

  /// Whether more is done with it than to lay it out, or to cast it, as an output.
  static bool isReadByOthers(Operation *op) {
    SmallVector<Operation *> left = {op};
    while (!left.empty())
      for (Operation *user : left.pop_back_val()->getUsers()) {
        if (isa<CastOp, ReshapeOp, SqueezeOp, TransposeOp, UnsqueezeOp>(user))
          left.push_back(user);
        else if (!user->hasTrait<OpTrait::IsTerminator>())
          return true;
      }
    return false;
  }

  static bool isFloat(Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value.getType()));
  }

  /// What an op chooses by, if it does: a TopK, an ArgMax of floats that others
  /// read (a router of one expert), a comparison with the largest of floats.
  static Value scoresOf(Operation *op) {
    if (isa<TopKOp>(op))
      return op->getOperand(0);
    if (isa<ArgMaxOp, ArgMinOp>(op) && isFloat(op->getOperand(0)) &&
        isReadByOthers(op))
      return op->getOperand(0);
    if (isa<EqualOp, LessOp, LessOrEqualOp, GreaterOp, GreaterOrEqualOp>(op))
      for (Value side : op->getOperands())
        if (isFloat(side) &&
            isa_and_nonnull<ReduceMaxOp, ReduceMinOp>(side.getDefiningOp()))
          return side.getDefiningOp()->getOperand(0);
    return nullptr;
  }

  /// The products by whose results a choice is made: they stay as they are.
  void addRouters(Value scores) {
    SmallVector<Value> left = {scores};
    while (!left.empty()) {
      Operation *op = left.pop_back_val().getDefiningOp();
      if (!op || !seen.insert(op).second)
        continue;
      if (isa<MatMulOp, GemmOp>(op))
        routers.insert(op);
      else
        llvm::append_range(left, op->getOperands());
    }
  }

  bool roundOperands(Operation *op) {
    if (isa<AttentionOp>(op) && !choosesByScores &&
        isFloatOf16Or32(op->getOperand(0))) {
      op->setAttr("operand_bits", number(op, 16));
      return true;
    }
    if (!isRoundedProduct(op) && !isRoundedMixture(op))
      return false;
    op->setAttr("operand_bits", number(op, 16));
    return true;
  }

  bool isRoundedProduct(Operation *op) {
    if (!isa<MatMulOp, GemmOp>(op) || routers.contains(op))
      return false;
    const Value weights = op->getOperand(1);
    return cast<ShapedType>(weights.getType()).getRank() == 2 &&
           dist::getDims(op->getOperand(0).getType()).size() >= 2 &&
           areRounded(weights);
  }

  bool isRoundedMixture(Operation *op) {
    auto experts = dyn_cast<MixtureOfExpertsOp>(op);
    return experts && areRounded(experts.getUp()) &&
           areRounded(experts.getDown());
  }

  /// Constant weights that have more bits.
  bool areRounded(Value weights) {
    const Type element = getElementTypeOrSelf(weights.getType());
    return (element.isF32() || element.isF16()) && !isQuantised(weights) &&
           constants.contains(weights);
  }

  /// Their kernels decode them.
  static bool isQuantised(Value weights) {
    if (auto transpose = weights.getDefiningOp<TransposeOp>())
      weights = transpose.getData();
    return weights.getDefiningOp<DequantizeLinearOp>() != nullptr;
  }

  /// What the file says already stays.
  bool roundActivations(Operation *op, int64_t bits) {
    auto weights = dyn_cast<DequantizeLinearOp>(op);
    if (!weights || !constants.contains(weights.getInput()) ||
        !isReadByProducts(weights))
      return false;
    auto element = dyn_cast<IntegerType>(
        getElementTypeOrSelf(weights.getInput().getType()));
    if (!element || element.getWidth() > 8 || element.getWidth() < 2)
      return false;
    if (auto said = weights.getActivationBits())
      return int64_t(*said) == bits;
    op->setAttr("activation_bits", number(op, bits));
    return true;
  }

  bool isReadByProducts(Value numbers) const {
    return !numbers.use_empty() &&
           llvm::all_of(numbers.getUses(), [&](OpOperand &use) {
             if (auto transpose = dyn_cast<TransposeOp>(use.getOwner()))
               return isReadByProducts(transpose.getResult());
             return isa<MatMulOp>(use.getOwner()) &&
                    use.getOperandNumber() == 1 &&
                    !routers.contains(use.getOwner());
           });
  }

  Constants constants;
  llvm::SmallPtrSet<Operation *, 16> routers, seen;
  /// Rows of a product are rounded alike under every plan, those of attention by
  /// how many there are: another expert might be chosen.
  bool choosesByScores = false;
};

} // namespace
} // namespace shardc::import
