//===- PackedOperands.h - Constant matrices as kernels want them ----------===//
//
// A rank keeps one packed form of each matrix, or of all experts' matrices,
// whichever plans and profiles use it, and shares it with the ranks and replicas of
// its process that read the same memory (a weight that is not split, and lies
// mapped). It has its place when the first plan needs it, and is made when a run gets there: its weight
// may still be on its way before. The pages of the file that it was made of
// then leave the process.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_PACKEDOPERANDS_H
#define SHARDC_RUNTIME_WEIGHTS_PACKEDOPERANDS_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/Kernel.h"
#include "runtime/weights/ConstantReads.h"
#include "runtime/weights/TransientBytes.h"
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

namespace shardc::runtime {

/// Of a matrix, or of all those of experts, as PackedOperands has them; 0: no form.
int64_t packedBytes(const OperandPacking &packing, const TensorView &matrix);

/// Of one rank. The memory of the matrices outlives it.
class PackedOperands {
public:
  struct Entry;
  /// A matrix that may not be packed yet.
  class Unpacked {
  public:
    /// `transient`: what it is a part of; null: its bytes are there.
    Unpacked(const OperandPacking &packing, const TensorView &matrix,
             const TransientBytes *transient, std::shared_ptr<Entry> entry)
        : packing(&packing), matrix(matrix), transient(transient),
          entry(std::move(entry)) {}
    /// Nothing where another plan or rank has done it. After an error it may be
    /// tried again.
    Status pack() const;

  private:
    Status packOne(const TensorView &one, std::byte *to) const;

    const OperandPacking *packing;
    TensorView matrix;
    const TransientBytes *transient;
    std::shared_ptr<Entry> entry;
  };
  /// Where it is, or will be once what is added to `unpacked` was packed. Null
  /// in `packed` where the packing has no form for this view.
  Status find(const OperandPacking &packing, const TensorView &operand,
              const TransientBytes *transient, const std::byte *&packed,
              std::vector<Unpacked> &unpacked);
  int64_t bytes() const { return total; }

  /// Where a matrix lies, its dims and strides, and how it is packed.
  using Key = std::tuple<const std::byte *, int64_t, int, std::vector<int64_t>,
                         int64_t (*)(const TensorView &),
                         void (*)(const TensorView &, std::byte *)>;
  /// Of a matrix whose buffer has no address yet.
  static Key keyOf(const PackedRead &read);
  struct Entry {
    std::mutex mutex; ///< while it is made
    AlignedBuffer memory;
    bool isPacked = false;
  };

private:
  std::map<Key, std::shared_ptr<Entry>> known;
  int64_t total = 0;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_PACKEDOPERANDS_H
