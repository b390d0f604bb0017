//===- Diff.cpp - What differs between two plans --------------------------===//

#include "compiler/report/Diff.h"

#include "compiler/report/Repeats.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <nlohmann/json.hpp>

#include <map>

using Json = nlohmann::json;

namespace shardc::report {

namespace {

/// A line of the table.
struct Row {
  std::string name, first, second;
};

std::string text(const Json &value) {
  if (value.is_null())
    return "unknown";
  if (value.is_string())
    return value.get<std::string>();
  return value.dump();
}

/// ":[3,1]" as in meshes; "" where parts are equal.
std::string sharesText(const Json &report, const std::string &axis) {
  const Json shares = report.value("shares", Json::object());
  return shares.contains(axis) ? ":" + shares[axis].dump() : "";
}

std::string meshText(const Json &report) {
  std::string mesh;
  for (const auto &[axis, ways] : report["mesh"].items())
    mesh += (mesh.empty() ? "" : " ") + axis + " " + text(ways) +
            sharesText(report, axis);
  return mesh;
}

/// The most of any rank; null where that of one is not known.
Json mostOf(const Json &report, const char *key) {
  Json most = 0;
  for (const Json &rank : report["ranks"]) {
    if (!rank.contains(key) || !rank[key].is_number())
      return nullptr;
    if (rank[key] > most)
      most = rank[key];
  }
  return most;
}

Json totalOf(const Json &report, const std::string &profile, const char *key) {
  for (const Json &total : report["totals"])
    if (total.value("profile", "") == profile && total.contains(key))
      return total[key];
  return nullptr;
}

std::vector<std::string> profilesOf(const Json &report) {
  std::vector<std::string> profiles;
  for (const Json &total : report["totals"])
    profiles.push_back(total.value("profile", ""));
  return profiles;
}

/// "all_reduce over tp at /model/MatMul", each with how often it is there.
std::map<std::string, int64_t> collectivesOf(const Json &report) {
  std::map<std::string, int64_t> entries;
  for (const Json &entry : report["collectives"]) {
    const std::string profile = entry.value("profile", "");
    ++entries[entry.value("kind", "") + " over " + entry.value("axis", "") +
              " at " + entry.value("node", "") +
              (profile.empty() ? "" : " of " + profile)];
  }
  return entries;
}

std::map<std::string, int64_t> wholeWeightsOf(const Json &report) {
  std::map<std::string, int64_t> names;
  for (const Json &entry : report["whole_weights"])
    ++names[entry.value("name", "") + " held whole"];
  return names;
}

bool printOnlyIn(const char *which, const std::map<std::string, int64_t> &these,
                 const std::map<std::string, int64_t> &those,
                 llvm::raw_ostream &os) {
  std::vector<std::string> lines, alike;
  for (const auto &[entry, count] : these) {
    auto other = those.find(entry);
    if (other != those.end() && other->second >= count)
      continue;
    lines.push_back(entry);
    alike.push_back(withoutNumbers(entry));
  }
  // Names in order have their layers in order, but not as numbers: once each.
  std::map<std::string, size_t> count;
  for (const std::string &name : alike)
    ++count[name];
  for (size_t i = 0; i < lines.size(); ++i) {
    size_t &more = count[alike[i]];
    if (more == 0)
      continue;
    os << "only in the " << which << ": " << lines[i];
    if (more > 1)
      os << ", and " << more - 1 << " more like this";
    os << "\n";
    more = 0;
  }
  return !lines.empty();
}

std::vector<Row> rowsOf(const Json &first, const Json &second) {
  std::vector<Row> rows = {{"mesh", meshText(first), meshText(second)}};
  std::vector<std::string> profiles = profilesOf(first);
  for (const std::string &profile : profilesOf(second))
    if (!llvm::is_contained(profiles, profile))
      profiles.push_back(profile);
  const std::pair<const char *, const char *> sums[] = {
      {"collectives", "collectives"},
      {"bytes on the wire", "wire_bytes"},
      {"transfers", "transfers"},
      {"bytes of transfers", "transfer_bytes"},
      {"seconds of both", "seconds"}};
  for (const std::string &profile : profiles)
    for (auto [name, key] : sums)
      rows.push_back({name + (profile.empty() ? "" : " with " + profile),
                      text(totalOf(first, profile, key)),
                      text(totalOf(second, profile, key))});
  const std::pair<const char *, const char *> memory[] = {
      {"weight bytes of a rank", "weight_bytes"},
      {"activation bytes", "activation_bytes"},
      {"KV cache bytes", "kv_bytes"}};
  for (auto [name, key] : memory)
    rows.push_back({name, text(mostOf(first, key)), text(mostOf(second, key))});
  rows.push_back(
      {"structures", text(first["structures"]), text(second["structures"])});
  return rows;
}

} // namespace

bool printDiff(const Json &first, const Json &second, llvm::raw_ostream &os) {
  std::vector<Row> rows = rowsOf(first, second);
  llvm::erase_if(rows, [](const Row &row) { return row.first == row.second; });
  size_t name = 0, value = 0;
  for (const Row &row : rows) {
    name = std::max(name, row.name.size());
    value = std::max(value, row.first.size());
  }
  for (const Row &row : rows)
    os << llvm::left_justify(row.name, name) << "  "
       << llvm::left_justify(row.first, value) << "  " << row.second << "\n";
  bool differs = !rows.empty();
  const auto before = collectivesOf(first), after = collectivesOf(second);
  differs |= printOnlyIn("first", before, after, os);
  differs |= printOnlyIn("second", after, before, os);
  const auto wholeBefore = wholeWeightsOf(first),
             wholeAfter = wholeWeightsOf(second);
  differs |= printOnlyIn("first", wholeBefore, wholeAfter, os);
  differs |= printOnlyIn("second", wholeAfter, wholeBefore, os);
  if (!differs)
    os << "the same plan\n";
  return differs;
}

} // namespace shardc::report
