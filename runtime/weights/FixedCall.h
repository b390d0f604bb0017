//===- FixedCall.h - What is the same in all calls of a kernel ------------===//
#ifndef SHARDC_RUNTIME_WEIGHTS_FIXEDCALL_H
#define SHARDC_RUNTIME_WEIGHTS_FIXEDCALL_H

#include "runtime/artifact/Format.h"
#include "runtime/kernels/Kernel.h"

#include <cstdint>
#include <span>
#include <vector>

namespace shardc::runtime {

/// An instruction once weights are loaded: operands have no data, and are of size 1
/// where requests decide. MatMul of [s, 96] and [96, 192] is one of [1, 96] and
/// [96, 192].
class FixedCall {
public:
  /// `scalars` are load scalars; the program and its kernels live longer.
  FixedCall(const artifact::Program &program,
            std::span<const uint8_t> dependence,
            std::span<const int64_t> scalars,
            const artifact::Instruction &instruction);
  FixedCall(const FixedCall &) = delete; // the call points into it

  const KernelCall &call() const { return made; }
  /// Whether no request decides on any of them.
  bool hasAttributes() const { return areKnown; }

private:
  std::vector<TensorView> views;
  std::vector<KernelAttribute> attributes;
  std::vector<int64_t> ints;
  bool areKnown = true;
  KernelCall made;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_WEIGHTS_FIXEDCALL_H
