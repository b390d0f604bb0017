//===- BackendFixture.h - One suite for all backends ----------------------===//
//
// Each test runs on the host, on the fake device and on every backend that is
// found beside the program. One that is not there, or has no device, is a test
// that is skipped with the reason.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_BACKEND_BACKENDFIXTURE_H
#define SHARDC_TESTS_CONFORMANCE_BACKEND_BACKENDFIXTURE_H

#include "runtime/device/DeviceBuffer.h"
#include "runtime/device/Plugin.h"
#include "runtime/tensor/CopyView.h"

#include <gtest/gtest.h>

#include <cstring>

namespace shardc::test {

#define ASSERT_OK(expression)                                                  \
  do {                                                                         \
    ::shardc::runtime::Status status_ = (expression);                          \
    ASSERT_TRUE(status_.isOk()) << status_.message();                          \
  } while (false)

class BackendTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    using namespace runtime;
    Status status = findBackend(GetParam(), backend);
    std::vector<DeviceInfo> devices;
    if (status.isOk())
      status = backend->findDevices(devices);
    if (status.isOk() && devices.empty())
      status = Status::error(StatusCode::Artifact, "it has no device");
    if (status.isOk() && !devices[0].refusal.empty())
      status = Status::error(StatusCode::Artifact, devices[0].refusal);
    if (!status.isOk()) {
      // What is built in, or made for these tests, may not be absent.
      ASSERT_STREQ(GetParam(), "cuda") << status.message();
      GTEST_SKIP() << GetParam() << " is absent: " << status.message();
    }
    ASSERT_OK(backend->open(0, device));
    ASSERT_OK(device->createStream(stream));
  }

  runtime::DeviceBuffer memory(int64_t bytes) {
    runtime::DeviceBuffer buffer;
    EXPECT_TRUE(buffer.allocate(*device, runtime::MemoryKind::Device, bytes));
    return buffer;
  }

  /// Copies to the device; done when this returns.
  template <typename T>
  void upload(const runtime::DeviceBuffer &to, const std::vector<T> &values) {
    ASSERT_OK(stream->copy(to.data(),
                           reinterpret_cast<const std::byte *>(values.data()),
                           {static_cast<int64_t>(values.size() * sizeof(T))},
                           runtime::CopyDirection::HostToDevice));
    ASSERT_OK(stream->synchronize());
  }

  template <typename T>
  std::vector<T> download(const std::byte *from, size_t count) {
    std::vector<T> values(count);
    runtime::Status status =
        stream->copy(reinterpret_cast<std::byte *>(values.data()), from,
                     {static_cast<int64_t>(count * sizeof(T))},
                     runtime::CopyDirection::DeviceToHost);
    EXPECT_TRUE(status.isOk()) << status.message();
    status = stream->synchronize();
    EXPECT_TRUE(status.isOk()) << status.message();
    return values;
  }

  // Destroyed from the last to the first.
  runtime::Backend *backend = nullptr;
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::DeviceStream> stream;
};

/// Gather of one row of x [3, 2], whose elements count from 0.
struct PickedRow {
  PickedRow(const runtime::Kernel &kernel, std::byte *x, std::byte *index,
            std::byte *y)
      : kernel(kernel) {
    using namespace artifact;
    const int64_t rows[] = {3, 2}, one[] = {1}, row[] = {1, 2};
    inputs[0] = runtime::packedView(x, ElementType_Float32, rows);
    inputs[1] = runtime::packedView(index, ElementType_Int64, one);
    output = runtime::packedView(y, ElementType_Float32, row);
    attribute.name = "axis";
    attribute.ints = &axis;
    attribute.numInts = 1;
    call.inputs = inputs;
    call.numInputs = 2;
    call.outputs = &output;
    call.numOutputs = 1;
    call.attributes = &attribute;
    call.numAttributes = 1;
  }
  PickedRow(const PickedRow &) = delete;

  runtime::Status launch(runtime::DeviceStream &stream, std::string_view node,
                         int instruction = 5) const {
    return stream.launch(kernel, call, {"Gather", node, instruction});
  }

private:
  const runtime::Kernel &kernel;
  const int64_t axis = 0;
  runtime::TensorView inputs[2], output;
  runtime::KernelAttribute attribute;
  runtime::KernelCall call;
};

} // namespace shardc::test

#endif // SHARDC_TESTS_CONFORMANCE_BACKEND_BACKENDFIXTURE_H
