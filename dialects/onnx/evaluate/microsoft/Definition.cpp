//===- Definition.cpp - What operators of com.microsoft compute -----------===//

#include "dialects/onnx/evaluate/microsoft/Definition.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

int64_t placeOf(const Tensor &x, Index index) {
  int64_t place = 0;
  const size_t before = index.size() - x.shape.size();
  for (size_t d = 0; d < x.shape.size(); ++d)
    place = place * x.shape[d] + (x.shape[d] == 1 ? 0 : index[before + d]);
  return place;
}

bool reaches(const Tensor &x, Index shape) {
  if (x.shape.size() > shape.size())
    return false;
  const size_t before = shape.size() - x.shape.size();
  for (size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] != 1 && x.shape[d] != shape[before + d])
      return false;
  return true;
}

Tensor &Definition::result(Type element, Index shape) {
  return call.results.emplace_back(element, shape);
}

std::optional<int64_t> Definition::modelSize(unsigned operand,
                                             int64_t fromEnd) const {
  SmallVector<dist::DimExpr, 4> dims =
      dist::getDims(call.op->getOperand(operand).getType());
  if (fromEnd > int64_t(dims.size()))
    return std::nullopt;
  return dims[dims.size() - fromEnd].asConstant();
}

std::optional<int64_t> placeIn(double index, int64_t size) {
  std::optional<int64_t> place = integerOf(index);
  if (place && *place < 0)
    *place += size;
  return place && *place >= 0 && *place < size ? place : std::nullopt;
}

double fieldOf(const Tensor &bytes, int64_t row, int64_t rowBytes, int64_t i,
               int64_t bits) {
  const int64_t each = 8 / bits;
  const auto byte = integerAt(bytes, row * rowBytes + i / each);
  return double((byte >> (i % each * bits)) & ((int64_t(1) << bits) - 1));
}

double quantized(Type element, double scaled, double zeroPoint) {
  auto type = cast<IntegerType>(element);
  const double span = std::ldexp(1.0, int(type.getWidth()));
  const double low = type.isUnsigned() ? 0 : -span / 2;
  const double whole = std::nearbyint(scaled) + zeroPoint;
  return whole < low ? low : whole > low + span - 1 ? low + span - 1 : whole;
}

std::optional<double> activated(StringRef name, double x,
                                std::optional<double> alpha,
                                std::optional<double> beta) {
  if (name == "")
    return x;
  if (name == "Relu")
    return x < 0 ? 0 : x;
  if (name == "Sigmoid")
    return 1 / (1 + std::exp(-x));
  if (name == "Tanh")
    return std::tanh(x);
  if (name == "LeakyRelu")
    return x < 0 ? alpha.value_or(double(0.01F)) * x : x;
  if (name == "HardSigmoid") {
    const double line =
        alpha.value_or(double(0.2F)) * x + beta.value_or(double(0.5F));
    return line < 0 ? 0 : line > 1 ? 1 : line;
  }
  if (name == "Clip" && alpha && beta)
    return x < *alpha ? *alpha : x > *beta ? *beta : x;
  return std::nullopt;
}

void addMicrosoft(Evaluators &all) {
  defineActivation(all);
  defineAttention(all);
  defineExperts(all);
  defineGroupQueryAttention(all);
  defineLayout(all);
  defineMultiHeadAttention(all);
  defineNormalization(all);
  defineProduct(all);
  defineQLinear(all);
  defineQuantization(all);
  defineRotaryEmbedding(all);
}

} // namespace shardc::onnx::evaluate
