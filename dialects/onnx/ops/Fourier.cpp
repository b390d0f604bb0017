//===- Fourier.cpp - Fourier transforms become products of matrices -------===//

#include "dialects/onnx/Decomposition.h"
#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Math.h"
#include "dialects/onnx/ops/Replaced.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

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

/// [.., points, parts] -> [.., bins, 2], by a matrix that is computed on each run:
/// its angles are those of j k mod n, exact in integers.
static Value transformAtRun(Decomposition &d, Value data, DimExpr bins,
                            bool isInverse) {
  Decomposition::Dims dims = d.dims(data);
  if (!data)
    return {};
  DimExpr points = dims.end()[-2];
  int64_t partsAxis = static_cast<int64_t>(dims.size()) - 1;
  Type f64 = d.inference.builder.getF64Type();
  Value rows = d.reshape(d.range(0, points), {points, 1});
  Value turns =
      d.make<ModOp>({d.mul(rows, d.range(0, bins)), d.integer(d.i64(), points)},
                    d.attribute("fmod", 0));
  Value length = d.cast(d.integer(d.i64(), points), f64);
  Value angle = d.mul(d.make<DivOp>({d.cast(turns, f64), length}),
                      d.number(f64, isInverse ? 2 * M_PI : -2 * M_PI));
  Value cosine = d.make<CosOp>({angle}), sine = d.make<SinOp>({angle});
  Value re = d.row(data, partsAxis, 0);
  Value outRe = d.matmul(re, cosine), outIm = d.matmul(re, sine);
  if (dims.back().isConstant(2)) {
    Value im = d.row(data, partsAxis, 1);
    outRe = d.sub(outRe, d.matmul(im, sine));
    outIm = d.add(outIm, d.matmul(im, cosine));
  }
  dims.end()[-2] = bins;
  dims.back() = 1;
  Value both =
      d.concat({d.reshape(outRe, dims), d.reshape(outIm, dims)}, partsAxis);
  return isInverse ? d.make<DivOp>({both, length}) : both;
}

/// The axis beside the parts, and back again.
static std::pair<SmallVector<int64_t>, SmallVector<int64_t>>
permutations(int64_t rank, int64_t axis) {
  SmallVector<int64_t> perm, back(rank);
  for (int64_t d = 0; d < rank - 1; ++d)
    if (d != axis)
      perm.push_back(d);
  perm.append({axis, rank - 1});
  for (auto [i, d] : llvm::enumerate(perm))
    back[d] = i;
  return {perm, back};
}

/// The matrix of more points is no constant, but computed as well.
constexpr int64_t kMostStoredPoints = 1024;

/// Of as many points as there are.
static LogicalResult replaceAtRun(DFTOp op, ShapeInference &inference,
                                  int64_t axis) {
  SmallVector<DimExpr, 4> dims = inference.dims(op.getInput());
  DimExpr points = dims[axis];
  bool isInverse = op.getInverse() != 0, isHalf = op.getOnesided() != 0;
  auto length = inference.knownDims(op, 1);
  if (isInverse && isHalf)
    return op.emitOpError("is inverse and one-sided, of a symbolic number of "
                          "points: export with a constant one");
  if (ShapeInference::isPresent(op, 1) &&
      (!length || length->size() != 1 || length->front() != points))
    return op.emitOpError("has a dft_length other than its symbolic number of "
                          "points: export with a constant one");
  if (failed(inference.assume(op, GuardKind::AtLeast, points, 1,
                              "DFT: " + points.str() + " points")))
    return failure();
  auto [perm, back] = permutations(inference.rank(op.getInput()), axis);
  Decomposition build(op, inference);
  Value moved = build.cast(build.transpose(op.getInput(), perm),
                           inference.builder.getF64Type());
  Value result = transformAtRun(
      build, moved, isHalf ? DimExpr::floorDiv(points, 2) + 1 : points,
      isInverse);
  return build.replaceBy(build.transpose(
      build.cast(result, inference.element(op.getInput())), back));
}

LogicalResult DFTOp::inferTypes(ShapeInference &inference) {
  SmallVector<DimExpr, 4> dims = inference.dims(getInput());
  int64_t rank = dims.size();
  int64_t given = getAxis()              ? static_cast<int64_t>(*getAxis())
                  : inference.opset < 20 ? 1
                                         : -2;
  if (ShapeInference::isPresent(*this, 2)) {
    auto known = constantOperand(*this, inference, 2, "an axis", 1);
    if (failed(known))
      return failure();
    given = known->front();
  }
  FailureOr<int64_t> axis = inference.normalizeAxis(*this, given, rank);
  if (failed(axis))
    return failure();
  auto points = dims[*axis].asConstant(), parts = dims.back().asConstant();
  if (!parts || *parts < 1 || *parts > 2 || *axis == rank - 1)
    return emitOpError("has a last dim that is neither real nor complex");
  if (!points)
    return replaceAtRun(*this, inference, *axis);
  bool isInverse = getInverse() != 0, isHalf = getOnesided() != 0;
  DimExpr whole = isInverse && isHalf ? (dims[*axis] - 1) * 2 : dims[*axis];
  int64_t length = whole.asConstant().value_or(0);
  if (ShapeInference::isPresent(*this, 1)) {
    auto known = constantOperand(*this, inference, 1, "a dft_length", 1);
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
  if (failed(checkAmount(
          *this, {matrix.points, matrix.parts, matrix.bins, matrix.results},
          kMostElements, "elements of a matrix")))
    return failure();
  if (*points > kMostStoredPoints && length == *points && !isReal)
    return replaceAtRun(*this, inference, *axis);
  // The axis moves beside the parts, and both are contracted at once.
  auto [perm, back] = permutations(rank, *axis);
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
  auto points = dims[1].asConstant();
  auto step = constantOperand(*this, inference, 1, "a frame_step", 1);
  if (failed(step))
    return failure();
  Decomposition build(*this, inference);
  Value window = build.operand(2);
  std::optional<int64_t> length;
  if (ShapeInference::isPresent(*this, 3)) {
    auto known = constantOperand(*this, inference, 3, "a frame_length", 1);
    if (failed(known))
      return failure();
    length = known->front();
  } else if (window) {
    length = build.dims(window).front().asConstant();
  }
  const bool isFrame = points && length && *length >= 1 && *length <= *points;
  if (!isFrame || step->front() < 1)
    return emitOpError("has a signal of ")
           << getSignal().getType()
           << ", expected a constant number of points, no fewer than a frame";
  int64_t count = (*points - *length) / step->front() + 1;
  if (failed(checkAmount(*this, {count, *length}, kMostElements,
                         "points of frames")))
    return failure();
  Value starts = build.mul(build.range(0, count),
                           build.integer(build.i64(), step->front()));
  Value places =
      build.add(build.reshape(starts, {count, 1}), build.range(0, *length));
  Value frames = build.make<GatherOp>({getSignal(), places},
                                      {build.attribute("axis", int64_t(1))});
  if (window)
    frames = build.mul(frames, build.reshape(window, {*length, 1}));
  Value none = build.integers(DimExpr(*length));
  return build.replaceBy(build.make<DFTOp>(
      {frames, none},
      {build.attribute("axis", int64_t(2)),
       build.attribute("onesided", static_cast<int64_t>(getOnesided()))}));
}

} // namespace shardc::onnx
