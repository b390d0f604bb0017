//===- Quantization.cpp - Shape functions and sharding rules --------------===//

#include "dialects/onnx/ops/Quantization.h"

#include "dialects/onnx/BroadcastTo.h"
#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ElementTypes.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Quantization.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerQuantizationOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Quantization.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// QuantizeLinear, DequantizeLinear
//===----------------------------------------------------------------------===//

/// A scale or zero point with the rank of the data: one for all, one for each
/// index of `axis`, or one for each block along it.
static FailureOr<Value> alignParameter(Operation *op, ShapeInference &inference,
                                       unsigned index, int64_t axis,
                                       int64_t blockSize) {
  Value parameter = op->getOperand(index);
  SmallVector<DimExpr, 4> data = inference.dims(op->getOperand(0));
  SmallVector<DimExpr, 4> dims = inference.dims(parameter);
  SmallVector<DimExpr, 4> aligned(data.size(), DimExpr(1));
  bool isOne = llvm::all_of(dims, [](DimExpr d) { return d.isConstant(1); });
  // Blocks have scales of their own; a zero point may be the same for all.
  const bool isOfBlocks = blockSize != 0 && index == 1;
  if (isOne && dims.size() <= 1)
    return inference.reshape(op, parameter, aligned);
  if (dims.size() == 1 && blockSize == 0 && data.size() > 1) {
    aligned[axis] = dims[0];
    parameter = inference.reshape(op, parameter, aligned);
    dims = aligned;
  }
  if (dims.size() != data.size())
    return op->emitOpError("has a scale or zero point of ")
           << dims.size() << " dims, expected "
           << (blockSize == 0 ? "at most 1" : "those of the data");
  for (auto [d, size] : llvm::enumerate(dims)) {
    bool isBlocked = blockSize != 0 && static_cast<int64_t>(d) == axis;
    DimExpr wanted =
        isBlocked ? DimExpr::floorDiv(data[d] + (blockSize - 1), blockSize)
                  : data[d];
    if ((!size.isConstant(1) || (isBlocked && isOfBlocks)) &&
        failed(inference.assume(op, GuardKind::Equal, size, wanted,
                                op->getName().stripDialect() + ": " +
                                    size.str() + " scales for " + wanted.str() +
                                    (isBlocked ? " blocks" : " indices"))))
      return failure();
  }
  return parameter;
}

/// Axis, scale and zero point in the form that they have after import.
static LogicalResult alignParameters(Operation *op, ShapeInference &inference) {
  inference.dropAbsentTail(op);
  int64_t blockSize = op->getAttrOfType<IntegerAttr>("block_size").getInt();
  int64_t rank = inference.rank(op->getOperand(0));
  if (blockSize < 0)
    return op->emitOpError("has blocks of ") << blockSize << " elements";
  FailureOr<int64_t> axis = int64_t(0);
  bool isOne = llvm::all_of(inference.dims(op->getOperand(1)),
                            [](DimExpr d) { return d.isConstant(1); });
  if (isOne && inference.dims(op->getOperand(1)).size() <= 1) {
    blockSize = 0; // one for all, whatever blocks there would be
    op->setAttr("block_size", inference.builder.getI64IntegerAttr(0));
  }
  if (!isOne || blockSize != 0) {
    axis = inference.normalizeAxis(
        op, op->getAttrOfType<IntegerAttr>("axis").getInt(), rank);
    if (failed(axis))
      return failure();
  }
  op->setAttr("axis", inference.builder.getI64IntegerAttr(*axis));
  for (unsigned i = 1; i < op->getNumOperands(); ++i) {
    FailureOr<Value> aligned =
        alignParameter(op, inference, i, *axis, blockSize);
    if (failed(aligned))
      return failure();
    op->setOperand(i, *aligned);
  }
  return success();
}

/// The type that `output_dtype` names, which then goes; else null.
static Type takeOutputType(Operation *op) {
  auto number = op->getAttrOfType<IntegerAttr>("output_dtype");
  op->removeAttr("output_dtype");
  if (number && number.getInt() != 0)
    return elementTypeOf(number.getInt(), op->getContext());
  return ShapeInference::hasType(op->getResult(0))
             ? getElementTypeOrSelf(op->getResult(0).getType())
             : Type();
}

