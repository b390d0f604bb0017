//===- Bisect.h - The first value in which two builds differ --------------===//
//
// Both are compiled again with values in between as additional outputs, some 40
// at a time: a value that agrees clears all that it is computed from, the first
// that differs leaves only what it is computed from. What remains differs
// although everything before it agrees.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_VERIFY_BISECT_H
#define SHARDC_TOOLS_SHARDC_VERIFY_BISECT_H

#include "compiler/probe/Probes.h"
#include "tools/shardc/verify/Build.h"
#include "tools/shardc/verify/Requests.h"
#include "tools/tensors/Compare.h"

#include <optional>

namespace shardc::verifier {

/// What a value is computed from, and whether that agrees.
struct Origin {
  probe::Probe probe;
  bool isComparable = true; ///< one rank computes it too, and it agrees
};

struct Difference {
  probe::Probe probe;
  /// False: one rank does not compute it, and nothing else differs. Only of a
  /// program that was not checked.
  bool isComparable = true;
  tensors::Comparison comparison; ///< if it is comparable
  std::vector<Origin> from;
};

/// Nothing where no value in between differs.
runtime::Status findFirstDifference(const CompileOptions &one,
                                    const CompileOptions &plan,
                                    const Request &request,
                                    const tensors::Tolerance &tolerance,
                                    std::optional<Difference> &difference);

/// For people, several lines.
std::string differenceText(const Difference &difference);

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_BISECT_H
