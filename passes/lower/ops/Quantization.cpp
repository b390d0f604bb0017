//===- Quantization.cpp - Lowering of quantised ops -----------------------===//

#include "passes/lower/ops/Quantization.h"

#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Quantization.h"

using namespace mlir;

namespace shardc::lower {

using dist::DimExpr;

namespace {

/// A part of the blocked dim whose elements a rank finds by one rule.
struct BlockedPart {
  DimExpr localStart, localSize; ///< of this rank's dim
  Lowering::Config config;
};

} // namespace

/// Blocks count from the start of the whole dim, of which each segment gives
/// this rank a part.
static SmallVector<BlockedPart> blockedParts(const dist::DimSharding &dim,
                                             Lowering &lowering) {
  SmallVector<BlockedPart> parts;
  DimExpr base = 0, localStart = 0;
  for (const dist::Segment &segment : dim.segments) {
    Sizes starts, locals, globals;
    for (const dist::Factor &factor : segment.factors) {
      starts.push_back(factor.lowerBound(lowering.mesh));
      locals.push_back(factor.localSize(lowering.mesh));
      globals.push_back(factor.size);
    }
    DimExpr size = segment.localSize(lowering.mesh);
    parts.push_back(
        {localStart,
         size,
         {lowering.scalars("base", {base}), lowering.scalars("starts", starts),
          lowering.scalars("locals", locals),
          lowering.scalars("globals", globals)}});
    base = base + segment.size();
    localStart = localStart + size;
  }
  return parts;
}

static int64_t axisOf(Operation *op) {
  return op->getAttrOfType<IntegerAttr>("axis").getInt();
}
static int64_t blockSizeOf(Operation *op) {
  return op->getAttrOfType<IntegerAttr>("block_size").getInt();
}

/// Sharding of a dim whose blocks do not follow that of the scales.
static dist::DimSharding blockedDim(Operation *op) {
  return blockSizeOf(op) == 0 || onnx::hasWholeBlocks(op)
             ? dist::DimSharding()
             : dist::getSharding(op->getOperand(0).getType()).dims[axisOf(op)];
}

/// Elements of a block that this rank holds: all, unless blocks are split too.
static FailureOr<DimExpr> localBlockSize(Operation *op,
                                         ArrayRef<ValueView> views) {
  if (!onnx::hasWholeBlocks(op))
    return DimExpr(blockSizeOf(op));
  DimExpr elements = views[0].layout.dims[axisOf(op)];
  DimExpr blocks = views[1].layout.dims[axisOf(op)];
  if (std::optional<DimExpr> size = elements.exactDiv(blocks))
    return *size;
  return op->emitError("has ") << elements.str() << " elements in "
                               << blocks.str() << " blocks on a rank";
}

/// Data, scale and zero point, with the dims of the data but along blocks.
static SmallVector<ValueView, 3> scaledViews(Operation *op,
                                             Lowering &lowering) {
  SmallVector<ValueView, 3> views = {lowering.view(op->getOperand(0))};
  for (Value parameter : op->getOperands().drop_front()) {
    ValueView view = lowering.view(parameter);
    Sizes dims = views.front().layout.dims;
    if (blockSizeOf(op) != 0)
      dims[axisOf(op)] = view.layout.dims[axisOf(op)];
    views.push_back(view.with(view.layout.broadcast(dims)));
  }
  return views;
}

static LogicalResult lowerScaled(Operation *op, Lowering &lowering,
                                 const ValueView &result) {
  SmallVector<ValueView, 3> inputs = scaledViews(op, lowering);
  StringRef kernel = op->getName().stripDialect();
  Lowering::Config blocks;
  if (blockSizeOf(op) != 0) {
    FailureOr<DimExpr> size = localBlockSize(op, inputs);
    if (failed(size))
      return failure();
    blocks = {lowering.ints("axis", axisOf(op)),
              lowering.scalars("block_size", *size)};
  }
  dist::DimSharding dim = blockedDim(op);
  if (!dim.isSplit()) {
    lowering.call(op, kernel, inputs, {result}, blocks);
    return success();
  }
  ValueView data = inputs.front();
  for (BlockedPart &part : blockedParts(dim, lowering)) {
    auto cut = [&](const ValueView &view) {
      return view.with(
          view.layout.sliced(axisOf(op), part.localStart, part.localSize));
    };
    inputs.front() = cut(data);
    part.config.append(blocks);
    lowering.call(op, kernel, inputs, {cut(result)}, part.config);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Products with quantised weights
//===----------------------------------------------------------------------===//

/// Is the operand one whose kernel makes numbers of quantised weights? Experts'
/// are of integers, or of floats without zero points.
static bool isWeightOfProduct(OpOperand &operand, onnx::DequantizeLinearOp op) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(op.getInput().getType()));
  if (auto experts = dyn_cast<onnx::MixtureOfExpertsOp>(operand.getOwner()))
    return (!isFloat || op.getZeroPoint().empty()) &&
           (operand == experts.getUpMutable() ||
            operand == experts.getDownMutable());
  return isa<onnx::MatMulOp>(operand.getOwner()) &&
         operand.getOperandNumber() == 1;
}

FusedWeights findFusedWeights(OpOperand &operand) {
  FusedWeights weights;
  Value numbers = operand.get();
  if (auto transpose = numbers.getDefiningOp<onnx::TransposeOp>();
      transpose && transpose->hasOneUse() && transpose.turnsMatrix()) {
    numbers = transpose.getData();
    weights.isTransposed = true;
  }
  auto op = numbers.getDefiningOp<onnx::DequantizeLinearOp>();
  if (!op || !op->hasOneUse() || !isWeightOfProduct(operand, op))
    return {};
  int64_t rank = cast<ShapedType>(op.getType()).getRank();
  int64_t summed = weights.isTransposed ? rank - 1 : rank - 2;
  bool isOneRun =
      blockSizeOf(op) == 0 ||
      (axisOf(op) == summed &&
       (!blockedDim(op).isSplit() || blockedDim(op).segments.size() == 1));
  if (rank >= 2 && isOneRun)
    weights.dequantization = op;
  return weights;
}

/// Bytes that are scaled alike along a dim.
static bool isFloat8Along(onnx::DequantizeLinearOp op, int64_t dim) {
  return onnx::isScaledFloat8(getElementTypeOrSelf(op.getInput().getType())) &&
         op.getZeroPoint().empty() && blockSizeOf(op) == 0 &&
         dist::getDims(op.getScale().getType())[dim].isConstant(1);
}

/// Integers of 8 bits that are scaled alike along a dim, and moved alike.
static bool isIntegerAlong(onnx::DequantizeLinearOp op, int64_t dim) {
  Type element = getElementTypeOrSelf(op.getInput().getType());
  auto isAlike = [&](Value parameter) {
    return dist::getDims(parameter.getType())[dim].isConstant(1);
  };
  return isa<IntegerType>(element) && element.getIntOrFloatBitWidth() == 8 &&
         getElementTypeOrSelf(op.getType()).isF32() && blockSizeOf(op) == 0 &&
         isAlike(op.getScale()) &&
         llvm::all_of(op.getZeroPoint(), [&](Value zero) {
           return getElementTypeOrSelf(zero.getType()) == element &&
                  isAlike(zero);
         });
}

/// Is there a kernel for sums of integers? Where bits must not depend on the plan
/// all is in f32: a collective between may keep a plan from multiplying bytes.
static bool takesIntegers(const Lowering &lowering) {
  return lowering.isForHost && !lowering.isInOrder;
}

onnx::DequantizeLinearOp findByteOperand(Operation *matmul,
                                         const FusedWeights &weights,
                                         const Lowering &lowering) {
  onnx::DequantizeLinearOp right = weights.dequantization;
  auto left = matmul->getOperand(0).getDefiningOp<onnx::DequantizeLinearOp>();
  if (!left || !right || !isa<onnx::MatMulOp>(matmul))
    return {};
  auto rankOf = [](onnx::DequantizeLinearOp op) {
    return cast<ShapedType>(op.getType()).getRank();
  };
  int64_t summed = rankOf(right) - (weights.isTransposed ? 1 : 2);
  const bool isOfBytes =
      (isFloat8Along(left, rankOf(left) - 1) && isFloat8Along(right, summed)) ||
      (isIntegerAlong(left, rankOf(left) - 1) &&
       isIntegerAlong(right, summed) && takesIntegers(lowering));
  return isOfBytes ? left : onnx::DequantizeLinearOp();
}

/// Is an op's result part of products?
static bool isFused(onnx::DequantizeLinearOp op, const Lowering &lowering) {
  // A product that multiplies the bytes that it stands for.
  auto isOfBytes = [&](OpOperand &operand) {
    Operation *owner = operand.getOwner();
    return isa<onnx::MatMulOp>(owner) && operand.getOperandNumber() == 0 &&
           findByteOperand(owner, findFusedWeights(owner->getOpOperand(1)),
                           lowering);
  };
  if (llvm::all_of(op->getUses(), isOfBytes))
    return true;
  if (!op->hasOneUse())
    return false;
  OpOperand *use = &*op->use_begin();
  if (isa<onnx::TransposeOp>(use->getOwner()) && use->getOwner()->hasOneUse())
    use = &*use->getOwner()->use_begin();
  return findFusedWeights(*use).dequantization == op;
}

FailureOr<FusedViews> fusedViews(const FusedWeights &weights,
                                 Lowering &lowering) {
  Operation *op = weights.dequantization;
  FusedViews fused = {scaledViews(op, lowering), {}};
  if (blockSizeOf(op) != 0) {
    FailureOr<DimExpr> blockSize = localBlockSize(op, fused.views);
    if (failed(blockSize))
      return failure();
    if (dist::DimSharding dim = blockedDim(op); dim.isSplit())
      fused.blocks = blockedParts(dim, lowering).front().config;
    fused.blocks.push_back(lowering.scalars("block_size", *blockSize));
  }
  if (!weights.isTransposed)
    return fused;
  for (ValueView &view : fused.views) {
    SmallVector<int64_t> perm =
        llvm::to_vector(llvm::seq<int64_t>(view.layout.dims.size()));
    std::swap(perm.end()[-1], perm.end()[-2]);
    view.layout = view.layout.transposed(perm);
  }
  return fused;
}

/// Weights as tensor cores take their bytes: dense along the dim that is
/// summed. For another target than the host they are arranged so once.
static ValueView alongSum(Operation *op, const ValueView &view,
                          Lowering &lowering) {
  if (lowering.isForHost || !view.isLoadTime ||
      view.layout.strides.end()[-2].isConstant(1))
    return view;
  SmallVector<int64_t> perm =
      llvm::to_vector(llvm::seq<int64_t>(view.layout.dims.size()));
  std::swap(perm.end()[-1], perm.end()[-2]);
  ValueView turned =
      lowering.contiguous(op, view.with(view.layout.transposed(perm)));
  return turned.with(turned.layout.transposed(perm));
}

LogicalResult lowerFusedProduct(Operation *matmul, const FusedWeights &weights,
                                Lowering &lowering) {
  FailureOr<FusedViews> fused = fusedViews(weights, lowering);
  if (failed(fused))
    return failure();
  onnx::DequantizeLinearOp left = findByteOperand(matmul, weights, lowering);
  StringRef kernel = "MatMulDequantized";
  SmallVector<ValueView, 6> inputs;
  if (left &&
      isa<IntegerType>(getElementTypeOrSelf(left.getInput().getType()))) {
    kernel = "MatMulQuantized";
    SmallVector<ValueView, 3> bytes = scaledViews(left, lowering);
    for (size_t i = 0; i < 3; ++i)
      for (ArrayRef<ValueView> views :
           {ArrayRef(bytes), ArrayRef(fused->views)})
        inputs.push_back(i < views.size() ? views[i] : ValueView());
  } else if (left) {
    kernel = "MatMulFloat8";
    SmallVector<ValueView, 3> bytes = scaledViews(left, lowering);
    inputs = {bytes[0], alongSum(matmul, fused->views[0], lowering), bytes[1],
              fused->views[1]};
  } else {
    inputs = {lowering.view(matmul->getOperand(0))};
    inputs.append(fused->views.begin(), fused->views.end());
  }
  ValueView result = lowering.allocate(matmul, matmul->getResult(0));
  const Sizes dims = result.layout.dims;
  for (ValueView &view : inputs) {
    if (view.isAbsent())
      continue;
    Sizes wanted(dims.begin(), dims.end() - 2);
    wanted.append(view.layout.dims.end() - 2, view.layout.dims.end());
    view.layout = view.layout.broadcast(wanted);
  }
  if (!fused->blocks.empty())
    fused->blocks.push_back(lowering.ints("axis", int64_t(dims.size()) - 2));
  auto numbers = weights.dequantization;
  if (std::optional<uint64_t> bits = numbers.getActivationBits(); bits && !left)
    fused->blocks.push_back(lowering.ints("activation_bits", int64_t(*bits)));
  llvm::append_range(fused->blocks, lowering.order(matmul));
  lowering.call(matmul, kernel, inputs, {result}, fused->blocks);
  return success();
}

} // namespace shardc::lower

