//===- SharedHostsTest.cpp - Whether processes fit on their hosts ---------===//
#include "runtime/memory/SharedHosts.h"
#include "runtime/base/Message.h"
#include "tests/unit/runtime/FakeProcesses.h"

#include <cstring>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;
using Kind = MemoryPoolKind;

std::string rankText(int rank) { return message("rank ", rank); }

/// Of a rank on a machine, by its boot id, with so much free.
HostReport report(int64_t bytes, uint64_t machine, int64_t free) {
  HostMemory memory;
  memory.name = "node7";
  memory.pools = {{machine, free, Kind::Machine}};
  return reportOf({bytes - 10, 10, 0}, memory);
}

HostReport &inGroup(HostReport &report, uint64_t group, int64_t free,
                    Kind kind = Kind::Group) {
  report.pools[report.numPools++] = {group, free, kind};
  return report;
}

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(SharedHosts, whatRanksOfAHostNeedIsAddedUp) {
  std::vector<HostRoom> rooms;
  std::vector<HostReport> reports(4, report(60, 1, 240));
  reports[2] = report(60, 1, 250); // asked earlier
  ASSERT_TRUE(shareHosts(reports, rankText, rooms).isOk());
  ASSERT_EQ(rooms.size(), 4u);
  for (const HostRoom &room : rooms) {
    EXPECT_EQ(room.free, 240);
    EXPECT_EQ(room.beside.bytes(), 180);
  }
  reports[3] = report(61, 1, 240);
  const Status status = shareHosts(reports, rankText, rooms);
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  expectContains(status.message(),
                 "4 ranks on node7 need 241 bytes of memory, of which the "
                 "machine leaves 240 free: rank 0 60, rank 1 60, rank 2 60, "
                 "rank 3 61; that is 201 of copies of weights");
  expectContains(status.message(), "40 of intermediate values");
  expectContains(status.message(), "3 ranks would fit on it: run the others on "
                                   "other machines");
}

TEST(SharedHosts, otherMachinesAreOthers) {
  std::vector<HostRoom> rooms;
  const std::vector<HostReport> reports = {report(60, 1, 100),
                                           report(60, 2, 90)};
  ASSERT_TRUE(shareHosts(reports, rankText, rooms).isOk());
  EXPECT_EQ(rooms[0].free, 100);
  EXPECT_EQ(rooms[1].free, 90);
  EXPECT_EQ(rooms[1].beside.bytes(), 0);
  // Nor does one that cannot say where it is share with anybody.
  const std::vector<HostReport> unnamed = {report(60, 0, 100),
                                           report(60, 0, 100)};
  EXPECT_TRUE(shareHosts(unnamed, rankText, rooms).isOk());
}

TEST(SharedHosts, aGroupIsFullBeforeItsMachine) {
  std::vector<HostRoom> rooms;
  std::vector<HostReport> reports(4, report(60, 1, 1000));
  inGroup(reports[0], 7, 100);
  inGroup(reports[1], 8, 100);
  inGroup(reports[2], 9, 130);
  inGroup(reports[3], 9, 130);
  ASSERT_TRUE(shareHosts(reports, rankText, rooms).isOk());
  EXPECT_EQ(rooms[0].free - rooms[0].beside.bytes(), 100);
  EXPECT_EQ(rooms[3].free, 130);
  EXPECT_EQ(rooms[3].beside.bytes(), 60);
  reports[1].pools[1].id = 7;
  const Status status = shareHosts(reports, rankText, rooms);
  expectContains(status.message(), "2 ranks on node7 need 120 bytes");
  expectContains(status.message(),
                 "their control group (the limit of a container or a job) "
                 "leaves 100 free: rank 0 60, rank 1 60;");
}

TEST(SharedHosts, aPoolThatIsSeenAtTwoPlacesIsOne) {
  std::vector<HostRoom> rooms;
  std::vector<HostReport> reports(2, report(60, 1, 1000));
  for (HostReport &each : reports) {
    inGroup(each, 7, 130);
    inGroup(each, 7, 125);
  }
  ASSERT_TRUE(shareHosts(reports, rankText, rooms).isOk());
  EXPECT_EQ(rooms[0].free, 125);
  EXPECT_EQ(rooms[0].beside.bytes(), 60);
}

