//===- QuantizeWeights.cpp - Products with weights in fewer bits ----------===//
//
//   y = MatMul x, w      q = Weight [n, k] of i4, s = Weight [n, k/32]
//                        d = DequantizeLinear q, s {axis = 1, block_size = 32}
//                        y = MatMul x, (Transpose d)
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/QuantizedMatrix.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Source.h"
#include "passes/import/Matching.h"
#include "passes/import/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <tuple>

using namespace mlir;

namespace shardc::import {

#define GEN_PASS_DEF_QUANTIZEWEIGHTS
#include "passes/import/Passes.h.inc"

using namespace onnx;

namespace {

/// Dims that exchange the last two of so many.
SmallVector<int64_t> matrixTransposition(int64_t rank) {
  auto perm = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(perm.end()[-1], perm.end()[-2]);
  return perm;
}

/// A matrix, or one for each expert, as its file has it.
struct Source {
  WeightOp weight;
  bool isTransposed = false; ///< [n, k]

  static std::optional<Source> of(Value matrix) {
    Source source;
    if (auto transpose = matrix.getDefiningOp<TransposeOp>()) {
      const int64_t rank = cast<ShapedType>(transpose.getType()).getRank();
      if (rank < 2 || ArrayRef<int64_t>(*transpose.getPerm()) !=
                          ArrayRef<int64_t>(matrixTransposition(rank)))
        return std::nullopt;
      matrix = transpose.getData();
      source.isTransposed = true;
    }
    source.weight = matrix.getDefiningOp<WeightOp>();
    auto type = dyn_cast<RankedTensorType>(matrix.getType());
    if (!source.weight || !type || !type.hasStaticShape())
      return std::nullopt;
    const Type element = type.getElementType();
    return element.isF32() || element.isF16() || element.isBF16()
               ? std::optional(source)
               : std::nullopt;
  }
};

/// Whether a product is scaled before it is rounded to 16 bits, which may not
/// hold what a product beside its scale would be.
bool scalesInside(Operation *op) {
  auto gemm = dyn_cast<GemmOp>(op);
  return gemm && !gemm.getAlpha().isExactlyValue(1) &&
         !elementOf(gemm.getResult()).isF32();
}

/// The operands of an op that are such matrices: [k, n] of a product, [experts,
/// k, n] of a mixture.
SmallVector<OpOperand *, 2> matricesOf(Operation *op) {
  SmallVector<OpOperand *, 2> found;
  auto add = [&](OpOperand &operand, int64_t rank) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (type && type.getRank() == rank && Source::of(operand.get()))
      found.push_back(&operand);
  };
  if (auto experts = dyn_cast<MixtureOfExpertsOp>(op)) {
    add(experts.getUpMutable(), 3);
    add(experts.getDownMutable(), 3);
  } else if (isa<MatMulOp, GemmOp>(op) &&
             dimsOf(op->getOperand(0)).size() >= 2 && !scalesInside(op)) {
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

/// The weights of one module, each once whichever functions read it.
class Matrices {
public:
  Matrices(int64_t group) : group(group) {}

  const QuantizedMatrix &find(Source source, Type stored) {
    WeightOp weight = source.weight;
    auto type = cast<RankedTensorType>(weight.getType());
    // Weights of other dims may begin at the same place of a file.
    const Key key{weight.getFile().str(), weight.getOffset(),
                  source.isTransposed, type.getAsOpaquePointer(),
                  stored.getAsOpaquePointer()};
    auto [known, isNew] = numbers.try_emplace(key, list.size());
    if (!isNew)
      return list[known->second];
    QuantizedMatrix made;
    made.name = weight.getNameAttr();
    made.file = weight.getFileAttr();
    made.offset = weight.getOffset();
    made.length = weight.getLength();
    made.element = type.getElementType();
    made.stored = stored;
    ArrayRef<int64_t> dims = type.getShape();
    made.batch = dims.size() == 3 ? dims[0] : 1;
    made.rows = dims.end()[source.isTransposed ? -2 : -1];
    made.columns = dims.end()[source.isTransposed ? -1 : -2];
    made.isTransposed = source.isTransposed;
    made.group = isa<IntegerType>(stored) ? group : 0;
    made.dataOffset = place(made.dataBytes());
    made.scaleOffset = place(made.scaleBytes());
    list.push_back(made);
    return list.back();
  }

  ArrayRef<QuantizedMatrix> all() const { return list; }

private:
  using Key =
      std::tuple<std::string, uint64_t, bool, const void *, const void *>;

  /// Where it can be read where it lies.
  uint64_t place(uint64_t bytes) {
    const uint64_t at = llvm::alignTo(size, 64);
    size = at + bytes;
    return at;
  }

  int64_t group;
  std::map<Key, size_t> numbers;
  std::vector<QuantizedMatrix> list;
  uint64_t size = 0;
};

/// Rewrites the products of one function.
class FunctionQuantizer {
public:
  FunctionQuantizer(func::FuncOp function, Type stored, Type storedLast,
                    bool casts, Matrices &matrices)
      : function(function), builder(function.getContext()), stored(stored),
        storedLast(storedLast), casts(casts), matrices(matrices) {}

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
    for (OpOperand *operand : operands) {
      Source source = *Source::of(operand->get());
      if (gemm && gemm.getTransB())
        source.isTransposed = !source.isTransposed;
      operand->set(numbersOf(source, type));
    }
    if (gemm)
      replace(gemm);
    return true;
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
  Value numbersOf(Source source, Type type) {
    const QuantizedMatrix &m = matrices.find(source, type);
    SmallVector<int64_t, 3> dims = {m.rows, m.columns};
    if (cast<ShapedType>(source.weight.getType()).getRank() == 3)
      dims.insert(dims.begin(), m.batch);
    if (!m.isScaled() && !m.isTransposed)
      std::swap(dims.end()[-1], dims.end()[-2]);
    Value data =
        weight(source.weight, suffixOf(type), RankedTensorType::get(dims, type),
               m.dataOffset, m.dataBytes());
    auto result = RankedTensorType::get(dims, m.element);
    if (!m.isScaled()) {
      Value numbers =
          casts ? CastOp::create(builder, loc, result, data, IntegerAttr())
                : dequantized(data, one(dims.size()), result, 0);
      return m.isTransposed ? turned(numbers) : numbers;
    }
    dims.back() = m.groups();
    Value scales =
        weight(source.weight, ".scales", RankedTensorType::get(dims, m.element),
               m.scaleOffset, m.scaleBytes());
    return turned(dequantized(data, scales, result, m.group));
  }

  Value dequantized(Value data, Value scales, Type result, int64_t group) {
    const int64_t last = cast<ShapedType>(result).getRank() - 1;
    OperationState state(loc, DequantizeLinearOp::getOperationName());
    state.addOperands({data, scales});
    state.addTypes(result);
    state.addAttribute("axis", builder.getI64IntegerAttr(last));
    state.addAttribute("block_size", builder.getI64IntegerAttr(group));
    return builder.create(state)->getResult(0);
  }

  /// The scale of what is rounded alone, so that its kernels keep it small.
  Value one(int64_t rank) {
    auto scalar = RankedTensorType::get(SmallVector<int64_t, 3>(rank, 1),
                                        builder.getF32Type());
    return ConstantOp::create(builder, loc, scalar,
                              DenseElementsAttr::get(scalar, 1.0f));
  }

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

  /// By a product, which reads quantised weights, and what is done besides.
  void replace(GemmOp gemm) {
    Value lhs = gemm.getLhs();
    if (gemm.getTransA())
      lhs = turned(lhs);
    const Type type = gemm.getType();
    Value result =
        MatMulOp::create(builder, loc, type, lhs, gemm.getRhs(), IntegerAttr());
    result = scaled(result, gemm.getAlpha());
    // C times 0 is left out, whatever C is.
    if (!gemm.getAddend().empty() && !gemm.getBeta().isZero() &&
        !isa<NoneType>(gemm.getAddend().front().getType()))
      result = AddOp::create(builder, loc, type, result,
                             scaled(gemm.getAddend().front(), gemm.getBeta()));
    gemm.replaceAllUsesWith(result);
    gemm.erase();
  }

  Value scaled(Value value, const APFloat &factor) {
    if (factor.isExactlyValue(1))
      return value;
    const Type element = elementOf(value);
    auto scalar = RankedTensorType::get({}, element);
    APFloat rounded = factor;
    bool isInexact = false;
    rounded.convert(cast<FloatType>(element).getFloatSemantics(),
                    APFloat::rmNearestTiesToEven, &isInexact);
    Value constant = ConstantOp::create(
        builder, loc, scalar, DenseElementsAttr::get(scalar, {rounded}));
    return MulOp::create(builder, loc, value.getType(), value, constant);
  }

  func::FuncOp function;
  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
  Type stored, storedLast;
  bool casts;
  Matrices &matrices;
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
    Matrices matrices(group);
    for (auto function : module.getOps<func::FuncOp>()) {
      numQuantized +=
          FunctionQuantizer(function, stored, type == "int4" ? bytes : stored,
                            casts, matrices)
              .run();
      for (Block &block : function.getBody())
        eraseDead(block);
    }
    if (matrices.all().empty()) {
      module.emitError("--weights-type ")
          << type << ": no product has a matrix of "
          << (type == "bf16" ? "f32" : "floats")
          << " in the model's files as its weights; leave it out";
      return signalPassFailure();
    }
    setQuantizedMatrices(module, matrices.all());
  }
};

} // namespace
} // namespace shardc::import
