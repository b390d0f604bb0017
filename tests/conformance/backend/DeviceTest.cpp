//===- DeviceTest.cpp - Memory, copies, streams, events, kernels ----------===//
#include "runtime/base/AlignedBuffer.h"
#include "runtime/tensor/CopyView.h"
#include "tests/conformance/backend/BackendFixture.h"

#include <numeric>

namespace shardc::test {
namespace {

using namespace runtime;

constexpr auto kUp = CopyDirection::HostToDevice;
constexpr auto kDown = CopyDirection::DeviceToHost;
constexpr auto kAcross = CopyDirection::DeviceToDevice;

std::byte *bytesAt(std::vector<float> &values) {
  return reinterpret_cast<std::byte *>(values.data());
}

std::vector<float> counted(size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_P(BackendTest, describesItsDevice) {
  std::vector<DeviceInfo> devices;
  ASSERT_OK(backend->findDevices(devices));
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(backend->name(), GetParam());
  for (size_t i = 0; i < devices.size(); ++i)
    EXPECT_EQ(devices[i].number, static_cast<int>(i));
  EXPECT_EQ(device->info().number, 0);
  EXPECT_FALSE(device->info().name.empty());
  EXPECT_FALSE(device->info().architecture.empty());
  EXPECT_GT(device->info().memoryBytes, 0);
  EXPECT_LE(device->info().freeBytes, device->info().memoryBytes);
}

TEST_P(BackendTest, refusesADeviceThatIsNotThere) {
  std::unique_ptr<Device> none;
  for (int number : {-1, 100'000}) {
    Status status = backend->open(number, none);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_NE(status.message().find(std::to_string(number)), std::string::npos)
        << status.message();
    EXPECT_EQ(none, nullptr);
  }
}

TEST_P(BackendTest, allocatesAlignedMemoryAndTakesItBack) {
  for (MemoryKind kind : {MemoryKind::Device, MemoryKind::Staging})
    for (int64_t bytes : {0, 1, 63, 64, 4097, 1 << 20}) {
      std::byte *memory = device->allocate(kind, bytes);
      ASSERT_NE(memory, nullptr) << bytes;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kBufferAlignment, 0u);
      device->release(kind, memory);
    }
  device->release(MemoryKind::Device, nullptr);
}

TEST_P(BackendTest, memoryThatIsNotThereIsNull) {
  for (int64_t bytes : {int64_t{-1}, INT64_MAX, INT64_MAX / 2})
    for (MemoryKind kind : {MemoryKind::Device, MemoryKind::Staging})
      EXPECT_EQ(device->allocate(kind, bytes), nullptr) << bytes;
  // And the device is as good as before.
  DeviceBuffer buffer = memory(16);
  upload(buffer, counted(4));
  EXPECT_EQ(download<float>(buffer.data(), 4), counted(4));
}

TEST_P(BackendTest, copiesThereAcrossAndBack) {
  DeviceBuffer a = memory(4000), b = memory(4000);
  const std::vector<float> values = counted(1000, 1);
  upload(a, values);
  ASSERT_OK(stream->copy(b.data(), a.data(), {4000}, kAcross));
  EXPECT_EQ(download<float>(b.data(), 1000), values);
}

TEST_P(BackendTest, copiesRowsWithPitches) {
  // The middle two columns of [3, 4] into rows 3 wide, and back into [3, 2].
  std::vector<float> whole = counted(12), back(6, -1), rows(9, -1);
  DeviceBuffer a = memory(9 * 4), b = memory(9 * 4);
  upload(a, rows);
  ASSERT_OK(stream->copy(
      a.data(), bytesAt(whole) + 4,
      {.rowBytes = 8, .rows = 3, .toPitch = 12, .fromPitch = 16}, kUp));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(download<float>(a.data(), 9),
            (std::vector<float>{1, 2, -1, 5, 6, -1, 9, 10, -1}));
  ASSERT_OK(stream->copy(
      b.data(), a.data(),
      {.rowBytes = 8, .rows = 3, .toPitch = 8, .fromPitch = 12}, kAcross));
  ASSERT_OK(stream->copy(
      bytesAt(back), b.data(),
      {.rowBytes = 8, .rows = 3, .toPitch = 8, .fromPitch = 8}, kDown));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(back, (std::vector<float>{1, 2, 5, 6, 9, 10}));
}

TEST_P(BackendTest, copyingNothingDoesNothing) {
  std::vector<float> values = counted(4);
  DeviceBuffer a = memory(16), empty = memory(0);
  upload(a, values);
  ASSERT_OK(stream->copy(empty.data(), bytesAt(values), {0}, kUp));
  ASSERT_OK(stream->copy(a.data(), nullptr, {0}, kUp));
  ASSERT_OK(stream->copy(a.data(), empty.data(), {.rowBytes = 4, .rows = 0},
                         kAcross));
  EXPECT_EQ(download<float>(a.data(), 4), values);
}

TEST_P(BackendTest, aStreamWorksInOrder) {
  DeviceBuffer a = memory(16), b = memory(16);
  std::vector<float> first = counted(4, 1), second = counted(4, 10), out1(4),
                     out2(4);
  ASSERT_OK(stream->copy(a.data(), bytesAt(first), {16}, kUp));
  ASSERT_OK(stream->copy(b.data(), a.data(), {16}, kAcross));
  ASSERT_OK(stream->copy(a.data(), bytesAt(second), {16}, kUp));
  ASSERT_OK(stream->copy(bytesAt(out1), b.data(), {16}, kDown));
  ASSERT_OK(stream->copy(bytesAt(out2), a.data(), {16}, kDown));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(out1, first);
  EXPECT_EQ(out2, second);
}

TEST_P(BackendTest, aStreamWaitsForAnEventOfAnother) {
  std::unique_ptr<DeviceStream> other;
  std::unique_ptr<DeviceEvent> written, read;
  ASSERT_OK(device->createStream(other));
  ASSERT_OK(device->createEvent(written));
  ASSERT_OK(device->createEvent(read));
  DeviceBuffer a = memory(4 << 20);
  std::vector<float> values = counted(1 << 20), later(1 << 20, -1),
                     out(1 << 20);
  ASSERT_OK(stream->copy(a.data(), bytesAt(values), {4 << 20}, kUp));
  ASSERT_OK(stream->record(*written));
  ASSERT_OK(other->wait(*written));
  ASSERT_OK(other->copy(bytesAt(out), a.data(), {4 << 20}, kDown));
  ASSERT_OK(other->record(*read));
  // The writer may go on only when the reader is done.
  ASSERT_OK(stream->wait(*read));
  ASSERT_OK(stream->copy(a.data(), bytesAt(later), {4 << 20}, kUp));
  ASSERT_OK(stream->synchronize());
  ASSERT_OK(other->synchronize());
  EXPECT_EQ(out, values);
  EXPECT_EQ(download<float>(a.data(), 1 << 20), later);
}

TEST_P(BackendTest, anEventThatWasNeverRecordedIsOver) {
  std::unique_ptr<DeviceEvent> event;
  ASSERT_OK(device->createEvent(event));
  ASSERT_OK(stream->wait(*event));
  ASSERT_OK(stream->synchronize());
}

TEST_P(BackendTest, theHostWaitsForAnEvent) {
  std::unique_ptr<DeviceEvent> event;
  ASSERT_OK(device->createEvent(event));
  ASSERT_OK(event->synchronize()); // never recorded
  DeviceBuffer a = memory(4 << 20);
  std::vector<float> values = counted(1 << 20), out(1 << 20);
  ASSERT_OK(stream->copy(a.data(), bytesAt(values), {4 << 20}, kUp));
  ASSERT_OK(stream->record(*event));
  ASSERT_OK(event->synchronize());
  const std::vector<float> expected = values;
  values.assign(values.size(), -1); // it was read
  ASSERT_OK(stream->copy(bytesAt(out), a.data(), {4 << 20}, kDown));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(out, expected);
}

TEST_P(BackendTest, anEventStandsWhereItWasRecordedLast) {
  std::unique_ptr<DeviceStream> other;
  std::unique_ptr<DeviceEvent> event;
  ASSERT_OK(device->createStream(other));
  ASSERT_OK(device->createEvent(event));
  DeviceBuffer a = memory(16);
  std::vector<float> one = counted(4, 1), two = counted(4, 2), out(4);
  ASSERT_OK(stream->copy(a.data(), bytesAt(one), {16}, kUp));
  ASSERT_OK(stream->record(*event));
  ASSERT_OK(stream->copy(a.data(), bytesAt(two), {16}, kUp));
  ASSERT_OK(stream->record(*event));
  ASSERT_OK(other->wait(*event));
  ASSERT_OK(other->copy(bytesAt(out), a.data(), {16}, kDown));
  ASSERT_OK(other->synchronize());
  EXPECT_EQ(out, two);
}

TEST_P(BackendTest, findsKernelsByName) {
  EXPECT_NE(device->findKernel("MatMul"), nullptr);
  EXPECT_NE(device->findKernel("Copy"), nullptr);
  EXPECT_EQ(device->findKernel("NoSuchKernel"), nullptr);
  EXPECT_EQ(device->findKernel(""), nullptr);
}

/// y [2, 2] = a [2, 3] b [3, 2], with small integers: exact.
TEST_P(BackendTest, launchesAKernelBehindTheCopiesOfItsOperands) {
  const Kernel *kernel = device->findKernel("MatMul");
  ASSERT_NE(kernel, nullptr);
  std::vector<float> a = counted(6), b = counted(6, 1), y(4);
  const int64_t dims[3][2] = {{2, 3}, {3, 2}, {2, 2}};
  DeviceBuffer on[3] = {memory(24), memory(24), memory(16)};
  TensorView views[3];
  for (int i = 0; i < 3; ++i)
    views[i] = packedView(on[i].data(), artifact::ElementType_Float32, dims[i]);
  KernelCall call;
  call.inputs = views;
  call.numInputs = 2;
  call.outputs = views + 2;
  call.numOutputs = 1;
  DeviceBuffer scratch =
      memory(kernel->scratchBytes ? kernel->scratchBytes(call) : 0);
  call.scratch = scratch.data();
  ASSERT_OK(stream->copy(on[0].data(), bytesAt(a), {24}, kUp));
  ASSERT_OK(stream->copy(on[1].data(), bytesAt(b), {24}, kUp));
  ASSERT_OK(stream->launch(*kernel, call, {"MatMul", "node", 0}));
  for (TensorView &view : views)
    view = {}; // the call may go
  ASSERT_OK(stream->copy(bytesAt(y), on[2].data(), {16}, kDown));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(y, (std::vector<float>{13, 16, 40, 52}));
}

TEST_P(BackendTest, aKernelWhoseDataAreWrongIsNamedByTheNextWait) {
  const Kernel *kernel = device->findKernel("Gather");
  ASSERT_NE(kernel, nullptr);
  DeviceBuffer x = memory(24), index = memory(8), y = memory(8);
  upload(x, counted(6));
  const PickedRow row(*kernel, x.data(), index.data(), y.data());
  const auto node = [](int64_t which) {
    return "node" + std::to_string(which);
  };
  auto pick = [&](int64_t which) {
    upload(index, std::vector<int64_t>{which});
    Status status = row.launch(*stream, node(which));
    return status.isOk() ? stream->synchronize() : status;
  };
  for (int64_t wrong : {3, -4, 1000}) {
    Status status = pick(wrong);
    EXPECT_FALSE(status.isOk()) << wrong;
    const std::string named = device->isHost() ? "" : "'" + node(wrong) + "'";
    EXPECT_NE(status.message().find(named), std::string::npos)
        << status.message(); // on the host the engine names it
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    if (GetParam() == std::string_view("cuda")) {
      EXPECT_EQ(status.place().node, node(wrong));
    }
    // And the stream is as good as before.
    ASSERT_OK(pick(1));
    EXPECT_EQ(download<float>(y.data(), 2), counted(2, 2));
  }
}

TEST_P(BackendTest, anEmptyStreamIsDoneAtOnce) {
  ASSERT_OK(stream->synchronize());
  ASSERT_OK(stream->synchronize());
}

INSTANTIATE_TEST_SUITE_P(Backends, BackendTest,
                         testing::Values("host", "fake", "cuda"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace shardc::test
