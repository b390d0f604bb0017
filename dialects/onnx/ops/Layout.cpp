//===- Layout.cpp - Shape functions and sharding rules --------------------===//

#include "dialects/onnx/ops/Layout.h"

#include "dialects/onnx/ElementTypes.h"
#include "dialects/onnx/Folding.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Layout.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerLayoutOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Layout.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getData());
  SmallVector<int64_t> perm;
  if (std::optional<ArrayRef<int64_t>> given = getPerm())
    perm.assign(given->begin(), given->end());
  else
    for (int64_t d = dims.size(); d-- > 0;)
      perm.push_back(d);
  SmallVector<bool> seen(dims.size(), false);
  bool isIdentity = true, isPermutation = perm.size() == dims.size();
  for (auto [i, d] : llvm::enumerate(perm)) {
    isPermutation = isPermutation && d >= 0 &&
                    d < static_cast<int64_t>(dims.size()) && !seen[d];
    if (!isPermutation)
      return emitOpError("has a perm that is no permutation of its ")
             << dims.size() << " dims";
    seen[d] = true;
    isIdentity &= d == static_cast<int64_t>(i);
  }
  if (!isPermutation)
    return emitOpError("has a perm of ")
           << perm.size() << " dims, expected " << dims.size();
  if (isIdentity) {
    inference.replace(*this, getData());
    return success();
  }
  setPerm(perm);
  SmallVector<DimExpr, 4> permuted;
  for (int64_t d : perm)
    permuted.push_back(dims[d]);
  const KnownValue *known = inference.known(getData());
  auto shape = asConstants(permuted);
  if (!known || !shape) {
    inference.setType(getResult(), inference.element(getData()), permuted);
    return success();
  }
  inference.setKnown(getResult(),
                     moveElements(*known, *shape, [&](ArrayRef<int64_t> index) {
                       SmallVector<int64_t> from(index.size());
                       for (auto [i, d] : llvm::enumerate(perm))
                         from[d] = index[i];
                       return from;
                     }));
  return success();
}

ShardingRule TransposeOp::shardingRule() {
  ShardingRule rule;
  RuleTensor &data = rule.operands.emplace_back();
  for (DimExpr size : dist::getDims(getData().getType()))
    data.push_back(rule.addDim(size));
  RuleTensor &result = rule.results.emplace_back();
  ArrayRef<int64_t> perm = *getPerm();
  for (int64_t d : perm)
    result.push_back(data[d]);
  return rule;
}

PartialRule TransposeOp::partialRule() { return PartialRule::Moves; }

bool TransposeOp::turnsMatrix() {
  SmallVector<int64_t> perm(*getPerm());
  if (perm.size() < 2)
    return false;
  std::swap(perm.end()[-1], perm.end()[-2]);
  return llvm::is_sorted(perm);
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

LogicalResult CastOp::inferTypes(ShapeInference &inference) {
  Type from = inference.element(getInput());
  Type to;
  if (std::optional<uint64_t> number = getTo())
    to = elementTypeOf(*number, getContext());
  else if (ShapeInference::hasType(getResult()))
    to = inference.element(getResult());
  if (!to || !isStored(to))
    return emitOpError("to a type that is not supported, ONNX's number ")
           << getTo().value_or(0);
  if (to == from) {
    inference.replace(*this, getInput());
    return success();
  }
  removeToAttr();
  if (const KnownValue *known = inference.known(getInput())) {
    FoldSite site{*this, inference, from};
    KnownValue result{to, known->shape, {}};
    for (const KnownScalar &scalar : known->elements) {
      std::optional<KnownScalar> folded = fold::cast(site, scalar, to);
      folded = folded ? storeAs(to, *folded) : std::nullopt;
      if (!folded)
        break;
      result.elements.push_back(*folded);
    }
    if (result.elements.size() == known->elements.size()) {
      inference.setKnown(getResult(), std::move(result));
      return success();
    }
  }
  inference.setType(getResult(), to, inference.dims(getInput()));
  return success();
}

ShardingRule CastOp::shardingRule() { return elementwiseRule(*this); }

PartialRule CastOp::partialRule() {
  Type from = cast<ShapedType>(getInput().getType()).getElementType();
  Type to = cast<ShapedType>(getResult().getType()).getElementType();
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat) {
    const llvm::fltSemantics &narrow = fromFloat.getFloatSemantics();
    const llvm::fltSemantics &wide = toFloat.getFloatSemantics();
    bool isExact = APFloat::isRepresentableBy(narrow, wide);
    return isExact ? PartialRule::Linear : PartialRule::None;
  }
  auto fromInt = dyn_cast<IntegerType>(from), toInt = dyn_cast<IntegerType>(to);
  bool isWider = fromInt && toInt && fromInt.getWidth() > 1 &&
                 fromInt.getWidth() < toInt.getWidth() &&
                 fromInt.getSignedness() == toInt.getSignedness();
  return isWider ? PartialRule::Linear : PartialRule::None;
}

