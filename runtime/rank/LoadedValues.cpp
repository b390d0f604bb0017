#include "runtime/rank/LoadedValues.h"

#include "runtime/base/Hash.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime {

Status LoadedValues::take(std::vector<DeviceBuffer> values, Staging *staging,
                          std::vector<std::byte *> &places) {
  const size_t numBefore = kept.size();
  for (DeviceBuffer &value : values) {
    ContentHash hash = {};
    if (!isAlone)
      SHARDC_RETURN_IF_ERROR(hashOf(value, staging, hash));
    size_t same = 0;
    while (same < numBefore &&
           (kept[same].size() != value.size() || hashes[same] != hash))
      ++same;
    if (same < numBefore) {
      places.push_back(kept[same].data());
      continue;
    }
    places.push_back(value.data());
    kept.push_back(std::move(value));
    hashes.push_back(hash);
  }
  return Status::ok();
}

Status LoadedValues::pack(DeviceBuffer value, std::span<const PackedRead> reads,
                          PackedOperands &packed,
                          const TransientBytes *&place) {
  ContentHash hash = {};
  if (!isAlone)
    SHARDC_RETURN_IF_ERROR(hashOf(value, /*staging=*/nullptr, hash));
  auto same = std::find_if(letGo.begin(), letGo.end(), [&](const Packed &each) {
    return !isAlone && each.bytes == value.size() && each.hash == hash;
  });
  if (same == letGo.end()) {
    letGo.emplace_back();
    same = letGo.end() - 1;
    same->bytes = value.size();
    same->hash = hash;
    SHARDC_RETURN_IF_ERROR(same->value.reserve(value.size()));
  }
  place = &same->value;
  // Of the same bytes another program may have packed another matrix.
  same->value.hold(std::move(value));
  std::vector<PackedOperands::Unpacked> unpacked;
  for (const PackedRead &read : reads) {
    TensorView matrix = read.matrix.view;
    matrix.data = place->data() + read.matrix.byteOffset;
    const std::byte *ignored = nullptr;
    SHARDC_RETURN_IF_ERROR(
        packed.find(*read.packing, matrix, place, ignored, unpacked));
  }
  for (const PackedOperands::Unpacked &each : unpacked)
    SHARDC_RETURN_IF_ERROR(each.pack());
  same->value.release();
  return Status::ok();
}

/// 128 bits of the contents. The host reads a device's in pieces.
Status LoadedValues::hashOf(const DeviceBuffer &value, Staging *staging,
                            ContentHash &hash) {
  constexpr int64_t kPiece = int64_t{16} << 20;
  XXH3_state_t hashed;
  XXH3_128bits_reset(&hashed);
  for (int64_t at = 0; at < value.size(); at += kPiece) {
    const int64_t bytes = std::min(kPiece, value.size() - at);
    TensorView piece =
        packedView(value.data() + at, artifact::ElementType_UInt8, {&bytes, 1});
    if (staging)
      SHARDC_RETURN_IF_ERROR(staging->fetch(piece, piece));
    XXH3_128bits_update(&hashed, piece.data, static_cast<size_t>(bytes));
  }
  const XXH128_hash_t digest = XXH3_128bits_digest(&hashed);
  hash = {digest.low64, digest.high64};
  return Status::ok();
}

int64_t LoadedValues::bytes() const {
  int64_t sum = 0;
  for (const DeviceBuffer &value : kept)
    sum += value.size();
  return sum;
}

} // namespace shardc::runtime
