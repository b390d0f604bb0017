#include "tests/conformance/cuda/KernelComparison.h"

#include "runtime/backend/cuda/CudaKernels.h"
#include "runtime/backend/cuda/CudaStream.h"
#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/StridedCopy.h"

#include <cmath>

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

static std::vector<TensorView> viewsOf(const std::vector<Tensor> &tensors) {
  std::vector<TensorView> views;
  for (const Tensor &tensor : tensors)
    views.push_back(tensor.view);
  return views;
}

Status runOnDevice(std::string_view name, const std::vector<Tensor> &inputs,
                   const std::vector<Tensor> &outputs,
                   const Attributes &attributes,
                   const std::function<void(CudaStream &)> &prepare) {
  const Kernel *kernel = findCudaKernel(name);
  if (!kernel)
    return artifactError("no kernel ", name);
  std::unique_ptr<DeviceStream> stream;
  SHARDC_RETURN_IF_ERROR(CudaStream::create(0, stream));
  const std::vector<KernelAttribute> list = attributes.list();
  std::vector<TensorView> in = viewsOf(inputs), out = viewsOf(outputs);
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
  call.scratch = scratch.data();
  if (prepare) {
    prepare(static_cast<CudaStream &>(*stream));
    SHARDC_RETURN_IF_ERROR(stream->launch(*kernel, call, {}));
  }
  SHARDC_RETURN_IF_ERROR(stream->launch(*kernel, call, {}));
  const Status status = stream->synchronize();
  for (size_t i = static_cast<size_t>(bytes); i < scratch.size(); ++i)
    EXPECT_EQ(scratch[i], guard) << name << " wrote beyond its scratch";
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
