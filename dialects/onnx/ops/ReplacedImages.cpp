//===- ReplacedImages.cpp - Convolutions backwards, transforms -----------===//

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Padding.h"
#include "dialects/onnx/ops/Replaced.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

static SmallVector<int64_t> listOr(std::optional<ArrayRef<int64_t>> list,
                                   size_t count, int64_t otherwise) {
  return list ? llvm::to_vector(*list) : SmallVector<int64_t>(count, otherwise);
}

/// Operand `index` as constants, `count` of them unless that is 0.
static FailureOr<SmallVector<int64_t, 4>>
constants(Operation *op, ShapeInference &inference, unsigned index,
          StringRef name, size_t count = 0) {
  auto known = inference.knownInts(op, index);
  if (known && (count == 0 || known->size() == count))
    return *known;
  op->emitOpError("has ") << name
                          << " that depend on data or are of another number, "
                             "expected constants";
  return failure();
}

//===----------------------------------------------------------------------===//
// ConvTranspose
//===----------------------------------------------------------------------===//

namespace {

/// out = (in - 1) * stride + output_padding + span of the kernel - pads.
struct TransposedWindows {
  SmallVector<int64_t> kernel, strides, dilations, pads, extra;

  int64_t span(size_t d) const { return dilations[d] * (kernel[d] - 1) + 1; }
};

} // namespace

/// auto_pad and output_shape say the sizes; pads follow from them.
static LogicalResult resolveOutputShape(ConvTransposeOp op,
                                        TransposedWindows &windows,
                                        ArrayRef<DimExpr> image) {
  StringRef mode = op.getAutoPad();
  bool isSame = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (mode == "VALID")
    windows.pads.assign(windows.pads.size(), 0);
  if (!op.getOutputShape() && !isSame)
    return success();
  auto sizes = asConstants(image);
  if (!sizes)
    return op.emitOpError("has auto_pad or output_shape for symbolic sizes");
  size_t spatial = image.size();
  ArrayRef<int64_t> wanted = op.getOutputShape().value_or(ArrayRef<int64_t>());
  wanted = wanted.take_back(std::min(spatial, wanted.size()));
  if (!wanted.empty() && wanted.size() != spatial)
    return op.emitOpError("has an output_shape of another number of dims");
  for (size_t d = 0; d < spatial; ++d) {
    int64_t stride = windows.strides[d];
    int64_t size = wanted.empty() ? (*sizes)[d] * stride : wanted[d];
    int64_t total =
        stride * ((*sizes)[d] - 1) + windows.extra[d] + windows.span(d) - size;
    if (total < 0) { // more than the kernel reaches
      windows.extra[d] -= total;
      total = 0;
    }
    int64_t begin = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    windows.pads[d] = begin;
    windows.pads[spatial + d] = total - begin;
  }
  return success();
}

/// [b, c, h, w] with stride - 1 zeros behind each element.
static Value spread(Decomposition &build, Value image,
                    ArrayRef<int64_t> strides) {
  for (auto [d, stride] : llvm::enumerate(strides)) {
    if (stride == 1)
      continue;
    Decomposition::Dims dims = build.dims(image), split = dims;
    if (dims.empty())
      return {};
    split.insert(split.begin() + d + 3, DimExpr(int64_t(1)));
    SmallVector<int64_t> pads(2 * split.size(), 0);
    pads[split.size() + d + 3] = stride - 1;
    image = build.make<PadOp>({build.reshape(image, split)},
                              {build.attribute("pads", pads)});
    dims[d + 2] = dims[d + 2] * stride;
    image = build.reshape(image, dims);
  }
  return image;
}

/// [c, m / g, k...] becomes [m, c / g, k...] with its taps reversed.
static Value flipFilter(Decomposition &build, Value filter, int64_t group,
                        size_t spatial) {
  Decomposition::Dims dims = build.dims(filter), split = dims;
  std::optional<DimExpr> inner = dims[0].exactDiv(group);
  if (!inner)
    return {};
  split[0] = *inner;
  split.insert(split.begin(), DimExpr(group));
  SmallVector<int64_t> perm = {0, 2, 1};
  llvm::append_range(perm, llvm::seq<int64_t>(3, split.size()));
  Value moved = build.transpose(build.reshape(filter, split), perm);
  dims[0] = dims[1] * group;
  dims[1] = *inner;
  moved = build.reshape(moved, dims);
  SmallVector<DimExpr, 4> last(spatial, DimExpr(int64_t(-1))),
      end(spatial, DimExpr(-(int64_t(1) << 40))), axes, steps = last;
  for (size_t d = 0; d < spatial; ++d)
    axes.push_back(static_cast<int64_t>(d) + 2);
  return build.make<SliceOp>({moved, build.integers(last), build.integers(end),
                              build.integers(axes), build.integers(steps)});
}

