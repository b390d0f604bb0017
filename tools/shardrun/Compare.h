//===- Compare.h - Outputs against expected ones --------------------------===//
//
// |a - b| <= absolute + relative |b| + scaled max|b|, with NaN and infinities
// at the same places. Integers must be equal unless `scaled` allows for
// rounding (quantised models) or the user gave numbers.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_COMPARE_H
#define SHARDC_TOOLS_SHARDRUN_COMPARE_H

#include "runtime/api/shardrt.hpp"

#include <string>

namespace shardrun {

struct Tolerance {
  double absolute = 0;
  double relative = 0;
  double scaled = 0;
  bool exactIntegers = true;
};

/// "f32", "low", "quant" or "ABS,REL"; false if it is none of these.
bool parseTolerance(const std::string &text, Tolerance &tolerance);

struct Comparison {
  bool fits = false;
  std::string problem;     ///< if it does not fit; else empty
  double largestError = 0; ///< absolute
  double ofTolerance = 0;  ///< largest error / allowed error
};

Comparison compare(const shardc::runtime::Tensor &found,
                   const shardc::runtime::Tensor &expected,
                   const Tolerance &tolerance);

} // namespace shardrun

#endif // SHARDC_TOOLS_SHARDRUN_COMPARE_H
