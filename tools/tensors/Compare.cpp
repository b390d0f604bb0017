#include "tools/tensors/Compare.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Float16.h"
#include "runtime/base/Float8.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <vector>

using namespace shardc::runtime;
namespace artifact = shardc::artifact;

namespace shardc::tensors {
namespace {

template <typename T>
void convert(const Tensor &tensor, std::vector<double> &values) {
  const T *data = tensor.as<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
      values[i] = toFloat(data[i]);
    else
      values[i] = static_cast<double>(data[i]);
  }
}

template <typename Decode>
void decodeBytes(const Tensor &tensor, std::vector<double> &values,
                 Decode decode) {
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = decode(tensor.as<uint8_t>()[i]);
}

void convertFloat8(const Tensor &tensor, const Float8Format &format,
                   std::vector<double> &values) {
  decodeBytes(tensor, values,
              [&](uint8_t byte) { return decodeFloat8(format, byte); });
}

bool isInteger(ElementType type) {
  return type <= artifact::ElementType_UInt64;
}

std::string typeText(const Tensor &tensor) {
  return message(artifact::elementName(tensor.element()), " ",
                 shapeText(tensor.dims()));
}

/// With enough digits to see the difference.
std::string differenceText(size_t element, double found, double expected) {
  return message("element ", element, " is ", std::setprecision(9), found,
                 ", expected ", expected);
}

/// NaN beside NaN, an infinity beside the same one.
bool sameSpecial(double found, double expected) {
  return std::isnan(expected) ? std::isnan(found) : found == expected;
}

} // namespace

std::vector<double> toDoubles(const Tensor &tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.numElements()));
  switch (tensor.element()) {
  case artifact::ElementType_Bool:
  case artifact::ElementType_UInt8:
    convert<uint8_t>(tensor, values);
    break;
  case artifact::ElementType_Int8:
    convert<int8_t>(tensor, values);
    break;
  case artifact::ElementType_Int16:
    convert<int16_t>(tensor, values);
    break;
  case artifact::ElementType_UInt16:
    convert<uint16_t>(tensor, values);
    break;
  case artifact::ElementType_Int32:
    convert<int32_t>(tensor, values);
    break;
  case artifact::ElementType_UInt32:
    convert<uint32_t>(tensor, values);
    break;
  case artifact::ElementType_Int64:
    convert<int64_t>(tensor, values);
    break;
  case artifact::ElementType_UInt64:
    convert<uint64_t>(tensor, values);
    break;
  case artifact::ElementType_Float16:
    convert<Half>(tensor, values);
    break;
  case artifact::ElementType_BFloat16:
    convert<BFloat>(tensor, values);
    break;
  case artifact::ElementType_Float32:
    convert<float>(tensor, values);
    break;
  case artifact::ElementType_Float64:
    convert<double>(tensor, values);
    break;
  case artifact::ElementType_Float8E4M3FN:
    convertFloat8(tensor, kFloat8E4M3FN, values);
    break;
  case artifact::ElementType_Float8E4M3FNUZ:
    convertFloat8(tensor, kFloat8E4M3FNUZ, values);
    break;
  case artifact::ElementType_Float8E5M2:
    convertFloat8(tensor, kFloat8E5M2, values);
    break;
  case artifact::ElementType_Float8E5M2FNUZ:
    convertFloat8(tensor, kFloat8E5M2FNUZ, values);
    break;
  case artifact::ElementType_Float8E8M0:
    decodeBytes(tensor, values, decodeFloat8E8M0);
    break;
  case artifact::ElementType_Int2:
  case artifact::ElementType_UInt2:
  case artifact::ElementType_Int4:
  case artifact::ElementType_UInt4:
    break; // no tensor of the API has them
  }
  return values;
}

namespace {

template <typename T>
void store(std::span<const double> values, const Tensor &tensor) {
  T *data = tensor.as<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, Half>)
      data[i] = toHalf(static_cast<float>(values[i]));
    else if constexpr (std::is_same_v<T, BFloat>)
      data[i] = toBFloat(static_cast<float>(values[i]));
    else
      data[i] = static_cast<T>(values[i]);
  }
}

} // namespace

