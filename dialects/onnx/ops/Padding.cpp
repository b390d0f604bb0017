//===- Padding.cpp - Shape functions and sharding rules -------------------===//

#include "dialects/onnx/ops/Padding.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Padding.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerPaddingOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Padding.cpp.inc"
      >();
}

/// Begins and ends for all dims; an attribute before opset 11, and for some
/// axes alone since opset 18.
static FailureOr<SmallVector<DimExpr, 4>> readPads(PadOp op,
                                                   ShapeInference &inference) {
  int64_t rank = inference.rank(op.getData());
  SmallVector<DimExpr, 4> given;
  if (std::optional<ArrayRef<int64_t>> pads = op.getPads())
    given.assign(pads->begin(), pads->end());
  else if (auto pads = inference.knownOrReadDims(op, 1))
    given = *pads;
  else
    return op.emitOpError("has pads that depend on data, expected ones that "
                          "follow from the sizes of the inputs");
  SmallVector<int64_t> axes;
  if (ShapeInference::isPresent(op, 3)) {
    auto known = inference.knownInts(op, 3);
    if (!known)
      return op.emitOpError(
          "has axes that depend on data, expected a constant");
    axes.assign(known->begin(), known->end());
  } else {
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  }
  if (given.size() != 2 * axes.size())
    return op.emitOpError("has ")
           << given.size() << " pads, expected " << 2 * axes.size();
  SmallVector<DimExpr, 4> pads(2 * rank, DimExpr());
  for (auto [i, axis] : llvm::enumerate(axes)) {
    FailureOr<int64_t> normal = inference.normalizeAxis(op, axis, rank);
    if (failed(normal))
      return failure();
    pads[*normal] = given[i];
    pads[rank + *normal] = given[axes.size() + i];
  }
  return pads;
}

/// The constant as a scalar operand; null for zero.
static FailureOr<Value> readConstant(PadOp op, ShapeInference &inference) {
  if (op.getMode() != "constant")
    return Value();
  Type element = inference.element(op.getData());
  if (op.getValue()) {
    auto value = storeAs(element, op.getValue()->convertToDouble());
    if (!value)
      return op.emitOpError("has a value that is no ") << element;
    return inference.constant(op, KnownValue{element, {}, {*value}});
  }
  if (!ShapeInference::isPresent(op, 2))
    return Value();
  Value constant = op->getOperand(2);
  if (inference.element(constant) != element)
    return op.emitOpError("has a constant of another type than its data");
  if (product(inference.dims(constant)) != DimExpr(1))
    return op.emitOpError("has a constant that is no scalar");
  return inference.reshape(op, constant, {});
}

LogicalResult PadOp::inferTypes(ShapeInference &inference) {
  if (getBounds() && ShapeInference::hasType(getResult()))
    return success();
  if (!llvm::is_contained({"constant", "reflect", "edge", "wrap"}, getMode()))
    return emitOpError("has mode ")
           << getMode() << ", expected constant, reflect, edge or wrap";
  FailureOr<SmallVector<DimExpr, 4>> pads = readPads(*this, inference);
  if (failed(pads))
    return failure();
  FailureOr<Value> constant = readConstant(*this, inference);
  if (failed(constant))
    return failure();
  SmallVector<DimExpr, 4> dims = inference.dims(getData());
  size_t rank = dims.size();
  bool isWhole = true;
  for (size_t d = 0; d < rank; ++d) {
    dims[d] = dims[d] + (*pads)[d] + (*pads)[rank + d];
    isWhole &= (*pads)[d].isConstant(0) && (*pads)[rank + d].isConstant(0);
    if (failed(inference.assume(*this, GuardKind::AtLeast, dims[d], 0,
                                "Pad: the size " + dims[d].str())))
      return failure();
  }
  if (isWhole) {
    inference.replace(*this, getData());
    return success();
  }
  setBoundsAttr(dist::DimsAttr::get(getContext(), *pads));
  removePadsAttr();
  removeValueAttr();
  inference.keepOperands(*this, 1);
  if (*constant)
    (*this)->insertOperands(1, *constant);
  inference.setType(getResult(), inference.element(getData()), dims);
  return success();
}

/// Dims without borders pass through.
ShardingRule PadOp::shardingRule() {
  ArrayRef<DimExpr> pads = getBounds()->getValues();
  SmallVector<DimExpr, 4> from = dist::getDims(getData().getType());
  SmallVector<DimExpr, 4> to = dist::getDims(getResult().getType());
  ShardingRule rule;
  RuleTensor data, result;
  for (size_t d = 0; d < from.size(); ++d) {
    bool isKept = pads[d].isConstant(0) && pads[from.size() + d].isConstant(0);
    const FactorClass factorClass =
        isKept ? FactorClass::PassThrough : FactorClass::NeedsReplication;
    data.push_back(rule.addDim(from[d], factorClass));
    result.push_back(isKept ? data.back() : rule.addDim(to[d], factorClass));
  }
  rule.operands = {data};
  rule.operands.resize(getNumOperands());
  rule.results = {result};
  return rule;
}

} // namespace shardc::onnx
