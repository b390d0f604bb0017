//===- Polynomial.h - What arithmetic computes of two values --------------===//
//
// Exporters write an activation in any order of its factors. As a polynomial of
// its operand x and of the one function value t in it, all orders are one:
//
//   x * 0.5 * (1 + erf(x / sqrt(2)))       t = erf(..)    0.5 x + 0.5 x t
//   0.5 * (x + x * t)                                     the same
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_IMPORT_POLYNOMIAL_H
#define SHARDC_PASSES_IMPORT_POLYNOMIAL_H

#include "mlir/IR/Value.h"

#include <map>
#include <optional>

namespace shardc::import {

/// Coefficients by the exponents of x and t; none is 0.
class Polynomial {
public:
  using Exponents = std::pair<int, int>;

  static Polynomial monomial(double coefficient, int x, int t = 0);
  Polynomial operator+(const Polynomial &other) const;
  Polynomial operator*(const Polynomial &other) const;
  std::optional<double> asConstant() const;
  int degree() const;

  /// The coefficient of x^i t^j.
  double at(int i, int j = 0) const;
  size_t size() const { return terms.size(); }

private:
  std::map<Exponents, double> terms;
};

/// What `value` is as a polynomial of x and t (which may be null); nothing if
/// anything else goes into it, or if broadcasting gives it other dims than x.
std::optional<Polynomial> polynomialOf(mlir::Value value, mlir::Value x,
                                       mlir::Value t);

} // namespace shardc::import

#endif // SHARDC_PASSES_IMPORT_POLYNOMIAL_H
