//===- Lowerable.h - Ops that become instructions -------------------------===//
//
// See Lowerable.td.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_DIST_LOWERABLE_H
#define SHARDC_DIALECTS_DIST_LOWERABLE_H

#include "mlir/IR/OpDefinition.h"

namespace shardc::lower {
class Lowering;
} // namespace shardc::lower

#include "dialects/dist/Lowerable.h.inc"

#endif // SHARDC_DIALECTS_DIST_LOWERABLE_H
