//===- Report.h - What shardrun tells about a run -------------------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_REPORT_H
#define SHARDC_TOOLS_SHARDRUN_REPORT_H

#include "tools/shardrun/Client.h"

#include <string>
#include <vector>

namespace shardrun {

/// Milliseconds of each run.
using RunTimes = std::vector<double>;

double median(RunTimes times);

/// Time by kind of kernel, then the nodes that took longest, against what the
/// devices can do, which this measures.
shardc::runtime::Status printProfile(shardrt::Session &session);

/// {"runs": N, "median_ms": T, "launches": {"launched", "captured",
///  "updated", "replayed"}, "collectives": [{"kind", "node", "group_size",
///  "bytes", "wire_bytes"}], "ranks": [{"rank", "weight_bytes",
///  "packed_bytes", "loaded_bytes", "arena_bytes", "value_bytes",
///  "arranged_bytes"}]}; with a state also "caches": [{"rank",
///  "committed_bytes", "reserved_bytes"}]. A process that follows another has
///  no times.
shardc::runtime::Status
writeStats(const std::string &path, const shardrt::Statistics &statistics,
           const RunTimes &times,
           const std::vector<shardrt::RankMemory> &caches);

} // namespace shardrun

#endif // SHARDC_TOOLS_SHARDRUN_REPORT_H
