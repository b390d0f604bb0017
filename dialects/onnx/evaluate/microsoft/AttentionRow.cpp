//===- AttentionRow.cpp - One query of an attention, and what it sees -----===//

#include "dialects/onnx/evaluate/microsoft/AttentionRow.h"

using namespace mlir;

namespace shardc::onnx::evaluate {

void AttentionRow::weigh() {
  double largest = sink.value_or(-INFINITY), all = 0;
  bool isNumber = !std::isnan(largest);
  for (double score : scores) {
    isNumber &= !std::isnan(score);
    largest = std::max(largest, score);
  }
  if (isNumber && largest == -INFINITY) {
    llvm::fill(scores, 0.0);
    return;
  }
  for (double &score : scores) {
    score = isNumber ? std::exp(score - largest) : NAN;
    all += score;
  }
  if (sink)
    all += std::exp(*sink - largest);
  for (double &score : scores)
    score /= all;
}

double biased(const Definition &d, Type element, double score, double bias) {
  return bias == -INFINITY ? bias : d.as(element, d.as(element, score) + bias);
}

void turn(const Tensor &from, Tensor &to, Index row, int64_t p, int64_t pairs,
          bool areNeighbours, double cos, double sin) {
  Shape first(row.begin(), row.end()), second = first;
  first.push_back(areNeighbours ? 2 * p : p);
  second.push_back(areNeighbours ? 2 * p + 1 : p + pairs);
  const double a = at(from, first), b = at(from, second);
  at(to, first) = a * cos - b * sin;
  at(to, second) = a * sin + b * cos;
}

bool KeyPadding::isValid() const {
  if (!mask)
    return true;
  const Shape &shape = mask->shape;
  switch (shape.size()) {
  case 1:
    return shape[0] == batch || shape[0] == 2 * batch ||
           shape[0] == 3 * batch + 2;
  case 2:
    return shape[0] == batch && (shape[1] == keys || shape[1] == 1);
  case 3:
    return shape == Shape{batch, queries, keys};
  case 4:
    return shape[0] >= batch && shape[2] >= keys && shape[3] >= keys &&
           keys >= queries;
  default:
    return false;
  }
}

bool KeyPadding::hides(int64_t row, int64_t query, int64_t key) const {
  if (!mask)
    return false;
  const Shape &shape = mask->shape;
  switch (shape.size()) {
  case 1: {
    const bool isBehind = double(key) >= valueAt(*mask, row);
    const bool hasStarts = shape[0] != batch && shape[0] == 2 * batch;
    return isBehind || (hasStarts && double(key) < valueAt(*mask, batch + row));
  }
  case 2:
    // One column for many keys is what ONNX Runtime takes for no mask.
    return (shape[1] == keys || keys == 1) && !(at(*mask, {row, key}) > 0);
  case 3:
    return !(at(*mask, {row, query, key}) > 0);
  default:
    return !(at(*mask, {row, 0, keys - queries + query, key}) > 0);
  }
}

} // namespace shardc::onnx::evaluate
