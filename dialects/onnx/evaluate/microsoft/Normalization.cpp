//===- Normalization.cpp - What com.microsoft's norms compute -------------===//
//
//   s = input + skip + bias
//   y = (s - mean(s)) / sqrt(variance(s) + epsilon) gamma + beta
//
// or, simplified, s / sqrt(mean(s^2) + epsilon) gamma. The sum is a result,
// hence of the operands' type; skip may be one for all of a batch.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/microsoft/Normalization.h"
#include "dialects/onnx/evaluate/microsoft/Definition.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

namespace {

struct Norm {
  bool isCentered;
  double epsilon;
  const Tensor *gamma, *beta; ///< beta may be null
};

} // namespace

/// Of rows of `size` elements; false if the parameters are of another size.
static bool normRows(const Definition &d, const Tensor &x, Tensor &y,
                     int64_t size, const Norm &norm) {
  if (norm.gamma->size() != size || (norm.beta && norm.beta->size() != size))
    return false;
  // What computes in f32 has its range.
  const Type wide = x.element.isF64()
                        ? x.element
                        : Type(Float32Type::get(x.element.getContext()));
  for (int64_t row = 0; size > 0 && row < x.size(); row += size) {
    double mean = 0, square = 0;
    for (int64_t i = 0; norm.isCentered && i < size; ++i)
      mean += valueAt(x, row + i);
    mean /= double(size);
    for (int64_t i = 0; i < size; ++i)
      square += d.as(wide, std::pow(valueAt(x, row + i) - mean, 2));
    const double root =
        std::sqrt(d.as(wide, d.as(wide, square / double(size)) + norm.epsilon));
    for (int64_t i = 0; i < size; ++i)
      y.data[row + i] =
          (valueAt(x, row + i) - mean) / root * valueAt(*norm.gamma, i) +
          (norm.beta ? valueAt(*norm.beta, i) : 0);
  }
  return true;
}

/// Operands input, skip, gamma(, beta), bias; results y, -, -, s.
static Outcome normSum(Call &call, bool isCentered, double epsilon) {
  Definition d(call);
  const Tensor &x = *d.operand(0), &skip = *d.operand(1);
  const Tensor *bias = d.operand(isCentered ? 4 : 3);
  if (x.rank() == 0 || !reaches(skip, x.shape) ||
      (bias && !reaches(*bias, x.shape)))
    return Outcome::Unfit;
  Tensor sum(x.element, x.shape);
  forEachIndex(x.shape, [&](Index i) {
    double value = d.as(x.element, at(x, i) + at(skip, i));
    if (bias)
      value = d.as(x.element, value + at(*bias, i));
    at(sum, i) = value;
  });
  Tensor &y = d.result(x.element, x.shape);
  if (!normRows(d, sum, y, x.shape.back(),
                {isCentered, epsilon, d.operand(2),
                 isCentered ? d.operand(3) : nullptr}))
    return Outcome::Unfit;
  call.results.resize(3);
  call.results.push_back(std::move(sum));
  return Outcome::Done;
}

/// Axes from `axis` on are one row.
static Outcome normSimply(Call &call) {
  Definition d(call);
  auto op = cast<SimplifiedLayerNormalizationOp>(call.op);
  const Tensor &x = *d.operand(0), &gamma = *d.operand(1);
  const auto axis = placeIn(double(int64_t(op.getAxis())), x.rank());
  if (!axis)
    return Outcome::Unfit;
  const int64_t size = countOf(Index(x.shape).drop_front(*axis));
  Tensor &y = d.result(gamma.element, x.shape);
  return normRows(d, x, y, size,
                  {false, op.getEpsilon().convertToFloat(), &gamma, nullptr})
             ? Outcome::Done
             : Outcome::Unfit;
}

/// Norm of the rows that tables have for ids, places and kinds; how many tokens
/// of each row the mask shows; the sum.
static Outcome normEmbeddings(Call &call) {
  enum { kIds, kKinds, kWords, kPlaces, kKindTable, kGamma, kBeta, kMask, kAt };
  Definition d(call);
  auto op = cast<MicrosoftEmbedLayerNormalizationOp>(call.op);
  const Tensor &ids = *d.operand(kIds), &words = *d.operand(kWords);
  const Tensor &places = *d.operand(kPlaces);
  const Tensor *kinds = d.operand(kKinds), *table = d.operand(kKindTable);
  const Tensor *given = d.operand(kAt), *mask = d.operand(kMask);
  if (ids.rank() != 2 || words.rank() != 2 || places.rank() != 2 ||
      (kinds && (!table || kinds->shape != ids.shape)) ||
      (mask && mask->shape != ids.shape) ||
      (given && (given->rank() != 2 || !reaches(*given, ids.shape) ||
                 given->shape[1] != ids.shape[1])))
    return Outcome::Unfit;
  const int64_t batch = ids.shape[0], length = ids.shape[1];
  const int64_t width = words.shape[1];
  Tensor sum(words.element, {batch, length, width});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < length; ++i) {
      const double asked = given ? at(*given, {b, i}) : double(i);
      const auto word = placeIn(at(ids, {b, i}), words.shape[0]);
      const auto place = placeIn(asked, places.shape[0]);
      const auto kind = kinds ? placeIn(at(*kinds, {b, i}), table->shape[0])
                              : std::optional<int64_t>(0);
      if (!word || !place || !kind)
        return Outcome::Invalid;
      for (int64_t e = 0; e < width; ++e) {
        double value = d.as(words.element,
                            at(words, {*word, e}) + at(places, {*place, e}));
        if (kinds)
          value = d.as(words.element, value + at(*table, {*kind, e}));
        at(sum, {b, i, e}) = value;
      }
    }
  Tensor &y = d.result(words.element, sum.shape);
  if (!normRows(d, sum, y, width,
                {true, op.getEpsilon().convertToFloat(), d.operand(kGamma),
                 d.operand(kBeta)}))
    return Outcome::Unfit;
  Tensor &lengths =
      d.result(IntegerType::get(call.op->getContext(), 32), {batch});
  for (int64_t i = 0; mask && i < mask->size(); ++i)
    lengths.data[i / length] += valueAt(*mask, i) == 1;
  call.results.push_back(std::move(sum));
  return Outcome::Done;
}

void defineNormalization(Evaluators &all) {
  all.add<SimplifiedLayerNormalizationOp>(normSimply);
  all.add<MicrosoftEmbedLayerNormalizationOp>(normEmbeddings);
  all.add<MicrosoftSkipLayerNormalizationOp>([](Call &call) {
    return normSum(call, true,
                   cast<MicrosoftSkipLayerNormalizationOp>(call.op)
                       .getEpsilon()
                       .convertToFloat());
  });
  all.add<MicrosoftSkipSimplifiedLayerNormalizationOp>([](Call &call) {
    return normSum(call, false,
                   cast<MicrosoftSkipSimplifiedLayerNormalizationOp>(call.op)
                       .getEpsilon()
                       .convertToFloat());
  });
}

} // namespace shardc::onnx::evaluate
