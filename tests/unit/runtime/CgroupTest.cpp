#include "runtime/base/Cgroup.h"

#include "gtest/gtest.h"

#include <map>

using namespace shardc::runtime;

namespace {

/// The limits of a machine that has just these files.
CgroupLimits limitsOf(const std::map<std::string, std::string> &files) {
  return readCgroupLimits(
      [&](const std::string &path) -> std::optional<std::string> {
        const auto file = files.find(path);
        if (file == files.end())
          return std::nullopt;
        return file->second;
      });
}

const char *const kUnified =
    "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";

TEST(Cgroup, noneWhereNothingIsMounted) {
  CgroupLimits limits = limitsOf({});
  EXPECT_FALSE(limits.memoryBytes);
  EXPECT_FALSE(limits.cores);
  limits = limitsOf(
      {{"/proc/self/cgroup", "0::/\n"}, {"/proc/self/mountinfo", kUnified}});
  EXPECT_FALSE(limits.memoryBytes);
  EXPECT_FALSE(limits.cores);
}

TEST(Cgroup, theUnifiedHierarchyOfAContainer) {
  const CgroupLimits limits =
      limitsOf({{"/proc/self/cgroup", "0::/\n"},
                {"/proc/self/mountinfo", kUnified},
                {"/sys/fs/cgroup/memory.max", "17179869184\n"},
                {"/sys/fs/cgroup/cpu.max", "250000 100000\n"}});
  EXPECT_EQ(limits.memoryBytes, int64_t(16) << 30);
  EXPECT_EQ(limits.cores, 2.5);
}

TEST(Cgroup, maxIsNoLimit) {
  const CgroupLimits limits =
      limitsOf({{"/proc/self/cgroup", "0::/\n"},
                {"/proc/self/mountinfo", kUnified},
                {"/sys/fs/cgroup/memory.max", "max\n"},
                {"/sys/fs/cgroup/cpu.max", "max 100000\n"}});
  EXPECT_FALSE(limits.memoryBytes);
  EXPECT_FALSE(limits.cores);
}

TEST(Cgroup, theSmallestOnTheWayUpHolds) {
  const CgroupLimits limits = limitsOf(
      {{"/proc/self/cgroup", "0::/user.slice/job.scope\n"},
       {"/proc/self/mountinfo", kUnified},
       {"/sys/fs/cgroup/user.slice/memory.max", "1000\n"},
       {"/sys/fs/cgroup/user.slice/job.scope/memory.max", "2000\n"},
       {"/sys/fs/cgroup/user.slice/cpu.max", "800000 100000\n"},
       {"/sys/fs/cgroup/user.slice/job.scope/cpu.max", "200000 100000\n"}});
  EXPECT_EQ(limits.memoryBytes, 1000);
  EXPECT_EQ(limits.cores, 2);
  ASSERT_EQ(limits.memoryGroups.size(), 2u);
  EXPECT_EQ(limits.memoryGroups[0].folder,
            "/sys/fs/cgroup/user.slice/job.scope");
  EXPECT_EQ(limits.memoryGroups[0].room, 2000);
  EXPECT_EQ(limits.memoryGroups[1].room, 1000);
}

/// Each controller has a hierarchy of its own, in which the group may differ.
TEST(Cgroup, theFirstVersion) {
  const std::string mounts =
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
      "rw,cpu,cpuacct\n"
      "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
  std::map<std::string, std::string> files = {
      {"/proc/self/cgroup",
       "4:memory:/a\n3:cpuset:/\n1:cpu,cpuacct:/b\n0::/\n"},
      {"/proc/self/mountinfo", mounts},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
      {"/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4096\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/b/cpu.cfs_quota_us", "50000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/b/cpu.cfs_period_us", "100000\n"}};
  const CgroupLimits limits = limitsOf(files);
  EXPECT_EQ(limits.memoryBytes, 4096);
  EXPECT_EQ(limits.cores, 0.5);
  files["/sys/fs/cgroup/memory/a/memory.limit_in_bytes"] =
      "9223372036854771712\n"; // its word for none
  EXPECT_FALSE(limitsOf(files).memoryBytes);
}

/// The group's name is the machine's; only that group is mounted.
TEST(Cgroup, aContainerThatSeesItsOwnGroupOnly) {
  const std::string mounts = "35 31 0:32 /docker/7f /sys/fs/cgroup/memory ro "
                             "master:2 - cgroup cgroup rw,memory\n";
  for (const char *group :
       {"4:memory:/docker/7f\n", "4:memory:/\n", "4:memory:/../other\n"})
    EXPECT_EQ(limitsOf({{"/proc/self/cgroup", group},
                        {"/proc/self/mountinfo", mounts},
                        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "77"}})
                  .memoryBytes,
              77)
        << group;
  EXPECT_EQ(
      limitsOf({{"/proc/self/cgroup", "4:memory:/docker/7f/inner\n"},
                {"/proc/self/mountinfo", mounts},
                {"/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "66"}})
          .memoryBytes,
      66);
}

TEST(Cgroup, aMountPointWithABlank) {
  EXPECT_EQ(limitsOf({{"/proc/self/cgroup", "0::/\n"},
                      {"/proc/self/mountinfo",
                       "29 22 0:26 / /c\\040g rw - cgroup2 cgroup2 rw\n"},
                      {"/c g/memory.max", "5"}})
                .memoryBytes,
            5);
}

TEST(Cgroup, damagedFilesAreNoLimits) {
  const CgroupLimits limits =
      limitsOf({{"/proc/self/cgroup", "0\n:\n0::/\n"},
                {"/proc/self/mountinfo",
                 std::string("- cgroup2\n\n29 22 - x\n") + kUnified},
                {"/sys/fs/cgroup/memory.max", "-5\n"},
                {"/sys/fs/cgroup/cpu.max", "0 0\n"}});
  EXPECT_FALSE(limits.memoryBytes);
  EXPECT_FALSE(limits.cores);
}

} // namespace
