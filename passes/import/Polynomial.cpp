//===- Polynomial.cpp - What arithmetic computes of two values ------------===//

#include "passes/import/Polynomial.h"

#include "dialects/onnx/ops/Arithmetic.h"
#include "dialects/onnx/ops/Math.h"
#include "passes/import/Matching.h"

using namespace mlir;

namespace shardc::import {

using namespace onnx;

Polynomial Polynomial::monomial(double coefficient, int x, int t) {
  Polynomial result;
  if (coefficient != 0)
    result.terms[{x, t}] = coefficient;
  return result;
}

Polynomial Polynomial::operator+(const Polynomial &other) const {
  Polynomial result = *this;
  for (const auto &[exponents, coefficient] : other.terms)
    if ((result.terms[exponents] += coefficient) == 0)
      result.terms.erase(exponents);
  return result;
}

Polynomial Polynomial::operator*(const Polynomial &other) const {
  Polynomial result;
  for (const auto &[left, a] : terms)
    for (const auto &[right, b] : other.terms)
      result = result + monomial(a * b, left.first + right.first,
                                 left.second + right.second);
  return result;
}

std::optional<double> Polynomial::asConstant() const {
  if (terms.empty())
    return 0;
  return terms.size() == 1 && degree() == 0
             ? std::optional<double>(terms.begin()->second)
             : std::nullopt;
}

int Polynomial::degree() const {
  int degree = 0;
  for (const auto &term : terms)
    degree = std::max(degree, term.first.first + term.first.second);
  return degree;
}

double Polynomial::at(int i, int j) const {
  auto it = terms.find({i, j});
  return it == terms.end() ? 0 : it->second;
}

namespace {

/// Gives up behind a few ops: activations are small.
class Reader {
public:
  Reader(Value x, Value t) : x(x), t(t) {}

  std::optional<Polynomial> read(Value value) {
    if (value == x)
      return Polynomial::monomial(1, 1);
    if (value == t)
      return Polynomial::monomial(1, 0, 1);
    if (std::optional<double> constant = splatConstant(value))
      return Polynomial::monomial(*constant, 0);
    Operation *op = value.getDefiningOp();
    if (!op || --budget < 0 || !haveSameDims(value, x))
      return std::nullopt;
    if (isa<NegOp>(op))
      return scale(read(op->getOperand(0)), -1);
    if (op->getNumOperands() != 2 ||
        !isa<AddOp, SubOp, MulOp, DivOp, PowOp>(op))
      return std::nullopt;
    std::optional<Polynomial> lhs = read(op->getOperand(0));
    std::optional<Polynomial> rhs =
        lhs ? read(op->getOperand(1)) : std::nullopt;
    std::optional<Polynomial> result =
        rhs ? combine(op, *lhs, *rhs) : std::nullopt;
    return result && result->degree() <= kMaxDegree ? result : std::nullopt;
  }

private:
  static constexpr int kMaxDegree = 4;

  static std::optional<Polynomial> scale(std::optional<Polynomial> polynomial,
                                         double factor) {
    if (polynomial)
      *polynomial = *polynomial * Polynomial::monomial(factor, 0);
    return polynomial;
  }

  static std::optional<Polynomial> combine(Operation *op, const Polynomial &lhs,
                                           const Polynomial &rhs) {
    if (isa<AddOp>(op))
      return lhs + rhs;
    if (isa<SubOp>(op))
      return lhs + *scale(rhs, -1);
    if (isa<MulOp>(op))
      return lhs * rhs;
    std::optional<double> constant = rhs.asConstant();
    if (!constant || *constant == 0)
      return std::nullopt;
    if (isa<DivOp>(op))
      return scale(lhs, 1 / *constant);
    if (*constant != 2 && *constant != 3)
      return std::nullopt;
    return *constant == 2 ? lhs * lhs : lhs * lhs * lhs;
  }

  Value x, t;
  int budget = 12;
};

} // namespace

std::optional<Polynomial> polynomialOf(Value value, Value x, Value t) {
  if (elementOf(value) != elementOf(x))
    return std::nullopt;
  return Reader(x, t).read(value);
}

} // namespace shardc::import