//===----------------------------------------------------------------------===//
// Ops that become Reshape
//===----------------------------------------------------------------------===//

/// Axes as an operand, or as an attribute before opset 13; nothing if absent.
template <typename AxesOp>
static FailureOr<std::optional<SmallVector<int64_t>>>
readAxes(AxesOp op, ShapeInference &inference) {
  using Axes = std::optional<SmallVector<int64_t>>;
  if (std::optional<ArrayRef<int64_t>> attribute = op.getAxes())
    return Axes(SmallVector<int64_t>(attribute->begin(), attribute->end()));
  if (!ShapeInference::isPresent(op, 1))
    return Axes();
  if (auto known = inference.knownInts(op, 1))
    return Axes(SmallVector<int64_t>(known->begin(), known->end()));
  return op.emitOpError("has axes that depend on data, expected a constant");
}

/// Not negative, sorted and different.
static LogicalResult normalizeAxes(Operation *op, ShapeInference &inference,
                                   SmallVector<int64_t> &axes, int64_t rank) {
  for (int64_t &axis : axes) {
    FailureOr<int64_t> normal = inference.normalizeAxis(op, axis, rank);
    if (failed(normal))
      return failure();
    axis = *normal;
  }
  llvm::sort(axes);
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return op->emitOpError("has an axis twice");
  return success();
}

LogicalResult SqueezeOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getData()), kept;
  auto axes = readAxes(*this, inference);
  if (failed(axes) ||
      (*axes && failed(normalizeAxes(*this, inference, **axes, dims.size()))))
    return failure();
  for (auto [d, size] : llvm::enumerate(dims)) {
    if (!*axes) {
      // Without axes the rank must not depend on a symbol: of 0, 1, 2, 3, ...
      // which are 0, 1, 0, 0, ... here all but 1 are kept.
      DimExpr isOne = DimExpr::mod(DimExpr::min(size, 2), 2);
      if (failed(inference.assume(
              *this, GuardKind::Equal, isOne, size.isConstant(1) ? 1 : 0,
              "Squeeze: " + size.str() + " is not a dim to remove")))
        return failure();
      if (!size.isConstant(1))
        kept.push_back(size);
      continue;
    }
    if (!llvm::is_contained(**axes, static_cast<int64_t>(d)))
      kept.push_back(size);
    else if (failed(inference.assume(*this, GuardKind::Equal, size, 1,
                                     "Squeeze: dim " + Twine(d))))
      return failure();
  }
  inference.replace(*this, inference.reshape(*this, getData(), kept));
  return success();
}

LogicalResult UnsqueezeOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getData());
  auto axes = readAxes(*this, inference);
  if (failed(axes))
    return failure();
  if (!*axes)
    return emitOpError("has no axes");
  // They count in the result.
  if (failed(normalizeAxes(*this, inference, **axes,
                           dims.size() + (*axes)->size())))
    return failure();
  for (int64_t axis : **axes)
    dims.insert(dims.begin() + axis, 1);
  inference.replace(*this, inference.reshape(*this, getData(), dims));
  return success();
}

LogicalResult FlattenOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getData());
  int64_t rank = dims.size(), axis = static_cast<int64_t>(getAxis());
  if (axis < -rank || axis > rank)
    return emitOpError("has axis ")
           << axis << ", expected one in [" << -rank << ", " << rank << "]";
  axis = axis < 0 ? axis + rank : axis;
  inference.replace(
      *this, inference.reshape(*this, getData(),
                               {product(ArrayRef(dims).take_front(axis)),
                                product(ArrayRef(dims).drop_front(axis))}));
  return success();
}

//===----------------------------------------------------------------------===//
// Ops that become their operand
//===----------------------------------------------------------------------===//

LogicalResult IdentityOp::inferTypes(ShapeInference &inference) {
  inference.replace(*this, getData());
  return success();
}

LogicalResult DropoutOp::inferTypes(ShapeInference &inference) {
  if (ShapeInference::isPresent(*this, 2)) {
    auto training = inference.knownInts(*this, 2);
    const KnownValue *ratio = ShapeInference::isPresent(*this, 1)
                                  ? inference.known(getOperand(1))
                                  : nullptr;
    bool dropsNothing = ratio && ratio->elements.size() == 1 &&
                        ratio->elements.front() == KnownScalar(0.0);
    if (!training || (training->front() != 0 && !dropsNothing))
      return emitOpError("is in training mode, expected inference: export the "
                         "model after model.eval()");
  }
  if (getNumResults() > 1 && !getResult(1).use_empty()) {
    Value kept = inference.constant(
        *this, KnownValue{inference.builder.getI1Type(), {}, {DimExpr(1)}});
    inference.replaceResult(
        *this, 1, inference.expand(*this, kept, inference.dims(getData())));
  }
  inference.replace(*this, getData());
  return success();
}

} // namespace shardc::onnx