/// A convolution of the spread image with the reversed kernel.
LogicalResult ConvTransposeOp::inferTypes(ShapeInference &inference) {
  inference.dropAbsentTail(*this);
  SmallVector<DimExpr, 4> image = inference.dims(getInput());
  SmallVector<DimExpr, 4> filter = inference.dims(getFilter());
  if (image.size() < 3 || image.size() != filter.size())
    return emitOpError("has operands of ")
           << image.size() << " and " << filter.size()
           << " dims, expected the same number, at least 3";
  size_t spatial = image.size() - 2;
  auto kernel = asConstants(ArrayRef(filter).drop_front(2));
  int64_t group = getGroup();
  if (!kernel || !filter[0].exactDiv(group))
    return emitOpError("has a filter of symbolic sizes, or channels that its "
                       "groups do not divide");
  TransposedWindows windows{
      llvm::to_vector(ArrayRef(*kernel)), listOr(getStrides(), spatial, 1),
      listOr(getDilations(), spatial, 1), listOr(getPads(), 2 * spatial, 0),
      listOr(getOutputPadding(), spatial, 0)};
  if (windows.strides.size() != spatial ||
      windows.dilations.size() != spatial ||
      windows.pads.size() != 2 * spatial || windows.extra.size() != spatial)
    return emitOpError("has strides, dilations, pads or output_padding of "
                       "another number of dims, expected ")
           << spatial << " spatial dims";
  if (failed(resolveOutputShape(*this, windows, ArrayRef(image).drop_front(2))))
    return failure();
  Decomposition build(*this, inference);
  SmallVector<int64_t> borders(2 * image.size(), 0);
  for (size_t d = 0; d < spatial; ++d) {
    int64_t reach = windows.span(d) - 1;
    borders[d + 2] = reach - windows.pads[d];
    borders[image.size() + d + 2] = reach - windows.pads[spatial + d] +
                                    windows.extra[d] - (windows.strides[d] - 1);
  }
  Value padded = build.make<PadOp>({spread(build, getInput(), windows.strides)},
                                   {build.attribute("pads", borders)});
  SmallVector<Value, 3> operands = {
      padded, flipFilter(build, getFilter(), group, spatial)};
  llvm::append_range(operands, getBias());
  return build.replaceBy(build.make<ConvOp>(
      operands, {build.attribute("dilations", windows.dilations),
                 build.attribute("group", group)}));
}

//===----------------------------------------------------------------------===//
// Col2Im
//===----------------------------------------------------------------------===//

/// Where each tap of each window lies in the padded image.
static SmallVector<int64_t> placesOfTaps(ArrayRef<int64_t> image,
                                         ArrayRef<int64_t> block,
                                         ArrayRef<int64_t> strides,
                                         ArrayRef<int64_t> dilations) {
  SmallVector<int64_t> windows, places;
  for (size_t d = 0; d < image.size(); ++d)
    windows.push_back(
        (image[d] - dilations[d] * (block[d] - 1) - 1) / strides[d] + 1);
  forEachIndex(block, [&](ArrayRef<int64_t> tap) {
    SmallVector<int64_t> at(tap);
    forEachIndex(windows, [&](ArrayRef<int64_t> window) {
      int64_t place = 0;
      for (size_t d = 0; d < image.size(); ++d)
        place =
            place * image[d] + window[d] * strides[d] + at[d] * dilations[d];
      places.push_back(place);
    });
  });
  return places;
}

