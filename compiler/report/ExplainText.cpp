//===- ExplainText.cpp - The report for people ----------------------------===//

#include "compiler/report/Explain.h"
#include "compiler/report/Repeats.h"

#include "llvm/Support/Format.h"

#include <nlohmann/json.hpp>

#include <map>

using Json = nlohmann::json;

namespace shardc::report {

static std::string bytesText(const Json &value) {
  if (value.is_string())
    return value.get<std::string>() + " bytes";
  if (!value.is_number())
    return "unknown";
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

void printCollective(const Json &entry, llvm::raw_ostream &os) {
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

/// " with decode", or nothing where there is one profile.
static std::string withProfile(const Json &total) {
  const std::string profile = total["profile"].get<std::string>();
  return profile.empty() ? "" : " with " + profile;
}

/// Those of a layer once, and how many layers are like it: of equal sizes, at
/// nodes whose names differ in numbers alone.
static void printRepeated(const std::vector<const Json *> &entries,
                          void (*print)(const Json &, llvm::raw_ostream &),
                          llvm::raw_ostream &os) {
  std::vector<std::string> alike;
  for (const Json *entry : entries) {
    Json key = *entry;
    for (const char *numbered : {"node", "why"})
      if (key.contains(numbered))
        key[numbered] = withoutNumbers(key[numbered].get<std::string>());
    for (const char *counted : {"from", "to", "stage", "layer"})
      key.erase(counted);
    alike.push_back(key.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  for (const Repeat &repeat : repeatsOf(alike)) {
    for (size_t i = 0; i < repeat.period; ++i)
      print(*entries[repeat.start + i], os);
    if (repeat.times == 1)
      continue;
    const Json &last =
        *entries[repeat.start + repeat.period * repeat.times - 1];
    os << "  and " << repeat.times - 1
       << (repeat.period == 1
               ? " times more like this"
               : " times more like these " + std::to_string(repeat.period))
       << ", up to " << last["node"].get<std::string>() << "\n";
  }
}

/// "in all 64.0 KiB (128.0 KiB on the wire), 12.5 us", where that is known.
static void printCollectives(const Json &report, const Json &total,
                             llvm::raw_ostream &os) {
  const int64_t count = total["collectives"].get<int64_t>();
  os << count << " collectives per run" << withProfile(total) << "\n";
  double seconds = 0;
  bool knowsSeconds = count > 0;
  std::vector<const Json *> entries;
  for (const Json &entry : report["collectives"]) {
    if (entry.value("profile", "") != total["profile"].get<std::string>())
      continue;
    entries.push_back(&entry);
    knowsSeconds &= entry.contains("seconds");
    seconds += entry.value("seconds", 0.0);
  }
  printRepeated(entries, printCollective, os);
  if (count < 2 || !total["bytes"].is_number())
    return;
  os << "  in all " << bytesText(total["bytes"]) << " ("
     << bytesText(total["wire_bytes"]) << " on the wire)";
  if (knowsSeconds)
    os << ", " << llvm::format("%.1f us", seconds * 1e6);
  os << "\n";
}

static void printTransfer(const Json &entry, llvm::raw_ostream &os) {
  os << "  stage " << entry["from"].get<int64_t>() << " to "
     << entry["to"].get<int64_t>() << ", " << bytesText(entry["bytes"])
     << " a rank" << linksText(entry) << " at "
     << entry["node"].get<std::string>() << "\n";
}

static void printTransfers(const Json &report, const Json &total,
                           llvm::raw_ostream &os) {
  if (total["transfers"] == 0)
    return;
  os << total["transfers"].get<int64_t>() << " transfers between stages per run"
     << withProfile(total) << "\n";
  std::vector<const Json *> entries;
  for (const Json &entry : report["transfers"])
    if (entry.value("profile", "") == total["profile"].get<std::string>())
      entries.push_back(&entry);
  printRepeated(entries, printTransfer, os);
}

/// "unknown (compile with --dims past_sequence=N)": what memory depends on.
static std::string memoryText(const Json &bytes, const Json &report) {
  if (bytes.is_number())
    return bytesText(bytes);
  std::string missing;
  for (const Json &name : report.value("missing_dims", Json::array()))
    missing += (missing.empty() ? "" : ",") + name.get<std::string>() + "=N";
  return missing.empty() ? "known to the data alone"
                         : "unknown (compile with --dims " + missing + ")";
}

/// One line for all that as many ranks hold.
static void printCopies(const Json &weights, llvm::raw_ostream &os) {
  std::map<int64_t, std::vector<const Json *>> byCopies;
  for (const Json &entry : weights)
    byCopies[entry["copies"].get<int64_t>()].push_back(&entry);
  if (!byCopies.empty())
    os << "weights of which several ranks hold the same part, as there are "
          "more ranks than parts\n";
  for (const auto &[copies, entries] : byCopies) {
    int64_t bytes = 0;
    for (const Json *entry : entries)
      bytes += (*entry)["bytes"].get<int64_t>();
    os << "  " << entries.size() << " on " << copies << " ranks each, "
       << bytesText(bytes) << ": "
       << entries.front()->at("name").get<std::string>()
       << (entries.size() > 1 ? ", ..." : "") << "\n";
  }
}

static std::string rankText(const Json &entry, const Json &report) {
  std::string text = "weights " + bytesText(entry["weight_bytes"]) +
                     ", activations " +
                     memoryText(entry["activation_bytes"], report);
  if (entry["kv_bytes"] == 0)
    return text;
  text += ", KV caches " + memoryText(entry["kv_bytes"], report);
  const Json position = entry.value("kv_bytes_per_position", Json());
  return position.is_number()
             ? text + " (" + bytesText(position) + " a position)"
             : text;
}

/// A line for neighbours that hold as much: "0 to 7: weights 8.8 GiB, ...".
static void printRanks(const Json &report, llvm::raw_ostream &os) {
  os << "ranks\n";
  const Json &ranks = report["ranks"];
  for (size_t first = 0, next; first < ranks.size(); first = next) {
    const std::string text = rankText(ranks[first], report);
    next = first + 1;
    while (next < ranks.size() && rankText(ranks[next], report) == text)
      ++next;
    os << "  " << ranks[first]["rank"].get<int64_t>();
    if (next > first + 1)
      os << " to " << ranks[next - 1]["rank"].get<int64_t>();
    os << ": " << text << (next > first + 1 ? " each" : "") << "\n";
  }
}

void printExplanation(const Json &report, llvm::raw_ostream &os) {
  if (const Json &list = report["profiles"]; !list.empty()) {
    os << list.size() << " profiles, the first that fits a request runs\n";
    for (const Json &profile : list)
      printProfile(profile, &profile == &list.front(), os);
  }
  const Json parts = report.value("shares", Json::object());
  for (const auto &[axis, shares] : parts.items())
    os << "ranks of " << axis << " have parts of " << shares.dump()
       << " of what it splits\n";
  for (const Json &choice : report.value("choices", Json::array()))
    os << choice.get<std::string>() << "\n";
  for (const Json &total : report["totals"])
    printCollectives(report, total, os);
  printOverlap(report, os);
  for (const Json &total : report["totals"])
    printTransfers(report, total, os);
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
  printCopies(report["copied_weights"], os);
  os << "recognised structures\n";
  for (const auto &[name, count] : report["structures"].items())
    os << "  " << count.get<int64_t>() << " " << name << "\n";
  printRanks(report, os);
}

} // namespace shardc::report
