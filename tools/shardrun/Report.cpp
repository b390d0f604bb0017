#include "tools/shardrun/Report.h"

#include "runtime/io/AtomicFile.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

using namespace shardc::runtime;
using Json = nlohmann::json;

namespace shardrun {
namespace {

constexpr size_t kTopNodes = 10;

struct Row {
  std::string name;
  double milliseconds = 0;
  size_t count = 0;
};

void printRows(const char *title, std::vector<Row> rows, double total,
               size_t most) {
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return a.milliseconds > b.milliseconds;
  });
  std::printf("%s\n", title);
  for (size_t i = 0; i < std::min(most, rows.size()); ++i)
    std::printf("  %9.3f ms  %5.1f %%  %5zu x  %s\n", rows[i].milliseconds,
                total > 0 ? 100 * rows[i].milliseconds / total : 0,
                rows[i].count, rows[i].name.c_str());
}

} // namespace

double median(RunTimes times) {
  std::sort(times.begin(), times.end());
  size_t half = times.size() / 2;
  return times.size() % 2 == 1 ? times[half]
                               : (times[half - 1] + times[half]) / 2;
}

void printProfile(const Session &session, size_t runs) {
  std::map<std::string, Row> kinds;
  std::vector<Row> nodes;
  double total = 0;
  for (const InstructionProfile &entry : session.profile()) {
    double milliseconds = entry.milliseconds / static_cast<double>(runs);
    total += milliseconds;
    Row &kind = kinds[entry.kernel];
    kind.name = entry.kernel;
    if (entry.isCollective)
      kind.name += "  (waiting for other ranks included)";
    kind.milliseconds += milliseconds;
    ++kind.count;
    nodes.push_back({entry.kernel + "  " + entry.node, milliseconds, 1});
  }
  std::vector<Row> rows;
  for (auto &[name, row] : kinds)
    rows.push_back(row);
  std::printf("where the time goes (mean of %zu ranks and %zu runs; %.3f ms)\n",
              session.rankMemory().size(), runs, total);
  printRows("by kernel:", std::move(rows), total, kinds.size());
  printRows("by node:", std::move(nodes), total, kTopNodes);
}

Status writeStats(const std::string &path, const Session &session,
                  const RunTimes &times) {
  Json collectives = Json::array(), ranks = Json::array();
  for (const CollectiveStats &stats : session.collectiveStats())
    collectives.push_back({{"kind", stats.kind},
                           {"node", stats.node},
                           {"group_size", stats.groupSize},
                           {"bytes", stats.bytes},
                           {"wire_bytes", stats.wireBytes}});
  for (const RankMemory &memory : session.rankMemory())
    ranks.push_back({{"rank", memory.rank},
                     {"weight_bytes", memory.weightBytes},
                     {"packed_bytes", memory.packedBytes},
                     {"loaded_bytes", memory.loadedBytes},
                     {"arena_bytes", memory.arenaBytes},
                     {"arranged_bytes", memory.arrangedBytes}});
  const LaunchStats launches = session.launchStats();
  Json stats = {{"runs", times.size()},
                {"median_ms", median(times)},
                {"launches",
                 {{"launched", launches.launched},
                  {"captured", launches.captured},
                  {"replayed", launches.replayed}}},
                {"collectives", std::move(collectives)},
                {"ranks", std::move(ranks)}};
  return writeFileAtomically(
      path, stats.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

} // namespace shardrun
