//===- Resize.cpp - Interpolation becomes a product of matrices -----------===//
//
// Interpolation is separable: each dim that changes is multiplied by a matrix
// [in, out] of weights. Example, linear, from 2 to 4 elements (half_pixel):
//
//   out 0   1     2     3
//        1  0.75  0.25  0      weight of element 0
//        0  0.25  0.75  1      weight of element 1
//
// `nearest` has one 1 a column, which is a Gather.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Interpolation.h"
#include "dialects/onnx/ops/Logic.h"
#include "dialects/onnx/ops/Math.h"
#include "dialects/onnx/ops/Replaced.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

/// Where element `index` of the result lies among those of the input.
double Interpolation::positionOf(const ResizedDim &dim, int64_t index) const {
  double x = static_cast<double>(index), in = static_cast<double>(dim.in);
  double out = dim.scale * in; // need not be whole
  if (transform == "align_corners")
    return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (transform == "asymmetric")
    return x / dim.scale;
  if (usesRoi()) {
    double extent = (dim.roiEnd - dim.roiStart) * (in - 1);
    return (out == 1 ? extent / 2 : x * extent / (out - 1)) +
           dim.roiStart * (in - 1);
  }
  if (transform == "pytorch_half_pixel" && out == 1)
    return -0.5;
  double position = (x + 0.5) / dim.scale - 0.5;
  if (transform == "half_pixel_symmetric")
    position += in / 2 * (1 - static_cast<double>(dim.out) / out);
  return position;
}

int64_t Interpolation::nearestTo(const ResizedDim &dim, double position) const {
  auto inside = [&](double place) {
    return static_cast<int64_t>(
        std::clamp(place, 0.0, static_cast<double>(dim.in - 1)));
  };
  if (isSimple) {
    float place = static_cast<float>(position); // 3 / 0.3 is 10
    return inside(dim.scale < 1 ? std::ceil(place) : place);
  }
  double below = std::floor(position), rest = position - below;
  bool up = rest > 0 && (nearest == "ceil" ||
                         (nearest == "round_prefer_floor" && rest > 0.5) ||
                         (nearest == "round_prefer_ceil" && rest >= 0.5));
  return inside(below + (up ? 1 : 0));
}

