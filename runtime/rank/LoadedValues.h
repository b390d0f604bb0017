//===- LoadedValues.h - What a rank computed of its weights ---------------===//
//
// Profiles compute much the same of their weights (a transposed matrix), and
// nothing writes it afterwards: what has the same bytes is kept once.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_RANK_LOADEDVALUES_H
#define SHARDC_RUNTIME_RANK_LOADEDVALUES_H

#include "runtime/device/DeviceBuffer.h"
#include "runtime/device/Staging.h"

#include <array>
#include <vector>

namespace shardc::runtime {

class LoadedValues {
public:
  /// Takes the values of one program, in their order, and says where each of
  /// them is from now on. `staging`: null on the host. Alone in its session a
  /// program has nobody to share with, and is not read.
  Status take(std::vector<DeviceBuffer> values, Staging *staging, bool isAlone,
              std::vector<std::byte *> &places);
  int64_t bytes() const;

private:
  using ContentHash = std::array<uint64_t, 2>;
  static Status hashOf(const DeviceBuffer &value, Staging *staging,
                       ContentHash &hash);

  std::vector<DeviceBuffer> kept;
  std::vector<ContentHash> hashes; ///< parallel
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_RANK_LOADEDVALUES_H
