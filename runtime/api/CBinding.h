//===- CBinding.h - Memory of a caller's that runs read and write ---------===//
#ifndef SHARDC_RUNTIME_API_CBINDING_H
#define SHARDC_RUNTIME_API_CBINDING_H

#include "runtime/api/shardrt.h"
#include "runtime/base/AlignedBuffer.h"
#include "runtime/device/RankDevices.h"
#include "runtime/tensor/Tensor.h"
#include "runtime/tensor/TensorView.h"

#include <optional>
#include <vector>

namespace shardc::runtime {

/// What a session takes and gives, for results that outlive it.
struct SessionPorts {
  std::vector<TensorInfo> inputs, outputs;
  MemoryDevices devices = {};
};

/// A view of the caller's, of the input or output with that number.
struct Binding {
  size_t index = 0;
  TensorView view;
  bool isDense = true;
  std::optional<DeviceView> onDevice = {}; ///< none: it is in the host's memory
  AlignedBuffer gathered = {}; ///< of an input there that is not dense

  std::span<const int64_t> dims() const {
    return {view.dims, static_cast<size_t>(view.rank)};
  }
};

/// Checks a view that `function` was given, of an output if `isWritten`: its
/// elements must not lie upon each other then.
Status readView(const char *function, const shardrt_view *given,
                const SessionPorts &ports, bool isWritten, Binding &binding);

/// In place of the one that the same input or output has.
void setBinding(std::vector<Binding> &all, Binding binding);

/// The elements as runs read them: where they are, or a dense copy.
Status readBound(const SessionPorts &ports, std::vector<Binding> &bindings,
                 std::vector<InputTensor> &inputs);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_API_CBINDING_H
