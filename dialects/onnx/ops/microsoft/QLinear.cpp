//===- QLinear.cpp - com.microsoft: ops on quantised values ---------------===//
//
// Numbers, what ONNX's op makes of them, integers again:
//
//   QLinearAdd = QuantizeLinear(DequantizeLinear(a) + DequantizeLinear(b))
//
// A product is one of integers, whose sum is exact.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/microsoft/QLinear.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Activation.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Normalization.h"
#include "dialects/onnx/ops/Pooling.h"
#include "dialects/onnx/ops/Quantization.h"
#include "dialects/onnx/ops/Windows.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/microsoft/QLinear.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

/// Numbers of operand `index`, which its scale and zero point follow.
static Value numbersOf(Decomposition &d, unsigned index) {
  SmallVector<Value, 3> operands = {d.operand(index), d.operand(index + 1)};
  if (Value zeroPoint = d.operand(index + 2))
    operands.push_back(zeroPoint);
  return d.make<DequantizeLinearOp>(operands);
}

/// `result` as integers; its scale is operand `scale`, its zero point, which
/// may be absent, the one behind it.
static LogicalResult replaceByIntegers(Decomposition &d, Value result,
                                       unsigned scale, Type element) {
  Value zeroPoint = d.operand(scale + 1);
  if (!zeroPoint)
    zeroPoint = d.number(element, 0);
  return d.replaceBy(
      {d.make<QuantizeLinearOp>({result, d.operand(scale), zeroPoint})});
}

/// Of ops with one operand, which has the result's type.
static LogicalResult replaceUnary(Decomposition &d, Value result) {
  return replaceByIntegers(d, result, 3, d.element(d.operand(0)));
}

LogicalResult MicrosoftQLinearSigmoidOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  return replaceUnary(d, d.make<SigmoidOp>({numbersOf(d, 0)}));
}

LogicalResult
MicrosoftQLinearLeakyReluOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  return replaceUnary(d, d.make<LeakyReluOp>({numbersOf(d, 0)},
                                             d.attribute("alpha", getAlpha())));
}

LogicalResult MicrosoftQLinearSoftmaxOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Decomposition::Dims dims = d.dims(getInput());
  Value x = numbersOf(d, 0);
  if (getOpset() >= 13)
    return replaceUnary(d,
                        d.make<SoftmaxOp>({x}, d.attribute("axis", getAxis())));
  FailureOr<int64_t> axis =
      inference.normalizeAxis(*this, getAxis(), dims.size());
  if (failed(axis))
    return failure();
  ArrayRef<DimExpr> all = dims;
  x = d.reshape(x, {dist::product(all.take_front(*axis)),
                    dist::product(all.drop_front(*axis))});
  x = d.make<SoftmaxOp>({x}, d.attribute("axis", 1));
  return replaceUnary(d, d.reshape(x, dims));
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// Moves the channels from the last dim to the second, or back.
static Value moveChannels(Decomposition &d, Value value, bool areLast) {
  SmallVector<int64_t> perm = {0};
  for (int64_t i = 2; i < d.rank(value); ++i)
    perm.push_back(areLast ? i - 1 : i);
  perm.insert(areLast ? perm.begin() + 1 : perm.end(),
              areLast ? d.rank(value) - 1 : 1);
  return d.transpose(value, perm);
}

template <typename PoolOp>
static LogicalResult replacePool(Decomposition &d, bool areLast,
                                 ArrayRef<NamedAttribute> attributes) {
  Value x = numbersOf(d, 0);
  if (x && areLast)
    x = moveChannels(d, x, true);
  x = d.make<PoolOp>({x}, attributes);
  if (x && areLast)
    x = moveChannels(d, x, false);
  return replaceUnary(d, x);
}

LogicalResult
MicrosoftQLinearGlobalAveragePoolOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  return replacePool<GlobalAveragePoolOp>(d, getChannelsLast() != 0, {});
}

