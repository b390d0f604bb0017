#include "runtime/runner/ReplicaCheck.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Message.h"
#include "runtime/tensor/CopyView.h"

#include <string>
#include <vector>

namespace shardc::runtime {
namespace {

void hashDims(const TensorView &view, int d, const std::byte *at,
              XXH3_state_t &state) {
  const auto size = artifact::elementBytes(view.element);
  if (d == view.rank) {
    XXH3_128bits_update(&state, at, static_cast<size_t>(size));
    return;
  }
  const int64_t step = view.strides[d] * size;
  if (d == view.rank - 1 && view.strides[d] == 1) {
    XXH3_128bits_update(&state, at, static_cast<size_t>(view.dims[d] * size));
    return;
  }
  for (int64_t i = 0; i < view.dims[d]; ++i)
    hashDims(view, d + 1, at + i * step, state);
}

} // namespace

void hashTensor(const TensorView &stored, uint64_t hash[2]) {
  // Elements that share a byte are copied to the start of one first.
  std::vector<std::byte> packed;
  TensorView view = stored;
  if (artifact::isSubByte(stored.element)) {
    const int64_t count = stored.numElements();
    packed.resize(
        static_cast<size_t>(artifact::storageBytes(stored.element, count)));
    TensorView copy =
        packedView(packed.data(), stored.element,
                   {stored.dims, static_cast<size_t>(stored.rank)});
    copyView(copy, stored);
    const int64_t bytes = static_cast<int64_t>(packed.size());
    view = packedView(packed.data(), artifact::ElementType_UInt8, {&bytes, 1});
  }
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, view.dims,
                      sizeof(int64_t) * static_cast<size_t>(view.rank));
  if (view.numElements() > 0)
    hashDims(view, 0, view.data, state);
  XXH128_hash_t digest = XXH3_128bits_digest(&state);
  hash[0] = digest.low64;
  hash[1] = digest.high64;
}

Status checkReplicated(const TensorView &view, int output, Communicator &world,
                       const CollectiveSite &site,
                       std::vector<uint64_t> &scratch) {
  uint64_t mine[2];
  hashTensor(view, mine);
  const auto ranks = static_cast<size_t>(world.size());
  scratch.resize(2 * ranks);
  SHARDC_RETURN_IF_ERROR(
      world.exchange(mine, sizeof mine, scratch.data(), site));
  std::string differing;
  for (size_t rank = 1; rank < ranks; ++rank)
    if (scratch[2 * rank] != scratch[0] || scratch[2 * rank + 1] != scratch[1])
      differing += (differing.empty() ? "" : ", ") + std::to_string(rank);
  if (differing.empty())
    return Status::ok();
  return artifactError(
      "replicated value differs between ranks: output ", output, " of ",
      site.kind, " at node '", site.node, "' (instruction ", site.instruction,
      "): expected the bits of rank 0, others on rank ", differing);
}

} // namespace shardc::runtime