/// Each column's taps are added to the places that they were taken from.
LogicalResult Col2ImOp::inferTypes(ShapeInference &inference) {
  auto image = constants(*this, inference, 1, "an image_shape");
  if (failed(image))
    return failure();
  size_t spatial = image->size();
  auto block = constants(*this, inference, 2, "a block_shape", spatial);
  if (failed(block))
    return failure();
  SmallVector<int64_t> strides = listOr(getStrides(), spatial, 1),
                       dilations = listOr(getDilations(), spatial, 1),
                       pads = listOr(getPads(), 2 * spatial, 0),
                       padded(image->begin(), image->end());
  SmallVector<DimExpr, 4> dims = inference.dims(getInput());
  int64_t taps = numElements(*block);
  std::optional<DimExpr> channels =
      dims.size() == 3 && taps > 0 ? dims[1].exactDiv(taps) : std::nullopt;
  if (!channels || strides.size() != spatial || dilations.size() != spatial ||
      pads.size() != 2 * spatial)
    return emitOpError("has strides, dilations, pads or an operand that do not "
                       "fit a block of ")
           << taps << " elements";
  for (size_t d = 0; d < spatial; ++d)
    padded[d] += pads[d] + pads[spatial + d];
  SmallVector<int64_t> places =
      placesOfTaps(padded, *block, strides, dilations);
  int64_t count = places.size();
  if (failed(inference.assume(*this, GuardKind::Equal, dims[2] * taps, count,
                              "Col2Im: the number of windows")))
    return failure();
  Decomposition build(*this, inference);
  DimExpr size = numElements(padded);
  SmallVector<DimExpr, 4> flat = {dims[0], *channels, count};
  Value zeros = build.expand(build.number(inference.element(getInput()), 0),
                             {dims[0], *channels, size});
  SmallVector<DimExpr, 4> indices(places.begin(), places.end());
  Value sum = build.make<ScatterElementsOp>(
      {zeros, build.expand(build.integers(indices), flat),
       build.reshape(getInput(), flat)},
      {build.attribute("axis", 2), build.attribute("reduction", "add")});
  SmallVector<DimExpr, 4> shape = {dims[0], *channels};
  shape.append(padded.begin(), padded.end());
  sum = build.reshape(sum, shape);
  for (size_t d = 0; d < spatial; ++d)
    if (pads[d] != 0 || pads[spatial + d] != 0)
      sum = build.slice(sum, static_cast<int64_t>(d) + 2, pads[d], (*image)[d]);
  return build.replaceBy(sum);
}

//===----------------------------------------------------------------------===//
// DFT
//===----------------------------------------------------------------------===//

namespace {

/// The transform as a matrix [points x parts, bins x results], where a part is
/// a real or an imaginary one.
struct FourierMatrix {
  int64_t points, length, bins;
  int64_t parts, results; ///< 1: real, 2: complex
  bool isInverse, isHalf;

  std::vector<double> values() const;
};

} // namespace

std::vector<double> FourierMatrix::values() const {
  std::vector<double> matrix(points * parts * bins * results);
  for (int64_t j = 0; j < std::min(points, length); ++j)
    for (int64_t k = 0; k < bins; ++k) {
      double turns = static_cast<double>(j * k % length) / length;
      double angle = (isInverse ? 2 : -2) * M_PI * turns;
      double scale = isInverse ? 1.0 / length : 1.0;
      // Half a spectrum stands for its mirror image as well.
      if (isInverse && isHalf && j != 0 && 2 * j != length)
        scale *= 2;
      double re = scale * std::cos(angle), im = scale * std::sin(angle);
      auto at = [&](int64_t part, int64_t result) -> double & {
        return matrix[((j * parts + part) * bins + k) * results + result];
      };
      at(0, 0) = re;
      if (results == 2)
        at(0, 1) = im;
      if (parts == 2) {
        at(1, 0) = -im;
        if (results == 2)
          at(1, 1) = re;
      }
    }
  return matrix;
}

LogicalResult DFTOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getInput());
  int64_t rank = dims.size();
  int64_t given = getAxis()              ? static_cast<int64_t>(*getAxis())
                  : inference.opset < 20 ? 1
                                         : -2;
  if (ShapeInference::isPresent(*this, 2)) {
    auto known = constants(*this, inference, 2, "an axis", 1);
    if (failed(known))
      return failure();
    given = known->front();
  }
  FailureOr<int64_t> axis = inference.normalizeAxis(*this, given, rank);
  if (failed(axis))
    return failure();
  auto points = dims[*axis].asConstant(), parts = dims.back().asConstant();
  if (!points || !parts || *parts < 1 || *parts > 2 || *axis == rank - 1)
    return emitOpError("has a symbolic number of points, or a last dim that is "
                       "neither real nor complex");
  bool isInverse = getInverse() != 0, isHalf = getOnesided() != 0;
  int64_t length = isInverse && isHalf ? 2 * (*points - 1) : *points;
  if (ShapeInference::isPresent(*this, 1)) {
    auto known = constants(*this, inference, 1, "a dft_length", 1);
    if (failed(known))
      return failure();
    length = known->front();
  }
  if (length < 1)
    return emitOpError("has a dft_length of ") << length;
  bool isReal = isInverse && isHalf;
  FourierMatrix matrix{
      *points, length,         isHalf && !isInverse ? length / 2 + 1 : length,
      *parts,  isReal ? 1 : 2, isInverse,
      isHalf};
  // The axis moves beside the parts, and both are contracted at once.
  SmallVector<int64_t> perm, back(rank);
  for (int64_t d = 0; d < rank - 1; ++d)
    if (d != *axis)
      perm.push_back(d);
  perm.append({*axis, rank - 1});
  for (auto [i, d] : llvm::enumerate(perm))
    back[d] = i;
  Decomposition build(*this, inference);
  Type element = inference.element(getInput());
  Type wide = inference.builder.getF64Type(); // sums that cancel
  Value moved = build.cast(build.transpose(getInput(), perm), wide);
  SmallVector<DimExpr, 4> shape(build.dims(moved));
  if (shape.empty())
    return failure();
  shape.pop_back_n(2);
  SmallVector<DimExpr, 4> flat = shape;
  flat.push_back(*points * *parts);
  std::vector<double> values = matrix.values();
  Value weights = build.constant(
      wide, {*points * *parts, matrix.bins * matrix.results}, values);
  Value product = build.make<MatMulOp>({build.reshape(moved, flat), weights});
  shape.append({DimExpr(matrix.bins), DimExpr(matrix.results)});
  return build.replaceBy(build.transpose(
      build.cast(build.reshape(product, shape), element), back));
}

