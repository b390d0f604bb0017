#include "runtime/weights/TransientSlice.h"

#include "runtime/base/Message.h"
#include "runtime/device/host/HostPages.h"
#include "runtime/weights/SliceCopy.h"

#include <algorithm>

namespace shardc::runtime {

Status TransientSlice::reserve(const WeightSlice &of) {
  slice = &of;
  addresses = reserveHostPages(of.bytes);
  return addresses ? Status::ok()
                   : artifactError("no addresses for ", of.bytes,
                                   " bytes of a weight");
}

Status TransientSlice::copyTo(int64_t begin, int64_t end,
                              std::unique_ptr<GrowingMemory> &copy) const {
  copy = reserveHostPages(end - begin);
  if (!copy || !copy->commit(end - begin))
    return artifactError("out of memory for ", end - begin,
                         " bytes of a weight that is packed; use more ranks");
  // The pages that it reads are more than it takes of them.
  constexpr int64_t kPiece = int64_t{4} << 20;
  for (int64_t at = begin; at < end; at += kPiece) {
    SHARDC_RETURN_IF_ERROR(copyOnThreads(*slice, at, std::min(at + kPiece, end),
                                         copy->data() + (at - begin)));
    releaseSource(*slice);
  }
  return Status::ok();
}

} // namespace shardc::runtime
