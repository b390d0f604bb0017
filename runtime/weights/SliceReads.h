//===- SliceReads.h - How a program on a host reads its weights -----------===//
//
// A host need not keep a copy of a slice that is no one piece of its file, where
// products pack it:
//
//   rows    all that the program does is to multiply by it, or to look rows up in
//           it, and each view of it stays within rows of the block: the views
//           become those of the file (BlockLayout.h)
//   packed  all that it does is to pack it: the copy is there while that is done
//           (TransientSlice.h)
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_SLICEREADS_H
#define SHARDC_RUNTIME_WEIGHTS_SLICEREADS_H

#include "runtime/artifact/Format.h"
#include "runtime/tensor/BlockLayout.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

/// Of one program on one rank of the host.
class SliceReads {
public:
  /// `scalars` are load scalars, `dependence` is scalarDependences(program); both
  /// live longer.
  SliceReads(const artifact::Program &program,
             std::span<const uint8_t> dependence,
             std::span<const int64_t> scalars);

  /// Whether rows of the block will do for all reads of the weight.
  bool takeRows(uint32_t weight, const BlockLayout &block) const;
  /// Whether they read nothing of it but what was packed of it.
  bool onlyPack(uint32_t weight) const { return of[weight].areOnlyPacked; }

private:
  void add(const artifact::Instruction *reader, uint32_t input, uint32_t view,
           bool isRun);
  bool isPacked(const artifact::Instruction &reader, uint32_t input,
                uint32_t view) const;
  bool staysInRows(const artifact::View &view, const BlockLayout &block) const;

  struct Reads {
    std::vector<uint32_t> views;
    bool takeStrides = true; ///< kernels that take operands of any strides
    bool areOnlyPacked = true;
  };

  const artifact::Program &program;
  std::span<const uint8_t> dependence;
  std::span<const int64_t> scalars;
  std::vector<Reads> of; ///< by weight
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_SLICEREADS_H
