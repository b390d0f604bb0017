//===- Kernel.h - What a kernel sees --------------------------------------===//
//
// A kernel computes one instruction on one rank. It gets strided views whose
// shapes are already known and writes its outputs; it never allocates (scratch
// space comes with the call), never communicates and never looks at other
// ranks. Sizes may be 0 anywhere: such a call writes nothing, or the identity
// of its reduction.
//
// Example: MatMul on rank 1 of tp = 2, weight [96, 384] split by columns:
//   inputs[0]  dims {1, 8, 96}   strides {768, 96, 1}
//   inputs[1]  dims {96, 192}    strides {384, 1}     (a window on the file)
//   outputs[0] dims {1, 8, 192}  strides {1536, 192, 1}
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_KERNEL_H
#define SHARDC_RUNTIME_KERNELS_KERNEL_H

#include "runtime/base/Status.h"
#include "runtime/tensor/TensorView.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace shardc::runtime {

class DeviceStream;

/// Attribute with its scalars already evaluated into integers.
struct KernelAttribute {
  std::string_view name;
  const int64_t *ints = nullptr;
  int numInts = 0;
  const double *floats = nullptr;
  int numFloats = 0;
  std::string_view text;
};

inline constexpr int kMostPackings = 2; ///< of a kernel

/// One instruction with its operands bound. Valid during the call only.
struct KernelCall {
  const TensorView *inputs = nullptr; ///< isAbsent() for missing optionals
  int numInputs = 0;
  const TensorView *outputs = nullptr;
  int numOutputs = 0;
  const KernelAttribute *attributes = nullptr;
  int numAttributes = 0;
  std::byte *scratch = nullptr; ///< as many bytes as scratchBytes asked for
  /// The operands of Kernel::packings as these arranged them; null where one is
  /// none that stays the same. Known to scratchBytes already.
  const std::byte *packed[kMostPackings] = {};
  const void *code = nullptr; ///< the kernel's Kernel::code
  /// Where a device's kernel enqueues its work (Backend.h); null on the host,
  /// where all is done when the call returns.
  DeviceStream *stream = nullptr;

  /// Null where the instruction carries no such attribute.
  const KernelAttribute *find(std::string_view name) const;
  int64_t intOr(std::string_view name, int64_t otherwise) const;
  double floatOr(std::string_view name, double otherwise) const;
};

/// Another arrangement of an operand, made once where it is a matrix of weights
/// (or of what was computed of them at load) that is the same in all runs: the
/// last two dims of `input`, all others being of size 1 or broadcast. Of rank 3
/// it is of several matrices, those of experts, which are packed one by one and
/// lie one after the other (packedBytes in PackedOperands.h).
struct OperandPacking {
  int input = 0;
  int64_t (*bytes)(const TensorView &matrix) = nullptr; ///< 0: as it lies
  void (*pack)(const TensorView &matrix, std::byte *to) = nullptr;
  int rank = 2; ///< of the operand
  /// Whether run reads nothing of a packed operand but what was packed of it. Asked
  /// of a call without data, where sizes that requests decide on are 1; null: it
  /// may read more.
  bool (*replaces)(const KernelCall &call) = nullptr;
};

/// Of kernels that read nothing else in any call.
inline bool alwaysReplaces(const KernelCall &) { return true; }

/// `run` does the work; `scratchBytes` (may be null: none) is asked once per
/// input shape, before run, with the views' shapes bound but without data.
struct Kernel {
  Status (*run)(const KernelCall &call) = nullptr;
  int64_t (*scratchBytes)(const KernelCall &call) = nullptr;
  std::span<const OperandPacking> packings = {}; ///< at most kMostPackings
  /// What run finds in its calls: of a generated kernel its GeneratedKernel.
  const void *code = nullptr;
};

/// The host backend's kernel of that name, null if it has none.
const Kernel *findHostKernel(std::string_view name);

/// Registers a kernel under its op's name before main runs. One op, one file:
/// runtime/kernels/host/*/<Op>.cpp.
struct HostKernelRegistration {
  HostKernelRegistration(std::string_view name, Kernel kernel);
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_KERNELS_KERNEL_H
