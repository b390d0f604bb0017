//===- CollectiveFixture.h - Ranks with devices that communicate ----------===//
//
// Ranks are threads, each with a device and a stream of its own.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_BACKEND_COLLECTIVEFIXTURE_H
#define SHARDC_TESTS_CONFORMANCE_BACKEND_COLLECTIVEFIXTURE_H

#include "runtime/collectives/threads/SharedMemoryGroup.h"
#include "runtime/device/Staging.h"
#include "runtime/tensor/CopyView.h"
#include "tests/conformance/backend/BackendFixture.h"

#include <future>
#include <numeric>
#include <thread>

namespace shardc::test {

using namespace runtime;

/// What a rank has.
struct Rank {
  Communicator *communicator = nullptr;
  Device *device = nullptr;
  DeviceStream *stream = nullptr;

  int index() const { return communicator->index(); }
};

/// A tensor of the device.
struct OnDevice {
  DeviceBuffer memory;
  TensorView view;

  template <typename T>
  OnDevice(const Rank &rank, artifact::ElementType element,
           const std::vector<int64_t> &dims, const std::vector<T> &values) {
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
    EXPECT_TRUE(memory.allocate(*rank.device, MemoryKind::Device, bytes));
    view = packedView(memory.data(), element, dims);
    Status status = rank.stream->copy(
        memory.data(), reinterpret_cast<const std::byte *>(values.data()),
        {bytes}, CopyDirection::HostToDevice);
    if (status.isOk())
      status = rank.stream->synchronize(); // `values` may go
    EXPECT_TRUE(status.isOk()) << status.message();
  }

  /// Another one of floats, of zeros.
  OnDevice like(const Rank &rank) const {
    return OnDevice(
        rank, view.element,
        std::vector<int64_t>(view.dims, view.dims + view.rank),
        std::vector<float>(static_cast<size_t>(view.numElements())));
  }

  template <typename T> std::vector<T> read(const Rank &rank) const {
    std::vector<T> values(static_cast<size_t>(memory.size()) / sizeof(T));
    Status status = rank.stream->copy(
        reinterpret_cast<std::byte *>(values.data()), memory.data(),
        {memory.size()}, CopyDirection::DeviceToHost);
    if (status.isOk())
      status = rank.stream->synchronize();
    EXPECT_TRUE(status.isOk()) << status.message();
    return values;
  }
};

inline std::vector<float> counted(int64_t count, float first = 0) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

constexpr auto kFloat = artifact::ElementType_Float32;

/// all_reduce of one value, to which not all ranks come.
inline Status reduceAlone(const Rank &rank, const OnDevice &value,
                          int flight = -1) {
  return rank.communicator->allReduce(value.view, value.view, ReduceKind::Sum,
                                      {"all_reduce", "lonely", 7, flight});
}

class CollectiveTest : public BackendTest {
protected:
  /// Runs body(rank) on a thread for each; ranks share devices where there are
  /// fewer.
  template <typename Body>
  void onRanks(int ranks, Body body,
               std::chrono::milliseconds timeout = kPatient) {
    std::vector<DeviceInfo> devices;
    ASSERT_OK(backend->findDevices(devices));
    const auto available = static_cast<int>(devices.size());
    RunFailure failure(timeout,
                       [](int rank) { return "rank " + std::to_string(rank); });
    std::vector<int> members(static_cast<size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    SharedMemoryGroup group(members, failure);
    ASSERT_TRUE(group.allocate());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        std::unique_ptr<Device> own;
        std::unique_ptr<DeviceStream> work;
        ASSERT_OK(backend->open(rank % available, own));
        ASSERT_OK(own->createStream(work));
        std::unique_ptr<Communicator> host = group.join(rank), communicator;
        ASSERT_OK(joinGroup(
            {members, rank, host.get(), timeout, failure.describeRank}, *own,
            *work, communicator));
        EXPECT_EQ(communicator->index(), rank);
        EXPECT_EQ(communicator->size(), ranks);
        body(Rank{communicator.get(), own.get(), work.get()});
        if (timeout == kPatient)
          ASSERT_OK(work->synchronize());
      });
    for (std::thread &thread : threads)
      thread.join();
    if (timeout == kPatient)
      ASSERT_OK(failure.status());
  }
  /// body(rank) on the first of two ranks, whose collectives the other one does
  /// not come to.
  template <typename Body> void onLoneRank(Body body) {
    std::promise<void> over;
    std::shared_future<void> isOver = over.get_future().share();
    onRanks(
        2,
        [&](const Rank &rank) {
          if (rank.index() == 1)
            return isOver.wait();
          body(rank);
          over.set_value();
        },
        kImpatient);
  }
  static constexpr std::chrono::milliseconds kPatient{60'000};
  static constexpr std::chrono::milliseconds kImpatient{300};
};

} // namespace shardc::test

#endif // SHARDC_TESTS_CONFORMANCE_BACKEND_COLLECTIVEFIXTURE_H
