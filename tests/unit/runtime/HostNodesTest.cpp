#include "runtime/launch/HostNodes.h"

#include "runtime/launch/HostThreads.h"

#include <gtest/gtest.h>

#include <linux/mempolicy.h>
#include <map>
#include <numeric>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace shardc::runtime;

namespace {

using Cpus = std::vector<int>;

/// A system that has just these files.
ReadText filesOf(std::map<std::string, std::string> files) {
  return [files = std::move(files)](
             const std::string &path) -> std::optional<std::string> {
    const auto file = files.find(path);
    if (file == files.end())
      return std::nullopt;
    return file->second;
  };
}

ReadText twoSockets() {
  return filesOf({{"/sys/devices/system/node/online", "0-2\n"},
                  {"/sys/devices/system/node/node0/cpulist", "0-3,8-11\n"},
                  {"/sys/devices/system/node/node1/cpulist", "4-7,12-15\n"},
                  {"/sys/devices/system/node/node2/cpulist", "\n"}});
}

Cpus firstCpus(int count) {
  Cpus cpus(static_cast<size_t>(count));
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}

TEST(HostThreads, theQuotaOfTheGroupAndOfThoseAboveLimitsTheCores) {
  std::map<std::string, std::string> files = {
      {"/proc/self/cgroup", "0::/a/b\n"},
      {"/proc/self/mountinfo",
       "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"}};
  EXPECT_EQ(coresOf(16, filesOf(files)), 16);
  files["/sys/fs/cgroup/a/b/cpu.max"] = "850000 100000\n";
  EXPECT_EQ(coresOf(16, filesOf(files)), 8);
  EXPECT_EQ(coresOf(4, filesOf(files)), 4);
  files["/sys/fs/cgroup/a/cpu.max"] = "50000 100000\n";
  EXPECT_EQ(coresOf(16, filesOf(files)), 1) << "half a core is one thread";
}

TEST(HostThreads, theQuotaOfVersionOne) {
  const ReadText read =
      filesOf({{"/proc/self/cgroup", "3:cpu,cpuacct:/job\n"},
               {"/proc/self/mountinfo", "35 31 0:32 / /sys/fs/cgroup/cpu rw - "
                                        "cgroup cgroup rw,cpu,cpuacct\n"},
               {"/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "300000\n"},
               {"/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"}});
  EXPECT_EQ(coresOf(16, read), 3);
}

TEST(HostNodes, listsOfCpus) {
  EXPECT_EQ(parseCpuList("0-2,8\n"), (Cpus{0, 1, 2, 8}));
  EXPECT_EQ(parseCpuList("5"), Cpus{5});
  for (const char *text : {"", "\n", "a", "3-1", "1,", ",1", "1-", "-1", "1 2",
                           "0-99999999", "99999999999"})
    EXPECT_EQ(parseCpuList(text), Cpus{}) << text;
}

TEST(HostNodes, onlyCpusThatMayBeUsed) {
  std::vector<HostNode> nodes = readHostNodes(twoSockets(), firstCpus(16));
  ASSERT_EQ(nodes.size(), 2u) << "the third has memory only";
  EXPECT_EQ(nodes[1].number, 1);
  EXPECT_EQ(nodes[1].cpus, (Cpus{4, 5, 6, 7, 12, 13, 14, 15}));
  nodes = readHostNodes(twoSockets(), {5, 6});
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].cpus, (Cpus{5, 6}));
  EXPECT_TRUE(readHostNodes(filesOf({}), firstCpus(16)).empty());
}

TEST(HostNodes, ranksAreSpreadInOrder) {
  const std::vector<HostNode> nodes =
      readHostNodes(twoSockets(), firstCpus(16));
  Cpus numbers;
  for (int rank = 0; rank < 5; ++rank)
    numbers.push_back(nodeOfRank(nodes, rank, 5, 3)->number);
  EXPECT_EQ(numbers, (Cpus{0, 0, 0, 1, 1}));
  EXPECT_EQ(nodeOfRank(nodes, 0, 1, 16), nullptr) << "it needs both";
  EXPECT_EQ(nodeOfRank({nodes[0]}, 0, 2, 1), nullptr);
}

TEST(HostNodes, aBoundThreadHasTheNodesCpusAndMemory) {
  const Cpus all = allowedCpus();
  ASSERT_FALSE(all.empty());
  Cpus bound;
  bool isBound = false;
  int policy = -1;
  unsigned long mask[1024 / 8 / sizeof(long)] = {};
  std::thread([&] {
    isBound = bindToNode({0, {all.back()}});
    bound = allowedCpus();
    if (syscall(SYS_get_mempolicy, &policy, mask, 1024, nullptr, 0) != 0)
      policy = -1;
  }).join();
  EXPECT_EQ(bound, Cpus{all.back()});
  EXPECT_EQ(allowedCpus(), all) << "other threads stay as they are";
  if (isBound) { // a container may forbid the policy of memory
    EXPECT_EQ(policy, MPOL_PREFERRED);
    EXPECT_EQ(mask[0], 1u);
  }
}

} // namespace
