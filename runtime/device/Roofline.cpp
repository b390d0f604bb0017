#include "runtime/device/Roofline.h"

#include "runtime/base/Message.h"
#include "runtime/device/DeviceBuffer.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>
#include <chrono>

namespace shardc::runtime {
namespace {

constexpr int kRuns = 5;
/// Both ends together are larger than a rank's share of a processor's caches.
constexpr int64_t kCopyBytes = int64_t{32} << 20;
constexpr int64_t kMatrixSize = 1024;

/// Seconds of the fastest of several, the first of which warms up.
template <typename Body>
Status fastest(DeviceStream &stream, Body body, double &seconds) {
  using Clock = std::chrono::steady_clock;
  seconds = 0;
  for (int run = 0; run <= kRuns; ++run) {
    const auto begin = Clock::now();
    SHARDC_RETURN_IF_ERROR(body());
    SHARDC_RETURN_IF_ERROR(stream.synchronize());
    const double now =
        std::chrono::duration<double>(Clock::now() - begin).count();
    if (run == 1 || (run > 1 && now < seconds))
      seconds = now;
  }
  return Status::ok();
}

Status allocate(Device &device, int64_t bytes, DeviceBuffer &buffer) {
  return buffer.allocate(device, MemoryKind::Device, bytes)
             ? Status::ok()
             : artifactError("no room for ", bytes,
                             " bytes to measure the device with");
}

Status measureCopy(Device &device, DeviceStream &stream, DeviceLimits &limits) {
  DeviceBuffer from, to;
  SHARDC_RETURN_IF_ERROR(allocate(device, kCopyBytes, from));
  SHARDC_RETURN_IF_ERROR(allocate(device, kCopyBytes, to));
  double seconds = 0;
  SHARDC_RETURN_IF_ERROR(fastest(
      stream,
      [&] {
        return stream.copy(to.data(), from.data(), {.rowBytes = kCopyBytes},
                           CopyDirection::DeviceToDevice);
      },
      seconds));
  limits.bytesPerSecond = 2 * kCopyBytes / seconds; // read and written
  return Status::ok();
}

Status measureProduct(Device &device, DeviceStream &stream,
                      DeviceLimits &limits) {
  const Kernel *kernel = device.findKernel("MatMul");
  if (!kernel)
    return Status::ok(); // then nothing is bound by it
  const int64_t dims[] = {kMatrixSize, kMatrixSize};
  DeviceBuffer memory[3], scratch;
  TensorView views[3];
  for (int i = 0; i < 3; ++i) {
    SHARDC_RETURN_IF_ERROR(
        allocate(device, 4 * kMatrixSize * kMatrixSize, memory[i]));
    views[i] =
        packedView(memory[i].data(), artifact::ElementType_Float32, dims);
  }
  // Zeros, which are no slower: what is there may be NaN or subnormal.
  std::vector<float> zeros(kMatrixSize * kMatrixSize);
  for (int i = 0; i < 2; ++i)
    SHARDC_RETURN_IF_ERROR(stream.copy(
        memory[i].data(), reinterpret_cast<const std::byte *>(zeros.data()),
        {.rowBytes = 4 * kMatrixSize * kMatrixSize},
        CopyDirection::HostToDevice));
  KernelCall call;
  call.inputs = views;
  call.numInputs = 2;
  call.outputs = views + 2;
  call.numOutputs = 1;
  SHARDC_RETURN_IF_ERROR(allocate(
      device, kernel->scratchBytes ? kernel->scratchBytes(call) : 0, scratch));
  call.scratch = scratch.data();
  double seconds = 0;
  SHARDC_RETURN_IF_ERROR(fastest(
      stream,
      [&] { return stream.launch(*kernel, call, {"MatMul", "limits", 0}); },
      seconds));
  limits.multiplyAddsPerSecond =
      static_cast<double>(kMatrixSize) * kMatrixSize * kMatrixSize / seconds;
  return Status::ok();
}

} // namespace

Status measureLimits(Device &device, DeviceStream &stream,
                     DeviceLimits &limits) {
  SHARDC_RETURN_IF_ERROR(measureCopy(device, stream, limits));
  return measureProduct(device, stream, limits);
}

} // namespace shardc::runtime