Status fromDoubles(ElementType element, std::span<const int64_t> dims,
                   std::span<const double> values, Tensor &tensor) {
  SHARDC_RETURN_IF_ERROR(tensor.reshape(element, dims));
  switch (element) {
  case artifact::ElementType_Bool:
  case artifact::ElementType_UInt8:
    store<uint8_t>(values, tensor);
    break;
  case artifact::ElementType_Int8:
    store<int8_t>(values, tensor);
    break;
  case artifact::ElementType_Int16:
    store<int16_t>(values, tensor);
    break;
  case artifact::ElementType_UInt16:
    store<uint16_t>(values, tensor);
    break;
  case artifact::ElementType_Int32:
    store<int32_t>(values, tensor);
    break;
  case artifact::ElementType_UInt32:
    store<uint32_t>(values, tensor);
    break;
  case artifact::ElementType_Int64:
    store<int64_t>(values, tensor);
    break;
  case artifact::ElementType_UInt64:
    store<uint64_t>(values, tensor);
    break;
  case artifact::ElementType_Float16:
    store<Half>(values, tensor);
    break;
  case artifact::ElementType_BFloat16:
    store<BFloat>(values, tensor);
    break;
  case artifact::ElementType_Float32:
    store<float>(values, tensor);
    break;
  case artifact::ElementType_Float64:
    store<double>(values, tensor);
    break;
  default:
    return argumentError("no tensor of ", artifact::elementName(element),
                         " can be made of numbers; give --inputs");
  }
  return Status::ok();
}

Status convert(const Tensor &from, ElementType element, Tensor &to) {
  const std::vector<int64_t> dims(from.dims().begin(), from.dims().end());
  return fromDoubles(element, dims, toDoubles(from), to);
}

bool parseTolerance(const std::string &text, Tolerance &tolerance) {
  if (text == "f32")
    tolerance = {1e-4, 1e-3, 0, true};
  else if (text == "low")
    tolerance = {2e-2, 2e-2, 0, true};
  else if (text == "quant")
    tolerance = {1e-3, 0, 5e-2, false};
  else {
    char *end = nullptr;
    tolerance = {std::strtod(text.c_str(), &end), 0, 0, false};
    if (end == text.c_str() || *end != ',')
      return false;
    const char *second = end + 1;
    tolerance.relative = std::strtod(second, &end);
    return end != second && *end == '\0' && tolerance.absolute >= 0 &&
           tolerance.relative >= 0;
  }
  return true;
}

Tolerance planTolerance(const std::string &precision) {
  if (precision == "low")
    return {1e-4, 0, 4e-3, true};
  if (precision == "quant")
    return {1e-3, 0, 5e-2, false};
  return {1e-6, 0, 1e-5, true};
}

Comparison compare(const Tensor &found, const Tensor &expected,
                   const Tolerance &tolerance) {
  Comparison result;
  if (typeText(found) != typeText(expected)) {
    result.problem =
        "expected " + typeText(expected) + ", found " + typeText(found);
    return result;
  }
  std::vector<double> a = toDoubles(found), b = toDoubles(expected);
  double largest = 0;
  for (double value : b)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  const bool exact = tolerance.exactIntegers && isInteger(found.element());
  size_t worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      if (sameSpecial(a[i], b[i]))
        continue;
      result.problem = differenceText(i, a[i], b[i]);
      return result;
    }
    double error = std::fabs(a[i] - b[i]);
    double allowed = exact ? 0
                           : tolerance.absolute +
                                 tolerance.relative * std::fabs(b[i]) +
                                 tolerance.scaled * largest;
    double ratio = error == 0 ? 0 : error / allowed; // infinite if exact
    if (ratio > result.ofTolerance) {
      result.ofTolerance = ratio;
      worst = i;
    }
    result.largestError = std::max(result.largestError, error);
  }
  result.fits = result.ofTolerance <= 1;
  if (!result.fits)
    result.problem = differenceText(worst, a[worst], b[worst]);
  return result;
}

std::string comparisonText(size_t output, const std::string &name,
                           const Tensor &found, const Comparison &comparison) {
  if (!comparison.fits)
    return message(
        "output ", output, " '", name, "': differs: ", comparison.problem,
        comparison.largestError > 0
            ? message(" (largest error ", comparison.largestError, ")")
            : "");
  return message("output ", output, " '", name, "' ", shapeText(found.dims()),
                 ": largest error ", comparison.largestError, ", ",
                 comparison.ofTolerance, " of the tolerance");
}

} // namespace shardc::tensors
