//===- HostReportFuzz.cpp - What processes say of their hosts' memory -----===//
//
// The bytes are one report after the other, of ranks 1 and so on; what is left
// is a report that is too short. Those that are sound are added up, as often as
// it takes for many ranks.
//
//===----------------------------------------------------------------------===//
#include "runtime/memory/SharedHosts.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace shardc::runtime;
  constexpr size_t kMostRanks = 1024;
  std::vector<HostReport> reports;
  for (auto left = std::as_bytes(std::span(data, size)); !left.empty();) {
    const auto said = left.first(std::min(left.size(), sizeof(HostReport)));
    left = left.subspan(said.size());
    HostReport report;
    if (readReport(said, report))
      reports.push_back(report);
  }
  for (size_t i = 0; !reports.empty() && reports.size() < kMostRanks; ++i)
    reports.push_back(HostReport(reports[i]));
  std::vector<HostRoom> rooms;
  const Status status = shareHosts(
      reports, [](int rank) { return "rank " + std::to_string(rank); }, rooms);
  if (status.isOk() ? rooms.size() != reports.size()
                    : status.message().size() > 4096)
    std::abort();
  return 0;
}
