//===- Flights.h - Collectives as early, waits as late as can be ----------===//
//
//   rt.call "MatMul"(...) into(%p)
//   rt.call "Softmax"(...) into(%s)
//   rt.collective "all_reduce" %p into %y
//   rt.call "MatMul"(...) into(%q)
//   rt.call "Add"(%y, ...)
//
// becomes
//
//   rt.call "MatMul"(...) into(%p)
//   rt.collective "all_reduce" %p into %y {flight = 0}
//   rt.call "Softmax"(...) into(%s)           beside it
//   rt.call "MatMul"(...) into(%q)            beside it
//   rt.wait 0 for %p into %y
//   rt.call "Add"(%y, ...)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_OVERLAP_FLIGHTS_H
#define SHARDC_PASSES_LOWER_OVERLAP_FLIGHTS_H

#include "dialects/rt/Rt.h"

namespace shardc::lower {

/// Starts what can run beside calls; the others stay as they are. How many were
/// started.
unsigned startCollectives(rt::ProgramOp program);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_OVERLAP_FLIGHTS_H
