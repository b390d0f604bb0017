//===- Links.h - How long ranks take to talk to each other ----------------===//
//
// Of one level, inside of a node or between nodes: curves (Curve.h) for each
// kind of collective and number of ranks that were measured. Other numbers lie
// between their neighbours; what was not measured at all is made of sends, in a
// ring.
//
// Bytes are what the group holds together: what each rank gives to an all_reduce
// or reduce_scatter and gets of an all_gather, and what all ranks give to an
// all_to_all.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_PLAN_MACHINE_LINKS_H
#define SHARDC_PASSES_PLAN_MACHINE_LINKS_H

#include "passes/plan/machine/Curve.h"
#include "runtime/artifact/CollectiveForm.h"

#include <cstdint>
#include <map>

namespace shardc::plan {

using artifact::CollectiveKind;

struct Links {
  /// One rank to another, while all others do so, too.
  Curve send;
  std::map<CollectiveKind, std::map<int64_t, Curve>> measured; ///< by ranks

  bool isMeasured(CollectiveKind kind) const;
  double seconds(CollectiveKind kind, int64_t ranks, double bytes) const;
};

/// Seconds of n - 1 sends, or of twice as many for an all_reduce, which goes
/// around a ring twice.
double ringSeconds(const Curve &send, CollectiveKind kind, int64_t ranks,
                   double bytes);

} // namespace shardc::plan

#endif // SHARDC_PASSES_PLAN_MACHINE_LINKS_H
