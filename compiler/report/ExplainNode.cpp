//===- ExplainNode.cpp - Why a node is split as it is ---------------------===//

#include "compiler/report/ExplainNode.h"

#include "compiler/report/Explain.h"

#include "llvm/Support/Format.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

using Json = nlohmann::json;
using llvm::StringRef;

namespace shardc::report {

namespace {

/// More names of a region nobody reads.
constexpr size_t kMostNames = 6;

/// Lists of ops by function; none where the report has no plan.
Json programsOf(const Json &report) {
  return report.value("plan", Json::object()).value("programs", Json::object());
}

class NodePrinter {
public:
  NodePrinter(const Json &report, StringRef node, llvm::raw_ostream &os)
      : report(report), node(node), os(os) {}

  /// Whether there was anything to say.
  bool run() {
    const Json programs = programsOf(report);
    for (const auto &[name, ops] : programs.items())
      for (const Json &op : ops)
        if (op.value("node", "") == node)
          printOp(name, op, ops);
    printWhole();
    if (!found)
      printUnsplit();
    for (const Json &entry : report["collectives"])
      if (isAbout(entry))
        printCollective(entry, os);
    return found;
  }

private:
  void printOp(const std::string &program, const Json &op, const Json &ops) {
    found = true;
    os << node << " (" << op.value("op", "") << ")";
    if (program != "main")
      os << " in " << program;
    os << "\n";
    for (const Json &split : op.value("splits", Json::array()))
      printSplit(split, ops);
    if (op.contains("carries"))
      os << "  sums of it stay in parts over " << axes(op["carries"])
         << ": they are added up together with others\n";
    if (op.contains("in_turn"))
      os << "  its keys come in turn over " << axes(op["in_turn"]) << "\n";
    printAlternative(program, op.value("op", ""));
  }

  void printAlternative(const std::string &program, const std::string &op) {
    if (report.contains("no_alternatives"))
      os << "  what another sharding would cost is not known: "
         << report["no_alternatives"].get<std::string>() << "\n";
    const Json programs = report.value("alternatives", Json::object());
    for (const Json &entry : programs.value(program, Json::array()))
      if (entry.value("op", "") == op)
        printPrice(entry);
  }

  void printPrice(const Json &entry) {
    const Json &seconds = entry["seconds"],
               &instead = entry["instead"]["seconds"];
    auto more = [&](const char *part) {
      return (seconds[part].get<double>() - instead[part].get<double>()) * 1e6;
    };
    const std::string sharding = entry.value("sharding", "");
    os << "  the best alternative, " << sharding << " instead of "
       << entry["instead"].value("sharding", "") << ", takes "
       << llvm::format("%.1f us %s a run: computing %+.1f, reading %+.1f, "
                       "communication %+.1f",
                       std::abs(more("total")),
                       more("total") < 0 ? "less" : "more", more("compute"),
                       more("read"), more("communication"))
       << "\n";
  }

  static std::string axes(const Json &list) {
    std::string text;
    for (const Json &axis : list)
      text += (text.empty() ? "" : ", ") + axis.get<std::string>();
    return text;
  }

  void printSplit(const Json &split, const Json &ops) {
    os << "  " << split.value("of", "") << ", dim " << split.value("dim", 0)
       << ": its factor of " << split.value("size", "") << " is split over "
       << axes(split["axes"]);
    const std::vector<std::string> others = regionOf(split, ops);
    if (!others.empty())
      os << ", as in " << others.size() << " others, without communication:";
    for (size_t i = 0; i < std::min(kMostNames, others.size()); ++i)
      os << (i ? ", " : " ") << others[i];
    os << (others.size() > kMostNames ? ", ...\n" : "\n");
  }

  /// The other ops that have the factor.
  std::vector<std::string> regionOf(const Json &split, const Json &ops) const {
    std::vector<std::string> names;
    std::set<std::string> known{node.str(), ""};
    for (const Json &op : ops)
      for (const Json &other : op.value("splits", Json::array()))
        if (other.contains("region") && split.contains("region") &&
            other["region"] == split["region"] &&
            known.insert(op.value("node", "")).second)
          names.push_back(op.value("node", ""));
    return names;
  }

  /// What runs whole, and could be split.
  void printUnsplit() {
    const Json programs = report.value("alternatives", Json::object());
    for (const auto &[name, entries] : programs.items())
      for (const Json &entry : entries) {
        found = true;
        os << node << " (" << entry.value("op", "") << ")";
        if (name != "main")
          os << " in " << name;
        os << "\n  runs whole on every rank\n";
        printPrice(entry);
      }
  }

  void printWhole() {
    for (const Json &entry : report["whole_weights"])
      if (entry.value("name", "") == node) {
        found = true;
        os << node << " is held whole by each rank: " << entry.value("why", "")
           << "\n";
      }
  }

  /// It stands there, or is why it stands there.
  bool isAbout(const Json &entry) {
    const bool isIt =
        entry.value("node", "") == node ||
        StringRef(entry.value("why", "")).ends_with(node) ||
        StringRef(entry.value("why", "")).starts_with((node + " ").str());
    if (isIt && !found)
      os << node << "\n";
    found |= isIt;
    return isIt;
  }

  const Json &report;
  StringRef node;
  llvm::raw_ostream &os;
  bool found = false;
};

} // namespace

std::string printNode(const Json &report, StringRef node,
                      llvm::raw_ostream &os) {
  if (NodePrinter(report, node, os).run())
    return "";
  std::string nearest;
  unsigned least = ~0u;
  auto consider = [&](const std::string &name) {
    const unsigned distance = node.edit_distance(name, true, least);
    if (distance < least && !name.empty()) {
      least = distance;
      nearest = name;
    }
  };
  const Json programs = programsOf(report);
  for (const auto &[program, ops] : programs.items())
    for (const Json &op : ops)
      consider(op.value("node", ""));
  for (const Json &entry : report["collectives"])
    consider(entry.value("node", ""));
  return "nothing splits \"" + node.str() + "\", and nothing is sent for it: " +
         "it runs whole on every rank, or the model has no such node; the "
         "nearest one that is split is " +
         nearest;
}

} // namespace shardc::report