double Interpolation::weightAt(double distance) const {
  double x = std::fabs(distance);
  if (mode == "linear")
    return std::max(0.0, 1 - x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// Shrinking with antialias stretches the kernel over all that is left out. Where
/// it reaches no element at all it is as far away as any other.
Taps Interpolation::tapsAt(const ResizedDim &dim, double position) const {
  double stretch = antialias ? std::min(dim.scale, 1.0) : 1.0;
  double reach = (mode == "linear" ? 1 : 2) / stretch;
  position =
      std::clamp(position, -reach - 1, static_cast<double>(dim.in) + reach);
  Taps taps{static_cast<int64_t>(std::ceil(position - reach)), {}};
  double sum = 0;
  for (int64_t i = taps.first; static_cast<double>(i) <= position + reach;
       ++i) {
    bool isInside = i >= 0 && i < dim.in;
    double weight =
        excludesOutside && !isInside
            ? 0
            : weightAt((static_cast<double>(i) - position) * stretch);
    taps.weights.push_back(weight);
    sum += weight;
  }
  if (sum != 0 && (antialias || excludesOutside))
    for (double &weight : taps.weights)
      weight /= sum;
  return taps;
}

/// [in, out]; elements outside of the input repeat its first and last one.
std::vector<double> Interpolation::matrix(const ResizedDim &dim) const {
  std::vector<double> weights(dim.in * dim.out);
  for (int64_t x = 0; x < dim.out; ++x) {
    Taps taps = tapsAt(dim, positionOf(dim, x));
    for (auto [k, weight] : llvm::enumerate(taps.weights)) {
      int64_t from = std::clamp<int64_t>(taps.first + static_cast<int64_t>(k),
                                         0, dim.in - 1);
      weights[from * dim.out + x] += weight;
    }
  }
  return weights;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

namespace {
enum ResizeInput { kRoi = 1, kScales = 2, kSizes = 3 };
}

/// Known numbers and sizes; nothing if absent, unknown or empty.
static ArrayRef<KnownScalar> valuesOf(ShapeInference &inference, Operation *op,
                                      unsigned index) {
  const KnownValue *known = ShapeInference::isPresent(op, index)
                                ? inference.known(op->getOperand(index))
                                : nullptr;
  return known ? ArrayRef(known->elements) : ArrayRef<KnownScalar>();
}

/// Nothing if the number is symbolic.
static std::optional<double> numberOf(const KnownScalar &scalar) {
  if (auto *number = std::get_if<double>(&scalar))
    return *number;
  if (auto value = std::get<DimExpr>(scalar).asConstant())
    return static_cast<double>(*value);
  return std::nullopt;
}

/// keepAspectRatio where a size is symbolic: round(size * scale) is the smallest
/// (or largest) of the rounded sizes that each axis would ask for.
static void keepAspectRatioAtRun(bool isSmallest, ArrayRef<DimExpr> shape,
                                 ArrayRef<int64_t> axes,
                                 MutableArrayRef<ResizedDim> dims) {
  SmallVector<std::pair<DimExpr, DimExpr>, 2> ratios;
  for (int64_t axis : axes) {
    const ResizedDim &dim = dims[axis];
    ratios.emplace_back(dim.symbolic               ? dim.symbolic->out
                        : shape[axis].asConstant() ? DimExpr(dim.out)
                                                   : shape[axis],
                        shape[axis]);
  }
  for (auto [i, axis] : llvm::enumerate(axes)) {
    DimExpr in = shape[axis], out = ratios[i].first;
    for (auto [otherOut, otherIn] : ratios) {
      if (otherIn == in && otherOut == ratios[i].first)
        continue;
      DimExpr asked =
          DimExpr::floorDiv(otherOut * in * 2 + otherIn, otherIn * 2);
      out = isSmallest ? DimExpr::min(out, asked) : DimExpr::max(out, asked);
    }
    dims[axis].symbolic = {in, out, std::nullopt, ratios, isSmallest};
  }
}

/// More elements than any dim has, few enough for a number.
constexpr double kMostOut = 1e15;

/// One scale for all: the smallest, or the largest.
static void keepAspectRatio(StringRef policy, ArrayRef<DimExpr> shape,
                            ArrayRef<int64_t> axes,
                            MutableArrayRef<ResizedDim> dims) {
  if (policy == "stretch")
    return;
  auto isSymbolic = [&](int64_t axis) {
    return dims[axis].symbolic || !shape[axis].asConstant();
  };
  if (llvm::any_of(axes, isSymbolic))
    return keepAspectRatioAtRun(policy == "not_larger", shape, axes, dims);
  double scale = dims[axes.front()].scale;
  for (int64_t axis : axes)
    scale = policy == "not_larger" ? std::min(scale, dims[axis].scale)
                                   : std::max(scale, dims[axis].scale);
  for (int64_t axis : axes) {
    dims[axis].scale = scale;
    dims[axis].out = static_cast<int64_t>(
        std::min(scale * static_cast<double>(dims[axis].in) + 0.5, kMostOut));
  }
}

namespace {
struct ResizeOperands {
  ArrayRef<KnownScalar> roi, scales, sizes;
  bool hasSizes;
};
} // namespace

/// floor(scale * size) of a symbolic size; nothing if the scale is no simple
/// fraction.
static std::optional<DimExpr> scaledSize(DimExpr size, double scale) {
  for (int64_t divisor = 1; divisor <= 64; ++divisor) {
    double times = std::round(scale * static_cast<double>(divisor));
    if (times >= 1 && times <= kMostOut &&
        std::fabs(times / static_cast<double>(divisor) - scale) < 1e-6 * scale)
      return DimExpr::floorDiv(size * static_cast<int64_t>(times), divisor);
  }
  return std::nullopt;
}

/// Where the size before or the one after is symbolic.
static std::optional<ResizedDim>
readSymbolicDim(DimExpr size, const KnownScalar &entry, bool isSize) {
  ResizedDim dim{1, 1};
  dim.symbolic = SymbolicDim{size, size, std::nullopt};
  if (isSize) {
    if (!std::holds_alternative<DimExpr>(entry))
      return std::nullopt;
    dim.symbolic->out = std::get<DimExpr>(entry);
    return dim;
  }
  std::optional<double> scale = numberOf(entry);
  std::optional<DimExpr> out = scale ? scaledSize(size, *scale) : std::nullopt;
  if (!out)
    return std::nullopt;
  dim.symbolic->out = *out;
  dim.symbolic->scale = *scale;
  return dim;
}

/// An axis of size `size`, whose entries in the operands are the `i`-th.
static std::optional<ResizedDim> readDim(const ResizeOperands &operands,
                                         DimExpr size, size_t i) {
  ResizedDim dim{1, 1};
  const KnownScalar &entry =
      operands.hasSizes ? operands.sizes[i] : operands.scales[i];
  if (operands.hasSizes && entry == KnownScalar(size) && !size.asConstant())
    return dim;
  std::optional<double> number = numberOf(entry);
  if (!operands.hasSizes && number == 1.0 && !size.asConstant())
    return dim;
  if (!number || !size.asConstant())
    return readSymbolicDim(size, entry, operands.hasSizes);
  dim.in = size.asConstant().value_or(1);
  dim.scale =
      operands.hasSizes ? *number / static_cast<double>(dim.in) : *number;
  if (!(dim.scale >= 0) || dim.scale > 1e6)
    return std::nullopt;
  const double out = operands.hasSizes
                         ? *number
                         : std::floor(static_cast<float>(*number) *
                                      static_cast<float>(dim.in));
  if (out > kMostOut)
    return std::nullopt;
  dim.out = static_cast<int64_t>(out);
  return dim;
}

static LogicalResult readRoi(const ResizeOperands &operands, size_t i,
                             ResizedDim &dim) {
  std::optional<double> start = numberOf(operands.roi[i]),
                        end =
                            numberOf(operands.roi[operands.roi.size() / 2 + i]);
  if (!start || !end || !std::isfinite(*start) || !std::isfinite(*end))
    return failure();
  dim.roiStart = *start;
  dim.roiEnd = *end;
  return success();
}

static FailureOr<SmallVector<int64_t>>
readAxes(ResizeOp op, ShapeInference &inference, int64_t rank) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (std::optional<ArrayRef<int64_t>> given = op.getAxes())
    axes.assign(given->begin(), given->end());
  for (int64_t &axis : axes) {
    FailureOr<int64_t> normal = inference.normalizeAxis(op, axis, rank);
    if (failed(normal))
      return failure();
    axis = *normal;
  }
  return axes;
}

static LogicalResult reportSize(ResizeOp op, int64_t axis) {
  return op.emitOpError("resizes dim ")
         << axis << " of " << op.getInput().getType()
         << ", expected sizes above 0, that scales of small fractions give: "
            "export with a constant image size";
}

/// An image that is empty has no element to read.
static LogicalResult checkSymbolic(ResizeOp op, ShapeInference &inference,
                                   const SymbolicDim &dim) {
  return inference.assume(op, GuardKind::AtLeast, dim.in, 1,
                          "Resize: size " + dim.in.str());
}

static FailureOr<SmallVector<ResizedDim>>
readDims(ResizeOp op, ShapeInference &inference, bool usesRoi) {
  SmallVector<DimExpr, 4> shape = inference.dims(op.getInput());
  FailureOr<SmallVector<int64_t>> axes =
      readAxes(op, inference, static_cast<int64_t>(shape.size()));
  if (failed(axes))
    return failure();
  // What depends on data is read on each run.
  (void)inference.knownOrReadDims(op, kSizes);
  // Before opset 11 there was no roi.
  unsigned scalesAt = isOfOpset10(op) ? 1 : kScales;
  ResizeOperands operands{valuesOf(inference, op, kRoi),
                          valuesOf(inference, op, scalesAt),
                          valuesOf(inference, op, kSizes), false};
  operands.hasSizes = operands.sizes.size() == axes->size();
  if (axes->empty() ||
      (!operands.hasSizes && operands.scales.size() != axes->size()) ||
      (usesRoi && operands.roi.size() != 2 * axes->size()))
    return op.emitOpError("has scales, sizes or a roi that depend on data or "
                          "are of another number than ")
           << axes->size() << " axes, expected constants";
  SmallVector<ResizedDim> dims;
  for (const DimExpr &size : shape) {
    int64_t constant = size.asConstant().value_or(1);
    dims.push_back({constant, constant});
  }
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    std::optional<ResizedDim> dim = readDim(operands, shape[axis], i);
    if (!dim || dim->in == 0 || (usesRoi && failed(readRoi(operands, i, *dim))))
      return reportSize(op, axis);
    if (!shape[axis].asConstant() && !dim->symbolic && !dim->isKept(usesRoi))
      dim->symbolic = {shape[axis], shape[axis], std::nullopt}; // a part of it
    dims[axis] = *dim;
  }
  if (operands.hasSizes)
    keepAspectRatio(op.getKeepAspectRatioPolicy(), shape, *axes, dims);
  for (const ResizedDim &dim : dims)
    if (dim.symbolic && failed(checkSymbolic(op, inference, *dim.symbolic)))
      return failure();
  return dims;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// The elements nearest to each position of a dim.
static Value gatherNearest(Decomposition &build,
                           const Interpolation &interpolation,
                           const ResizedDim &dim, Value image, int64_t axis) {
  std::vector<int64_t> places;
  for (int64_t x = 0; x < dim.out; ++x)
    places.push_back(
        interpolation.nearestTo(dim, interpolation.positionOf(dim, x)));
  return build.make<GatherOp>({image, build.places(places)},
                              {build.attribute("axis", axis)});
}

static Value interpolate(Decomposition &build,
                         const Interpolation &interpolation,
                         const ResizedDim &dim, Value image, int64_t axis) {
  int64_t rank = build.rank(image);
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(perm[axis], perm.back()); // its own inverse
  Value weights = build.constant(build.element(image), {dim.in, dim.out},
                                 interpolation.matrix(dim));
  return build.transpose(build.matmul(build.transpose(image, perm), weights),
                         perm);
}

/// Positions outside of the input have a value of their own.
static Value extrapolate(Decomposition &build,
                         const Interpolation &interpolation,
                         const ResizedDim &dim, Value image, int64_t axis,
                         double value) {
  SmallVector<double> isOutside;
  for (int64_t x = 0; x < dim.out; ++x)
    isOutside.push_back(
        interpolation.isOutside(dim, interpolation.positionOf(dim, x)));
  if (llvm::is_contained(isOutside, 1.0) == false)
    return image;
  SmallVector<DimExpr, 4> shape(build.rank(image), DimExpr(int64_t(1)));
  shape[axis] = dim.out;
  Value mask =
      build.reshape(build.constant(build.i1(), {dim.out}, isOutside), shape);
  return build.make<WhereOp>(
      {mask, build.number(build.element(image), value), image});
}

/// A matrix of more weights is no constant: a few of them for each element are
/// computed when the program runs, as for a symbolic size.
constexpr int64_t kMostWeights = int64_t{1} << 20;

LogicalResult ResizeOp::inferTypes(ShapeInference &inference) {
  Interpolation interpolation(*this);
  if (!interpolation.isKnown() ||
      (interpolation.isNearest() && getAntialias() != 0))
    return emitOpError("has mode ")
           << getMode() << ", coordinate_transformation_mode "
           << getCoordinateTransformationMode() << " or nearest_mode "
           << getNearestMode() << ", of which one is not supported";
  auto dims = readDims(*this, inference, interpolation.usesRoi());
  if (failed(dims))
    return failure();
  Decomposition build(*this, inference);
  Type element = inference.element(getInput());
  bool isFloat = isa<FloatType>(element);
  Value image = getInput();
  if (!interpolation.isNearest() && !element.isF64())
    image = build.cast(image, build.f32());
  for (auto [axis, dim] : llvm::enumerate(*dims)) {
    if (!image || dim.isKept(interpolation.usesRoi()))
      continue;
    const int64_t rows = interpolation.isNearest() ? 1 : dim.in;
    if (failed(checkAmount(*this, {rows, dim.out}, kMostElements,
                           "elements of weights or places")))
      return failure();
    if (!dim.symbolic && rows * dim.out > kMostWeights)
      dim.symbolic = {dim.in, dim.out, dim.scale};
    if (dim.symbolic) {
      image = interpolation.resampleAtRun(build, dim, image, axis);
      if (image && interpolation.usesRoi())
        image = interpolation.extrapolateAtRun(
            build, dim, image, axis, getExtrapolationValue().convertToFloat());
      continue;
    }
    image = interpolation.isNearest()
                ? gatherNearest(build, interpolation, dim, image, axis)
                : interpolate(build, interpolation, dim, image, axis);
    image = image ? extrapolate(build, interpolation, dim, image, axis,
                                getExtrapolationValue().convertToFloat())
                  : image;
  }
  if (!interpolation.isNearest() && !isFloat)
    image = build.make<RoundOp>({image});
  return build.replaceBy(build.cast(image, element));
}

} // namespace shardc::onnx
