#include "runtime/weights/TransientSlice.h"

#include "runtime/base/Message.h"
#include "runtime/weights/SliceCopy.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace shardc::runtime {

TransientSlice::~TransientSlice() {
  if (addresses)
    (void)munmap(addresses, length);
}

Status TransientSlice::reserve(const WeightSlice &of) {
  length = static_cast<size_t>(of.bytes);
  void *at = mmap(nullptr, length, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    return artifactError("no addresses for ", of.bytes,
                         " bytes of a weight: ", std::strerror(errno));
  slice = &of;
  addresses = static_cast<std::byte *>(at);
  return Status::ok();
}

Status TransientSlice::copyTo(AlignedBuffer &copy) const {
  if (!copy.allocate(slice->bytes))
    return artifactError("out of memory for ", slice->bytes,
                         " bytes of a weight that is packed; use more ranks");
  SHARDC_RETURN_IF_ERROR(copyOnThreads(*slice, 0, slice->bytes, copy.data()));
  releaseSource(*slice);
  return Status::ok();
}

} // namespace shardc::runtime