/// What a window has behind the pads counts here, which ONNX's op does not let
/// it: so its last windows are made whole by pads, with nothing to round up.
LogicalResult
MicrosoftQLinearAveragePoolOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  SmallVector<NamedAttribute> attributes;
  const Decomposition::Dims dims = d.dims(getInput());
  const bool areWhole = getCeilMode() != 0 && dims.size() > 2 &&
                        (getAutoPad() == "NOTSET" || getAutoPad() == "VALID");
  for (NamedAttribute attribute : (*this)->getAttrs())
    if (attribute.getName() != "channels_last" &&
        !(areWhole && llvm::is_contained({"pads", "auto_pad", "ceil_mode"},
                                         attribute.getName().strref())))
      attributes.push_back(attribute);
  if (areWhole) {
    FailureOr<SmallVector<int64_t>> pads = padsOfWholeWindows(
        *this, ArrayRef<DimExpr>(dims).slice(getChannelsLast() != 0 ? 1 : 2,
                                             dims.size() - 2));
    if (failed(pads))
      return failure();
    attributes.push_back(inference.builder.getNamedAttr(
        "pads", inference.builder.getDenseI64ArrayAttr(*pads)));
  }
  return replacePool<AveragePoolOp>(d, getChannelsLast() != 0, attributes);
}

//===----------------------------------------------------------------------===//
// Several operands
//===----------------------------------------------------------------------===//

LogicalResult MicrosoftQLinearAddOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Value lhs = numbersOf(d, 0), rhs = numbersOf(d, 3);
  return replaceByIntegers(d, d.add(lhs, rhs), 6, d.element(getLhs()));
}

LogicalResult MicrosoftQLinearMulOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Value lhs = numbersOf(d, 0), rhs = numbersOf(d, 3);
  return replaceByIntegers(d, d.mul(lhs, rhs), 6, d.element(getLhs()));
}

LogicalResult MicrosoftQLinearWhereOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Value lhs = numbersOf(d, 1), rhs = numbersOf(d, 4);
  return replaceByIntegers(d, d.make<WhereOp>({getCondition(), lhs, rhs}), 7,
                           d.element(getLhs()));
}

LogicalResult MicrosoftQLinearConcatOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  SmallVector<Value> parts;
  if (getInputs().empty() || getInputs().size() % 3 != 0)
    return emitOpError("has ") << getInputs().size()
                               << " operands behind the result's, expected "
                                  "value, scale and zero point of each part";
  for (unsigned i = 2; i < getNumOperands(); i += 3)
    parts.push_back(numbersOf(d, i));
  for (unsigned i = 0; i < getNumOperands(); ++i)
    if (Value one = d.operand(i);
        i % 3 != 2 && one && dist::product(d.dims(one)) != DimExpr(1))
      return d.refuse("scales and zero points that are not single numbers",
                      "export one scale for each part");
  if (llvm::is_contained(parts, Value()))
    return failure();
  FailureOr<int64_t> axis =
      inference.normalizeAxis(*this, getAxis(), d.rank(parts.front()));
  if (failed(axis))
    return failure();
  return replaceByIntegers(d, d.concat(parts, *axis), 0,
                           d.element(getZeroPoint()));
}

LogicalResult MicrosoftQGemmOp::inferTypes(ShapeInference &inference) {
  enum Input { kBias = 6, kScale };
  Decomposition d(*this, inference);
  auto inOrder = [&](Value value, bool isTransposed) {
    return isTransposed ? d.transposeLast(value) : value;
  };
  Value sum = d.make<MatMulIntegerOp>({inOrder(getLhs(), getTransA()),
                                       inOrder(getRhs(), getTransB()),
                                       getLhsZeroPoint(), getRhsZeroPoint()});
  if (Value bias = d.operand(kBias))
    sum = d.add(sum, bias);
  double alpha = getAlpha().convertToDouble();
  Value scale = d.mul(getLhsScale(), getRhsScale());
  if (alpha != 1)
    scale = d.mul(scale, d.number(d.f32(), alpha));
  Value result = d.mul(d.cast(sum, d.f32()), scale);
  return d.operand(kScale)
             ? replaceByIntegers(d, result, kScale, d.element(getLhs()))
             : d.replaceBy({result});
}

} // namespace shardc::onnx
