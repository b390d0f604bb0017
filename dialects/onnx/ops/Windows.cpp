//===- Windows.cpp - Kernels that slide over an image ---------------------===//

#include "dialects/onnx/ops/Windows.h"

#include "dialects/onnx/ops/Padding.h"
#include "dialects/onnx/ops/Pooling.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

namespace {

struct Windows {
  SmallVector<int64_t> kernel, strides, dilations, pads;
  StringRef autoPad = "NOTSET";
  bool ceils = false;

  int64_t span(size_t d) const { return dilations[d] * (kernel[d] - 1) + 1; }
};

} // namespace

static SmallVector<int64_t> listOr(Operation *op, StringRef name, size_t count,
                                   int64_t otherwise) {
  if (auto list = op->getAttrOfType<DenseI64ArrayAttr>(name))
    return llvm::to_vector(list.asArrayRef());
  return SmallVector<int64_t>(count, otherwise);
}

static FailureOr<Windows> readWindows(Operation *op, size_t spatial) {
  Windows windows{
      listOr(op, "kernel_shape", 0, 0), listOr(op, "strides", spatial, 1),
      listOr(op, "dilations", spatial, 1), listOr(op, "pads", 2 * spatial, 0)};
  if (windows.kernel.size() != spatial || windows.strides.size() != spatial ||
      windows.dilations.size() != spatial || windows.pads.size() != 2 * spatial)
    return op->emitOpError("has kernel_shape, strides, dilations or pads of "
                           "another number of dims, expected ")
           << spatial << " spatial dims";
  for (ArrayRef<int64_t> list :
       {ArrayRef(windows.kernel), ArrayRef(windows.strides),
        ArrayRef(windows.dilations)})
    if (llvm::any_of(list, [](int64_t value) { return value < 1; }))
      return op->emitOpError(
          "has a kernel_shape, strides or dilations below 1");
  if (auto mode = op->getAttrOfType<StringAttr>("auto_pad"))
    windows.autoPad = mode.getValue();
  if (auto ceils = op->getAttrOfType<IntegerAttr>("ceil_mode"))
    windows.ceils = ceils.getInt() != 0;
  return windows;
}

std::optional<int64_t> coveredBeyond(DimExpr size, int64_t stride) {
  if (stride == 1 || size.exactDiv(stride))
    return 0;
  std::optional<int64_t> constant = size.asConstant();
  return constant ? std::optional((stride - *constant % stride) % stride)
                  : std::nullopt;
}

SamePads samePads(DimExpr size, int64_t stride, int64_t span, bool isUpper) {
  DimExpr count = DimExpr::floorDiv(size + (stride - 1), stride);
  DimExpr total = DimExpr::max((count - 1) * stride + span - size, 0);
  DimExpr minor = DimExpr::floorDiv(total, 2), major = total - minor;
  return {isUpper ? minor : major, isUpper ? major : minor, count};
}

bool padImage(Operation *op, ShapeInference &inference, ArrayRef<SamePads> pads,
              double value) {
  Type element = inference.element(op->getOperand(0));
  KnownValue bounds{inference.builder.getI64Type(), {}, {}};
  bounds.elements.assign(2, DimExpr());
  for (const SamePads &pad : pads)
    bounds.elements.push_back(pad.begin);
  bounds.elements.append(2, DimExpr());
  for (const SamePads &pad : pads)
    bounds.elements.push_back(pad.end);
  bounds.shape = {static_cast<int64_t>(bounds.elements.size())};
  const KnownScalar number =
      isa<FloatType>(element)
          ? KnownScalar(value)
          : KnownScalar(DimExpr(static_cast<int64_t>(value)));
  std::optional<KnownScalar> border = storeAs(element, number);
  if (!border) {
    op->emitOpError("has an operand of ")
        << op->getOperand(0).getType() << ", expected numbers";
    return false;
  }
  Value constant = inference.constant(op, KnownValue{element, {}, {*border}});
  auto padded = inference.create<PadOp>(
      op, {op->getOperand(0), inference.constant(op, bounds), constant});
  if (padded)
    op->setOperand(0, padded.getResult());
  return static_cast<bool>(padded);
}

/// What an element must be so that a window with some of it is what it is
/// without; none where there is no such number. The mean has its own way
/// (AveragePoolOp::inferTypes) unless it counts pads.
static std::optional<double> padThatCountsForNothing(Operation *op) {
  if (auto mean = dyn_cast<AveragePoolOp>(op))
    return mean.getCountIncludePad() ? std::optional(0.0) : std::nullopt;
  if (isa<LpPoolOp>(op))
    return 0;
  auto isUsed = [](Value places) { return !places.use_empty(); };
  if (!isa<MaxPoolOp>(op) ||
      llvm::any_of(op->getResults().drop_front(), isUsed))
    return std::nullopt;
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(op->getOperand(0)));
  if (!type)
    return -INFINITY;
  return type.isUnsigned() ? 0 : -std::ldexp(1.0, type.getWidth() - 1);
}

