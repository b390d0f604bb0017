//===- Lint.cpp - Rules that a plan is to keep ----------------------------===//

#include "compiler/report/Lint.h"

#include "compiler/report/Repeats.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <map>

using Json = nlohmann::json;
using llvm::StringRef;

namespace shardc::report {

static constexpr const char *kKinds[] = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "dispatch",
    "combine",    "shift",      "transfer",       "collective"};

namespace {

/// The words of one line, read from the left.
class RuleParser {
public:
  RuleParser(StringRef line, Rule &rule) : rule(rule) {
    for (StringRef rest = line; !rest.empty();) {
      rest = rest.ltrim(" \t,");
      const size_t end = rest.find_first_of(" \t,");
      if (!rest.empty())
        words.push_back(rest.take_front(end));
      rest = rest.drop_front(std::min(end, rest.size()));
    }
  }

  /// "" or what was expected.
  std::string run() {
    const bool isRule = take("max")      ? parseMost()
                        : take("no")     ? parseNone()
                        : take("memory") ? parseMemory(/*ofWeights=*/false)
                        : take("weights")
                            ? parseMemory(/*ofWeights=*/true)
                            : expect("max, no, memory or weights");
    if (isRule && next < words.size())
      expect("the end of the line");
    return problem;
  }

private:
  bool take(StringRef word) {
    if (next >= words.size() || words[next] != word)
      return false;
    ++next;
    return true;
  }
  bool expect(StringRef what) {
    if (problem.empty())
      problem = ("expected " + what + ", found " +
                 (next < words.size() ? "\"" + words[next] + "\""
                                      : llvm::Twine("the end of the line")))
                    .str();
    return false;
  }
  bool need(StringRef word) { return take(word) || expect(word); }

  bool parseKind() {
    if (next < words.size())
      for (const char *kind : kKinds)
        if (words[next] == kind ||
            words[next] == (llvm::Twine(kind) + "s").str()) {
          rule.kind = kind;
          ++next;
          return true;
        }
    return expect("one of " +
                  llvm::join(std::begin(kKinds), std::end(kKinds), ", "));
  }

  bool parseMost() {
    rule.form = Rule::Form::Most;
    if (!parseKind() || !need("per"))
      return false;
    rule.isPerLayer = take("layer");
    if (!rule.isPerLayer && !take("run"))
      return expect("layer or run");
    int64_t count = 0;
    if (next >= words.size() || words[next].getAsInteger(10, count) ||
        count < 0)
      return expect("a number");
    rule.limit = double(count);
    ++next;
    return true;
  }

  bool parseNone() {
    if (!parseKind())
      return false;
    if (take("of"))
      return rule.ofWeights = need("weights");
    if (take("between")) {
      rule.betweenNodes = need("nodes");
      rule.isExcept = take("except");
      return rule.betweenNodes && (!rule.isExcept || parseAxes());
    }
    return !take("over") || parseAxes();
  }

  bool parseAxes() {
    for (; next < words.size(); ++next)
      rule.axes.push_back(words[next].str());
    return !rule.axes.empty() || expect("axes, for example dp, pp");
  }

  bool parseMemory(bool ofWeights) {
    rule.form = Rule::Form::Memory;
    rule.isOfWeights = ofWeights;
    return need("per") && need("rank") && need("<=") && parseBytes();
  }

  bool parseBytes() {
    double number = 0;
    if (next >= words.size())
      return expect("a size, for example 40 GiB");
    StringRef digits = words[next], unit;
    digits =
        digits.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
    unit = words[next].drop_front(digits.size());
    if (digits.getAsDouble(number) || !std::isfinite(number))
      return expect("a size, for example 40 GiB");
    if (unit.empty() && next + 1 < words.size())
      unit = words[++next];
    const double scale = llvm::StringSwitch<double>(unit)
                             .Case("B", 1)
                             .Case("KB", 1e3)
                             .Case("MB", 1e6)
                             .Case("GB", 1e9)
                             .Case("TB", 1e12)
                             .Case("KiB", 1024.0)
                             .Case("MiB", 1048576.0)
                             .Case("GiB", 1073741824.0)
                             .Case("TiB", 1099511627776.0)
                             .Default(0);
    if (scale == 0)
      return expect("a unit: B, KB, MB, GB, TB, KiB, MiB, GiB or TiB");
    rule.limit = number * scale;
    ++next;
    return true;
  }

  Rule &rule;
  std::vector<StringRef> words;
  size_t next = 0;
  std::string problem;
};

/// The first few nodes of collectives, and how many more of these there are. A node
/// has several for a weight that is more than one tensor: numbers and scales.
std::string nodesText(const std::vector<std::string> &nodes) {
  constexpr size_t most = 4;
  llvm::MapVector<StringRef, size_t> counts;
  for (const std::string &node : nodes)
    ++counts[node];
  std::vector<std::string> shown;
  size_t left = nodes.size();
  for (const auto &[node, count] : counts) {
    if (shown.size() == most)
      break;
    shown.push_back(node.str() +
                    (count > 1 ? " (" + std::to_string(count) + ")" : ""));
    left -= count;
  }
  const std::string text = llvm::join(shown, ", ");
  return left == 0 ? text : text + " and " + std::to_string(left) + " more";
}

class Checker {
public:
  explicit Checker(const Json &report)
      : report(report), hasLayers(report.value("layers", 0) > 0) {}

  std::vector<Violation> run(const Rule &checked) {
    rule = &checked;
    found.clear();
    switch (rule->form) {
    case Rule::Form::Most:
      checkMost();
      break;
    case Rule::Form::None:
      checkNone();
      break;
    case Rule::Form::Memory:
      checkMemory();
      break;
    }
    return found;
  }

private:
  using NodesByLayer =
      std::map<std::pair<std::string, int64_t>, std::vector<std::string>>;

