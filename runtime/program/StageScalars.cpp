#include "runtime/program/StageScalars.h"

#include "runtime/program/ScalarEvaluator.h"

#include <algorithm>

namespace shardc::runtime {

Status StageScalars::bind(std::span<const int64_t> newSymbols) {
  if (isKnown[static_cast<size_t>(rank)] && loadDependence.empty() &&
      std::equal(bound.begin(), bound.end(), newSymbols.begin(),
                 newSymbols.end()))
    return Status::ok();
  loadDependence = {};
  bound.assign(newSymbols.begin(), newSymbols.end());
  return rebind();
}

Status StageScalars::bindLoad(std::span<const uint8_t> dependence) {
  loadDependence = dependence;
  bound.clear();
  return rebind();
}

Status StageScalars::rebind() {
  std::fill(isKnown.begin(), isKnown.end(), 0);
  return evaluate(rank);
}

Status StageScalars::evaluate(int which) {
  const auto at = static_cast<size_t>(which);
  SHARDC_RETURN_IF_ERROR(
      loadDependence.empty()
          ? evaluateScalars(program, bound, coordinates[at], values[at])
          : evaluateLoadScalars(program, loadDependence, coordinates[at],
                                values[at]));
  isKnown[at] = 1;
  return Status::ok();
}

Status StageScalars::of(int other, std::span<const int64_t> &scalars) {
  const auto at = static_cast<size_t>(other);
  if (!isKnown[at])
    SHARDC_RETURN_IF_ERROR(evaluate(other));
  scalars = values[at];
  return Status::ok();
}

} // namespace shardc::runtime
