//===- ReplacedNorms.cpp - Norms over images and channels ----------------===//

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Math.h"
#include "dialects/onnx/ops/Padding.h"
#include "dialects/onnx/ops/Reduction.h"
#include "dialects/onnx/ops/Replaced.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

/// A row of zeros stays one.
LogicalResult LpNormalizationOp::inferTypes(ShapeInference &inference) {
  FailureOr<int64_t> axis = inference.normalizeAxis(
      *this, static_cast<int64_t>(getAxis()), inference.rank(getInput()));
  if (failed(axis))
    return failure();
  if (getP() != 1 && getP() != 2)
    return emitOpError("has p = ") << getP() << ", expected 1 or 2";
  Decomposition build(*this, inference);
  Value norm = getP() == 1 ? build.reduce<ReduceL1Op>(getInput(), *axis)
                           : build.reduce<ReduceL2Op>(getInput(), *axis);
  Value zero = build.number(inference.element(getInput()), 0);
  return build.replaceBy(
      build.make<WhereOp>({build.make<EqualOp>({norm, zero}), zero,
                           build.make<DivOp>({getInput(), norm})}));
}

/// The sum of so many channels from each of the first `channels` on. Sums of one,
/// two, four, ... are sums of two halves: of 5, those of 4 and the last one.
static Value sumOfNeighbours(Decomposition &build, Value padded, int64_t count,
                             DimExpr channels) {
  Value sum, ofWidth = padded;
  int64_t done = 0;
  for (int64_t width = 1; width <= count; width *= 2) {
    if (count & width) {
      Value part = build.slice(ofWidth, 1, done, channels);
      sum = sum ? build.make<AddOp>({sum, part}) : part;
      done += width;
    }
    if (2 * width > count)
      break;
    const DimExpr length = channels + (count - 2 * width);
    ofWidth = build.make<AddOp>({build.slice(ofWidth, 1, 0, length),
                                 build.slice(ofWidth, 1, width, length)});
  }
  return sum;
}

/// Each channel is divided by the squares of its neighbours' sum.
LogicalResult LRNOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getInput());
  int64_t size = getSize();
  if (dims.size() < 2 || size < 1)
    return emitOpError("has an operand of ")
           << dims.size() << " dims and size " << size
           << ", expected channels in dim 1 and a size of at least 1";
  if (failed(checkAmount(*this, {size}, kMostValues, "sums of neighbours")))
    return failure();
  Decomposition build(*this, inference);
  Type element = inference.element(getInput());
  int64_t before = (size - 1) / 2;
  SmallVector<int64_t> pads(2 * dims.size(), 0);
  pads[1] = before;
  pads[dims.size() + 1] = size - 1 - before;
  Value squares =
      build.make<PadOp>({build.make<MulOp>({getInput(), getInput()})},
                        {build.attribute("pads", pads)});
  Value sum = sumOfNeighbours(build, squares, size, dims[1]);
  auto number = [&](double value) { return build.number(element, value); };
  Value scaled = build.make<MulOp>(
      {sum, number(getAlpha().convertToFloat() / static_cast<double>(size))});
  Value base = build.make<AddOp>({scaled, number(getBias().convertToFloat())});
  Value divisor = build.make<PowOp>({base, number(getBeta().convertToFloat())});
  return build.replaceBy(build.make<DivOp>({getInput(), divisor}));
}

namespace {

/// Statistics of channels, which are dim 1.
struct ChannelNorm {
  Decomposition build;
  Decomposition::Dims dims;
  Type element;

  ChannelNorm(Operation *op, ShapeInference &inference)
      : build(op, inference), dims(inference.dims(op->getOperand(0))),
        element(inference.element(op->getOperand(0))) {}

  /// [c] as [c, 1, 1], of the data's type.
  Value perChannel(Value vector) {
    Decomposition::Dims shape(dims.size() - 1, DimExpr(int64_t(1)));
    shape[0] = dims[1];
    return build.cast(build.reshape(vector, shape), element);
  }
  Value variance(Value data, Value mean, ArrayRef<int64_t> axes) {
    Value centred = build.make<SubOp>({data, mean});
    return build.reduce<ReduceMeanOp>(build.make<MulOp>({centred, centred}),
                                      axes);
  }
  Value normalize(Value data, Value mean, Value variance, Value scale,
                  Value bias, double epsilon) {
    Value deviation = build.make<SqrtOp>(
        {build.make<AddOp>({variance, build.number(element, epsilon)})});
    Value normal =
        build.make<DivOp>({build.make<SubOp>({data, mean}), deviation});
    return build.make<AddOp>({build.make<MulOp>({normal, scale}), bias});
  }
};

} // namespace

static LogicalResult checkChannels(Operation *op, size_t rank) {
  return rank >= 2 ? success()
                   : op->emitOpError("has an operand of ")
                         << rank << " dims, expected channels in dim 1";
}

LogicalResult InstanceNormalizationOp::inferTypes(ShapeInference &inference) {
  ChannelNorm norm(*this, inference);
  if (failed(checkChannels(*this, norm.dims.size())))
    return failure();
  auto image = llvm::to_vector(llvm::seq<int64_t>(2, norm.dims.size()));
  Value mean = norm.build.reduce<ReduceMeanOp>(getInput(), image);
  Value variance = norm.variance(getInput(), mean, image);
  return norm.build.replaceBy(norm.normalize(
      getInput(), mean, variance, norm.perChannel(getScale()),
      norm.perChannel(getBias()), getEpsilon().convertToFloat()));
}

LogicalResult BatchNormalizationOp::inferTypes(ShapeInference &inference) {
  ChannelNorm norm(*this, inference);
  Decomposition &build = norm.build;
  if (failed(checkChannels(*this, norm.dims.size())))
    return failure();
  bool isTraining = getTrainingMode() != 0;
  if (!isTraining && getNumResults() > 1)
    return emitOpError("has ") << getNumResults()
                               << " results, expected 1 unless training_mode "
                                  "is 1";
  Value mean = getMean(), variance = getVariance();
  std::array<Value, 2> statistics;
  if (isTraining) {
    SmallVector<int64_t> axes = {0};
    llvm::append_range(axes, llvm::seq<int64_t>(2, norm.dims.size()));
    mean = build.reduce<ReduceMeanOp>(getInput(), axes);
    variance = norm.variance(getInput(), mean, axes);
    mean = build.reshape(mean, norm.dims[1]);
    variance = build.reshape(variance, norm.dims[1]);
    float momentum = getMomentum().convertToFloat();
    auto running = [&](Value before, Value now) {
      Type element = inference.element(before);
      Value kept = build.make<MulOp>({before, build.number(element, momentum)});
      Value added = build.make<MulOp>(
          {build.cast(now, element), build.number(element, 1.0 - momentum)});
      return build.make<AddOp>({kept, added});
    };
    statistics = {running(getMean(), mean), running(getVariance(), variance)};
  }
  Value normal =
      norm.normalize(getInput(), norm.perChannel(mean),
                     norm.perChannel(variance), norm.perChannel(getScale()),
                     norm.perChannel(getBias()), getEpsilon().convertToFloat());
  return build.replaceBy({normal, statistics[0], statistics[1]});
}

} // namespace shardc::onnx