/// One rank's own limit is what a request of all ranks has.
TEST(SharedHosts, thePoolWithTheFewestPositionsCounts) {
  std::vector<HostRoom> rooms;
  std::vector<HostReport> reports(2, report(60, 1, 1000));
  for (HostReport &each : reports)
    each.needed.cachePosition = 2;
  inGroup(reports[1], 5, 80, Kind::Setting);
  ASSERT_TRUE(shareHosts(reports, rankText, rooms).isOk());
  for (const HostRoom &room : rooms) {
    NeededBytes all = reports[0].needed;
    all += room.beside;
    EXPECT_EQ((room.free - all.bytes()) / all.cachePosition, 10);
  }
}

TEST(SharedHosts, sumsOverManyRanksDoNotOverflow) {
  std::vector<HostRoom> rooms;
  HostMemory memory;
  memory.pools = {{1, 1000, Kind::Machine}};
  const HostReport most =
      reportOf({INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}, memory);
  const Status status =
      shareHosts(std::vector<HostReport>(65536, most), rankText, rooms);
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  expectContains(status.message(), "65536 ranks on one host need " +
                                       std::to_string(3 * (int64_t{1} << 60)));
}

TEST(SharedHosts, theUsersLimitIsNamed) {
  std::vector<HostRoom> rooms;
  std::vector<HostReport> reports(2, report(60, 1, 1000));
  for (HostReport &each : reports)
    inGroup(each, 5, 70, Kind::Setting);
  expectContains(shareHosts(reports, rankText, rooms).message(),
                 "of which SHARDC_HOST_MEMORY leaves 70 free");
}

TEST(SharedHosts, whatIsSaidIsBounded) {
  HostMemory memory;
  memory.name = std::string(300, 'x');
  for (uint64_t group = 1; group <= 20; ++group)
    memory.pools.push_back({group, -5, Kind::Group});
  memory.pools.push_back({99, 7, Kind::Setting});
  const HostReport said = reportOf({INT64_MAX, 1, 2, INT64_MAX}, memory);
  EXPECT_EQ(said.numPools, HostReport::kMostPools);
  EXPECT_EQ(said.pools[0].id, 99u) << "it is not among those left out";
  EXPECT_EQ(said.pools[1].id, 1u);
  EXPECT_EQ(said.pools[1].free, 0);
  EXPECT_EQ(said.host[sizeof said.host - 1], '\0');
  const std::vector<HostReport> many(1000, said);
  std::vector<HostRoom> rooms;
  const Status status = shareHosts(many, rankText, rooms);
  EXPECT_FALSE(status.isOk());
  EXPECT_LT(status.message().size(), 2000u);
}

TEST(SharedHosts, allProcessesEndWithTheSameError) {
  for (const int64_t bytes : {50, 60}) {
    std::vector<Status> statuses(4);
    std::vector<HostRoom> rooms(4);
    test::onFakeProcesses(4, [&](Transport &transport) {
      ControlExchange control(transport, 10s);
      const auto rank = static_cast<size_t>(transport.rank());
      Status status =
          shareHosts(control, report(bytes, 1, 200), rankText, rooms[rank]);
      statuses[rank] = status.isOk() ? status : transport.abort(status);
    });
    for (size_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(statuses[rank].isOk(), bytes == 50);
      EXPECT_EQ(statuses[rank].message(), statuses[0].message());
      if (bytes == 50) {
        EXPECT_EQ(rooms[rank].beside.bytes(), 150);
      }
    }
  }
}

/// Another build's, or nonsense.
TEST(SharedHosts, aReportThatIsNoneIsAnError) {
  HostReport tooMany = report(50, 1, 200), negative = tooMany, odd = tooMany;
  tooMany.numPools = HostReport::kMostPools + 1;
  negative.needed.weights = -1;
  odd.pools[0].kind = Kind(3);
  for (const HostReport &said : {tooMany, negative, odd})
    for (const size_t cut : {size_t(0), size_t(8)}) {
      Status first, second;
      test::onFakeProcesses(2, [&](Transport &transport) {
        ControlExchange control(transport, 10s);
        HostRoom room;
        if (transport.rank() == 0) {
          first = transport.abort(
              shareHosts(control, report(50, 1, 200), rankText, room));
          return;
        }
        second = control.ask(std::as_bytes(std::span(&said, 1)).subspan(cut),
                             sizeof room);
      });
      expectContains(first.message(), "rank 1 does not say what it needs");
      EXPECT_EQ(second.message(), first.message());
    }
}

} // namespace
} // namespace shardc::runtime