namespace shardc::onnx {

using namespace lower;

LogicalResult QuantizeLinearOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  return lowerScaled(op, lowering, lowering.allocate(op, op->getResult(0)));
}

/// Is it a convolution's weight? That is packed once where it stays the same.
static bool isOfConvolution(Operation *op) {
  return !op->use_empty() && llvm::all_of(op->getUses(), [](OpOperand &use) {
    return isa<ConvOp>(use.getOwner()) && use.getOperandNumber() == 1;
  });
}

/// Weights stay as small as they are: their numbers exist while they are used,
/// but for vectors, and for convolutions.
LogicalResult DequantizeLinearOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  Value result = op->getResult(0);
  if (Lowering::localDims(result).size() <= 1 || isOfConvolution(op))
    return lowerScaled(op, lowering, lowering.allocate(op, result));
  ValueView numbers = lowering.allocateAtRun(op, result);
  return isFused(*this, lowering) ? success()
                                  : lowerScaled(op, lowering, numbers);
}

/// Batch dims of all operands are broadcast to the result's.
LogicalResult MatMulIntegerOp::lower(Lowering &lowering) {
  Operation *op = getOperation();
  ValueView result = lowering.allocate(op, op->getResult(0));
  auto withDims = [&](Value operand, DimExpr rows, DimExpr columns) {
    ValueView view = lowering.view(operand);
    if (view.isAbsent())
      return view;
    Sizes dims = result.layout.dims;
    dims.end()[-2] = rows;
    dims.end()[-1] = columns;
    return view.with(view.layout.broadcast(dims));
  };
  DimExpr rows = result.layout.dims.end()[-2];
  DimExpr columns = result.layout.dims.back();
  DimExpr sum = lowering.view(op->getOperand(0)).layout.dims.back();
  SmallVector<std::pair<DimExpr, DimExpr>, 4> dims = {
      {rows, sum}, {sum, columns}, {rows, 1}, {1, columns}};
  SmallVector<ValueView, 4> inputs;
  for (auto [operand, size] : llvm::zip(op->getOperands(), dims))
    inputs.push_back(withDims(operand, size.first, size.second));
  lowering.call(op, "MatMulInteger", inputs, {result});
  return success();
}

} // namespace shardc::onnx
