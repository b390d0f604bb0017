//===- Sequence.cpp - Lists of tensors, which dissolve --------------------===//
//
// Each op that makes a sequence becomes a SequenceConstruct of its tensors, from
// which the others take theirs:
//
//   %0 = onnx.SplitToSequence(%x)      %a, %b = onnx.Split(%x)
//   %1 = onnx.SequenceAt(%0, 1)        becomes  %b in place of %1
//
// What is left of the lists has no use, and goes.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Replaced.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

constexpr StringLiteral kRemedy =
    "export with tensors, without sequences whose length depends on data";

/// The tensors of operand 0, which has been read then.
static FailureOr<SmallVector<Value>> tensorsOf(Decomposition &d) {
  Value sequence = d.operand(0);
  if (auto list = sequence ? sequence.getDefiningOp<SequenceConstructOp>()
                           : SequenceConstructOp()) {
    d.op->setOperand(0, d.absent());
    return SmallVector<Value>(list.getInputs());
  }
  return d.refuse("a sequence whose tensors are not known", kRemedy);
}

static LogicalResult replaceByList(Decomposition &d, ArrayRef<Value> tensors) {
  return d.replaceBy({d.make<SequenceConstructOp>(tensors)});
}

/// Operand `index` as a position in [0, last], which is `last` if absent.
/// Negative ones count from the end of `count` tensors.
static FailureOr<int64_t> positionOf(Decomposition &d, unsigned index,
                                     int64_t count, int64_t last) {
  if (!d.operand(index))
    return last;
  auto known = d.inference.knownInts(d.op, index);
  if (!known || known->size() != 1)
    return d.refuse("a position that depends on data", kRemedy);
  int64_t position =
      known->front() < 0 ? known->front() + count : known->front();
  if (position < 0 || position > last)
    return d.op->emitOpError("has position ")
           << known->front() << " in a sequence of " << count;
  return position;
}

/// Stays as it is, until nobody takes a tensor from it any more.
LogicalResult SequenceConstructOp::inferTypes(ShapeInference & /*inference*/) {
  return success();
}

LogicalResult SequenceEmptyOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  return replaceByList(d, {});
}

LogicalResult SequenceInsertOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  auto tensors = tensorsOf(d);
  if (failed(tensors))
    return failure();
  int64_t end = tensors->size();
  FailureOr<int64_t> position = positionOf(d, 2, end, end);
  if (failed(position))
    return failure();
  tensors->insert(tensors->begin() + *position, d.operand(1));
  return replaceByList(d, *tensors);
}

LogicalResult SequenceEraseOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  auto tensors = tensorsOf(d);
  if (failed(tensors))
    return failure();
  if (tensors->empty())
    return emitOpError("erases from a sequence that is empty");
  int64_t count = tensors->size();
  FailureOr<int64_t> position = positionOf(d, 1, count, count - 1);
  if (failed(position))
    return failure();
  tensors->erase(tensors->begin() + *position);
  return replaceByList(d, *tensors);
}

LogicalResult SequenceAtOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  auto tensors = tensorsOf(d);
  if (failed(tensors))
    return failure();
  int64_t count = tensors->size();
  FailureOr<int64_t> position = positionOf(d, 1, count, count - 1);
  return failed(position) ? failure() : d.replaceBy({(*tensors)[*position]});
}

LogicalResult SequenceLengthOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  auto tensors = tensorsOf(d);
  return failed(tensors) ? failure()
                         : d.replaceBy({d.integer(d.i64(), tensors->size())});
}

/// Sizes of the parts of `dim`, of which all have one element without `split`.
static FailureOr<SmallVector<DimExpr>>
partSizes(SplitToSequenceOp op, Decomposition &d, DimExpr dim) {
  Value split = d.operand(1);
  auto known = d.inference.knownDims(op, 1);
  if (split && !known)
    return d.refuse("a split that depends on data", kRemedy);
  if (split && d.rank(split) == 1)
    return SmallVector<DimExpr>(known->begin(), known->end());
  DimExpr part = split ? known->front() : DimExpr(1);
  std::optional<DimExpr> whole = dim.exactDiv(part);
  auto areFew = [&](int64_t count) {
    return checkAmount(op, {count}, kMostValues, "parts");
  };
  if (std::optional<int64_t> count =
          whole ? whole->asConstant() : std::nullopt) {
    if (failed(areFew(*count)))
      return failure();
    return SmallVector<DimExpr>(*count, part);
  }
  auto all = dim.asConstant(), size = part.asConstant();
  if (!all || !size || *size <= 0)
    return d.refuse("parts of " + part.str() + " of a dim of " + dim.str(),
                    kRemedy);
  if (failed(areFew(*all / *size)))
    return failure();
  SmallVector<DimExpr> sizes(*all / *size, part);
  sizes.push_back(*all % *size);
  return sizes;
}

LogicalResult SplitToSequenceOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  Decomposition::Dims dims = d.dims(getInput());
  FailureOr<int64_t> axis = inference.normalizeAxis(
      *this, static_cast<int64_t>(getAxis()), dims.size());
  if (failed(axis))
    return failure();
  auto sizes = partSizes(*this, d, dims[*axis]);
  if (failed(sizes))
    return failure();
  if (sizes->empty())
    return replaceByList(d, {});
  SmallVector<Value, 4> parts = {getInput()};
  if (sizes->size() > 1)
    parts = d.split(getInput(), *axis, *sizes);
  if (!d.operand(1) && getKeepdims() == 0)
    for (Value &part : parts) {
      Decomposition::Dims row = dims;
      row.erase(row.begin() + *axis);
      part = d.reshape(part, row);
    }
  return replaceByList(d, parts);
}

LogicalResult ConcatFromSequenceOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  auto tensors = tensorsOf(d);
  if (failed(tensors))
    return failure();
  if (tensors->empty())
    return emitOpError("joins a sequence that is empty");
  bool isNew = getNewAxis() != 0;
  FailureOr<int64_t> axis = inference.normalizeAxis(
      *this, static_cast<int64_t>(getAxis()), d.rank(tensors->front()) + isNew);
  if (failed(axis))
    return failure();
  if (isNew)
    for (Value &tensor : *tensors) {
      Decomposition::Dims dims = d.dims(tensor);
      if (int64_t(dims.size()) < *axis)
        return emitOpError("joins tensors of different numbers of dims");
      dims.insert(dims.begin() + *axis, 1);
      tensor = d.reshape(tensor, dims);
    }
  return d.replaceBy({d.concat(*tensors, *axis)});
}

LogicalResult OptionalGetElementOp::inferTypes(ShapeInference &inference) {
  Decomposition d(*this, inference);
  return d.replaceBy({getInput()});
}

} // namespace shardc::onnx
