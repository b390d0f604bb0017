//===- LoadedValues.h - What a rank computed of its weights ---------------===//
//
// Profiles compute much the same of their weights (a transposed matrix), and
// nothing writes it afterwards: what has the same bytes is kept once, or is packed
// once and let go, where products read nothing else of it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RANK_LOADEDVALUES_H
#define SHARDC_RUNTIME_RANK_LOADEDVALUES_H

#include "runtime/device/DeviceBuffer.h"
#include "runtime/device/Staging.h"
#include "runtime/weights/ConstantReads.h"
#include "runtime/weights/PackedOperands.h"

#include <array>
#include <deque>
#include <vector>

namespace shardc::runtime {

class LoadedValues {
public:
  /// Alone in its session a program has nobody to share with, and its values are
  /// not read.
  explicit LoadedValues(bool isAlone) : isAlone(isAlone) {}

  /// Takes the values of one program, in their order, and says where each of
  /// them is from now on. `staging`: null on the host.
  Status take(std::vector<DeviceBuffer> values, Staging *staging,
              std::vector<std::byte *> &places);
  /// Packs a value of a host, of which `reads` are all that runs read, and lets it
  /// go: `place` is what it is known by.
  Status pack(DeviceBuffer value, std::span<const PackedRead> reads,
              PackedOperands &packed, const TransientBytes *&place);
  /// Of what is kept.
  int64_t bytes() const;

private:
  using ContentHash = std::array<uint64_t, 2>;
  static Status hashOf(const DeviceBuffer &value, Staging *staging,
                       ContentHash &hash);

  struct Packed {
    TransientValue value;
    int64_t bytes = 0;
    ContentHash hash = {};
  };

  const bool isAlone;
  std::vector<DeviceBuffer> kept;
  std::vector<ContentHash> hashes; ///< parallel
  std::deque<Packed> letGo;        ///< whose addresses stay
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_LOADEDVALUES_H