bool hasWholeBlocks(Operation *op) {
  int64_t blockSize = op->getAttrOfType<IntegerAttr>("block_size").getInt();
  int64_t axis = op->getAttrOfType<IntegerAttr>("axis").getInt();
  return blockSize != 0 &&
         dist::getDims(op->getOperand(1).getType())[axis] * blockSize ==
             dist::getDims(op->getOperand(0).getType())[axis];
}

/// The data's dims pass through, and those of scales. Along blocks the data is
/// blocks x block_size, and scales are split with the blocks; where the last
/// block is shorter they stay whole, and a rank uses those that it needs.
static ShardingRule quantizationRule(Operation *op, int64_t axis,
                                     int64_t blockSize) {
  ShardingRule rule;
  RuleTensor data, blocks;
  bool isWhole = hasWholeBlocks(op);
  for (auto [d, size] :
       llvm::enumerate(dist::getDims(op->getOperand(0).getType()))) {
    DimExpr count = 1;
    for (Value parameter : op->getOperands().drop_front())
      if (DimExpr here = dist::getDims(parameter.getType())[d];
          !here.isConstant(1))
        count = here;
    // Of one block each part has the same scale, however a dim is cut.
    bool isBlocked = blockSize != 0 && static_cast<int64_t>(d) == axis &&
                     !count.isConstant(1);
    data.push_back(isBlocked && isWhole ? RuleDim::none() : rule.addDim(size));
    blocks.push_back(data.back());
    if (!isBlocked)
      continue;
    if (isWhole) {
      unsigned block = rule.addFactor(count),
               element = rule.addFactor(blockSize);
      data.back().segments = {{block, element}};
      blocks.back() = RuleDim::factor(block);
    } else {
      blocks.back() = rule.addDim(count, FactorClass::NeedsReplication);
    }
  }
  rule.operands.push_back(data);
  for (Value parameter : op->getOperands().drop_front()) {
    RuleTensor tensor;
    for (auto [d, size] : llvm::enumerate(dist::getDims(parameter.getType())))
      tensor.push_back(size.isConstant(1) ? RuleDim::none() : blocks[d]);
    rule.operands.push_back(std::move(tensor));
  }
  rule.results = {data};
  return rule;
}

static LogicalResult refuseBlocks(Operation *op) {
  return op->getAttrOfType<IntegerAttr>("block_size").getInt() == 0
             ? success()
             : op->emitOpError("has blocks of floats, which is not supported: "
                               "quantise to integers");
}

bool isScaledFloat8(Type element) {
  return isa<Float8E4M3FNType, Float8E4M3FNUZType, Float8E5M2Type,
             Float8E5M2FNUZType>(element);
}

/// Other floats are cast and scaled.
static LogicalResult dequantizeFloats(DequantizeLinearOp op,
                                      ShapeInference &inference, Type element) {
  if (failed(refuseBlocks(op)))
    return failure();
  Decomposition build(op, inference);
  Value wide = build.cast(op.getInput(), element);
  if (Value zeroPoint = build.operand(2))
    wide = build.sub(wide, build.cast(zeroPoint, element));
  return build.replaceBy(build.mul(wide, build.cast(op.getScale(), element)));
}

/// A zero point of eight bits of float has to name the type; what it is known
/// to be 0 for is left out.
static void dropZeroOfFloats(DequantizeLinearOp op, ShapeInference &inference) {
  if (op.getZeroPoint().empty() ||
      !isa<FloatType>(inference.element(op.getInput())))
    return;
  Value zero = op.getZeroPoint().front();
  auto isZero = [](const KnownScalar &element) {
    const double *number = std::get_if<double>(&element);
    return number && *number == 0;
  };
  const KnownValue *known = inference.known(zero);
  auto weight = zero.getDefiningOp<WeightOp>();
  if (known ? llvm::all_of(known->elements, isZero)
            : weight && weight.getPattern() == StringRef("zeros"))
    inference.keepOperands(op, 2);
}

