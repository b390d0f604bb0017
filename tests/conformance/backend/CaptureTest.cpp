//===- CaptureTest.cpp - Work that is kept and run again ------------------===//
#include "tests/conformance/backend/BackendFixture.h"

namespace shardc::test {
namespace {

using namespace runtime;

using Rows = std::vector<float>;

/// On the host there is nothing to capture.
class CaptureTest : public BackendTest {
protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (HasFatalFailure() || IsSkipped())
      return;
    x = memory(24);
    index = memory(8);
    y = memory(8);
    z = memory(8);
    upload(x, Rows{0, 1, 2, 3, 4, 5});
    upload(y, Rows{-1, -1});
    upload(z, Rows{-1, -1});
    choose(1);
    const Kernel *kernel = device->findKernel("Gather");
    ASSERT_NE(kernel, nullptr);
    row =
        std::make_unique<PickedRow>(*kernel, x.data(), index.data(), y.data());
  }
  void choose(int64_t which) { upload(index, std::vector<int64_t>{which}); }
  Status copyRow() {
    return stream->copy(z.data(), y.data(), {8}, CopyDirection::DeviceToDevice);
  }
  /// y = the chosen row of x, then z = y.
  void capture(std::unique_ptr<DeviceGraph> &graph) {
    ASSERT_OK(stream->beginCapture());
    const std::string node = "captured"; // may go
    ASSERT_OK(row->launch(*stream, node));
    ASSERT_OK(copyRow());
    ASSERT_OK(stream->endCapture(graph));
    ASSERT_NE(graph, nullptr);
  }
  Status runAndWait(DeviceGraph &graph) {
    SHARDC_RETURN_IF_ERROR(stream->run(graph));
    return stream->synchronize();
  }

  DeviceBuffer x, index, y, z;
  std::unique_ptr<PickedRow> row;
};

TEST_P(CaptureTest, whatIsCapturedIsNotDone) {
  std::unique_ptr<DeviceGraph> graph;
  capture(graph);
  EXPECT_EQ(download<float>(y.data(), 2), (Rows{-1, -1}));
}

TEST_P(CaptureTest, aGraphRunsAsOftenAsOneLikes) {
  std::unique_ptr<DeviceGraph> graph;
  capture(graph);
  for (int64_t which : {2, 0, 1}) {
    choose(which);
    ASSERT_OK(runAndWait(*graph));
    const auto first = static_cast<float>(2 * which);
    EXPECT_EQ(download<float>(z.data(), 2), (Rows{first, first + 1}));
  }
  ASSERT_OK(stream->run(*graph)); // twice, with no wait between
  ASSERT_OK(runAndWait(*graph));
}

TEST_P(CaptureTest, aGraphIsWorkAmongOthers) {
  std::unique_ptr<DeviceGraph> graph;
  capture(graph);
  const std::vector<int64_t> two = {2};
  Rows before(2), after(2);
  auto down = [&](Rows &to) {
    return stream->copy(reinterpret_cast<std::byte *>(to.data()), z.data(), {8},
                        CopyDirection::DeviceToHost);
  };
  ASSERT_OK(stream->run(*graph));
  ASSERT_OK(down(before));
  ASSERT_OK(stream->copy(index.data(),
                         reinterpret_cast<const std::byte *>(two.data()), {8},
                         CopyDirection::HostToDevice));
  ASSERT_OK(stream->run(*graph));
  ASSERT_OK(down(after));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(before, (Rows{2, 3}));
  EXPECT_EQ(after, (Rows{4, 5}));
}

TEST_P(CaptureTest, aFailureNamesTheLaunchEachTime) {
  std::unique_ptr<DeviceGraph> graph;
  capture(graph);
  for (int64_t wrong : {3, -4}) {
    ASSERT_OK(row->launch(*stream, "plain"));
    ASSERT_OK(stream->synchronize());
    choose(wrong);
    const Status status = runAndWait(*graph);
    EXPECT_NE(
        status.message().find("Gather at node 'captured' (instruction 5)"),
        std::string::npos)
        << status.message();
    ASSERT_OK(row->launch(*stream, "plain"));
    const Status plain = stream->synchronize();
    EXPECT_NE(plain.message().find("'plain'"), std::string::npos)
        << plain.message();
    choose(0);
    ASSERT_OK(runAndWait(*graph));
    EXPECT_EQ(download<float>(z.data(), 2), (Rows{0, 1}));
  }
}

TEST_P(CaptureTest, whoWaitsWhileItIsCapturedHasNoGraph) {
  std::unique_ptr<DeviceGraph> graph;
  ASSERT_OK(stream->beginCapture());
  ASSERT_OK(copyRow());
  EXPECT_FALSE(stream->synchronize().isOk());
  EXPECT_FALSE(stream->endCapture(graph).isOk());
  EXPECT_EQ(graph, nullptr);
  // And the stream is as good as before.
  ASSERT_OK(row->launch(*stream, "plain"));
  ASSERT_OK(stream->synchronize());
  capture(graph);
  ASSERT_OK(runAndWait(*graph));
  EXPECT_EQ(download<float>(z.data(), 2), (Rows{2, 3}));
}

/// The row of another x, from where the graph's launch has its own.
class UpdateTest : public CaptureTest {
protected:
  void SetUp() override {
    CaptureTest::SetUp();
    if (HasFatalFailure() || IsSkipped())
      return;
    otherX = memory(24);
    upload(otherX, Rows{10, 11, 12, 13, 14, 15});
    other = std::make_unique<PickedRow>(*device->findKernel("Gather"),
                                        otherX.data(), index.data(), y.data());
    capture(graph);
  }
  Status update(const PickedRow &by, int instruction = 5) {
    SHARDC_RETURN_IF_ERROR(stream->beginUpdate(*graph));
    const Status launched = by.launch(*stream, "again", instruction);
    const Status ended = stream->endUpdate();
    return launched.isOk() ? ended : launched;
  }

