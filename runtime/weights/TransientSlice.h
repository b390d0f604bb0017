//===- TransientSlice.h - A copy that is there while it is packed ---------===//
//
// A slice that is no one piece of its file, and that a rank reads only to pack it,
// has addresses, by which it is known, and no memory at them: whoever read it there
// all the same would not go on with zeros.
//
//   TransientSlice slice;
//   slice.reserve(columns)             addresses
//   slice.copyTo(buffer)               what lies at slice.data(), elsewhere
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_TRANSIENTSLICE_H
#define SHARDC_RUNTIME_WEIGHTS_TRANSIENTSLICE_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/base/Status.h"
#include "runtime/weights/WeightSlice.h"

namespace shardc::runtime {

class TransientSlice {
public:
  TransientSlice() = default;
  TransientSlice(const TransientSlice &) = delete;
  TransientSlice &operator=(const TransientSlice &) = delete;
  ~TransientSlice();

  /// Of a slice with a `whole`, which lives longer.
  Status reserve(const WeightSlice &slice);
  std::byte *data() const { return addresses; }
  /// The pages of the file that it is made of leave the process.
  Status copyTo(AlignedBuffer &copy) const;

private:
  const WeightSlice *slice = nullptr;
  std::byte *addresses = nullptr;
  size_t length = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_TRANSIENTSLICE_H
