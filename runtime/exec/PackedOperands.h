//===- PackedOperands.h - Constant matrices as kernels want them ----------===//
//
// A rank keeps one packed form of each matrix, whichever plans and profiles use
// it, and shares it with the ranks and replicas of its process that read the
// same memory (a weight that is not split, and lies mapped). It is made when
// the first plan needs it; the pages of the file that it was made of are then
// free for the system to take back.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXEC_PACKEDOPERANDS_H
#define SHARDC_RUNTIME_EXEC_PACKEDOPERANDS_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/exec/Kernel.h"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace shardc::runtime {

/// Of one rank. The memory of the matrices outlives it.
class PackedOperands {
public:
  /// Null in `packed` where the packing has no form for this view.
  Status find(const OperandPacking &packing, const TensorView &operand,
              const std::byte *&packed);
  int64_t bytes() const { return total; }

  /// Where a matrix lies, and how it is packed.
  using Key = std::tuple<const std::byte *, int, int64_t, int64_t, int64_t,
                         int64_t, int64_t (*)(const TensorView &)>;
  struct Entry {
    std::mutex mutex; ///< while it is made
    AlignedBuffer memory;
  };

private:
  std::map<Key, std::shared_ptr<Entry>> known;
  int64_t total = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_PACKEDOPERANDS_H