  DeviceBuffer otherX;
  std::unique_ptr<PickedRow> other;
  std::unique_ptr<DeviceGraph> graph;
};

TEST_P(UpdateTest, aLaunchGetsOtherOperands) {
  for (const auto &[by, first] :
       {std::pair(other.get(), 12.f), {row.get(), 2.f}, {other.get(), 12.f}}) {
    ASSERT_OK(update(*by));
    for (int run = 0; run < 2; ++run) {
      upload(z, Rows{-1, -1});
      ASSERT_OK(runAndWait(*graph));
      EXPECT_EQ(download<float>(z.data(), 2), (Rows{first, first + 1}));
    }
  }
}

TEST_P(UpdateTest, nothingIsDoneByIt) {
  ASSERT_OK(update(*other));
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(download<float>(y.data(), 2), (Rows{-1, -1}));
}

TEST_P(UpdateTest, runsBeforeItAreAsTheyWere) {
  Rows before(2), after(2);
  for (Rows *to : {&before, &after}) {
    ASSERT_OK(stream->run(*graph));
    ASSERT_OK(stream->copy(reinterpret_cast<std::byte *>(to->data()), z.data(),
                           {8}, CopyDirection::DeviceToHost));
    ASSERT_OK(update(*other));
  }
  ASSERT_OK(stream->synchronize());
  EXPECT_EQ(before, (Rows{2, 3}));
  EXPECT_EQ(after, (Rows{12, 13}));
}

TEST_P(UpdateTest, whatTheGraphHasNotIsAnError) {
  EXPECT_FALSE(update(*other, /*instruction=*/6).isOk());
  EXPECT_FALSE(stream->endUpdate().isOk());
  // And the stream is as good as before.
  std::unique_ptr<DeviceGraph> fresh;
  capture(fresh);
  ASSERT_OK(runAndWait(*fresh));
  EXPECT_EQ(download<float>(z.data(), 2), (Rows{2, 3}));
}

TEST_P(UpdateTest, whoWaitsMeanwhileBreaksIt) {
  ASSERT_OK(stream->beginUpdate(*graph));
  EXPECT_FALSE(stream->synchronize().isOk());
  EXPECT_FALSE(stream->endUpdate().isOk());
}

TEST_P(CaptureTest, eventsAreNotCaptured) {
  std::unique_ptr<DeviceGraph> graph;
  std::unique_ptr<DeviceEvent> event;
  ASSERT_OK(device->createEvent(event));
  ASSERT_OK(stream->beginCapture());
  EXPECT_FALSE(stream->record(*event).isOk());
  EXPECT_FALSE(stream->wait(*event).isOk());
  EXPECT_FALSE(stream->endCapture(graph).isOk());
  ASSERT_OK(stream->record(*event));
  ASSERT_OK(event->synchronize());
}

TEST_P(CaptureTest, capturesBeginAndEnd) {
  std::unique_ptr<DeviceGraph> graph;
  EXPECT_FALSE(stream->endCapture(graph).isOk());
  ASSERT_OK(stream->beginCapture());
  EXPECT_FALSE(stream->beginCapture().isOk());
  (void)stream->endCapture(graph);
  ASSERT_OK(stream->beginCapture());
  ASSERT_OK(stream->endCapture(graph));
  ASSERT_OK(runAndWait(*graph)); // of nothing
}

TEST_P(CaptureTest, everyDeviceButTheHostCaptures) {
  EXPECT_TRUE(stream->canCapture());
}

INSTANTIATE_TEST_SUITE_P(Backends, CaptureTest, testing::Values("fake", "cuda"),
                         [](const auto &info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Backends, UpdateTest, testing::Values("fake", "cuda"),
                         [](const auto &info) { return info.param; });

TEST(HostCapture, thereIsNothingToCapture) {
  std::unique_ptr<Device> device;
  std::unique_ptr<DeviceStream> stream;
  std::unique_ptr<DeviceGraph> graph;
  ASSERT_OK(hostBackend().open(0, device));
  ASSERT_OK(device->createStream(stream));
  EXPECT_FALSE(stream->canCapture());
  EXPECT_FALSE(stream->beginCapture().isOk());
  EXPECT_FALSE(stream->endCapture(graph).isOk());
}

} // namespace
} // namespace shardc::test