  void violated(const std::string &what) {
    found.push_back({rule->line, rule->text, what});
  }

  /// Calls visit for each collective, or transfer, of the rule's kind.
  template <typename Visit> void forEachEntry(Visit visit) const {
    if (rule->kind == "transfer")
      for (const Json &entry : report["transfers"])
        visit(entry);
    else
      for (const Json &entry : report["collectives"])
        if (rule->kind == "collective" || entry.value("kind", "") == rule->kind)
          visit(entry);
  }

  void checkMost() {
    if (rule->isPerLayer && !report.contains("layers"))
      return violated("which layer a node is in is not known behind phase "
                      "imported; compile the model itself");
    // By profile, and by layer where there are layers.
    NodesByLayer nodes;
    forEachEntry([&](const Json &entry) {
      const bool isInLayer = rule->isPerLayer && hasLayers;
      if (isInLayer && !entry.contains("layer"))
        return; // before or behind all layers
      nodes[{entry.value("profile", ""),
             isInLayer ? entry["layer"].get<int64_t>() : 0}]
          .push_back(entry.value("node", ""));
    });
    for (auto it = nodes.cbegin(); it != nodes.cend();) {
      const auto &[key, list] = *it;
      const auto last = lastAlike(nodes, it);
      const int64_t layer = key.second,
                    lastLayer = std::prev(last)->first.second;
      it = last;
      if (double(list.size()) <= rule->limit)
        continue;
      std::string where = "a run";
      if (rule->isPerLayer)
        where = layer == lastLayer ? "layer " + std::to_string(layer)
                                   : "each of layers " + std::to_string(layer) +
                                         " to " + std::to_string(lastLayer);
      if (!key.first.empty())
        where += " of " + key.first;
      violated(where + " has " + std::to_string(list.size()) + ": " +
               nodesText(list));
    }
  }

  /// Behind the layers after this one whose nodes differ from its in numbers
  /// alone.
  static NodesByLayer::const_iterator
  lastAlike(const NodesByLayer &nodes, NodesByLayer::const_iterator first) {
    auto last = std::next(first);
    while (last != nodes.end() && last->first.first == first->first.first &&
           last->first.second == std::prev(last)->first.second + 1 &&
           llvm::equal(last->second, first->second,
                       [](const std::string &a, const std::string &b) {
                         return withoutNumbers(a) == withoutNumbers(b);
                       }))
      ++last;
    return last;
  }

  static bool isAbout(const Json &entry, const std::vector<std::string> &axes) {
    // Transfers are along the pipeline.
    StringRef own = "pp";
    std::string text;
    if (entry.contains("axis")) {
      text = entry["axis"].get<std::string>();
      own = text;
    }
    llvm::SmallVector<StringRef, 2> names;
    own.split(names, ',');
    return llvm::any_of(names, [&](StringRef name) {
      return llvm::is_contained(axes, name.trim().str());
    });
  }

  void checkNone() {
    std::vector<std::string> nodes;
    bool isUnknown = false;
    forEachEntry([&](const Json &entry) {
      if (rule->ofWeights && entry.value("of", "") != "weights")
        return;
      if (rule->betweenNodes && !entry.contains("nodes")) {
        isUnknown = true;
        return;
      }
      if (rule->betweenNodes && entry["nodes"].get<int64_t>() < 2)
        return;
      if (!rule->axes.empty() && isAbout(entry, rule->axes) == rule->isExcept)
        return;
      nodes.push_back(entry.value("node", ""));
    });
    if (isUnknown)
      violated("which links are used is not known; give --topology");
    if (!nodes.empty())
      violated(std::to_string(nodes.size()) + ": " + nodesText(nodes));
  }

  void checkMemory() {
    double most = 0;
    int64_t fullest = 0;
    for (const Json &rank : report["ranks"]) {
      double bytes = 0;
      for (const char *kind :
           {"weight_bytes", "activation_bytes", "kv_bytes"}) {
        if (rule->isOfWeights && StringRef(kind) != "weight_bytes")
          continue;
        if (!rank.contains(kind) || !rank[kind].is_number())
          return violated(std::string(kind) +
                          " are not known; compile with --dims of a request");
        bytes += rank[kind].get<double>();
      }
      if (bytes > most) {
        most = bytes;
        fullest = rank.value("rank", 0);
      }
    }
    if (most <= rule->limit)
      return;
    std::string text;
    llvm::raw_string_ostream(text)
        << "rank " << fullest << " holds "
        << llvm::format("%.2f GiB (%.2f GB)", most / 1073741824.0, most / 1e9);
    violated(text);
  }

  const Json &report;
  const bool hasLayers;
  const Rule *rule = nullptr;
  std::vector<Violation> found;
};

} // namespace

std::string parseRules(const std::string &text, std::vector<Rule> &rules) {
  llvm::SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  for (auto [number, line] : llvm::enumerate(lines)) {
    const StringRef written = line.split('#').first.trim();
    if (written.empty())
      continue;
    Rule rule;
    rule.line = number + 1;
    rule.text = written.str();
    if (std::string problem = RuleParser(written, rule).run(); !problem.empty())
      return "line " + std::to_string(rule.line) + ", \"" + rule.text +
             "\": " + problem;
    rules.push_back(std::move(rule));
  }
  return "";
}

std::vector<Violation> checkRules(const std::vector<Rule> &rules,
                                  const Json &report) {
  Checker checker(report);
  std::vector<Violation> violations;
  for (const Rule &rule : rules)
    for (Violation &violation : checker.run(rule))
      violations.push_back(std::move(violation));
  return violations;
}

} // namespace shardc::report
