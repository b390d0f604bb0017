//===- ReplacedImages.cpp - Convolutions backwards, grids -----------===//

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Padding.h"
#include "dialects/onnx/ops/Replaced.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

static SmallVector<int64_t> listOr(std::optional<ArrayRef<int64_t>> list,
                                   size_t count, int64_t otherwise) {
  return list ? llvm::to_vector(*list) : SmallVector<int64_t>(count, otherwise);
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
  if (!sizes && op.getOutputShape())
    return op.emitOpError("has output_shape for symbolic sizes");
  if (sizes && failed(checkNumbers(op, "an image size", *sizes)))
    return failure();
  size_t spatial = image.size();
  ArrayRef<int64_t> wanted = op.getOutputShape().value_or(ArrayRef<int64_t>());
  wanted = wanted.take_back(std::min(spatial, wanted.size()));
  if (!wanted.empty() && wanted.size() != spatial)
    return op.emitOpError("has an output_shape of another number of dims");
  for (size_t d = 0; d < spatial; ++d) {
    int64_t stride = windows.strides[d];
    // SAME: size * stride elements, whatever the size.
    int64_t total = windows.extra[d] + windows.span(d) - stride;
    if (!wanted.empty())
      total += stride * (*sizes)[d] - wanted[d];
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
  if (!kernel || group < 1 || !filter[0].exactDiv(group))
    return emitOpError("has a filter of symbolic sizes, or channels that its "
                       "groups do not divide");
  if (failed(checkNumbers(*this, "a kernel size", *kernel)))
    return failure();
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

/// How many windows there are along each dim; nothing where none fits.
static std::optional<SmallVector<int64_t>>
countWindows(ArrayRef<int64_t> image, ArrayRef<int64_t> block,
             ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations) {
  SmallVector<int64_t> windows;
  for (size_t d = 0; d < image.size(); ++d) {
    if (block[d] < 1 || strides[d] < 1 || dilations[d] < 1)
      return std::nullopt;
    const int64_t last = image[d] - 1 - dilations[d] * (block[d] - 1);
    if (last < 0)
      return std::nullopt;
    windows.push_back(last / strides[d] + 1);
  }
  return windows;
}

/// Where each tap of each window lies in the padded image.
static SmallVector<int64_t> placesOfTaps(ArrayRef<int64_t> image,
                                         ArrayRef<int64_t> block,
                                         ArrayRef<int64_t> strides,
                                         ArrayRef<int64_t> dilations,
                                         ArrayRef<int64_t> windows) {
  SmallVector<int64_t> places;
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
  auto image = constantOperand(*this, inference, 1, "an image_shape");
  if (failed(image))
    return failure();
  size_t spatial = image->size();
  auto block = constantOperand(*this, inference, 2, "a block_shape", spatial);
  if (failed(block))
    return failure();
  SmallVector<int64_t> strides = listOr(getStrides(), spatial, 1),
                       dilations = listOr(getDilations(), spatial, 1),
                       pads = listOr(getPads(), 2 * spatial, 0),
                       padded(image->begin(), image->end());
  SmallVector<DimExpr, 4> dims = inference.dims(getInput());
  if (failed(checkAmount(*this, *block, kMostElements, "taps")) ||
      failed(checkNumbers(*this, "an image size", *image)))
    return failure();
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
  auto windows = countWindows(padded, *block, strides, dilations);
  if (!windows)
    return emitOpError("has a block, strides or dilations of which no window "
                       "lies in its image");
  SmallVector<int64_t> counts(*windows);
  counts.push_back(taps);
  if (failed(checkAmount(*this, counts, kMostElements, "taps of windows")) ||
      failed(checkAmount(*this, padded, kMostPlaces, "places of an image")))
    return failure();
  SmallVector<int64_t> places =
      placesOfTaps(padded, *block, strides, dilations, *windows);
  int64_t count = places.size();
  if (failed(inference.assume(*this, GuardKind::Equal, dims[2] * taps, count,
                              "Col2Im: the number of windows")))
    return failure();
  Decomposition build(*this, inference);
  DimExpr size = numElements(padded);
  SmallVector<DimExpr, 4> flat = {dims[0], *channels, count};
  Value zeros = build.expand(build.number(inference.element(getInput()), 0),
                             {dims[0], *channels, size});
  Value sum = build.make<ScatterElementsOp>(
      {zeros, build.expand(build.places(places), flat),
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
  auto size = constantOperand(*this, inference, 1, "a size");
  if (failed(size))
    return failure();
  SmallVector<DimExpr, 4> theta = inference.dims(getTheta());
  int64_t spatial = static_cast<int64_t>(size->size()) - 2;
  if (theta.size() != 3 || spatial < 2 || spatial > 3)
    return emitOpError("has a size of ")
           << size->size() << " dims, expected 4 or 5 and a theta of 3";
  ArrayRef<int64_t> image = ArrayRef(*size).drop_front(2);
  SmallVector<int64_t> counts(image);
  counts.push_back(spatial + 1);
  if (failed(checkAmount(*this, counts, kMostElements, "coordinates")))
    return failure();
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
