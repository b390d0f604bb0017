//===- FusedAttentionFixture.h - Attention with a library that is a loop --===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_FUSEDATTENTIONFIXTURE_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_FUSEDATTENTIONFIXTURE_H

#include "runtime/device/DeviceBuffer.h"
#include "runtime/device/Plugin.h"
#include "runtime/device/cuda/CudaStream.h"
#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/LoopAttention.h"

extern "C" const shardc::runtime::PluginDescription *shardrtPlugin();

namespace shardc::testing {

/// Operands on a device, for launches that are waited for later.
template <typename T> class AttentionMemory {
public:
  AttentionMemory(runtime::Device &device, runtime::DeviceStream &stream,
                  const std::vector<Tensor> &inputs, const Tensor &result)
      : stream(stream), kernel(*device.findKernel("Attention")) {
    for (const Tensor &input : inputs)
      views.push_back(upload(device, input));
    output = upload(device, result);
    call.inputs = views.data();
    call.numInputs = static_cast<int>(views.size());
    call.outputs = &output;
    call.numOutputs = 1;
    EXPECT_TRUE(add().allocate(device, runtime::MemoryKind::Device,
                               kernel.scratchBytes(call)));
    call.scratch = memory.back()->data();
  }
  void launch() { EXPECT_OK(stream.launch(kernel, call, {})); }

private:
  runtime::DeviceBuffer &add() {
    return *memory.emplace_back(std::make_unique<runtime::DeviceBuffer>());
  }
  runtime::TensorView upload(runtime::Device &device, const Tensor &tensor) {
    const auto size = static_cast<int64_t>(tensor.bytes().size());
    runtime::DeviceBuffer &copy = add();
    EXPECT_TRUE(copy.allocate(device, runtime::MemoryKind::Device, size));
    EXPECT_OK(stream.copy(copy.data(), tensor.bytes().data(), {size},
                          runtime::CopyDirection::HostToDevice));
    EXPECT_OK(stream.synchronize());
    runtime::TensorView view = tensor.view;
    view.data = copy.data();
    return view;
  }

  runtime::DeviceStream &stream;
  const runtime::Kernel &kernel;
  std::vector<std::unique_ptr<runtime::DeviceBuffer>> memory;
  std::vector<runtime::TensorView> views;
  runtime::TensorView output;
  runtime::KernelCall call;
};

template <typename T> class FusedAttentionOf : public ::testing::Test {
protected:
  void make(const Dims &q, int64_t kvHeads, int64_t keys) {
    inputs = {numbers<T>(q, 1), numbers<T>({q[0], kvHeads, keys, q[3]}, 2),
              numbers<T>({q[0], kvHeads, keys, q[3]}, 3)};
    result = Tensor::filled<T>(q, T(7));
  }
  void open() {
    stream.reset();
    EXPECT_OK(shardrtPlugin()->backend->open(0, device));
    EXPECT_OK(device->createStream(stream));
    auto &cuda = static_cast<runtime::CudaStream &>(*stream);
    cuda.fusedAttentions().setEngine(std::make_unique<LoopEngine>(log));
  }
  /// Runs it on the host and, twice, on a stream with the library.
  void expectSame(const Attributes &attributes = {}) {
    open();
    expectSameAgain(attributes);
  }
  void expectSameAgain(const Attributes &attributes = {}) {
    Tensor expected = result.copy(), found = result.copy();
    EXPECT_OK(
        runtime::host::runKernel("Attention", inputs, {expected}, attributes));
    EXPECT_OK(runOn(*device, *stream, "Attention", inputs, {found}, attributes,
                    /*times=*/2));
    expectNear("Attention", expected, found,
               2 * toleranceOf(runtime::host::elementTypeOf<T>()));
  }
  const FusedAttentionShape &planned() { return log.planned.back(); }
  runtime::FusedAttentions &library() {
    return static_cast<runtime::CudaStream &>(*stream).fusedAttentions();
  }
  /// Plans of other shapes, which do not run.
  void planOthers(int count) {
    for (int i = 0; i < count; ++i) {
      FusedAttentionShape shape;
      shape.element = runtime::host::elementTypeOf<T>();
      shape.batches = 100 + i;
      std::shared_ptr<FusedAttention> plan;
      runtime::FusedAttentions::Doubt doubt;
      EXPECT_OK(library().find(shape, plan, doubt));
    }
  }

  LoopLog log;
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::DeviceStream> stream;
  std::vector<Tensor> inputs;
  Tensor result = Tensor::absent();
};
using Halves = ::testing::Types<Float16, BFloat16>;

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_FUSEDATTENTIONFIXTURE_H
