#include "runtime/weights/TransientBytes.h"

#include "runtime/base/Message.h"
#include "runtime/device/host/HostPages.h"
#include "runtime/weights/SliceCopy.h"

#include <algorithm>

namespace shardc::runtime {

Status TransientBytes::reserveAddresses(int64_t bytes) {
  addresses = reserveHostPages(bytes);
  return addresses ? Status::ok()
                   : artifactError("no addresses for ", bytes,
                                   " bytes of a weight: raise the limit of the "
                                   "process (ulimit -v), or use more ranks");
}

Status TransientSlice::reserve(const WeightSlice &of) {
  slice = &of;
  return reserveAddresses(of.bytes);
}

Status TransientSlice::see(int64_t begin, int64_t end,
                           std::unique_ptr<GrowingMemory> &hold,
                           const std::byte *&bytes) const {
  hold = reserveHostPages(end - begin);
  if (!hold || !hold->commit(end - begin))
    return artifactError("out of memory for ", end - begin,
                         " bytes of a weight that is packed; use more ranks");
  hold->fillsFromFront();
  bytes = hold->data();
  // The pages that it reads are more than it takes of them.
  constexpr int64_t kPiece = int64_t{4} << 20;
  for (int64_t at = begin; at < end; at += kPiece) {
    SHARDC_RETURN_IF_ERROR(copyOnThreads(*slice, at, std::min(at + kPiece, end),
                                         hold->data() + (at - begin)));
    releaseSource(*slice);
  }
  return Status::ok();
}

Status TransientValue::see(int64_t begin, int64_t end,
                           std::unique_ptr<GrowingMemory> &,
                           const std::byte *&bytes) const {
  if (end > memory.size())
    return artifactError("a value that was computed of weights is not "
                         "there any more, which is a mistake of this "
                         "library: tell us");
  bytes = memory.data() + begin;
  return Status::ok();
}

} // namespace shardc::runtime
