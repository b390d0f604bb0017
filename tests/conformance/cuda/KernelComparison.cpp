#include "tests/conformance/cuda/KernelComparison.h"

#include "runtime/device/DeviceBuffer.h"
#include "runtime/device/Plugin.h"
#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/layout/StridedCopy.h"

#include "runtime/base/Message.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unistd.h>

namespace shardc::testing {

using namespace runtime;

double toleranceOf(artifact::ElementType element) {
  switch (element) {
  case artifact::ElementType_Float64:
    return 1e-12;
  case artifact::ElementType_Float16:
    return 2e-3;
  case artifact::ElementType_BFloat16:
    return 1.6e-2;
  default:
    return 1e-5;
  }
}

namespace {

/// Copies on a device of the memory that tensors share.
class DeviceCopies {
public:
  DeviceCopies(Device &device, DeviceStream &stream)
      : device(device), stream(stream) {}

  Status add(const std::vector<Tensor> &tensors,
             std::vector<TensorView> &views) {
    for (const Tensor &tensor : tensors) {
      views.push_back(tensor.view);
      if (tensor.view.isAbsent())
        continue;
      const std::span<std::byte> bytes = tensor.bytes();
      DeviceBuffer &copy = copies[bytes.data()];
      if (!copy.data())
        SHARDC_RETURN_IF_ERROR(upload(bytes, copy));
      views.back().data = copy.data() + (tensor.view.data - bytes.data());
    }
    return Status::ok();
  }
  Status addBytes(std::span<std::byte> bytes, std::byte *&at) {
    DeviceBuffer &copy = copies[bytes.data()];
    SHARDC_RETURN_IF_ERROR(upload(bytes, copy));
    at = copy.data();
    return Status::ok();
  }
  Status fetch(std::span<std::byte> bytes) {
    return stream.copy(bytes.data(), copies[bytes.data()].data(),
                       {static_cast<int64_t>(bytes.size())},
                       CopyDirection::DeviceToHost);
  }

private:
  Status upload(std::span<std::byte> bytes, DeviceBuffer &copy) {
    const auto size = static_cast<int64_t>(bytes.size());
    if (!copy.allocate(device, MemoryKind::Device, size))
      return artifactError("no memory for a test's tensors");
    return stream.copy(copy.data(), bytes.data(), {size},
                       CopyDirection::HostToDevice);
  }

  Device &device;
  DeviceStream &stream;
  std::map<const std::byte *, DeviceBuffer> copies;
};

/// What a simulation is told: a stream knows it from when it was made.
std::string settings() {
  std::string all;
  for (char **entry = environ; *entry; ++entry)
    if (std::string_view(*entry).starts_with("SHARDC_"))
      (all += *entry) += '\n';
  return all;
}

/// The backend's first device, with a stream for all comparisons: each has
/// handles and workspaces of libraries, which take longer than most kernels.
struct Shared {
  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceStream> stream;
  std::string settings;

  Status open() {
    Backend *backend = nullptr;
    SHARDC_RETURN_IF_ERROR(findBackend("cuda", backend));
    if (!device)
      SHARDC_RETURN_IF_ERROR(backend->open(0, device));
    if (std::string now = testing::settings(); now != settings) {
      stream.reset();
      settings = std::move(now);
    }
    return stream ? Status::ok() : device->createStream(stream);
  }
};

} // namespace

Status runOn(Device &device, DeviceStream &stream, std::string_view name,
             const std::vector<Tensor> &inputs,
             const std::vector<Tensor> &outputs, const Attributes &attributes,
             int times) {
  const Kernel *kernel = device.findKernel(name);
  if (!kernel)
    return artifactError("no kernel ", name);
  DeviceCopies copies(device, stream);
  std::vector<TensorView> in, out;
  SHARDC_RETURN_IF_ERROR(copies.add(inputs, in));
  SHARDC_RETURN_IF_ERROR(copies.add(outputs, out));
  const std::vector<KernelAttribute> list = attributes.list();
  KernelCall call;
  call.inputs = in.data();
  call.numInputs = static_cast<int>(in.size());
  call.outputs = out.data();
  call.numOutputs = static_cast<int>(out.size());
  call.attributes = list.data();
  call.numAttributes = static_cast<int>(list.size());
  const int64_t bytes = kernel->scratchBytes ? kernel->scratchBytes(call) : 0;
  constexpr std::byte guard{0x7f};
  std::vector<std::byte> scratch(static_cast<size_t>(bytes) + 64, guard);
  SHARDC_RETURN_IF_ERROR(copies.addBytes(scratch, call.scratch));
  Status launched = Status::ok();
  for (int run = 0; run < times && launched.isOk(); ++run)
    launched = stream.launch(*kernel, call, {});
  SHARDC_RETURN_IF_ERROR(copies.fetch(scratch));
  for (const Tensor &output : outputs)
    if (!output.view.isAbsent())
      SHARDC_RETURN_IF_ERROR(copies.fetch(output.bytes()));
  const Status status = stream.synchronize(); // the copies go
  for (size_t i = static_cast<size_t>(bytes); i < scratch.size(); ++i)
    EXPECT_EQ(scratch[i], guard) << name << " wrote beyond its scratch";
  return launched.isOk() ? status : launched;
}

Status runOnDevice(std::string_view name, const std::vector<Tensor> &inputs,
                   const std::vector<Tensor> &outputs,
                   const Attributes &attributes) {
  // Never destroyed: when the program ends the plugin may be gone before it.
  static Shared &shared = *new Shared;
  SHARDC_RETURN_IF_ERROR(shared.open());
  const Status status =
      runOn(*shared.device, *shared.stream, name, inputs, outputs, attributes);
  if (!status.isOk())
    shared.stream.reset(); // what follows is not to be blamed for it
  return status;
}

void expectNear(std::string_view name, const Tensor &expected,
                const Tensor &found, double tolerance) {
  const Status known = host::dispatch(
      host::AllTypes(), expected.view.element, name, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        host::forEach(expected.dims(), [&](const Dims &at) {
          const auto a = expected.at<T>(at), b = found.at<T>(at);
          if (a == b || (a != a && b != b))
            return;
          const double limit = tolerance * std::max(1.0, std::fabs(double(a)));
          EXPECT_LE(std::fabs(double(a) - double(b)), limit)
              << name << " at " << ::testing::PrintToString(at) << ": "
              << double(a) << " on the host, " << double(b) << " on the device";
        });
      });
  EXPECT_TRUE(known.isOk()) << known.message();
}

void compare(std::string_view name, const std::vector<Tensor> &inputs,
             const std::vector<Tensor> &outputs, const Attributes &attributes,
             double tolerance) {
  std::vector<Tensor> ownInputs = inputs, ownOutputs;
  for (const Tensor &output : outputs) {
    ownOutputs.push_back(output.copy());
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].view.data == output.view.data && !output.view.isAbsent()) {
        ownInputs[i] = ownOutputs.back();
        std::copy_n(inputs[i].view.strides, kMaxRank,
                    ownInputs[i].view.strides);
      }
  }
  EXPECT_OK(host::runKernel(name, inputs, outputs, attributes));
  EXPECT_OK(runOnDevice(name, ownInputs, ownOutputs, attributes));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].view.isAbsent())
      continue;
    expectNear(name, outputs[i], ownOutputs[i], tolerance);
    const TensorView &to = ownOutputs[i].view, &from = outputs[i].view;
    host::StridedCopy(to, from)(to.data, from.data);
    EXPECT_TRUE(ownOutputs[i].hasMemoryOf(outputs[i]))
        << name << " wrote outside of its output " << i;
  }
}

} // namespace shardc::testing
