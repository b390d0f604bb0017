//===- Quantization.cpp - com.microsoft: quantised weights ----------------===//

#include "dialects/onnx/ops/microsoft/Quantization.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/Quantization.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

static Type fieldType(Decomposition &d, int64_t bits) {
  return d.inference.builder.getIntegerType(bits, /*isSigned=*/false);
}

Value asFields(Decomposition &d, Value bytes, int64_t bits,
               ArrayRef<DimExpr> dims) {
  OpBuilder &builder = d.inference.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(d.op);
  Type type = dist::makeType(fieldType(d, bits), dims);
  std::optional<int64_t> count = dist::product(dims).asConstant();
  // A table that an LM head shares has the dims of a MatMulNBits.
  bytes = beforeReshapes(bytes);
  auto weight = bytes.getDefiningOp<WeightOp>();
  const int64_t ofByte = 8 / bits;
  const uint64_t size =
      llvm::divideCeil(uint64_t(count.value_or(0)), uint64_t(ofByte));
  if (weight && count && weight.getLength() == size)
    return WeightOp::create(builder, weight.getLoc(), type,
                            weight.getNameAttr(), weight.getFileAttr(),
                            weight.getOffsetAttr(), weight.getLengthAttr(),
                            StringAttr());
  auto constant = bytes.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (elements && count && uint64_t(elements.getNumElements()) == size) {
    SmallVector<APInt> fields;
    for (APInt byte : elements.getValues<APInt>())
      for (int64_t part = 0; part < ofByte; ++part)
        fields.push_back(byte.lshr(part * bits).trunc(bits));
    fields.resize(*count, APInt(bits, 0));
    return ConstantOp::create(
        builder, constant.getLoc(), type,
        DenseElementsAttr::get(cast<RankedTensorType>(type), fields));
  }
  d.op->emitOpError("has quantised weights of type ")
      << bytes.getType() << ", expected an initializer of "
      << DimExpr::floorDiv(dist::product(dims) + (ofByte - 1), ofByte).str()
      << " bytes";
  return {};
}

//===----------------------------------------------------------------------===//
// MatMulNBits
//===----------------------------------------------------------------------===//

namespace {

enum NBitsInput { kZeroPoints = 3, kGroupIndices, kBias };

/// The accuracy_level that lets activations be rounded to 8 bits; those below
/// it ask for floats, the least of which shardc computes in anyway.
constexpr int64_t kLevelOfBytes = 4;

/// The weights of a MatMulNBits.
struct BlockedWeights {
  Decomposition &d;
  int64_t bits, rows, columns, blockSize;

  int64_t blocks() const { return (columns + blockSize - 1) / blockSize; }

  /// [rows, width] of `bits` each, where bytes are padded at the end of a row.
  Value unpack(Value bytes, int64_t width) {
    if (bits == 8)
      return d.reshape(bytes, {rows, width});
    int64_t each = 8 / bits, padded = (width + each - 1) / each * each;
    return d.slice(asFields(d, bytes, bits, {rows, padded}), 1, 0, width);
  }

  /// Half the range where there is none.
  Value zeroPoints(Value given, Type element) {
    if (!given)
      return d.number(fieldType(d, bits), 1 << (bits - 1));
    if (isa<FloatType>(d.element(given)))
      return d.cast(d.reshape(given, {rows, blocks()}), element);
    return unpack(given, blocks());
  }
};

} // namespace

/// g_idx says of which group each input feature is: only the plain order is.
static LogicalResult checkGroups(MicrosoftMatMulNBitsOp op, Decomposition &d) {
  if (!d.operand(kGroupIndices))
    return success();
  auto known = d.inference.knownInts(op, kGroupIndices);
  bool isPlain = known.has_value();
  for (size_t i = 0; isPlain && i < known->size(); ++i)
    isPlain = (*known)[i] == int64_t(i / op.getBlockSize());
  return isPlain ? success()
                 : d.refuse("g_idx", "quantise without reordering features "
                                     "(act_order, desc_act)");
}

LogicalResult MicrosoftMatMulNBitsOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  if (getWeightPrepacked() != 0)
    return d.refuse("weights in a layout of one device",
                    "export without matmulnbits_weights_prepacked");
  if (!llvm::is_contained({2, 4, 8}, int64_t(getBits())))
    return d.refuse("weights of " + Twine(getBits()) + " bits",
                    "quantise to 2, 4 or 8 bits");
  int64_t size = getBlockSize(), sum = getK();
  if (size <= 0 || sum <= 0 || int64_t(getN()) <= 0)
    return emitOpError("has blocks of ")
           << size << " for " << sum << " features and " << int64_t(getN())
           << " results, expected at least 1 of each";
  if (failed(checkGroups(*this, d)))
    return failure();
  BlockedWeights weights{d, int64_t(getBits()), int64_t(getN()), sum, size};
  Type element = d.element(getInput());
  // Bytes hold whole blocks, the last of which may reach beyond the features.
  Value data = weights.unpack(getWeights(), weights.blocks() * size);
  data = d.slice(data, 1, 0, sum);
  Value scales = d.reshape(getScales(), {weights.rows, weights.blocks()});
  Value zeros = weights.zeroPoints(d.operand(kZeroPoints), element);
  SmallVector<NamedAttribute, 3> attributes = {d.attribute("axis", 1),
                                               d.attribute("block_size", size)};
  if (getAccuracyLevel() == kLevelOfBytes)
    attributes.push_back(d.attribute("activation_bits", 8));
  Value dequantized = d.make<DequantizeLinearOp>(
      {data, d.cast(scales, element), zeros}, attributes);
  Value result = d.matmul(getInput(), d.transposeLast(dequantized));
  if (Value bias = d.operand(kBias))
    result = d.add(result, bias);
  return d.replaceBy({result});
}

