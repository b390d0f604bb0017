//===- BlockReads.h - Weights that are read where their rows lie ----------===//
//
// A host copies a slice that is no one piece of its file, unless all that a program
// does with it is to multiply by it, or to look rows up in it, and each view of it
// stays within rows of the block (BlockLayout.h): products read it once, when they
// pack it, and it is in memory once.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_BLOCKREADS_H
#define SHARDC_RUNTIME_WEIGHTS_BLOCKREADS_H

#include "runtime/artifact/Format.h"
#include "runtime/tensor/BlockLayout.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

/// Of one program on one rank of the host.
class BlockReads {
public:
  /// `scalars` are load scalars, `dependence` is scalarDependences(program); both
  /// live longer.
  BlockReads(const artifact::Program &program,
             std::span<const uint8_t> dependence,
             std::span<const int64_t> scalars);

  /// Whether all reads of the weight are such.
  bool allow(uint32_t weight, const BlockLayout &layout) const;

private:
  bool isSeen(const artifact::View &view, const BlockLayout &layout) const;

  const artifact::Program &program;
  std::span<const uint8_t> dependence;
  std::span<const int64_t> scalars;
  // By weight.
  std::vector<std::vector<uint32_t>> views;
  std::vector<char> isReadOtherwise;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_BLOCKREADS_H
