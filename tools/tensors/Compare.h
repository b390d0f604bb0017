//===- Compare.h - Outputs against expected ones --------------------------===//
//
// |a - b| <= absolute + relative |b| + scaled max|b|, with NaN and infinities
// at the same places. Integers must be equal unless `scaled` allows for
// rounding (quantised models) or the user gave numbers.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_TENSORS_COMPARE_H
#define SHARDC_TOOLS_TENSORS_COMPARE_H

#include "runtime/api/shardrt.hpp"

#include <span>
#include <string>
#include <vector>

namespace shardc::tensors {

struct Tolerance {
  double absolute = 0;
  double relative = 0;
  double scaled = 0;
  bool exactIntegers = true;
};

/// "f32", "low", "quant" or "ABS,REL"; false if it is none of these.
bool parseTolerance(const std::string &text, Tolerance &tolerance);

/// Of a plan against one rank, by the manifest's class: what another order of
/// sums may change.
Tolerance planTolerance(const std::string &precision);

/// The same in f64: 1e-9 of the largest value, which only a mistake exceeds.
inline constexpr Tolerance kExactTolerance{0, 0, 1e-9, true};

struct Comparison {
  bool fits = false;
  std::string problem;     ///< if it does not fit; else empty
  double largestError = 0; ///< absolute
  double ofTolerance = 0;  ///< largest error / allowed error
};

/// Every element as a number.
std::vector<double> toDoubles(const shardc::runtime::Tensor &tensor);

/// A tensor with these elements, rounded to the type; not to floats of 8 bits.
shardc::runtime::Status fromDoubles(shardc::runtime::ElementType element,
                                    std::span<const int64_t> dims,
                                    std::span<const double> values,
                                    shardc::runtime::Tensor &tensor);
/// The same elements, as fromDoubles rounds them.
shardc::runtime::Status convert(const shardc::runtime::Tensor &from,
                                shardc::runtime::ElementType element,
                                shardc::runtime::Tensor &to);

/// "output 0 'y' [2, 8]: largest error 1e-6, 0.1 of the tolerance", or how it
/// differs.
std::string comparisonText(size_t output, const std::string &name,
                           const shardc::runtime::Tensor &found,
                           const Comparison &comparison);

Comparison compare(const shardc::runtime::Tensor &found,
                   const shardc::runtime::Tensor &expected,
                   const Tolerance &tolerance);

} // namespace shardc::tensors

#endif // SHARDC_TOOLS_TENSORS_COMPARE_H
