//===- Definition.h - What operators of com.microsoft compute -------------===//
//
// Beside the ops that replace one (ops/microsoft) stands here what it computes,
// element by element, after ONNX Runtime's text of the operator and what its
// CPU kernels give (tests/conformance/test_microsoft_definitions.py). Nothing
// is written in terms of ops, and nothing is shared with what replaces it: a
// misreading in one of both is a difference, which import finds.
//
//   Definition d(call);
//   Tensor &y = d.result(x.element, x.shape);
//   forEachIndex(y.shape, [&](Index i) { at(y, i) = f(at(x, i)); });
//   return Outcome::Done;
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_DEFINITION_H
#define SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_DEFINITION_H

#include "dialects/onnx/evaluate/Evaluate.h"

#include <cmath>

namespace shardc::onnx::evaluate {

using Index = llvm::ArrayRef<int64_t>;

/// All indices of a shape, the last dim fastest.
template <typename F> void forEachIndex(Index shape, F visit) {
  Shape index(shape.size(), 0);
  for (int64_t left = countOf(shape); left > 0; --left) {
    visit(Index(index));
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

/// Where an element is; of a tensor that broadcasts, from the right.
int64_t placeOf(const Tensor &x, Index index);

/// Of operands that do not go together some elements are not there: they are
/// not a number, which no replacement computes.
inline double valueAt(const Tensor &x, int64_t place) {
  return place >= 0 && place < x.size() ? x.data[place] : NAN;
}
/// Of a tensor of integers; 0 outside.
inline int64_t integerAt(const Tensor &x, int64_t place) {
  return place >= 0 && place < x.size() ? int64_t(x.data[place]) : 0;
}
inline double at(const Tensor &x, Index index) {
  return valueAt(x, placeOf(x, index));
}
inline double &at(Tensor &x, Index index) { return x.data[placeOf(x, index)]; }
inline double at(const Tensor &x, std::initializer_list<int64_t> index) {
  return at(x, Index(index.begin(), index.size()));
}
inline double &at(Tensor &x, std::initializer_list<int64_t> index) {
  return at(x, Index(index.begin(), index.size()));
}

/// Whether it broadcasts to the shape.
bool reaches(const Tensor &x, Index shape);

/// One op that is defined.
class Definition {
public:
  explicit Definition(Call &call) : call(call) {}

  Call &call;

  /// Null where it is absent.
  const Tensor *operand(unsigned i) const {
    return call.has(i) ? call.operands[i] : nullptr;
  }
  /// The next result, of zeros.
  Tensor &result(mlir::Type element, Index shape);
  /// The number as an element of the type.
  double as(mlir::Type element, double value) const {
    return stored(element, value, call.precision);
  }
  /// What stands for a size of the model; the model's own size.
  int64_t size(int64_t number) const { return call.sizes.of(number); }
  std::optional<int64_t> modelSize(unsigned operand, int64_t fromEnd) const;
};

/// The place that an integer of the data names in a dim of `size`, from the end
/// if it is below 0; nothing outside.
std::optional<int64_t> placeIn(double index, int64_t size);

/// Field `i` of a row that packs fields of `bits` into bytes, the lowest first.
double fieldOf(const Tensor &bytes, int64_t row, int64_t rowBytes, int64_t i,
               int64_t bits);

/// round(x) + zero point, ties to even, no farther than the type reaches.
double quantized(mlir::Type element, double scaled, double zeroPoint);

/// An activation that a fused op names; nothing if it is none.
std::optional<double> activated(llvm::StringRef name, double x,
                                std::optional<double> alpha,
                                std::optional<double> beta);

/// One function a family, as the decompositions are.
void defineActivation(Evaluators &all);
void defineAttention(Evaluators &all);
void defineExperts(Evaluators &all);
void defineGroupQueryAttention(Evaluators &all);
void defineLayout(Evaluators &all);
void defineMultiHeadAttention(Evaluators &all);
void defineNormalization(Evaluators &all);
void defineProduct(Evaluators &all);
void defineQLinear(Evaluators &all);
void defineQuantization(Evaluators &all);
void defineRotaryEmbedding(Evaluators &all);

} // namespace shardc::onnx::evaluate

#endif // SHARDC_DIALECTS_ONNX_EVALUATE_MICROSOFT_DEFINITION_H
