//===- Pooling.cpp - Shape functions and sharding rules -------------------===//

#include "dialects/onnx/ops/Pooling.h"

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Padding.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Windows.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/onnx/ops/Pooling.cpp.inc"

namespace shardc::onnx {

using dist::DimExpr;

void OnnxDialect::registerPoolingOps() {
  addOperations<
#define GET_OP_LIST
#include "dialects/onnx/ops/Pooling.cpp.inc"
      >();
}

/// Whether auto_pad adds as many pads as sizes say that are known when it runs.
static bool hasPadsBySize(AveragePoolOp mean, ArrayRef<DimExpr> image) {
  auto strides = mean.getStrides();
  if (!mean.getAutoPad().starts_with("SAME") || !strides ||
      strides->size() != image.size())
    return false;
  return !llvm::all_of_zip(image, *strides, [](DimExpr size, int64_t stride) {
    return stride < 1 || coveredBeyond(size, stride);
  });
}

/// Means of what the pads of other ops are: of windows that hold 3 of 4 elements
/// the mean of all, over 3 / 4, which is the mean of an image of ones.
static LogicalResult divideByCounted(AveragePoolOp mean,
                                     ShapeInference &inference) {
  Decomposition d(mean, inference);
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute attribute : mean->getAttrs())
    if (attribute.getName() != mean.getCountIncludePadAttrName())
      attributes.push_back(attribute);
  attributes.push_back(d.attribute("count_include_pad", 1));
  Decomposition::Dims ones = d.dims(mean.getInput());
  ones[0] = ones[1] = 1;
  Value counted =
      d.expand(d.number(d.element(mean.getInput()), 1), ArrayRef(ones));
  Value all = d.make<AveragePoolOp>({mean.getInput()}, attributes);
  return d.replaceBy(
      d.make<DivOp>({all, d.make<AveragePoolOp>({counted}, attributes)}));
}

LogicalResult inferPool(Operation *op, ShapeInference &inference) {
  Value input = op->getOperand(0);
  SmallVector<DimExpr, 4> dims = inference.dims(input);
  auto mean = dyn_cast<AveragePoolOp>(op);
  if (mean && !mean.getCountIncludePad() &&
      hasPadsBySize(mean, ArrayRef(dims).drop_front(2)))
    return divideByCounted(mean, inference);
  auto image = inferWindows(op, inference, ArrayRef(dims).drop_front(2));
  if (failed(image))
    return failure();
  llvm::copy(*image, dims.begin() + 2);
  inference.setType(op->getResult(0), inference.element(input), dims);
  for (Value places : op->getResults().drop_front())
    inference.setType(places, inference.builder.getI64Type(), dims);
  return success();
}

/// Images and channels pass through, but places count in the whole input.
ShardingRule poolRule(Operation *op) {
  if (op->getNumResults() > 1)
    return replicatedRule(op);
  ShardingRule rule;
  auto tensor = [&](Value value) {
    return rule.addBlocked(
        ArrayRef(dist::getDims(value.getType())).drop_front(2));
  };
  SmallVector<DimExpr, 4> dims = dist::getDims(op->getOperand(0).getType());
  RuleTensor leading = {rule.addDim(dims[0]), rule.addDim(dims[1])};
  RuleTensor input = leading, result = leading;
  llvm::append_range(input, tensor(op->getOperand(0)));
  llvm::append_range(result, tensor(op->getResult(0)));
  rule.operands = {input};
  rule.results = {result};
  return rule;
}

//===----------------------------------------------------------------------===//
// Pools of whole images
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> imageAxes(Operation *op,
                                      ShapeInference &inference) {
  return llvm::to_vector(
      llvm::seq<int64_t>(2, inference.rank(op->getOperand(0))));
}

template <typename ReduceOp>
static LogicalResult reduceImages(Operation *op, ShapeInference &inference) {
  Decomposition build(op, inference);
  return build.replaceBy(
      build.reduce<ReduceOp>(op->getOperand(0), imageAxes(op, inference)));
}

LogicalResult GlobalAveragePoolOp::inferTypes(ShapeInference &inference) {
  return reduceImages<ReduceMeanOp>(*this, inference);
}

LogicalResult GlobalMaxPoolOp::inferTypes(ShapeInference &inference) {
  return reduceImages<ReduceMaxOp>(*this, inference);
}

LogicalResult GlobalLpPoolOp::inferTypes(ShapeInference &inference) {
  if (getP() == 1)
    return reduceImages<ReduceL1Op>(*this, inference);
  if (getP() == 2)
    return reduceImages<ReduceL2Op>(*this, inference);
  return emitOpError("has p = ") << getP() << ", expected 1 or 2";
}

//===----------------------------------------------------------------------===//
// MaxUnpool
//===----------------------------------------------------------------------===//

/// What the windows span of the image that was pooled.
static FailureOr<SmallVector<DimExpr, 4>>
unpooledDims(MaxUnpoolOp op, ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(op.getInput());
  size_t spatial = dims.size() - 2;
  auto kernel = op.getKernelShape(), strides = op.getStrides();
  auto pads = op.getPads();
  if (!kernel || kernel->size() != spatial ||
      (strides && strides->size() != spatial) ||
      (pads && pads->size() != 2 * spatial))
    return op.emitOpError("has kernel_shape, strides or pads of another number "
                          "of dims, expected ")
           << spatial << " spatial dims";
  for (size_t d = 0; d < spatial; ++d)
    dims[2 + d] = (dims[2 + d] - 1) * (strides ? (*strides)[d] : 1) +
                  (*kernel)[d] - (pads ? (*pads)[d] + (*pads)[spatial + d] : 0);
  return dims;
}

/// Zeros behind what the windows span, up to output_shape.
static FailureOr<Value> padToShape(MaxUnpoolOp op, ShapeInference &inference,
                                   Decomposition &build, Value image) {
  if (!image || !ShapeInference::isPresent(op, 2))
    return image;
  SmallVector<DimExpr, 4> dims = build.dims(image);
  auto given = inference.knownDims(op, 2);
  if (!given || given->size() != dims.size())
    return op.emitOpError("has an output_shape that depends on data, expected "
                          "one that follows from the sizes of the inputs");
  SmallVector<DimExpr, 4> pads(dims.size(), DimExpr());
  for (auto [wanted, size] : llvm::zip_equal(*given, dims))
    pads.push_back(wanted - size);
  return build.make<PadOp>({image, build.integers(pads)});
}

/// Zeros, with the elements scattered to the places that MaxPool gave, which
/// count in the image that the windows span.
LogicalResult MaxUnpoolOp::inferTypes(ShapeInference &inference) {
  auto dims = unpooledDims(*this, inference);
  if (failed(dims))
    return failure();
  Decomposition build(*this, inference);
  Value zeros = build.expand(build.number(inference.element(getInput()), 0),
                             product(*dims));
  DimExpr count = product(build.dims(getInput()));
  Value flat = build.make<ScatterElementsOp>(
      {zeros, build.reshape(getIndices(), count),
       build.reshape(getInput(), count)},
      {build.attribute("axis", 0), build.attribute("reduction", "none")});
  FailureOr<Value> image =
      padToShape(*this, inference, build, build.reshape(flat, *dims));
  return failed(image) ? failure() : build.replaceBy(*image);
}

} // namespace shardc::onnx
