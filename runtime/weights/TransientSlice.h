//===- TransientSlice.h - A copy that is there while it is packed ---------===//
//
// A slice that is no one piece of its file, and that a rank reads only to pack it,
// has addresses, by which it is known, and no memory at them: whoever read it there
// all the same would not go on with zeros.
//
//   TransientSlice slice;
//   slice.reserve(columns)             addresses
//   slice.copyTo(0, 4096, copy)        what lies at slice.data(), elsewhere
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_TRANSIENTSLICE_H
#define SHARDC_RUNTIME_WEIGHTS_TRANSIENTSLICE_H

#include "runtime/base/Status.h"
#include "runtime/device/GrowingMemory.h"
#include "runtime/weights/WeightSlice.h"

#include <memory>

namespace shardc::runtime {

class TransientSlice {
public:
  /// Of a slice with a `whole`, which lives longer.
  Status reserve(const WeightSlice &slice);
  std::byte *data() const { return addresses->data(); }
  /// Bytes [begin, end) of it, in memory that goes back to the system. The pages of
  /// the file that they are made of leave the process.
  Status copyTo(int64_t begin, int64_t end,
                std::unique_ptr<GrowingMemory> &copy) const;

private:
  const WeightSlice *slice = nullptr;
  std::unique_ptr<GrowingMemory> addresses; ///< with nothing at them
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_TRANSIENTSLICE_H
