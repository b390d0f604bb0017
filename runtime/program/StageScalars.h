//===- StageScalars.h - One rank's scalars, and what it asks of others' ---===//
//
// A rank evaluates its own scalars. Of the other ranks of its stage, whose
// symbols are the same and whose coordinates are not, it needs some where ranks
// meet: how large the parts of a collective's members are. Those are evaluated
// when they are asked for.
//
//   StageScalars scalars(program, coordinates, /*rank=*/1);
//   SHARDC_RETURN_IF_ERROR(scalars.bind(symbols));
//   scalars.mine()[3];
//   std::span<const int64_t> other;
//   SHARDC_RETURN_IF_ERROR(scalars.of(/*rank=*/0, other));
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_PROGRAM_STAGESCALARS_H
#define SHARDC_RUNTIME_PROGRAM_STAGESCALARS_H

#include "runtime/artifact/Format.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

class StageScalars {
public:
  /// `coordinates`, by rank of the stage, and the program live longer.
  StageScalars(const artifact::Program &program,
               std::span<const std::vector<int64_t>> coordinates, int rank)
      : program(program), coordinates(coordinates), rank(rank),
        values(coordinates.size()), isKnown(coordinates.size()) {}

  /// Evaluates this rank's with these symbols, unless it has; all others are
  /// forgotten. After an error nothing is bound.
  Status bind(std::span<const int64_t> newSymbols);
  /// The same without symbols: those that depend on none (`dependence` as in
  /// ScalarDependence.h, which lives longer). For weights and `load`.
  Status bindLoad(std::span<const uint8_t> dependence);

  std::span<const int64_t> symbols() const { return bound; }
  std::span<const int64_t> mine() const {
    return values[static_cast<size_t>(rank)];
  }
  /// Valid until the next bind.
  Status of(int other, std::span<const int64_t> &scalars);
  int numRanks() const { return static_cast<int>(values.size()); }

private:
  Status evaluate(int which);
  Status rebind();

  const artifact::Program &program;
  const std::span<const std::vector<int64_t>> coordinates;
  const int rank;
  std::vector<int64_t> bound;               ///< symbols
  std::span<const uint8_t> loadDependence;  ///< empty: symbols are bound
  std::vector<std::vector<int64_t>> values; ///< by rank of the stage
  std::vector<char> isKnown;                ///< parallel
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_PROGRAM_STAGESCALARS_H
