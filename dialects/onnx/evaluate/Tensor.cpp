//===- Tensor.cpp - Concrete values at compile time -----------------------===//

#include "dialects/onnx/evaluate/Tensor.h"

#include "dialects/onnx/KnownValue.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;

namespace shardc::onnx::evaluate {

Tensor::Tensor(Type element, ArrayRef<int64_t> shape)
    : element(element), shape(shape), data(size_t(countOf(shape))) {}

std::optional<int64_t> integerOf(double value) {
  return value >= -0x1p63 && value < 0x1p63
             ? std::optional(static_cast<int64_t>(value))
             : std::nullopt;
}

int64_t countOf(ArrayRef<int64_t> shape) {
  return std::min(numElements(shape), kMostElements);
}

Shape stridesOf(ArrayRef<int64_t> shape) {
  Shape strides;
  for (size_t d = 1; d <= shape.size(); ++d)
    strides.push_back(countOf(shape.drop_front(d)));
  return strides;
}

Shape broadcastStrides(ArrayRef<int64_t> shape, ArrayRef<int64_t> whole) {
  const Shape own = stridesOf(shape);
  Shape strides(whole.size(), 0);
  const size_t added = whole.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    strides[added + d] = shape[d] == 1 ? 0 : own[d];
  return strides;
}

bool broadcast(Shape &shape, ArrayRef<int64_t> other) {
  while (shape.size() < other.size())
    shape.insert(shape.begin(), 1);
  for (size_t i = 1; i <= other.size(); ++i) {
    int64_t &size = shape[shape.size() - i], with = other[other.size() - i];
    if (size != with && size != 1 && with != 1)
      return false;
    size = size == 1 ? with : size;
  }
  return true;
}

static double roundTo(const llvm::fltSemantics &semantics, double value) {
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

/// To a float of `digits` binary digits whose least normal exponent is `least`,
/// ties to even.
static double roundToDigits(double value, int digits, int least) {
  if (std::abs(value) < std::ldexp(1.0, least)) {
    // Behind so large a number a double has no finer digits.
    const double coarse = std::ldexp(1.5, 52 + least - (digits - 1));
    return std::copysign((value + coarse) - coarse, value);
  }
  uint64_t bits;
  static_assert(sizeof bits == sizeof value);
  std::memcpy(&bits, &value, sizeof bits);
  const int cut = 53 - digits;
  const uint64_t unit = uint64_t(1) << cut;
  if (std::isfinite(value))
    bits = (bits + unit / 2 - 1 + (bits >> cut & 1)) & ~(unit - 1);
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

double largestOf(Type element) {
  if (element.isF32())
    return double(std::numeric_limits<float>::max());
  if (element.isF64())
    return std::numeric_limits<double>::max();
  auto type = cast<FloatType>(element);
  return llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
}

double roundingOf(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type ? std::ldexp(1.0, -int(type.getFPMantissaWidth())) : 0;
}

constexpr double kLargestHalf = 65504.0;
constexpr double kLargestBrain = 0x1.fep+127;

/// What is beyond the largest number by half a unit or more is infinite.
static double limited(double value, double largest, double rounding) {
  const double limit = largest * (1 + rounding / 2);
  return std::abs(value) < limit || std::isnan(value)
             ? value
             : std::copysign(std::numeric_limits<double>::infinity(), value);
}

static double storedFloat(FloatType type, double value, Precision precision) {
  if (type.isF64())
    return value;
  const bool isExact = precision == Precision::Exact;
  if (type.isF32())
    return isExact ? limited(value, std::numeric_limits<float>::max(),
                             std::ldexp(1.0, -24))
                   : double(float(value));
  if (type.isF16() || type.isBF16()) {
    const bool isHalf = type.isF16();
    const double rounded =
        isExact ? value
                : roundToDigits(value, isHalf ? 11 : 8, isHalf ? -14 : -126);
    const double largest = isHalf ? kLargestHalf : kLargestBrain;
    return limited(rounded, largest, std::ldexp(1.0, isHalf ? -11 : -8));
  }
  return roundTo(type.getFloatSemantics(), value);
}

double stored(Type element, double value, Precision precision) {
  if (auto type = dyn_cast<FloatType>(element))
    return storedFloat(type, value, precision);
  auto type = dyn_cast<IntegerType>(element);
  if (!type || type.getWidth() >= 64)
    return value;
  if (type.getWidth() == 1)
    return value != 0;
  // Two's complement, as a cast between integers does it.
  const double range = std::ldexp(1.0, int(type.getWidth()));
  double wrapped = value - std::floor(value / range) * range;
  if (!type.isUnsigned() && wrapped >= range / 2)
    wrapped -= range;
  return wrapped;
}

/// As `stored`, of many.
static void storeNarrow(std::vector<double> &data, bool isHalf,
                        bool isRounded) {
  const int digits = isHalf ? 11 : 8, least = isHalf ? -14 : -126;
  const double largest = isHalf ? kLargestHalf : kLargestBrain;
  const double rounding = std::ldexp(1.0, -digits);
  for (double &value : data)
    value = limited(isRounded ? roundToDigits(value, digits, least) : value,
                    largest, rounding);
}

void store(Tensor &tensor, Precision precision) {
  const Type element = tensor.element;
  if (!element || element.isF64() || element.isInteger(64))
    return;
  const bool isHalf = element.isF16();
  if (isHalf || element.isBF16())
    return storeNarrow(tensor.data, isHalf, precision == Precision::Rounded);
  for (double &value : tensor.data)
    value = stored(element, value, precision);
}

} // namespace shardc::onnx::evaluate
