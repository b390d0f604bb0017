//===- LintTest.cpp - Rules and what keeps them ---------------------------===//

#include "compiler/report/Lint.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

using namespace shardc;
using Json = nlohmann::json;
using report::Rule;
using report::Violation;

namespace {

Json collective(const char *kind, const char *axis, const char *node,
                int64_t layer = -1, int64_t nodes = 1) {
  Json entry = {
      {"kind", kind}, {"axis", axis}, {"node", node}, {"nodes", nodes}};
  if (layer >= 0)
    entry["layer"] = layer;
  return entry;
}

Json sample() {
  return {{"collectives",
           {collective("all_gather", "tp", "embedding"),
            collective("all_reduce", "tp", "l0/out", 0),
            collective("all_reduce", "tp", "l0/down", 0),
            collective("all_reduce", "tp", "l1/out", 1),
            collective("all_reduce", "tp", "l1/down", 1),
            collective("all_reduce", "ep,tp", "l2/extra", 2, 2)}},
          {"layers", 3},
          {"transfers", {{{"node", "l0/down"}, {"nodes", 2}}}},
          {"ranks",
           {{{"rank", 0},
             {"weight_bytes", 6e9},
             {"activation_bytes", 2e9},
             {"kv_bytes", 0}},
            {{"rank", 1},
             {"weight_bytes", 7e9},
             {"activation_bytes", 2e9},
             {"kv_bytes", 1e9}}}}};
}

/// What one rule says, a line for each violation.
std::string check(const std::string &rule, const Json &report = sample()) {
  std::vector<Rule> rules;
  const std::string problem = report::parseRules(rule, rules);
  if (!problem.empty())
    return problem;
  std::string text;
  for (const Violation &violation : report::checkRules(rules, report))
    text += violation.what + "\n";
  return text;
}

TEST(Lint, CountsByLayer) {
  EXPECT_EQ(check("max all_reduce per layer 2"), "");
  EXPECT_EQ(check("max all_reduces per layer 1"),
            "each of layers 0 to 1 has 2: l0/out, l0/down\n");
  EXPECT_EQ(check("max collective per layer 0"),
            "each of layers 0 to 1 has 2: l0/out, l0/down\n"
            "layer 2 has 1: l2/extra\n");
  EXPECT_EQ(check("max all_gather per layer 0"), "") << "before all layers";
}

TEST(Lint, CountsByRun) {
  EXPECT_EQ(check("max collective per run 6"), "");
  EXPECT_EQ(check("max collective per run 5"),
            "a run has 6: embedding, l0/out, l0/down, l1/out and 2 more\n");
  EXPECT_EQ(check("max transfers per run 0"), "a run has 1: l0/down\n");
}

TEST(Lint, AModelWithoutLayersIsOne) {
  Json report = sample();
  for (Json &entry : report["collectives"])
    entry.erase("layer");
  report["layers"] = 0;
  EXPECT_EQ(check("max all_gather per layer 0", report),
            "layer 0 has 1: embedding\n");
}

TEST(Lint, WhereLayersAreNotKnownNothingIsSaidOfThem) {
  Json report = sample();
  report.erase("layers");
  EXPECT_EQ(check("max all_gather per layer 9", report),
            "which layer a node is in is not known behind phase imported; "
            "compile the model itself\n");
  EXPECT_EQ(check("max collective per run 6", report), "");
}

TEST(Lint, ForbidsKinds) {
  EXPECT_EQ(check("no all_to_all"), "");
  EXPECT_EQ(check("no all_gather"), "1: embedding\n");
  EXPECT_EQ(check("no all_gather over ep"), "");
  EXPECT_EQ(check("no collective over ep"), "1: l2/extra\n");
  EXPECT_EQ(check("no all_gather of weights"), "");
  Json report = sample();
  report["collectives"][0]["of"] = "weights";
  EXPECT_EQ(check("no all_gather of weights", report), "1: embedding\n");
}

TEST(Lint, ForbidsLinks) {
  EXPECT_EQ(check("no collective between nodes"), "1: l2/extra\n");
  EXPECT_EQ(check("no collective between nodes except dp, ep"), "");
  EXPECT_EQ(check("no collective between nodes except dp"), "1: l2/extra\n");
  EXPECT_EQ(check("no transfer between nodes"), "1: l0/down\n");
  EXPECT_EQ(check("no transfer between nodes except pp"), "");
  Json report = sample();
  for (Json &entry : report["collectives"])
    entry.erase("nodes");
  EXPECT_EQ(check("no collective between nodes", report),
            "which links are used is not known; give --topology\n");
}

TEST(Lint, BoundsMemory) {
  EXPECT_EQ(check("memory per rank <= 10 GB"), "");
  EXPECT_EQ(check("memory per rank <= 9.5GiB"), "");
  EXPECT_EQ(check("memory per rank <= 9 GB"),
            "rank 1 holds 9.31 GiB (10.00 GB)\n");
  EXPECT_EQ(check("weights per rank <= 7 GB"), "");
  Json report = sample();
  report["ranks"][0]["activation_bytes"] = nullptr;
  EXPECT_EQ(
      check("memory per rank <= 10 GB", report),
      "activation_bytes are not known; compile with --dims of a request\n");
  EXPECT_EQ(check("weights per rank <= 7 GB", report), "");
}

TEST(Lint, CommentsAndBlankLinesAreNone) {
  std::vector<Rule> rules;
  EXPECT_EQ(report::parseRules("# one\n\n  no dispatch # two\r\n", rules), "");
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].line, 3u);
  EXPECT_EQ(rules[0].text, "no dispatch");
}

TEST(Lint, SaysWhatWasExpected) {
  for (const auto &[rule, words] :
       {std::pair("most all_reduce", "expected max, no, memory or weights"),
        {"max all_sum per run 3", "expected one of all_reduce,"},
        {"max all_reduce per step 3", "expected layer or run"},
        {"max all_reduce per run", "expected a number, found the end"},
        {"max all_reduce per run -1", "expected a number"},
        {"no all_reduce of tokens", "expected weights, found \"tokens\""},
        {"no all_reduce over", "expected axes"},
        {"no all_reduce between nodes except", "expected axes"},
        {"no all_reduce of weights now", "expected the end of the line"},
        {"memory per rank < 3 GB", "expected <="},
        {"memory per rank <= GB", "expected a size"},
        {"memory per rank <= 3 Gb", "expected a unit"},
        {"weights per rank <= 1e999 GB", "expected a unit"}}) {
    std::vector<Rule> rules;
    const std::string problem = report::parseRules(rule, rules);
    EXPECT_NE(problem.find(words), std::string::npos) << problem;
    EXPECT_EQ(problem.find("line 1"), 0u) << problem;
  }
}

} // namespace
