//===- Print.cpp - Findings as text and as JSON ---------------------------===//

#include "compiler/check/Findings.h"

#include <nlohmann/json.hpp>

using Json = nlohmann::json;

namespace shardc::check {

/// The first few, and how many more there are.
static std::string list(const std::vector<std::string> &names) {
  constexpr size_t most = 3;
  std::string text;
  for (size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i ? ", " : "") + names[i];
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

static std::string plural(size_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void printText(const Findings &findings, llvm::raw_ostream &output) {
  size_t wrong = findings.missing.size() + findings.problems.size();
  unsigned nodes = 0;
  for (const auto &[name, count] : findings.operators)
    nodes += count;
  output << findings.model << ": ";
  if (findings.opset) // else it was not read so far
    output << "opset " << *findings.opset << ", " << plural(nodes, "node")
           << ", ";
  output << (findings.compiles()
                 ? std::string("compiles")
                 : "does not compile: " + plural(wrong, "problem"))
         << '\n';
  if (!findings.recognised.empty()) {
    output << "recognised:";
    const char *separator = " ";
    for (const auto &[name, count] : findings.recognised) {
      output << separator << count << ' ' << name;
      separator = ", ";
    }
    output << '\n';
  }
  for (const Missing &missing : findings.missing)
    output << "unsupported " << missing.kind << ' ' << missing.what << " ("
           << plural(missing.nodes.size(),
                     missing.kind == "element type" ? "tensor" : "node")
           << ": " << list(missing.nodes) << "): " << missing.remedy << '\n';
  for (const Problem &problem : findings.problems) {
    output << "error: " << (problem.node.empty() ? "" : problem.node + ": ")
           << problem.message << '\n';
    for (const std::string &note : problem.notes)
      output << "  note: " << note << '\n';
  }
  for (const Note &note : findings.notes)
    output << "note: " << note.message << (note.remedy.empty() ? "" : "; ")
           << note.remedy << '\n';
}

void printJson(const Findings &findings, llvm::raw_ostream &output) {
  Json json = {{"model", findings.model},
               {"compiles", findings.compiles()},
               {"opset", nullptr},
               {"operators", findings.operators},
               {"recognised", findings.recognised},
               {"unsupported", Json::array()},
               {"errors", Json::array()},
               {"notes", Json::array()}};
  if (findings.opset)
    json["opset"] = *findings.opset;
  for (const Missing &missing : findings.missing)
    json["unsupported"].push_back({{"kind", missing.kind},
                                   {"what", missing.what},
                                   {"count", missing.nodes.size()},
                                   {"nodes", missing.nodes},
                                   {"remedy", missing.remedy}});
  for (const Problem &problem : findings.problems)
    json["errors"].push_back({{"node", problem.node},
                              {"message", problem.message},
                              {"notes", problem.notes}});
  for (const Note &note : findings.notes)
    json["notes"].push_back({{"kind", note.kind},
                             {"message", note.message},
                             {"remedy", note.remedy},
                             {"where", note.where}});
  output << json.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
}

} // namespace shardc::check
