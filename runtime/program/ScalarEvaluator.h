//===- ScalarEvaluator.h - Sizes and coordinates become numbers -----------===//
//
// Everything symbolic of a program is a list of scalars in SSA order. They are
// evaluated once for a rank and a set of input shapes, before anything runs.
// Example, rank 1 of tp = 2 with symbol seq = 10:
//   %0 = Symbol 0        -> 10
//   %1 = Coordinate 0    -> 1
//   %2 = Multiply %0, %1 -> 10
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PROGRAM_SCALAREVALUATOR_H
#define SHARDC_RUNTIME_PROGRAM_SCALAREVALUATOR_H

#include "runtime/artifact/Format.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shardc::runtime {

/// The value of a symbol that nothing has read yet, and of what depends on it.
inline constexpr int64_t kUnbound = INT64_MIN;

/// Evaluates all scalars for the rank at `coordinates`. Overflow and division
/// by a number below 1 are errors; a violated guard that was already decided
/// then is the better explanation and is reported instead.
Status evaluateScalars(const artifact::Program &program,
                       std::span<const int64_t> symbols,
                       std::span<const int64_t> coordinates,
                       std::vector<int64_t> &values);

/// Evaluates those that do not depend on symbols (`dependence` as in
/// ProgramChecks.h); the others become 0. For weights and `load`.
Status evaluateLoadScalars(const artifact::Program &program,
                           std::span<const uint8_t> dependence,
                           std::span<const int64_t> coordinates,
                           std::vector<int64_t> &values);

/// Error with code Artifact for the first guard that does not hold; those that
/// are unbound yet are left out.
Status checkGuards(const artifact::Program &program,
                   std::span<const int64_t> values);

/// What guards ask of a symbol at least, 0 where they ask nothing.
int64_t leastAllowed(const artifact::Program &program, uint32_t symbol);

/// A scalar in the words of the user: "batch", "8", "past + seq".
std::string describeScalar(const artifact::Program &program, uint32_t scalar);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PROGRAM_SCALAREVALUATOR_H
