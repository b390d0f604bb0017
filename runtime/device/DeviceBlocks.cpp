#include "runtime/device/DeviceBlocks.h"

#include "runtime/base/Message.h"
#include "runtime/device/ViewRows.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime {

Status DeviceBlocks::copyIn(const DeviceView &whole,
                            std::span<const OwnedRuns> dims,
                            const TensorView &local) {
  return copy(whole, dims, local, /*into=*/true);
}

Status DeviceBlocks::copyOut(const DeviceView &whole,
                             std::span<const OwnedRuns> dims,
                             const TensorView &local) {
  return copy(whole, dims, local, /*into=*/false);
}

Status DeviceBlocks::copy(const DeviceView &whole,
                          std::span<const OwnedRuns> dims,
                          const TensorView &local, bool into) {
  isOwn = whole.device == device.info().number;
  isInto = into;
  return copyRuns(dims, 0, whole.view, local);
}

Status DeviceBlocks::copyRuns(std::span<const OwnedRuns> dims, int d,
                              const TensorView &global,
                              const TensorView &local) {
  if (d == static_cast<int>(dims.size()))
    return isInto ? copyBox(local, global) : copyBox(global, local);
  int64_t at = 0;
  for (const OwnedRun &run : dims[static_cast<size_t>(d)].runs) {
    SHARDC_RETURN_IF_ERROR(copyRuns(dims, d + 1,
                                    narrowed(global, d, run.start, run.length),
                                    narrowed(local, d, at, run.length)));
    at += run.length;
  }
  return Status::ok();
}

Status DeviceBlocks::copyBox(const TensorView &to, const TensorView &from) {
  if (to.numElements() == 0)
    return Status::ok();
  const bool isCast = to.element != from.element;
  if (isOwn)
    return launch(isCast ? "Cast" : "Copy", to, from);
  if (!isCast)
    return copyRows(stream, to, from);
  TensorView dense;
  SHARDC_RETURN_IF_ERROR(reserve(isInto ? from : to, dense));
  if (isInto) {
    SHARDC_RETURN_IF_ERROR(copyRows(stream, dense, from));
    return launch("Cast", to, dense);
  }
  SHARDC_RETURN_IF_ERROR(launch("Cast", dense, from));
  return copyRows(stream, to, dense);
}

/// Of which code is chosen: elements, strides, and how they are aligned.
static uint64_t kindOf(const Kernel &kernel, const TensorView &to,
                       const TensorView &from) {
  uint64_t kind = reinterpret_cast<uintptr_t>(&kernel);
  auto add = [&](uint64_t value) { kind = (kind ^ value) * 0x100000001b3; };
  for (const TensorView *view : {&to, &from}) {
    add(static_cast<uint64_t>(view->element));
    add(reinterpret_cast<uintptr_t>(view->data) % 16);
    for (int d = 0; d < view->rank; ++d) {
      add(static_cast<uint64_t>(view->dims[d]));
      add(static_cast<uint64_t>(view->strides[d]));
    }
  }
  return kind;
}

Status DeviceBlocks::launch(const char *name, const TensorView &to,
                            const TensorView &from) {
  const Kernel *kernel = device.findKernel(name);
  if (!kernel)
    return artifactError("the device has no kernel ", name,
                         ", by which memory of its callers is read and "
                         "written; bind memory of the host");
  const uint64_t kind = kindOf(*kernel, to, from);
  if (std::find(launched.begin(), launched.end(), kind) == launched.end()) {
    SHARDC_RETURN_IF_ERROR(settle());
    constexpr size_t kMostKinds = 256;
    if (launched.size() == kMostKinds)
      launched.clear();
    launched.push_back(kind);
  }
  KernelCall call;
  call.inputs = &from;
  call.outputs = &to;
  call.numInputs = call.numOutputs = 1;
  return stream.launch(*kernel, call, {name, "", 0});
}

Status DeviceBlocks::reserve(const TensorView &like, TensorView &dense) {
  const int64_t bytes = viewBytes(like);
  if (!between.data() || between.size() < bytes) {
    SHARDC_RETURN_IF_ERROR(stream.synchronize());
    if (!between.allocate(device, MemoryKind::Device, bytes))
      return artifactError("out of memory for ", bytes,
                           " bytes on their way between devices");
  }
  dense = packedLike(between.data(), like);
  return Status::ok();
}

} // namespace shardc::runtime
