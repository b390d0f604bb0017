//===- OverlapCost.cpp - Whether communication beside products pays -------===//

#include "passes/plan/OverlapCost.h"

#include <algorithm>

namespace shardc::plan {

namespace {

/// Parts that are tried; more of them only add starts.
constexpr int64_t kParts[] = {2, 3, 4, 6, 8};

/// A prediction is not exact: what saves less than this stays as it is.
constexpr double kLeastShare = 0.05, kLeastSeconds = 3e-6;

bool isWorthIt(double before, double after) {
  return before - after >= std::max(kLeastShare * before, kLeastSeconds);
}

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

int64_t rowsOfPart(const OverlapCase &what, int64_t parts, int64_t leastRows) {
  const int64_t units = ceilDiv(what.rows, what.unitRows);
  return what.unitRows *
         std::max(ceilDiv(leastRows, what.unitRows), ceilDiv(units, parts));
}

double overlappedSeconds(const Device &device, const OverlapCase &what,
                         int64_t parts, int64_t leastRows) {
  const int64_t size = rowsOfPart(what, parts, leastRows);
  double first = 0, second = 0; // when either is done
  for (int64_t start = 0; start < what.rows; start += size) {
    const int64_t rows = std::min(size, what.rows - start);
    const bool isBeside =
        what.isProductFirst ? start > 0 : start + size < what.rows;
    const double product =
        what.product(rows) / (isBeside ? device.speedBeside : 1);
    const double collective = what.collective(rows);
    first += what.isProductFirst ? product : collective;
    second =
        std::max(first, second) + (what.isProductFirst ? collective : product);
  }
  return second;
}

/// The fewest rows of which two parts are faster than the whole.
static int64_t leastRowsOf(const Device &device, const OverlapCase &what) {
  int64_t rows = device.tileRows;
  for (; 2 * rows < what.rows; rows *= 2) {
    OverlapCase two = what;
    two.rows = 2 * rows;
    two.unitRows = 1;
    const double before = what.product(two.rows) + what.collective(two.rows);
    if (isWorthIt(before, overlappedSeconds(device, two, 2, rows)))
      break;
  }
  return rows;
}

OverlapChoice chooseParts(const Device &device, const OverlapCase &what) {
  OverlapChoice choice;
  choice.before = what.product(what.rows) + what.collective(what.rows);
  choice.after = choice.before;
  const int64_t least = leastRowsOf(device, what);
  int64_t best = 1;
  for (int64_t parts : kParts) {
    const double seconds = overlappedSeconds(device, what, parts, least);
    if (parts * least > what.rows || seconds >= choice.after)
      continue;
    best = parts;
    choice.after = seconds;
  }
  if (!isWorthIt(choice.before, choice.after))
    return choice;
  choice.parts = best;
  choice.leastRows = least;
  return choice;
}

} // namespace shardc::plan