/// Scaled, and rounded by the cast; a zero point only names the type.
static LogicalResult quantizeToFloats(QuantizeLinearOp op,
                                      ShapeInference &inference, Type element) {
  if (failed(refuseBlocks(op)))
    return failure();
  Decomposition build(op, inference);
  Value scaled = build.make<DivOp>({build.cast(op.getInput(), build.f32()),
                                    build.cast(op.getScale(), build.f32())});
  return build.replaceBy(build.make<CastOp>(
      {scaled},
      {build.attribute("to", elementNumberOf(element)),
       build.attribute("saturate", static_cast<int64_t>(op.getSaturate()))}));
}

LogicalResult DequantizeLinearOp::inferTypes(ShapeInference &inference) {
  inference.dropAbsentTail(*this);
  dropZeroOfFloats(*this, inference);
  if (failed(alignParameters(*this, inference)))
    return failure();
  Type element = takeOutputType(*this);
  if (!element)
    element = inference.element(getScale());
  if (!isa<FloatType>(element))
    return emitOpError("has a result of ") << element << ", expected floats";
  if (Type input = inference.element(getInput());
      isa<FloatType>(input) && !isScaledFloat8(input))
    return dequantizeFloats(*this, inference, element);
  // Kernels compute in the result's type.
  setOperand(1, Decomposition(*this, inference).cast(getScale(), element));
  inference.setType(getResult(), element, inference.dims(getInput()));
  return success();
}

ShardingRule DequantizeLinearOp::shardingRule() {
  return quantizationRule(*this, getAxis(), getBlockSize());
}

LogicalResult QuantizeLinearOp::inferTypes(ShapeInference &inference) {
  if (failed(alignParameters(*this, inference)))
    return failure();
  if (getPrecision() > 1)
    return emitOpError("has precision ")
           << getPrecision() << ", expected that of f32";
  Type element = takeOutputType(*this);
  if (getNumOperands() > 2)
    element = inference.element(getOperand(2));
  if (!element)
    element = inference.builder.getIntegerType(8, /*isSigned=*/false);
  if (isa<FloatType>(element) && isStored(element) &&
      element.getIntOrFloatBitWidth() == 8)
    return quantizeToFloats(*this, inference, element);
  if (!isStored(element) || !isa<IntegerType>(element))
    return emitOpError("to ") << element << ", which is not supported: "
                              << "quantise to integers of 8 or 16 bits";
  Decomposition d(*this, inference);
  if (!isa<FloatType>(d.element(getInput())))
    setOperand(0, d.cast(getInput(), d.f32()));
  setOperand(1, d.cast(getScale(), d.element(getInput())));
  inference.setType(getResult(), element, inference.dims(getInput()));
  return success();
}

ShardingRule QuantizeLinearOp::shardingRule() {
  return quantizationRule(*this, getAxis(), getBlockSize());
}

//===----------------------------------------------------------------------===//
// MatMulInteger
//===----------------------------------------------------------------------===//

/// Zero points of rows of A, [m, 1], or of columns of B, [n]; they must not
/// differ along the dim that is summed.
static FailureOr<Value>
alignZeroPoint(MatMulIntegerOp op, ShapeInference &inference, unsigned index) {
  Value zeroPoint = op->getOperand(2 + index);
  SmallVector<DimExpr, 4> data = inference.dims(op->getOperand(index));
  SmallVector<DimExpr, 4> dims = inference.dims(zeroPoint);
  if (index == 0 && dims.size() == 1 && !dims[0].isConstant(1)) {
    dims.push_back(1);
    zeroPoint = inference.reshape(op, zeroPoint, dims);
  }
  if (failed(broadcastTo(inference, op, data, dims, "a zero point")))
    return failure();
  size_t fromEnd = index == 0 ? 1 : 2;
  if (dims.size() >= fromEnd && !dims[dims.size() - fromEnd].isConstant(1))
    return op.emitOpError("has a zero point of ")
           << zeroPoint.getType() << ", expected one for each "
           << (index == 0 ? "row of A" : "column of B");
  return zeroPoint;
}

