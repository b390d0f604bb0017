//===- GatherSchedule.h - When weights that ranks share out are gathered --===//
//
// A weight whose parts lie on several ranks is put together a layer before it is
// used, so that its parts travel beside that layer, and goes right behind its
// last use:
//
//   uses       q0 o0 up0 down0  q1 o1 up1 down1  ...
//   at q1      down0 has gone; q2 starts; there are q1 o1 up1 down1 and q2
//
// As much as a layer is there, and what just starts: never more than two layers,
// however many the model has. It is a window of bytes that slides over the
// program, so that gathers lie between a layer's other collectives, not all
// before them, and layers need not be alike.
//
// What is larger than a layer, as the head of a large vocabulary may be, starts
// when what is there beside it leaves two layers; larger than two, it starts
// right before its use, and is there alone.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_PASSES_LOWER_OVERLAP_GATHERSCHEDULE_H
#define SHARDC_PASSES_LOWER_OVERLAP_GATHERSCHEDULE_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace shardc::lower {

/// Positions are numbers of instructions.
struct GatheredWeight {
  size_t firstUse = 0, lastUse = 0;
  size_t earliest = 0; ///< it may not start before
  int64_t bytes = 0;
  std::optional<int64_t> layer; ///< none: it stands by itself
};

/// Most bytes of a layer; of a weight where none is in a layer.
int64_t largestLayer(llvm::ArrayRef<GatheredWeight> weights);

/// Of weights in order of their first use, before which instruction each starts:
/// the first use of itself or of one before it.
std::vector<size_t> scheduleGathers(llvm::ArrayRef<GatheredWeight> weights);

} // namespace shardc::lower

#endif // SHARDC_PASSES_LOWER_OVERLAP_GATHERSCHEDULE_H