//===----------------------------------------------------------------------===//
// GatherBlockQuantized
//===----------------------------------------------------------------------===//

LogicalResult
MicrosoftGatherBlockQuantizedOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  int64_t rank = d.rank(getData());
  FailureOr<int64_t> gather =
      inference.normalizeAxis(*this, getGatherAxis(), rank);
  FailureOr<int64_t> quantize =
      inference.normalizeAxis(*this, getQuantizeAxis(), rank);
  if (failed(gather) || failed(quantize))
    return failure();
  if (*gather == *quantize)
    return d.refuse("one axis to gather and to quantise along",
                    "quantise along the other");
  Value data = getData(), zeros = d.operand(3);
  bool isBytes = d.element(data).isInteger(8);
  if (isBytes && !llvm::is_contained({2, 4, 8}, int64_t(getBits())))
    return d.refuse("data of " + Twine(getBits()) + " bits",
                    "quantise to 2, 4 or 8 bits");
  // Parts of bytes are packed along the last dim.
  Decomposition::Dims blocks = d.dims(getScales());
  auto unpack = [&](Value bytes) {
    Decomposition::Dims dims = d.dims(bytes);
    dims.back() = int64_t(8 / getBits()) * dims.back();
    return asFields(d, bytes, getBits(), dims);
  };
  if (isBytes && getBits() != 8) {
    data = unpack(data);
    if (zeros)
      zeros = d.slice(unpack(zeros), rank - 1, 0, blocks.back());
  }
  if (!data || (d.operand(3) && !zeros))
    return failure();
  NamedAttribute axis = d.attribute("axis", *gather);
  auto rows = [&](Value table) {
    return d.make<GatherOp>({table, getIndices()}, axis);
  };
  SmallVector<Value, 3> operands = {rows(data), rows(getScales())};
  if (zeros)
    operands.push_back(rows(zeros));
  else if (isBytes)
    operands.push_back(d.number(d.element(data), 1 << (getBits() - 1)));
  // Axes behind the gathered one move by the dims of the indices.
  int64_t moved = *quantize > *gather ? d.rank(getIndices()) - 1 : 0;
  return d.replaceBy({d.make<DequantizeLinearOp>(
      operands, {d.attribute("axis", *quantize + moved),
                 d.attribute("block_size", getBlockSize())})});
}

//===----------------------------------------------------------------------===//
// Products of integers as numbers
//===----------------------------------------------------------------------===//

/// The sum of products times both scales, plus `bias` if there is one.
static Value scaledProduct(Decomposition &d, const QuantizedValue &lhs,
                           const QuantizedValue &rhs, Value bias) {
  SmallVector<Value, 4> operands = {lhs.data, rhs.data};
  if (lhs.zeroPoint || rhs.zeroPoint)
    for (Value zeroPoint : {lhs.zeroPoint, rhs.zeroPoint})
      operands.push_back(zeroPoint ? zeroPoint : d.absent());
  Value sum = d.make<MatMulIntegerOp>(operands);
  Type element = d.element(lhs.scale);
  Value result =
      d.mul(d.cast(sum, element), d.mul(lhs.scale, d.cast(rhs.scale, element)));
  return bias ? d.add(result, d.cast(bias, element)) : result;
}

LogicalResult
MicrosoftDynamicQuantizeMatMulOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  QuantizedValue lhs = quantizeDynamically(d, getLhs());
  return d.replaceBy({scaledProduct(
      d, lhs, {getRhs(), getRhsScale(), d.operand(3)}, d.operand(4))});
}

LogicalResult
MicrosoftMatMulIntegerToFloatOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  return d.replaceBy(
      {scaledProduct(d, {getLhs(), getLhsScale(), d.operand(4)},
                     {getRhs(), getRhsScale(), d.operand(5)}, d.operand(6))});
}

//===----------------------------------------------------------------------===//
// QuantizeLinear, DequantizeLinear
//===----------------------------------------------------------------------===//

template <typename OpTy>
static LogicalResult replaceScaled(Decomposition &d, int64_t axis,
                                   int64_t blockSize) {
  SmallVector<Value, 3> operands = {d.operand(0), d.operand(1)};
  if (Value zeroPoint = d.operand(2))
    operands.push_back(zeroPoint);
  return d.replaceBy(
      {d.make<OpTy>(operands, {d.attribute("axis", axis),
                               d.attribute("block_size", blockSize)})});
}

LogicalResult MicrosoftQuantizeLinearOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  if (Value zeroPoint = d.operand(2);
      zeroPoint && !isa<IntegerType>(d.element(zeroPoint)))
    return d.refuse("a result that is no integer",
                    "use ONNX's QuantizeLinear for float8");
  return replaceScaled<QuantizeLinearOp>(d, getAxis(), getBlockSize());
}

LogicalResult
MicrosoftDequantizeLinearOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  return replaceScaled<DequantizeLinearOp>(d, getAxis(), getBlockSize());
}

} // namespace shardc::onnx
