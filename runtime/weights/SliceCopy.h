//===- SliceCopy.h - Bytes of slices, copied on the rank's threads --------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_SLICECOPY_H
#define SHARDC_RUNTIME_WEIGHTS_SLICECOPY_H

#include "runtime/base/Status.h"
#include "runtime/weights/WeightSlice.h"

namespace shardc::runtime {

/// Bytes [begin, end) of the packed slice to `to`. An error says that its file cannot
/// be read.
Status copyOnThreads(const WeightSlice &slice, int64_t begin, int64_t end,
                     std::byte *to);
/// Brings what the slice is made of, and not what lies between, into the system's
/// cache, and not into the process.
Status readSource(const WeightSlice &slice);
/// The pages of a file that the slice is made of leave the process.
void releaseSource(const WeightSlice &slice);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_SLICECOPY_H