/// A row, or a column, has a dim of 1 more, which the result loses again.
static LogicalResult multiplyVectors(MatMulIntegerOp op,
                                     ShapeInference &inference) {
  Decomposition d(op, inference);
  Decomposition::Dims lhs = d.dims(op.getLhs()), rhs = d.dims(op.getRhs());
  bool isRow = lhs.size() == 1, isColumn = rhs.size() == 1;
  if (isRow)
    lhs.insert(lhs.begin(), 1);
  if (isColumn)
    rhs.push_back(1);
  SmallVector<Value> operands(op.getOperands());
  operands[0] = d.reshape(op.getLhs(), lhs);
  operands[1] = d.reshape(op.getRhs(), rhs);
  Value product = d.make<MatMulIntegerOp>(operands);
  Decomposition::Dims dims = d.dims(product);
  if (!product)
    return failure();
  if (isColumn)
    dims.pop_back();
  if (isRow)
    dims.erase(dims.end() - (isColumn ? 1 : 2));
  return d.replaceBy({d.reshape(product, dims)});
}

LogicalResult MatMulIntegerOp::inferTypes(ShapeInference &inference) {
  inference.dropAbsentTail(*this);
  SmallVector<DimExpr, 4> lhs = inference.dims(getLhs());
  SmallVector<DimExpr, 4> rhs = inference.dims(getRhs());
  if (lhs.empty() || rhs.empty())
    return emitOpError("has a scalar operand, expected at least 1 dim");
  if (lhs.size() == 1 || rhs.size() == 1)
    return multiplyVectors(*this, inference);
  if (failed(inference.assume(
          *this, GuardKind::Equal, lhs.back(), rhs[rhs.size() - 2],
          "MatMulInteger: sizes " + lhs.back().str() + " and " +
              rhs[rhs.size() - 2].str() + " of the contracted dim differ")))
    return failure();
  auto dims = inference.broadcast(*this, ArrayRef(lhs).drop_back(2),
                                  ArrayRef(rhs).drop_back(2));
  if (failed(dims))
    return failure();
  for (unsigned i = 0; i < 2; ++i) {
    if (!ShapeInference::isPresent(*this, 2 + i))
      continue;
    FailureOr<Value> aligned = alignZeroPoint(*this, inference, i);
    if (failed(aligned))
      return failure();
    (*this)->setOperand(2 + i, *aligned);
  }
  dims->push_back(lhs[lhs.size() - 2]);
  dims->push_back(rhs.back());
  inference.setType(getResult(), inference.builder.getI32Type(), *dims);
  return success();
}

/// "... m k, ... k n, ... m 1, ... 1 n -> ... m n"; zero points may have fewer
/// dims.
ShardingRule MatMulIntegerOp::shardingRule() {
  ShardingRule rule;
  RuleTensor result;
  for (DimExpr size : dist::getDims(getResult().getType()))
    result.push_back(rule.addDim(size));
  RuleDim sum = rule.addDim(dist::getDims(getLhs().getType()).back(),
                            FactorClass::Reduce);
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    RuleTensor whole = result, &tensor = rule.operands.emplace_back();
    whole.end()[i % 2 == 0 ? -1 : -2] = sum;
    if (!ShapeInference::isPresent(operand))
      continue;
    SmallVector<DimExpr, 4> dims = dist::getDims(operand.getType());
    ArrayRef<RuleDim> last = ArrayRef(whole).take_back(dims.size());
    for (auto [size, dim] : llvm::zip_equal(dims, last))
      tensor.push_back(size.isConstant(1) ? RuleDim::none() : dim);
  }
  rule.results = {result};
  return rule;
}

PartialRule MatMulIntegerOp::partialRule() { return PartialRule::None; }

DimExpr MatMulIntegerOp::multiplyAdds() {
  return product(dist::getDims(getResult().getType())) *
         dist::getDims(getLhs().getType()).back();
}

} // namespace shardc::onnx
