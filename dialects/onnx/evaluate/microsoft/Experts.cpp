//===- Experts.cpp - What MoE and QMoE compute ----------------------------===//
//
// Of each token the k experts of the largest logits, the first ones of equal
// logits:
//
//   y = sum_k share_k (fc2_k act(fc1_k x + b1_k, fc3_k x + b3_k) + b2_k)
//
// Shares are those of a softmax of all logits, or normalized of the chosen ones.
//
//===----------------------------------------------------------------------===//

#include "dialects/onnx/ops/microsoft/Experts.h"
#include "dialects/onnx/evaluate/microsoft/Definition.h"

#include <cmath>

using namespace mlir;

namespace shardc::onnx::evaluate {

namespace {

/// Matrices of all experts, by output and input.
struct Projection {
  std::vector<double> numbers; ///< [expert, output, input]
  int64_t experts = 0, outputs = 0, inputs = 0;
  const Tensor *bias = nullptr; ///< [expert, output]

  explicit operator bool() const { return experts != 0; }
  double of(int64_t expert, int64_t output, ArrayRef<double> x) const {
    const double *row = numbers.data() + (expert * outputs + output) * inputs;
    double sum = bias ? valueAt(*bias, expert * outputs + output) : 0;
    for (int64_t i = 0; i < inputs; ++i)
      sum += row[i] * x[i];
    return sum;
  }
};

template <typename OpTy> class Mixture {
public:
  Mixture(Call &call, OpTy op) : d(call), op(op) {}

  Definition d;
  mutable OpTy op; ///< accessors of ops are not const
  Projection fc1, fc2, fc3;
  const Tensor *mixing = nullptr; ///< logits that shares are of, if others

  Outcome define();

private:
  /// Experts of a token, and their shares.
  std::vector<std::pair<int64_t, double>> choose(const Tensor &logits,
                                                 int64_t token) const;
  /// Of what fc1 and fc3 give; false for an activation that is none.
  bool activate(ArrayRef<double> first, ArrayRef<double> third,
                std::vector<double> &hidden) const;
  double activation(double x) const;
};

} // namespace

template <typename OpTy>
std::vector<std::pair<int64_t, double>>
Mixture<OpTy>::choose(const Tensor &logits, int64_t token) const {
  const int64_t experts = logits.shape[1];
  auto logit = [&](int64_t e) { return at(logits, {token, e}); };
  std::vector<int64_t> order;
  for (int64_t e = 0; e < experts; ++e)
    order.push_back(e);
  llvm::stable_sort(order,
                    [&](int64_t a, int64_t b) { return logit(a) > logit(b); });
  const double largest = logit(order[0]);
  const bool isNormalized = op.getNormalizeRoutingWeights() != 0;
  double all = 0, mixed = 0;
  const int64_t k = op.getK();
  for (int64_t i = 0; i < (isNormalized ? k : experts); ++i)
    all += std::exp(logit(order[i]) - largest);
  for (int64_t i = 0; mixing && i < k; ++i)
    mixed += at(*mixing, {token, order[i]});
  std::vector<std::pair<int64_t, double>> chosen;
  for (int64_t i = 0; i < k; ++i) {
    double share = std::exp(logit(order[i]) - largest) / all;
    if (mixing)
      share = at(*mixing, {token, order[i]}) / (isNormalized ? mixed : 1);
    chosen.emplace_back(order[i], share);
  }
  return chosen;
}

template <typename OpTy> double Mixture<OpTy>::activation(double x) const {
  const StringRef type = op.getActivationType();
  if (type == "relu")
    return x > 0 ? x : 0;
  if (type == "silu")
    return x / (1 + std::exp(-x));
  if (type == "gelu")
    return x / 2 *
           (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  return x;
}

template <typename OpTy>
bool Mixture<OpTy>::activate(ArrayRef<double> first, ArrayRef<double> third,
                             std::vector<double> &hidden) const {
  const StringRef type = op.getActivationType();
  if (type != "swiglu") {
    if (!llvm::is_contained({"relu", "gelu", "silu", "identity"}, type))
      return false;
    for (size_t i = 0; i < first.size(); ++i)
      hidden.push_back(activation(first[i]) * (third.empty() ? 1 : third[i]));
    return true;
  }
  const int64_t fusion = op.getSwigluFusion();
  if ((fusion == 0) == third.empty())
    return false;
  const double limit =
      op.getSwigluLimit() ? op.getSwigluLimit()->convertToFloat() : INFINITY;
  const double alpha = op.getActivationAlpha().convertToFloat();
  const double beta = op.getActivationBeta().convertToFloat();
  const size_t size = third.empty() ? first.size() / 2 : first.size();
  for (size_t i = 0; i < size; ++i) {
    double gate = fusion == 1 ? first[2 * i] : first[i];
    double linear = fusion == 1     ? first[2 * i + 1]
                    : third.empty() ? first[size + i]
                                    : third[i];
    gate = gate > limit ? limit : gate;
    linear = linear > limit ? limit : linear < -limit ? -limit : linear;
    hidden.push_back(gate / (1 + std::exp(-alpha * gate)) * (linear + beta));
  }
  return true;
}

template <typename OpTy> Outcome Mixture<OpTy>::define() {
  const Tensor &x = *d.operand(0), &logits = *d.operand(1);
  const int64_t width = x.shape.back();
  const int64_t tokens = width == 0 ? 0 : x.size() / width;
  if (!fc1 || !fc2 || logits.rank() != 2 || logits.shape[0] != tokens ||
      fc1.inputs != width || fc2.outputs != width ||
      (fc3 && fc3.inputs != width) || int64_t(op.getK()) > logits.shape[1] ||
      logits.shape[1] > fc1.experts || op.getUseSparseMixer() != 0)
    return Outcome::Unfit;
  if (llvm::any_of(logits.data, [](double l) { return !std::isfinite(l); }))
    return Outcome::Invalid; // there are no k largest, or no shares
  Tensor &y = d.result(x.element, x.shape);
  for (int64_t t = 0; t < tokens; ++t)
    for (auto [expert, share] : choose(logits, t)) {
      const auto token = ArrayRef(x.data).slice(t * width, width);
      std::vector<double> first, third, hidden;
      for (int64_t n = 0; n < fc1.outputs; ++n)
        first.push_back(fc1.of(expert, n, token));
      for (int64_t n = 0; n < fc3.outputs; ++n)
        third.push_back(fc3.of(expert, n, token));
      if (!activate(first, third, hidden))
        return Outcome::Unknown;
      if (int64_t(hidden.size()) != fc2.inputs)
        return Outcome::Unfit;
      for (int64_t e = 0; e < width; ++e)
        y.data[t * width + e] += share * fc2.of(expert, e, hidden);
    }
  return Outcome::Done;
}

//===----------------------------------------------------------------------===//
// MoE
//===----------------------------------------------------------------------===//

/// [E, outputs, inputs], or of older releases [E, inputs, outputs].
static Projection projectionOf(const Tensor *weights, const Tensor *bias,
                               bool isOld) {
  Projection p;
  if (!weights || weights->rank() != 3)
    return p;
  p.bias = bias;
  p.experts = weights->shape[0];
  p.outputs = weights->shape[isOld ? 2 : 1];
  p.inputs = weights->shape[isOld ? 1 : 2];
  forEachIndex({p.experts, p.outputs, p.inputs}, [&](Index i) {
    p.numbers.push_back(isOld ? at(*weights, {i[0], i[2], i[1]})
                              : at(*weights, i));
  });
  return p;
}

static Outcome mixture(Call &call) {
  Mixture<MicrosoftMoEOp> m(call, cast<MicrosoftMoEOp>(call.op));
  const Definition &d = m.d;
  const Tensor &x = *d.operand(0);
  auto fc1 = d.operand(2), fc2 = d.operand(4), fc3 = d.operand(6);
  if (x.rank() == 0 || !fc1 || !fc2 || fc1->rank() != 3 || fc2->rank() != 3)
    return Outcome::Unfit;
  const int64_t width = x.shape.back();
  m.fc1 = projectionOf(fc1, d.operand(3), fc1->shape[2] != width);
  m.fc2 = projectionOf(fc2, d.operand(5), fc2->shape[1] != width);
  if (fc3)
    m.fc3 = projectionOf(fc3, d.operand(7),
                         fc3->rank() == 3 && fc3->shape[2] != width);
  return m.define();
}

//===----------------------------------------------------------------------===//
// QMoE
//===----------------------------------------------------------------------===//

/// Bytes [E, outputs, inputs / fields], scales [E, outputs] or by block, zero
/// points packed as the weights are along the last dim of the scales.
static Projection unpacked(const Definition &d, unsigned number, int64_t bits,
                           int64_t blockSize) {
  Projection p;
  const Tensor *bytes = d.operand(2 + 3 * number);
  const Tensor *scales = d.operand(3 + 3 * number);
  const Tensor *zeros = d.operand(11 + number);
  if (!bytes || !scales || bytes->rank() != 3 || (bits != 4 && bits != 8))
    return p;
  const Type element = d.operand(0)->element;
  const int64_t each = 8 / bits, rowBytes = bytes->shape[2];
  const int64_t inputs = rowBytes * each;
  const int64_t blocks = scales->rank() == 3 ? scales->shape[2] : 1;
  const int64_t block =
      scales->rank() == 3 ? blockSize : std::max<int64_t>(inputs, 1);
  const int64_t rows = bytes->shape[0] * bytes->shape[1];
  // Of one scale a row, the zero points of an expert's rows are one row.
  const int64_t zeroRow = scales->rank() == 3 ? blocks : bytes->shape[1];
  const int64_t zeroBytes = (zeroRow + each - 1) / each;
  if (block <= 0 || scales->size() != rows * blocks ||
      (inputs + block - 1) / block != blocks)
    return p;
  p.experts = bytes->shape[0], p.outputs = bytes->shape[1], p.inputs = inputs;
  p.bias = d.operand(4 + 3 * number);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < inputs; ++i) {
      const int64_t scaleAt = row * blocks + i / block;
      const double middle = zeros ? fieldOf(*zeros, scaleAt / zeroRow,
                                            zeroBytes, scaleAt % zeroRow, bits)
                                  : double(int64_t(1) << (bits - 1));
      p.numbers.push_back(
          d.as(element, (fieldOf(*bytes, row, rowBytes, i, bits) - middle) *
                            valueAt(*scales, scaleAt)));
    }
  return p;
}

static Outcome quantizedMixture(Call &call) {
  auto op = cast<MicrosoftQMoEOp>(call.op);
  if (op.getQuantType() != "int")
    return Outcome::Unknown;
  Mixture<MicrosoftQMoEOp> m(call, op);
  const int64_t bits = op.getExpertWeightBits();
  const int64_t block = m.d.size(op.getBlockSize());
  m.fc1 = unpacked(m.d, 0, op.getFc1ExpertWeightBits().value_or(bits), block);
  m.fc2 = unpacked(m.d, 1, op.getFc2ExpertWeightBits().value_or(bits), block);
  if (m.d.operand(8))
    m.fc3 = unpacked(m.d, 2, op.getFc3ExpertWeightBits().value_or(bits), block);
  m.mixing = m.d.operand(14);
  return m.define();
}

void defineExperts(Evaluators &all) {
  all.add<MicrosoftMoEOp>(mixture);
  all.add<MicrosoftQMoEOp>(quantizedMixture);
}

} // namespace shardc::onnx::evaluate
