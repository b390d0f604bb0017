//===- FuzzKernels.h - Kernels that only touch what they are given --------===//
//
// Each kernel that a program names becomes one that touches the first and the
// last element of each of its operands: what was bound is inside of what there
// is, or the address sanitizer says that it is not. Outputs become zero there,
// so that conditions do not hold and loops end.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_FUZZ_RUNTIME_FUZZKERNELS_H
#define SHARDC_TESTS_FUZZ_RUNTIME_FUZZKERNELS_H

#include "runtime/artifact/Format.h"
#include "runtime/kernels/Kernel.h"

#include <algorithm>
#include <string_view>

namespace shardc::fuzz {

constexpr int64_t kScratch = 100;

/// The bytes from the element with the lowest address to that with the highest.
struct Extent {
  std::byte *first = nullptr;
  int64_t bytes = 0;
};
inline Extent extentOf(const runtime::TensorView &view) {
  if (view.isAbsent() || view.rank < 0)
    return {};
  int64_t low = 0, high = 0;
  for (int d = 0; d < view.rank; ++d) {
    if (view.dims[d] == 0)
      return {};
    const int64_t reach = (view.dims[d] - 1) * view.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t bits = artifact::elementBits(view.element);
  const int64_t begin = (low + view.skipped) * bits / 8;
  const int64_t end = ((high + view.skipped + 1) * bits + 7) / 8;
  return {view.data + begin, end - begin};
}

inline runtime::Status touch(const runtime::KernelCall &call) {
  static volatile int sink;
  for (int i = 0; i < call.numInputs; ++i)
    if (const Extent extent = extentOf(call.inputs[i]); extent.bytes > 0)
      sink = std::to_integer<int>(extent.first[0] |
                                  extent.first[extent.bytes - 1]);
  for (int i = 0; i < call.numOutputs; ++i)
    if (const Extent extent = extentOf(call.outputs[i]); extent.bytes > 0)
      extent.first[0] = extent.first[extent.bytes - 1] = std::byte{0};
  int64_t sum = 0;
  for (int i = 0; i < call.numAttributes; ++i) {
    const runtime::KernelAttribute &attribute = call.attributes[i];
    for (int k = 0; k < attribute.numInts; ++k)
      sum ^= attribute.ints[k];
    for (char c : attribute.text)
      sum ^= c;
  }
  sink = static_cast<int>(sum);
  return runtime::Status::ok();
}

inline runtime::Status touchWithScratch(const runtime::KernelCall &call) {
  std::fill_n(call.scratch, kScratch, std::byte{0});
  return touch(call);
}

inline int64_t scratchBytes(const runtime::KernelCall &) { return kScratch; }

/// Of a program whose bytes were verified.
inline void registerKernels(const artifact::Program &program) {
  // What converts between the caller's element and the model's, which calls it
  // without scratch.
  static const runtime::HostKernelRegistration cast("Cast", {touch, nullptr});
  static int left = 10'000; // of kernels, which are kept
  for (auto *list : {program.load(), program.run()})
    for (const artifact::Instruction *instruction : *list) {
      const std::string_view name = instruction->kernel()->string_view();
      if (!name.empty() && name[0] >= 'A' && name[0] <= 'Z' &&
          name.size() < 32 && !runtime::findHostKernel(name) && left-- > 0)
        runtime::HostKernelRegistration(name, {touchWithScratch, scratchBytes});
    }
}

} // namespace shardc::fuzz

#endif // SHARDC_TESTS_FUZZ_RUNTIME_FUZZKERNELS_H