/// Pads that depend on sizes are an op of their own; `counts` are the windows.
static LogicalResult padFirst(Operation *op, ShapeInference &inference,
                              double value, Windows &windows,
                              ArrayRef<DimExpr> image,
                              SmallVectorImpl<DimExpr> &counts) {
  SmallVector<SamePads> pads;
  for (auto [d, size] : llvm::enumerate(image)) {
    pads.push_back(samePads(size, windows.strides[d], windows.span(d),
                            windows.autoPad == "SAME_UPPER"));
    counts.push_back(pads.back().count);
    if (failed(inference.assume(op, GuardKind::AtLeast, size, 1,
                                op->getName().stripDialect() +
                                    ": the image is empty")))
      return failure();
  }
  windows.pads.assign(2 * image.size(), 0);
  return success(padImage(op, inference, pads, value));
}

/// As many pads as give ceil(size / stride) windows.
static LogicalResult resolveAutoPad(Operation *op, ShapeInference &inference,
                                    Windows &windows, ArrayRef<DimExpr> image,
                                    SmallVectorImpl<DimExpr> &counts) {
  size_t spatial = image.size();
  if (windows.autoPad == "NOTSET")
    return success();
  if (windows.autoPad == "VALID") {
    windows.pads.assign(2 * spatial, 0);
    return success();
  }
  if (windows.autoPad != "SAME_UPPER" && windows.autoPad != "SAME_LOWER")
    return op->emitOpError("has auto_pad ")
           << windows.autoPad
           << ", expected NOTSET, VALID, SAME_UPPER or SAME_LOWER";
  windows.ceils = false;
  for (size_t d = 0; d < spatial; ++d) {
    std::optional<int64_t> covered =
        coveredBeyond(image[d], windows.strides[d]);
    std::optional<double> pad = padThatCountsForNothing(op);
    if (!covered && pad)
      return padFirst(op, inference, *pad, windows, image, counts);
    if (!covered)
      return op->emitOpError("has auto_pad ")
             << windows.autoPad << " for a size of " << image[d].str()
             << ", which may be no multiple of the stride "
             << windows.strides[d];
    int64_t total =
        std::max<int64_t>(0, windows.span(d) - windows.strides[d] + *covered);
    int64_t minor = total / 2, major = total - minor;
    bool isUpper = windows.autoPad == "SAME_UPPER";
    windows.pads[d] = isUpper ? minor : major;
    windows.pads[spatial + d] = isUpper ? major : minor;
  }
  return success();
}

/// ceil(rest / stride) + 1 windows, of which each must begin inside of the image:
/// no more than ceil((image + pads before it) / stride).
static DimExpr countCeiled(const Windows &windows, size_t d, size_t spatial,
                           DimExpr image) {
  int64_t stride = windows.strides[d];
  int64_t beyond = windows.pads[spatial + d] - windows.span(d) + stride;
  return DimExpr::floorDiv(image + windows.pads[d] +
                               std::min<int64_t>(beyond, 0) + (stride - 1),
                           stride);
}

FailureOr<SmallVector<int64_t>> padsOfWholeWindows(Operation *op,
                                                   ArrayRef<DimExpr> image) {
  const size_t spatial = image.size();
  FailureOr<Windows> windows = readWindows(op, spatial);
  if (failed(windows))
    return failure();
  if (windows->autoPad == "VALID")
    windows->pads.assign(2 * spatial, 0);
  for (auto [d, size] : llvm::enumerate(image)) {
    const int64_t stride = windows->strides[d], span = windows->span(d);
    int64_t &end = windows->pads[spatial + d];
    if (end <= span - stride) { // no window begins behind the image
      end += stride - 1;
      continue;
    }
    const std::optional<int64_t> known = size.asConstant(),
                                 count = countCeiled(*windows, d, spatial, size)
                                             .asConstant();
    if (!known || !count)
      return op->emitOpError("has ceil_mode and windows that may begin behind "
                             "an image of size ")
             << size.str() << "; export with fixed sizes, or without ceil_mode";
    end = std::max<int64_t>(0, (*count - 1) * stride + span - *known -
                                   windows->pads[d]);
  }
  return windows->pads;
}

FailureOr<SmallVector<DimExpr, 4>> inferWindows(Operation *op,
                                                ShapeInference &inference,
                                                ArrayRef<DimExpr> image) {
  FailureOr<Windows> windows = readWindows(op, image.size());
  SmallVector<DimExpr, 4> dims;
  if (failed(windows) ||
      failed(resolveAutoPad(op, inference, *windows, image, dims)))
    return failure();
  for (auto [d, size] : llvm::enumerate(image)) {
    if (dims.size() == image.size())
      break; // by auto_pad
    DimExpr span = size + windows->pads[d] + windows->pads[image.size() + d] -
                   windows->span(d);
    if (failed(inference.assume(op, GuardKind::AtLeast, span, 0,
                                op->getName().stripDialect() +
                                    ": the kernel is larger than the image")))
      return failure();
    dims.push_back(windows->ceils
                       ? countCeiled(*windows, d, image.size(), size)
                       : DimExpr::floorDiv(span, windows->strides[d]) + 1);
  }
  Builder &b = inference.builder;
  op->setAttr("strides", b.getDenseI64ArrayAttr(windows->strides));
  op->setAttr("dilations", b.getDenseI64ArrayAttr(windows->dilations));
  op->setAttr("pads", b.getDenseI64ArrayAttr(windows->pads));
  op->setAttr("auto_pad", b.getStringAttr("NOTSET"));
  op->setAttr("ceil_mode", b.getI64IntegerAttr(windows->ceils));
  return dims;
}

} // namespace shardc::onnx
