#include "tools/shardrun/Report.h"

#include "runtime/base/AtomicFile.h"

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
  double gigabytes = 0, gigaflops = 0; ///< of a run
  double leastMilliseconds = 0;        ///< that the device would need; 0: none

  void add(const Row &other) {
    milliseconds += other.milliseconds;
    count += other.count;
    gigabytes += other.gigabytes;
    gigaflops += other.gigaflops;
    leastMilliseconds += other.leastMilliseconds;
  }
};

Row rowOf(const shardrt_instruction &entry,
          const shardrt_device_limits &limits) {
  Row row{std::string(entry.kernel) + "  " + entry.node,
          entry.milliseconds / std::max(int(entry.runs), 1), 1};
  if (entry.is_collective)
    return row;
  row.gigabytes = static_cast<double>(entry.bytes) / 1e9;
  row.gigaflops = 2 * static_cast<double>(entry.multiply_adds) / 1e9;
  row.leastMilliseconds =
      1e3 * static_cast<double>(entry.bytes) / limits.bytes_per_second;
  if (limits.multiply_adds_per_second > 0)
    row.leastMilliseconds = std::max(
        row.leastMilliseconds, 1e3 * static_cast<double>(entry.multiply_adds) /
                                   limits.multiply_adds_per_second);
  return row;
}

void printRows(const char *title, std::vector<Row> rows, double total,
               size_t most) {
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return a.milliseconds > b.milliseconds;
  });
  std::printf("%-34s%9s %9s %9s\n", title, "GB/s", "GFLOP/s", "roofline");
  for (size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const Row &row = rows[i];
    const double milliseconds = std::max(row.milliseconds, 1e-6);
    std::printf("  %9.3f ms  %5.1f %%  %5zu x  ", row.milliseconds,
                total > 0 ? 100 * row.milliseconds / total : 0, row.count);
    if (row.leastMilliseconds > 0)
      std::printf("%9.2f %9.2f %7.0f %%  %s\n",
                  1e3 * row.gigabytes / milliseconds,
                  1e3 * row.gigaflops / milliseconds,
                  100 * row.leastMilliseconds / milliseconds, row.name.c_str());
    else
      std::printf("%9s %9s %9s  %s\n", "-", "-", "-", row.name.c_str());
  }
}

} // namespace

double median(RunTimes times) {
  std::sort(times.begin(), times.end());
  size_t half = times.size() / 2;
  return times.size() % 2 == 1 ? times[half]
                               : (times[half - 1] + times[half]) / 2;
}

Status printProfile(shardrt::Session &session) {
  shardrt_device_limits limits;
  SHARDC_RETURN_IF_ERROR(statusOf(session.measureLimits(limits)));
  shardrt::Statistics statistics;
  SHARDC_RETURN_IF_ERROR(
      statusOf(shardrt::Statistics::create(session, statistics)));
  std::map<std::string, Row> kinds;
  std::vector<Row> nodes;
  double total = 0;
  int runs = 0;
  bool isFirst = false;
  for (const shardrt_instruction &entry : statistics.instructions()) {
    runs = std::max(runs, int(entry.runs));
    isFirst |= entry.runs == 1 && entry.has_first;
    nodes.push_back(rowOf(entry, limits));
    total += nodes.back().milliseconds;
    Row &kind = kinds[entry.kernel];
    kind.name = entry.kernel;
    if (entry.is_collective)
      kind.name += "  (waiting for other ranks included)";
    kind.add(nodes.back());
  }
  std::vector<Row> rows;
  for (auto &[name, row] : kinds)
    rows.push_back(row);
  std::printf("where the time goes (mean of %zu ranks and %d runs of the last "
              "size; %.3f ms)\n%s"
              "at best a rank's device copies %.1f GB/s and multiplies %.1f "
              "GFLOP/s in f32 (measured); roofline: the share of that, "
              "above 100 %% from caches\n",
              statistics.ranks().size(), runs, total,
              isFirst ? "of a first run, which waits for weights and arranges "
                        "them; --repeat 2 or more leaves that out\n"
                      : "",
              limits.bytes_per_second / 1e9,
              2 * limits.multiply_adds_per_second / 1e9);
  printRows("by kernel:", std::move(rows), total, kinds.size());
  printRows("by node:", std::move(nodes), total, kTopNodes);
  return Status::ok();
}

Status writeStats(const std::string &path,
                  const shardrt::Statistics &statistics, const RunTimes &times,
                  const std::vector<shardrt::RankMemory> &caches) {
  Json collectives = Json::array(), ranks = Json::array();
  for (const shardrt_collective &stats : statistics.collectives())
    collectives.push_back({{"kind", stats.kind},
                           {"node", stats.node},
                           {"group_size", stats.group_size},
                           {"bytes", stats.bytes},
                           {"wire_bytes", stats.wire_bytes}});
  for (const shardrt_rank_memory &memory : statistics.ranks())
    ranks.push_back({{"rank", memory.rank},
                     {"weight_bytes", memory.weight_bytes},
                     {"packed_bytes", memory.packed_bytes},
                     {"loaded_bytes", memory.loaded_bytes},
                     {"arena_bytes", memory.arena_bytes},
                     {"value_bytes", memory.value_bytes},
                     {"arranged_bytes", memory.arranged_bytes}});
  const shardrt_launches launches = statistics.launches();
  Json stats = {{"launches",
                 {{"launched", launches.launched},
                  {"captured", launches.captured},
                  {"updated", launches.updated},
                  {"replayed", launches.replayed}}},
                {"collectives", std::move(collectives)},
                {"ranks", std::move(ranks)}};
  if (!times.empty()) {
    stats["runs"] = times.size();
    stats["median_ms"] = median(times);
  }
  for (const shardrt::RankMemory &memory : caches)
    stats["caches"].push_back({{"rank", memory.rank},
                               {"committed_bytes", memory.committed},
                               {"reserved_bytes", memory.reserved}});
  return writeFileAtomically(
      path, stats.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

} // namespace shardrun
