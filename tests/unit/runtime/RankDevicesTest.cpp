//===- RankDevicesTest.cpp - Which device each rank works on --------------===//
#include "runtime/device/RankDevices.h"

#include <gtest/gtest.h>

#include <map>

namespace shardc::runtime {
namespace {

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

std::vector<DeviceInfo> gpus(int count) {
  std::vector<DeviceInfo> devices(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    devices[static_cast<size_t>(i)].number = i;
    devices[static_cast<size_t>(i)].name = "NVIDIA H200";
  }
  return devices;
}

TEST(RankDevices, parsesWhatWasAskedFor) {
  DeviceChoice choice;
  ASSERT_TRUE(parseDevice("cuda", choice).isOk());
  EXPECT_EQ(choice.backend, "cuda");
  EXPECT_EQ(choice.number, -1);
  ASSERT_TRUE(parseDevice("cuda:12", choice).isOk());
  EXPECT_EQ(choice.number, 12);
  for (const char *text :
       {"", ":1", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999"})
    EXPECT_EQ(parseDevice(text, choice).code(), StatusCode::InvalidArgument)
        << text;
  EXPECT_EQ(choice.number, 12); // as it was
}

TEST(RankDevices, ranksTakeDevicesInOrder) {
  std::vector<int> numbers;
  const std::vector<int> places = {0, 1, 2};
  ASSERT_TRUE(assignDevices({"cuda", -1}, gpus(4), places, numbers).isOk());
  EXPECT_EQ(numbers, (std::vector<int>{0, 1, 2}));
  ASSERT_TRUE(assignDevices({"cuda", 3}, gpus(4), places, numbers).isOk());
  EXPECT_EQ(numbers, (std::vector<int>{3, 3, 3}));
  ASSERT_TRUE(assignDevices({"host", -1}, gpus(1), places, numbers).isOk());
  EXPECT_EQ(numbers, (std::vector<int>{0, 0, 0}));
}

TEST(RankDevices, refusedDevicesArePassedOver) {
  std::vector<DeviceInfo> devices = gpus(3);
  devices[1].refusal = "too old";
  std::vector<int> numbers;
  const std::vector<int> two = {0, 1}, three = {0, 1, 2};
  ASSERT_TRUE(assignDevices({"cuda", -1}, devices, two, numbers).isOk());
  EXPECT_EQ(numbers, (std::vector<int>{0, 2}));
  Status status = assignDevices({"cuda", -1}, devices, three, numbers);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  expectContains(status.message(),
                 "too few devices: rank 2 of this machine would be on cuda:2, "
                 "but the usable ones are 2");
  expectContains(status.message(), "cuda:1 NVIDIA H200 (refused: too old)");
  expectContains(status.message(), "with --device cuda:0");
}

TEST(RankDevices, theOneThatWasAskedForMustBeThere) {
  std::vector<DeviceInfo> devices = gpus(2);
  devices[1].refusal = "too old";
  std::vector<int> numbers;
  const std::vector<int> places = {0};
  for (int number : {1, 2}) {
    Status status = assignDevices({"cuda", number}, devices, places, numbers);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    expectContains(status.message(), "--device cuda:" + std::to_string(number) +
                                         " cannot be used; this machine has "
                                         "cuda:0 NVIDIA H200, cuda:1");
  }
}

TEST(RankDevices, launchersSayWhichRankOfTheMachine) {
  std::map<std::string, std::string> set;
  auto environment = [&](const char *name) -> const char * {
    auto found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  };
  EXPECT_EQ(placeOnMachine(environment), -1);
  set["SLURM_LOCALID"] = "3";
  EXPECT_EQ(placeOnMachine(environment), 3);
  set["LOCAL_RANK"] = "1";
  EXPECT_EQ(placeOnMachine(environment), 1);
  set["LOCAL_RANK"] = "-1"; // nonsense counts for nothing
  EXPECT_EQ(placeOnMachine(environment), 3);
}

TEST(RankDevices, aPodIsAMachineOfItsOwn) {
  for (const char *name : {"LWS_WORKER_INDEX", "JOB_COMPLETION_INDEX"}) {
    std::map<std::string, std::string> set = {{name, "5"}};
    auto environment = [&](const char *asked) -> const char * {
      auto found = set.find(asked);
      return found == set.end() ? nullptr : found->second.c_str();
    };
    EXPECT_EQ(placeOnMachine(environment), 0);
    set["LOCAL_RANK"] = "1";
    EXPECT_EQ(placeOnMachine(environment), 1);
    set.erase("LOCAL_RANK");
    set["SHARDC_RANK"] = "6"; // whoever sets it may start several in a pod
    EXPECT_EQ(placeOnMachine(environment), -1);
  }
}

} // namespace
} // namespace shardc::runtime
