//===- Samples.cpp - Numbers to try a region on ---------------------------===//

#include "passes/import/validate/Samples.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/ops/Source.h"

#include <cmath>

using namespace mlir;

namespace shardc::import {

using namespace onnx;
using evaluate::Precision;
using evaluate::Shape;
using evaluate::Sizes;
using evaluate::Tensor;

SmallVector<Sample> samplesOf(unsigned numLeaves) {
  SmallVector<Sample> samples = {{SampleKind::Random, 0, 1},
                                 {SampleKind::Equal, 0, 2},
                                 {SampleKind::Random, 0, 3}};
  for (SampleKind kind :
       {SampleKind::Hidden, SampleKind::Minimum, SampleKind::Zeros,
        SampleKind::Special, SampleKind::Large})
    for (unsigned leaf = 0; leaf < std::min(numLeaves, 10u); ++leaf)
      samples.push_back({kind, leaf, unsigned(samples.size()) + 1});
  return samples;
}

namespace {

/// Numbers that are the same on every machine, and cost little: most of what a
/// comparison does is to make them (splitmix64).
class Source {
public:
  explicit Source(uint64_t seed) : state(seed) {}

  unsigned below(unsigned bound) { return unsigned((next() >> 32) % bound); }
  /// About normal, with a deviation of 2.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 3; ++i) {
      const uint64_t bits = next();
      for (int part = 0; part < 64; part += 16)
        sum += double((bits >> part) & 0xffff) / 65536.0;
    }
    return 2 * sum;
  }

private:
  uint64_t next() {
    state += 0x9e3779b97f4a7c15;
    uint64_t bits = state;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  }

  uint64_t state;
};

} // namespace

static double largeOf(FloatType type, double x) {
  // Just so that products with usual numbers stay in range.
  return type.isF16() ? 150 * x : type.isF64() ? 1e170 * x : 3e19 * x;
}

static double floatOf(FloatType type, SampleKind kind, Source &source) {
  const double x = source.normal();
  const unsigned choice = source.below(8);
  switch (kind) {
  case SampleKind::Random:
    return x;
  case SampleKind::Usual:
    return x / 12;
  case SampleKind::Equal:
    return 0.5;
  case SampleKind::Zeros:
    return choice < 3 ? 0.0 : choice < 6 ? -0.0 : x;
  case SampleKind::Hidden:
    return choice < 4 ? 0 : -INFINITY;
  case SampleKind::Minimum:
    return choice < 4 ? 0 : -evaluate::largestOf(type);
  case SampleKind::Special:
    return choice == 0   ? NAN
           : choice == 1 ? INFINITY
           : choice == 2 ? -INFINITY
                         : x;
  case SampleKind::Large:
    return largeOf(type, x);
  }
  llvm_unreachable("every kind has its numbers above");
}

/// Every other row, from the first, is hidden as a whole.
static bool isHiddenRow(SampleKind kind, int64_t i, ArrayRef<int64_t> shape) {
  const bool hides = kind == SampleKind::Hidden || kind == SampleKind::Minimum;
  return hides && !shape.empty() && i / shape.back() % 2 == 0;
}

static void fillFloats(Tensor &y, SampleKind kind, Source &source) {
  auto type = cast<FloatType>(y.element);
  for (int64_t i = 0; i < y.size(); ++i) {
    double x = floatOf(type, kind, source);
    if (isHiddenRow(kind, i, y.shape))
      x = kind == SampleKind::Hidden ? -INFINITY : -evaluate::largestOf(type);
    y.data[i] = x;
  }
  evaluate::store(y, Precision::Rounded);
}

/// A condition: whole rows of false, or of true.
static void fillBools(Tensor &y, SampleKind kind, Source &source) {
  for (int64_t i = 0; i < y.size(); ++i) {
    const unsigned choice = source.below(2);
    const int64_t row = y.shape.empty() ? 0 : i / y.shape.back() % 3;
    y.data[i] = kind == SampleKind::Equal    ? 0
                : kind == SampleKind::Hidden ? row == 1 && choice
                : kind == SampleKind::Zeros  ? 1
                : row == 2                   ? 0
                                             : choice;
  }
}