//===----------------------------------------------------------------------===//
// STFT
//===----------------------------------------------------------------------===//

/// Frames of the signal, weighted by the window, each transformed.
LogicalResult STFTOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getSignal());
  auto points = dims.size() == 3 ? dims[1].asConstant() : std::nullopt;
  auto step = constants(*this, inference, 1, "a frame_step", 1);
  if (failed(step))
    return failure();
  Decomposition build(*this, inference);
  Value window = build.operand(2);
  std::optional<int64_t> length;
  if (ShapeInference::isPresent(*this, 3)) {
    auto known = constants(*this, inference, 3, "a frame_length", 1);
    if (failed(known))
      return failure();
    length = known->front();
  } else if (window) {
    length = build.dims(window).front().asConstant();
  }
  if (!points || !length || *length < 1 || *length > *points ||
      step->front() < 1)
    return emitOpError("has a signal of ")
           << getSignal().getType()
           << ", expected a constant number of points, no fewer than a frame";
  int64_t count = (*points - *length) / step->front() + 1;
  SmallVector<DimExpr, 4> places;
  for (int64_t frame = 0; frame < count; ++frame)
    for (int64_t i = 0; i < *length; ++i)
      places.push_back(frame * step->front() + i);
  Value frames = build.make<GatherOp>({getSignal(), build.integers(places)},
                                      {build.attribute("axis", int64_t(1))});
  frames = build.reshape(frames, {dims[0], count, *length, dims[2]});
  if (window)
    frames = build.mul(frames, build.reshape(window, {*length, 1}));
  Value none = build.integers(DimExpr(*length));
  return build.replaceBy(build.make<DFTOp>(
      {frames, none},
      {build.attribute("axis", int64_t(2)),
       build.attribute("onesided", static_cast<int64_t>(getOnesided()))}));
}

//===----------------------------------------------------------------------===//
// AffineGrid
//===----------------------------------------------------------------------===//

/// Homogeneous coordinates (x, y, 1) or (x, y, z, 1) of each pixel.
static std::vector<double> pixelGrid(ArrayRef<int64_t> image, bool isAligned) {
  std::vector<double> values;
  forEachIndex(image, [&](ArrayRef<int64_t> pixel) {
    for (size_t d = image.size(); d-- > 0;) {
      double size = static_cast<double>(image[d]),
             at = static_cast<double>(pixel[d]);
      values.push_back(!isAligned  ? (2 * at + 1) / size - 1
                       : size == 1 ? -1
                                   : 2 * at / (size - 1) - 1);
    }
    values.push_back(1);
  });
  return values;
}

LogicalResult AffineGridOp::inferTypes(ShapeInference &inference) {
  auto size = constants(*this, inference, 1, "a size");
  if (failed(size))
    return failure();
  SmallVector<DimExpr, 4> theta = inference.dims(getTheta());
  int64_t spatial = static_cast<int64_t>(size->size()) - 2;
  if (theta.size() != 3 || spatial < 2 || spatial > 3)
    return emitOpError("has a size of ")
           << size->size() << " dims, expected 4 or 5 and a theta of 3";
  ArrayRef<int64_t> image = ArrayRef(*size).drop_front(2);
  Decomposition build(*this, inference);
  Value grid = build.constant(inference.element(getTheta()),
                              {1, numElements(image), spatial + 1},
                              pixelGrid(image, getAlignCorners() != 0));
  Value moved =
      build.make<MatMulOp>({grid, build.transpose(getTheta(), {0, 2, 1})});
  SmallVector<DimExpr, 4> dims = {theta[0]};
  dims.append(image.begin(), image.end());
  dims.push_back(spatial);
  return build.replaceBy(build.reshape(moved, dims));
}

} // namespace shardc::onnx
