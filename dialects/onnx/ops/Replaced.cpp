//===- Replaced.cpp - Ops that import makes of others ---------------------===//

#include "dialects/onnx/ops/Replaced.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ElementTypes.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Reduction.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Replaced.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerReplacedOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Replaced.cpp.inc"
      >();
}

FailureOr<SmallVector<int64_t, 4>>
constantOperand(Operation *op, ShapeInference &inference, unsigned index,
                StringRef name, size_t count) {
  auto known = inference.knownInts(op, index);
  if (known && (count == 0 || known->size() == count))
    return *known;
  op->emitOpError("has ") << name
                          << " that depend on data or are of another number, "
                             "expected constants";
  return failure();
}

LogicalResult checkAmount(Operation *op, ArrayRef<int64_t> counts, int64_t most,
                          StringRef what) {
  int64_t product = 1;
  bool isWithin = true;
  for (int64_t count : counts)
    isWithin &= count >= 0 && !__builtin_mul_overflow(product, count, &product);
  if (isWithin && product <= most)
    return success();
  auto error = op->emitOpError("would become ");
  llvm::interleave(counts, error, " x ");
  return error << " " << what << ", expected from 0 to " << most;
}

LogicalResult MeanOp::inferTypes(ShapeInference &inference) {
  if (getInputs().empty())
    return emitOpError("has no operands, expected at least 1");
  Decomposition build(*this, inference);
  Value count = build.number(inference.element(getInputs()[0]),
                             static_cast<double>(getInputs().size()));
  Value sum = getInputs()[0];
  for (Value next : getInputs().drop_front())
    sum = build.make<AddOp>({sum, next});
  return build.replaceBy(build.make<DivOp>({sum, count}));
}

/// Towards zero by `bias`; what is within `lambd` of zero becomes zero.
LogicalResult ShrinkOp::inferTypes(ShapeInference &inference) {
  Decomposition build(*this, inference);
  Value input = getInput();
  Type element = inference.element(input);
  auto number = [&](double value) { return build.number(element, value); };
  double bias = getBias().convertToFloat(), bound = getLambd().convertToFloat();
  Value isLarge = build.make<GreaterOp>({input, number(bound)});
  Value isSmall = build.make<LessOp>({input, number(-bound)});
  Value inner =
      build.make<WhereOp>({isLarge, build.sub(input, number(bias)), number(0)});
  return build.replaceBy(
      build.make<WhereOp>({isSmall, build.add(input, number(bias)), inner}));
}

/// [1, n, 1] for a dim in the middle of three.
static Value along(Decomposition &build, Value vector, int64_t axis,
                   size_t rank) {
  if (!vector)
    return {};
  Decomposition::Dims dims(rank, DimExpr(int64_t(1)));
  dims[axis] = build.dims(vector).front();
  return build.reshape(vector, dims);
}

/// 1 at the first of the largest elements.
LogicalResult HardmaxOp::inferTypes(ShapeInference &inference) {
  FailureOr<int64_t> axis = inference.normalizeAxis(
      *this, static_cast<int64_t>(getAxis()), inference.rank(getInput()));
  if (failed(axis))
    return failure();
  Decomposition build(*this, inference);
  SmallVector<DimExpr, 4> dims = inference.dims(getInput()), flat = dims;
  if (inference.opset < 13) { // all dims from axis on were one
    flat.assign(dims.begin(), dims.begin() + *axis);
    flat.push_back(product(ArrayRef(dims).drop_front(*axis)));
  }
  Value data = build.reshape(getInput(), flat);
  Value largest = build.make<ArgMaxOp>(
      {data}, {build.attribute("axis", *axis), build.attribute("keepdims", 1)});
  Value place = along(build, build.range(0, flat[*axis]), *axis, flat.size());
  Value isLargest = build.make<EqualOp>({largest, place});
  return build.replaceBy(build.reshape(
      build.cast(isLargest, inference.element(getInput())), dims));
}

LogicalResult EyeLikeOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getInput());
  Type element = getDtype() ? elementTypeOf(*getDtype(), getContext())
                            : inference.element(getInput());
  if (dims.size() != 2 || !element || !isStored(element))
    return emitOpError("has an operand of ")
           << dims.size() << " dims or a dtype that is not supported, expected "
           << "a matrix";
  Decomposition build(*this, inference);
  Value shift = build.number(inference.builder.getI64Type(),
                             static_cast<double>(static_cast<int64_t>(getK())));
  Value column = build.make<AddOp>({build.range(0, dims[0]), shift});
  Value isOne =
      build.make<EqualOp>({along(build, column, 0, 2),
                           along(build, build.range(0, dims[1]), 1, 2)});
  Value one = build.cast(isOne, element);
  (*this)->setOperand(0, build.absent()); // its dims were all
  return build.replaceBy(one);
}

//===----------------------------------------------------------------------===//
// Places along one dim
//===----------------------------------------------------------------------===//

/// Element t of a row of length n is n - 1 - t of it, or t behind its end.
LogicalResult ReverseSequenceOp::inferTypes(ShapeInference &inference) {
  int64_t rank = inference.rank(getInput());
  FailureOr<int64_t> time =
      inference.normalizeAxis(*this, static_cast<int64_t>(getTimeAxis()), rank);
  FailureOr<int64_t> batch = inference.normalizeAxis(
      *this, static_cast<int64_t>(getBatchAxis()), rank);
  if (failed(time) || failed(batch))
    return failure();
  SmallVector<DimExpr, 4> dims = inference.dims(getInput());
  Decomposition build(*this, inference);
  Value lengths = along(build, getLengths(), *batch, rank);
  Value step = along(build, build.range(0, dims[*time]), *time, rank);
  Value one = build.number(inference.builder.getI64Type(), 1);
  Value reversed = build.make<SubOp>({build.make<SubOp>({lengths, one}), step});
  Value from = build.make<WhereOp>(
      {build.make<LessOp>({step, lengths}), reversed, step});
  return build.replaceBy(
      build.make<GatherElementsOp>({getInput(), build.expand(from, dims)},
                                   {build.attribute("axis", *time)}));
}

/// Row s of the update becomes row place + s of the cache.
LogicalResult TensorScatterOp::inferTypes(ShapeInference &inference) {
  int64_t rank = inference.rank(getCache());
  FailureOr<int64_t> axis =
      inference.normalizeAxis(*this, static_cast<int64_t>(getAxis()), rank);
  if (failed(axis))
    return failure();
  if (*axis == 0 || inference.rank(getUpdate()) != rank)
    return emitOpError("has axis 0 or an update of another number of dims than "
                       "the cache, expected its batch in dim 0");
  SmallVector<DimExpr, 4> rows = inference.dims(getUpdate());
  Decomposition build(*this, inference);
  Type i64 = inference.builder.getI64Type();
  Value to = along(build, build.range(0, rows[*axis]), *axis, rank);
  if (ShapeInference::isPresent(*this, 2))
    to = build.make<AddOp>({to, along(build, getOperand(2), 0, rank)});
  if (getMode() == "circular") {
    Value size = along(build, build.integers(inference.dims(getCache())[*axis]),
                       *axis, rank);
    to = build.make<ModOp>({to, build.cast(size, i64)},
                           {build.attribute("fmod", 0)});
  }
  return build.replaceBy(build.make<ScatterElementsOp>(
      {getCache(), build.expand(to, rows), getUpdate()},
      {build.attribute("axis", *axis), build.attribute("reduction", "none")}));
}

} // namespace shardc::onnx