/// Indices into something small; what has few bits stands for numbers.
static void fillIntegers(Tensor &y, const Sample &sample, Source &source) {
  auto type = dyn_cast<IntegerType>(y.element);
  if (type && type.getWidth() <= 8) {
    const double range = std::ldexp(1.0, int(type.getWidth()));
    const double low = type.isUnsigned() ? 0 : -range / 2;
    for (double &x : y.data)
      x = sample.kind == SampleKind::Equal
              ? 1
              : low + double(source.below(unsigned(range)));
    return;
  }
  const unsigned bound = 1 + sample.seed % 4;
  for (double &x : y.data)
    x = sample.kind == SampleKind::Equal ? 0 : double(source.below(bound));
}

/// What the importer saw in a weight (Source.td).
static void fillPattern(Tensor &y, StringRef pattern) {
  const int64_t columns = y.shape.empty() ? 1 : y.shape.back();
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t column = i % columns;
    if (pattern == "triangle")
      y.data[i] = column <= i / columns % y.shape[y.rank() - 2];
    else if (pattern == "halves" && column >= columns / 2)
      y.data[i] = y.data[i - columns / 2];
    else if (pattern == "pairs" && column % 2 == 1)
      y.data[i] = y.data[i - 1];
    else if (pattern == "counted")
      y.data[i] = column + 1 < columns ? 0 : double(i / columns);
    else if (pattern == "zeros")
      y.data[i] = 0;
  }
}

std::optional<unsigned> bytesOfFields(ArrayRef<Value> leaves, Value leaf) {
  auto weight = leaf.getDefiningOp<WeightOp>();
  auto isOf = [](Value value, unsigned bits) {
    return mlir::getElementTypeOrSelf(value.getType()).isInteger(bits);
  };
  if (!weight || (!isOf(leaf, 4) && !isOf(leaf, 2)))
    return std::nullopt;
  for (auto [number, other] : llvm::enumerate(leaves)) {
    auto source = other.getDefiningOp<WeightOp>();
    if (source && isOf(other, 8) &&
        source.getFileAttr() == weight.getFileAttr() &&
        source.getNameAttr() == weight.getNameAttr() &&
        source.getOffset() == weight.getOffset())
      return number;
  }
  return std::nullopt;
}

void shareBytes(ArrayRef<Value> leaves, MutableArrayRef<Tensor> tensors) {
  for (auto [leaf, fields] : llvm::zip(leaves, tensors)) {
    const std::optional<unsigned> source = bytesOfFields(leaves, leaf);
    if (!source || !fields.element)
      continue;
    const Tensor &bytes = tensors[*source];
    const int64_t bits = fields.element.getIntOrFloatBitWidth();
    const int64_t ofByte = 8 / bits;
    for (int64_t i = 0; i < fields.size() && i / ofByte < bytes.size(); ++i)
      fields.data[i] = unsigned(bytes.data[i / ofByte]) >> (i % ofByte * bits) &
                       ((1u << bits) - 1);
  }
}

std::optional<Tensor> sampleLeaf(Value leaf, unsigned number,
                                 const Sample &sample, const Sizes &sizes) {
  auto type = dyn_cast<RankedTensorType>(leaf.getType());
  if (!type)
    return Tensor();
  std::optional<Shape> shape = sizes.of(dist::getDims(type));
  if (!shape)
    return std::nullopt;
  Tensor y(type.getElementType(), *shape);
  Source source(sample.seed * 64 + number);
  const bool isForAll =
      sample.kind == SampleKind::Equal || sample.kind == SampleKind::Random;
  const SampleKind kind =
      isForAll || sample.leaf == number ? sample.kind : SampleKind::Usual;
  if (isa<FloatType>(y.element))
    fillFloats(y, kind, source);
  else if (y.element.isInteger(1))
    fillBools(y, kind, source);
  else
    fillIntegers(y, sample, source);
  if (auto weight = leaf.getDefiningOp<WeightOp>();
      weight && weight.getPattern())
    fillPattern(y, *weight.getPattern());
  return y;
}

} // namespace shardc::import
