//===- ExplainText.cpp - The report for people ----------------------------===//

#include "compiler/report/Explain.h"

#include "llvm/Support/Format.h"

#include <nlohmann/json.hpp>

#include <map>

using Json = nlohmann::json;

namespace shardc::report {

static std::string bytesText(const Json &value) {
  if (value.is_string())
    return value.get<std::string>() + " bytes";
  if (!value.is_number())
    return "unknown (give --dims)";
  double bytes = value.get<double>();
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit)
    bytes /= 1024;
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

/// ", between 2 nodes, 12.5 us": what is known of an entry's links.
static std::string linksText(const Json &entry) {
  if (!entry.contains("nodes"))
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  const int64_t nodes = entry["nodes"].get<int64_t>();
  if (nodes > 1)
    os << ", between " << nodes << " nodes";
  else
    os << ", inside a node";
  if (entry.contains("seconds"))
    os << ", " << llvm::format("%.1f us", entry["seconds"].get<double>() * 1e6);
  return text;
}

static void printCollective(const Json &entry, llvm::raw_ostream &os) {
  os << "  " << entry["kind"].get<std::string>() << " over "
     << entry["axis"].get<std::string>() << ", " << bytesText(entry["bytes"])
     << " (" << bytesText(entry["wire_bytes"]) << " on the wire)"
     << linksText(entry) << " at " << entry["node"].get<std::string>() << ": "
     << entry["why"].get<std::string>();
  if (entry.contains("together"))
    os << ", and " << entry["together"].get<int64_t>() - 1
       << " more in the same buffer";
  os << "\n";
}

/// "decode: requests in which dim 1 of ids is 1"
static void printProfile(const Json &profile, bool isFirst,
                         llvm::raw_ostream &os) {
  os << "  " << profile["name"].get<std::string>() << ":";
  if (profile["when"].empty())
    os << (isFirst ? " all requests" : " all others");
  const char *before = " requests in which ";
  for (const Json &when : profile["when"]) {
    os << before;
    if (when.contains("dim"))
      os << "dim " << when["dim"].get<int64_t>() << " of ";
    os << when["input"].get<std::string>() << " is ";
    if (when.contains("dim"))
      os << when["size"].get<int64_t>();
    else
      os << (when["value"].get<bool>() ? "true" : "false");
    before = " and ";
  }
  os << "\n";
}

void printExplanation(const Json &report, llvm::raw_ostream &os) {
  if (const Json &list = report["profiles"]; !list.empty()) {
    os << list.size() << " profiles, the first that fits a request runs\n";
    for (const Json &profile : list)
      printProfile(profile, &profile == &list.front(), os);
  }
  for (const Json &choice : report.value("choices", Json::array()))
    os << choice.get<std::string>() << "\n";
  const Json &collectives = report["collectives"];
  std::map<std::string, std::vector<const Json *>> profiles;
  for (const Json &profile : report["profiles"])
    profiles[profile["name"].get<std::string>()];
  for (const Json &entry : collectives)
    profiles[entry.value("profile", "")].push_back(&entry);
  if (profiles.empty())
    os << "0 collectives per run\n";
  for (const auto &[profile, entries] : profiles) {
    os << entries.size() << " collectives per run"
       << (profile.empty() ? "" : " with " + profile) << "\n";
    for (const Json *entry : entries)
      printCollective(*entry, os);
  }
  printOverlap(report, os);
  if (const Json &transfers = report["transfers"]; !transfers.empty()) {
    os << transfers.size() << " transfers between stages per run\n";
    for (const Json &entry : transfers)
      os << "  stage " << entry["from"].get<int64_t>() << " to "
         << entry["to"].get<int64_t>() << ", " << bytesText(entry["bytes"])
         << " a rank" << linksText(entry) << " at "
         << entry["node"].get<std::string>() << "\n";
  }
  if (const Json &waits = report["waits"]; !waits.empty()) {
    os << waits.size()
       << " waits of the host per run, for sizes and conditions that only the "
          "data knows\n";
    for (const Json &node : waits)
      os << "  at " << node.get<std::string>() << "\n";
  }
  os << "weights that every rank holds whole\n";
  std::map<std::string, std::pair<int64_t, int64_t>> byReason;
  for (const Json &entry : report["whole_weights"]) {
    const std::string why = entry["why"].get<std::string>();
    const int64_t bytes = entry["bytes"].get<int64_t>();
    if (why == "splitting it would add a collective") {
      os << "  " << entry["name"].get<std::string>() << ", " << bytesText(bytes)
         << ": " << why << "\n";
      continue;
    }
    ++byReason[why].first;
    byReason[why].second += bytes;
  }
  for (const auto &[why, total] : byReason)
    os << "  " << total.first << " more, " << bytesText(total.second) << ": "
       << why << "\n";
  os << "recognised structures\n";
  for (const auto &[name, count] : report["structures"].items())
    os << "  " << count.get<int64_t>() << " " << name << "\n";
  os << "ranks\n";
  for (const Json &entry : report["ranks"])
    os << "  " << entry["rank"].get<int64_t>() << ": weights "
       << bytesText(entry["weight_bytes"]) << ", activations "
       << bytesText(entry["activation_bytes"]) << "\n";
}

} // namespace shardc::report
