//===- ConstantReads.h - How a program on a host reads what stays ---------===//
//
// Weights, and what was computed of them, are the same in all runs. A host need
// not keep all of that, where products pack it:
//
//   rows    all that the program does with a slice that is no one piece of its file
//           is to multiply by it, or to look rows up in it, and each view of it
//           stays within rows of the block: the views become those of the file
//           (BlockLayout.h)
//   packed  all that it does with a slice in pieces, or with a computed value, is to
//           pack it: that is there while it is done (TransientBytes.h)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_CONSTANTREADS_H
#define SHARDC_RUNTIME_WEIGHTS_CONSTANTREADS_H

#include "runtime/artifact/Format.h"
#include "runtime/kernels/Kernel.h"
#include "runtime/tensor/BlockLayout.h"
#include "runtime/weights/ConstantMatrix.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

/// A matrix that a product packs, and how.
struct PackedRead {
  const OperandPacking *packing;
  ConstantMatrix matrix;
};

/// Of one program on one rank of the host.
class ConstantReads {
public:
  /// `scalars` are load scalars, `dependence` is scalarDependences(program); both
  /// live longer.
  ConstantReads(const artifact::Program &program,
                std::span<const uint8_t> dependence,
                std::span<const int64_t> scalars);

  /// Whether rows of the block will do for all reads of the weight.
  bool takeRows(uint32_t weight, const BlockLayout &block) const;
  /// Whether runs read nothing of it but what was packed of it, and the load-time
  /// program does not read it.
  bool onlyPack(uint32_t weight) const {
    return ofWeights[weight].areOnlyPacked;
  }
  /// Of a buffer that the load-time program fills: what runs read of it, where that
  /// is only packed; else nothing.
  std::span<const PackedRead> packedReadsOf(uint32_t loadedBuffer) const;

private:
  struct Reads {
    std::vector<uint32_t> views;
    std::vector<PackedRead> packed;
    bool takeStrides = true; ///< kernels that take operands of any strides
    bool areOnlyPacked = true;
  };

  Reads *readsOf(uint32_t view, bool isRun);
  void add(const artifact::Instruction *reader, uint32_t input, uint32_t view,
           bool isRun);
  bool isPacked(const artifact::Instruction &reader, uint32_t input,
                uint32_t view, PackedRead &read) const;
  bool staysInRows(const artifact::View &view, const BlockLayout &block) const;

  const artifact::Program &program;
  std::span<const uint8_t> dependence;
  std::span<const int64_t> scalars;
  std::vector<Reads> ofWeights;
  std::vector<Reads> ofBuffers; ///< that the load-time program fills
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_CONSTANTREADS_H
