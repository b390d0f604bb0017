#include "runtime/device/host/HostMemory.h"

#include "gtest/gtest.h"

#include <map>

using namespace shardc::runtime;

namespace {

using Files = std::map<std::string, std::string>;

uint64_t inodeOf(const std::string &folder) {
  return folder.ends_with("lost") ? 0 : folder.size();
}

HostMemory memoryOf(const Files &files, const char *most = nullptr) {
  HostMemory memory;
  const Status status = readHostMemory(
      [&](const std::string &path) -> std::optional<std::string> {
        const auto file = files.find(path);
        if (file == files.end())
          return std::nullopt;
        return file->second;
      },
      inodeOf, most, memory);
  EXPECT_TRUE(status.isOk()) << status.message();
  return memory;
}

const Files kMachine = {{"/proc/meminfo", "MemTotal:        1000 kB\n"
                                          "MemFree:           10 kB\n"
                                          "MemAvailable:     600 kB\n"
                                          "SwapTotal:        200 kB\n"
                                          "SwapFree:         100 kB\n"}};

Files inGroup(Files files, const std::string &limit) {
  files["/proc/self/cgroup"] = "0::/\n";
  files["/proc/self/mountinfo"] =
      "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
  files["/sys/fs/cgroup/memory.max"] = limit;
  return files;
}

TEST(HostMemory, whatTheSystemGivesBackAndSwapAreFree) {
  const HostMemory memory = memoryOf(kMachine);
  EXPECT_EQ(memory.bytes, 1000 << 10);
  EXPECT_EQ(memory.free, 700 << 10);
}

TEST(HostMemory, aGroupHasRoomForWhatIsNoFile) {
  Files files = inGroup(kMachine, "409600"); // 400 KiB
  files["/sys/fs/cgroup/memory.current"] = "307200\n";
  files["/sys/fs/cgroup/memory.stat"] =
      "anon 102400\nfile 204800\nactive_file 51200\ninactive_file 153600\n";
  HostMemory memory = memoryOf(files);
  EXPECT_EQ(memory.bytes, 400 << 10);
  // 100 KiB are held for good; the swap is the machine's.
  EXPECT_EQ(memory.free, (300 + 100) << 10);
  files["/sys/fs/cgroup/memory.swap.max"] = "0\n";
  EXPECT_EQ(memoryOf(files).free, 300 << 10);
  files["/sys/fs/cgroup/memory.swap.max"] = "max\n";
  EXPECT_EQ(memoryOf(files).free, 400 << 10);
}

TEST(HostMemory, aGroupThatIsLargerThanTheMachine) {
  EXPECT_EQ(memoryOf(inGroup(kMachine, "99999999")).free, 700 << 10);
}

TEST(HostMemory, theFirstVersion) {
  Files files = kMachine;
  files["/proc/self/cgroup"] = "4:memory:/a\n";
  files["/proc/self/mountinfo"] =
      "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
  files["/sys/fs/cgroup/memory/a/memory.limit_in_bytes"] = "409600\n";
  files["/sys/fs/cgroup/memory/a/memory.usage_in_bytes"] = "204800\n";
  files["/sys/fs/cgroup/memory/a/memory.stat"] =
      "active_file 1\ntotal_active_file 51200\ntotal_inactive_file 51200\n";
  EXPECT_EQ(memoryOf(files).free, (400 - 100 + 100) << 10);
}

TEST(HostMemory, theUserSaysHowMuch) {
  EXPECT_EQ(memoryOf(kMachine, "1000").free, 1000);
  EXPECT_EQ(memoryOf(kMachine, "2K").free, 2048);
  EXPECT_EQ(memoryOf(kMachine, "0.5M").free, 512 << 10);
  EXPECT_EQ(memoryOf(kMachine, "1T").free, 700 << 10); // no more than there is
  EXPECT_EQ(memoryOf(kMachine, "").free, 700 << 10);
  for (const char *wrong : {"G", "1Q", "-1", "1GB", "1e30"}) {
    HostMemory memory;
    const Status status =
        readHostMemory([](const std::string &) { return std::nullopt; },
                       inodeOf, wrong, memory);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << wrong;
    EXPECT_NE(status.message().find("SHARDC_HOST_MEMORY"), std::string::npos);
  }
}

Files booted(Files files, const std::string &id, const std::string &name) {
  files["/proc/sys/kernel/random/boot_id"] = id + "\n";
  files["/proc/sys/kernel/hostname"] = name + "\n";
  return files;
}

TEST(HostMemory, poolsHaveNamesThatAllWhoShareThemFind) {
  Files files = booted(inGroup(kMachine, "409600"), "1234", "node7");
  const HostMemory one = memoryOf(files, "300K");
  EXPECT_EQ(one.name, "node7");
  ASSERT_EQ(one.pools.size(), 3u);
  EXPECT_EQ(one.pools[0].free, 700 << 10);
  EXPECT_EQ(one.pools[1].free, (400 + 100) << 10);
  EXPECT_EQ(one.pools[1].kind, MemoryPoolKind::Group);
  EXPECT_EQ(one.pools[2].free, 300 << 10);
  EXPECT_EQ(one.pools[2].kind, MemoryPoolKind::Setting);
  // A container of the same machine: a name and a group of its own.
  Files other = booted(kMachine, "1234", "c0ffee");
  other["/proc/self/cgroup"] = "0::/\n";
  other["/proc/self/mountinfo"] =
      "29 22 0:26 / /sys/fs/cgroup2 rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
  other["/sys/fs/cgroup2/memory.max"] = "409600";
  const HostMemory container = memoryOf(other, "300K");
  ASSERT_EQ(container.pools.size(), 3u);
  EXPECT_EQ(container.pools[0].id, one.pools[0].id);
  EXPECT_NE(container.pools[1].id, one.pools[1].id);
  EXPECT_NE(container.pools[2].id, one.pools[2].id);
  const HostMemory elsewhere =
      memoryOf(booted(inGroup(kMachine, "409600"), "99", "node7"), "300K");
  for (size_t pool : {0, 1, 2})
    EXPECT_NE(elsewhere.pools[pool].id, one.pools[pool].id);
}

TEST(HostMemory, aPoolWithoutANameIsNobodyElses) {
  EXPECT_EQ(memoryOf(kMachine).pools[0].id, 0u);
  Files files = booted(kMachine, "1234", "node7");
  files["/proc/self/cgroup"] = "0::/lost\n";
  files["/proc/self/mountinfo"] =
      "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
  files["/sys/fs/cgroup/lost/memory.max"] = "409600";
  EXPECT_EQ(memoryOf(files).pools[1].id, 0u);
}

} // namespace
