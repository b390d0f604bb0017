//===- KeyPartsTest.cpp - Parts of the keys instead of copies -------------===//

#include "passes/plan/KeyParts.h"

#include "tests/unit/plan/ParsedGraph.h"

using namespace shardc;
using dist::AxisRef;

namespace {

/// A step of rows with pages of 16 positions, whose keys are seen in two parts.
std::string stepTypes(int keyHeads, int queryHeads) {
  const std::string keys = std::to_string(keyHeads),
                    queries = std::to_string(queryHeads);
  return "!pool = tensor<?x" + keys + "x16x8xf32, #dist.value<dims = [n, " +
         keys + ", 16, 8]>>\n!added = tensor<1x" + keys +
         "x?x8xf32, #dist.value<dims = [1, " + keys +
         ", t, 8]>>\n!query = tensor<1x" + queries +
         "x?x8xf32, #dist.value<dims = [1, " + queries +
         ", t, 8]>>\n!seen = tensor<2x" + queries +
         "x?x10xf32, #dist.value<dims = [2, " + queries + R"(, t, 10]>>
    !t = tensor<?xi64, #dist.value<dims = [t]>>
    !r = tensor<?xi64, #dist.value<dims = [r]>>
    !first = tensor<?xi64, #dist.value<dims = [r + 1]>>
    !pages = tensor<?x?xi64, #dist.value<dims = [r, p]>>
    !copies = tensor<?x2xi64, #dist.value<dims = [m, 2]>>)";
}

/// Two key heads with four query heads each; keys in two parts.
class KeyParts : public ParsedGraph {
protected:
  static constexpr unsigned kWrite = 0, kAttention = 1, kMerge = 2; ///< ops

  KeyParts() {
    parse(stepTypes(2, 8) + R"(
      func.func @main(%q: !query, %pool: !pool, %k: !added, %slots: !t,
                      %copies: !copies, %pages: !pages, %past: !r,
                      %first: !first) -> (!query, !pool) {
        %w = onnx.PageWrite %pool, %k, %slots, %copies {axis = 2 : i64}
          : (!pool, !added, !t, !copies) -> !pool
        %s = onnx.PagedAttentionParts %q, %w, %w, %pages, %past, %first
          {parts = 2 : i64, scale = 1.0 : f32}
          : (!query, !pool, !pool, !pages, !r, !first) -> !seen
        %y = onnx.MergeAttention %s : (!seen) -> !query
        return %y, %w : !query, !pool
      })");
    plan = plan::Plan(graph());
  }

  /// Key heads over `heads`, their groups of queries over `groups`.
  void splitHeads(const AxisRef &heads, const AxisRef &groups) {
    llvm::SmallVector<plan::FactorNode, 2> leaves;
    graph().space.forEachLeaf(
        graph().ops[kAttention].operands[0][1],
        [&](plan::FactorNode leaf, bool) { leaves.push_back(leaf); });
    ASSERT_EQ(leaves.size(), 2u);
    for (unsigned op : {kWrite, kAttention, kMerge})
      plan.ops[op].split(leaves[0], {heads});
    for (unsigned op : {kAttention, kMerge})
      plan.ops[op].split(leaves[1], {groups});
  }
  std::string operand(unsigned op, unsigned number) const {
    return plan::operandSharding(graph(), plan, op, number).str();
  }

  plan::Plan plan;
  const AxisRef major{"tp", 1, 2}, minor{"tp", 2, 2};
};

TEST_F(KeyParts, TakeThePlaceOfGroups) {
  splitHeads(major, minor);
  plan::splitKeyParts(graph(), plan, {});
  const std::string pool = R"([{}, {"tp"=2}, (2:"tp":(2)2, 8), {}])";
  EXPECT_EQ(operand(kWrite, 0), pool);
  EXPECT_EQ(operand(kWrite, 1), R"([{}, {"tp"=2}, {}, {}])");
  EXPECT_EQ(operand(kAttention, 0), R"([{}, (2:"tp"=2, 4), {}, {}])");
  EXPECT_EQ(operand(kAttention, 1), pool);
  EXPECT_EQ(operand(kAttention, 2), pool);
  EXPECT_EQ(plan::resultSharding(graph(), plan, kAttention, 0).str(),
            R"([{"tp":(2)2}, (2:"tp"=2, 4), {}, {}])");
  EXPECT_EQ(operand(kMerge, 0), R"([{}, (2:"tp"=2, 4:"tp":(2)2), {}, {}])");
}

/// Heads are whole: ranks that share out positions have parts of all keys.
TEST_F(KeyParts, AreOfTheRanksOfAContext) {
  plan::splitKeyParts(graph(), plan, {AxisRef{"cp", 1, 2}});
  const std::string pool = R"([{}, {}, (2:"cp"=2, 8), {}])";
  EXPECT_EQ(operand(kWrite, 0), pool);
  EXPECT_EQ(operand(kAttention, 0), "[{}, {}, {}, {}]");
  EXPECT_EQ(operand(kAttention, 1), pool);
  EXPECT_EQ(plan::resultSharding(graph(), plan, kAttention, 0).str(),
            R"([{"cp"=2}, {}, {}, {}])");
}

/// Of more ranks than groups each has queries of its own, if any.
TEST_F(KeyParts, AreOfAContextAloneBesideTooManyGroups) {
  splitHeads(major, AxisRef{"tp", 2, 8});
  plan::splitKeyParts(graph(), plan, {AxisRef{"cp", 1, 2}});
  EXPECT_EQ(operand(kAttention, 1), R"([{}, {"tp"=2}, (2:"cp"=2, 8), {}])");
  EXPECT_EQ(operand(kWrite, 0), operand(kAttention, 1));
  EXPECT_EQ(operand(kAttention, 0), R"([{}, (2:"tp"=2, 4:"tp":(2)8), {}, {}])");
}

/// Each part is that of two ranks, which have queries of their own.
TEST_F(KeyParts, AreFewerThanRanks) {
  splitHeads(major, AxisRef{"tp", 2, 4});
  plan::splitKeyParts(graph(), plan, {});
  const std::string pool = R"([{}, {"tp"=2}, (2:"tp":(4)2, 8), {}])";
  EXPECT_EQ(operand(kWrite, 0), pool);
  EXPECT_EQ(operand(kAttention, 0), R"([{}, (2:"tp"=2, 4:"tp":(2)2), {}, {}])");
  EXPECT_EQ(operand(kAttention, 1), pool);
  EXPECT_EQ(plan::resultSharding(graph(), plan, kAttention, 0).str(),
            R"([{"tp":(4)2}, (2:"tp"=2, 4:"tp":(2)2), {}, {}])");
}

TEST_F(KeyParts, AreNotOfWaysThatTheyDoNotDivideInto) {
  splitHeads(major, AxisRef{"tp", 2, 3});
  const std::string before = operand(kAttention, 1);
  plan::splitKeyParts(graph(), plan, {});
  EXPECT_EQ(operand(kAttention, 1), before);
}

TEST_F(KeyParts, LeaveWhatAUserDecided) {
  splitHeads(major, minor);
  plan.ops[kWrite].isPinned = true;
  const std::string before = operand(kAttention, 1);
  plan::splitKeyParts(graph(), plan, {});
  EXPECT_EQ(operand(kAttention, 1), before);
}

/// Two attentions that read one pool, as of layers that share their keys: one head.
class SharedKeyParts : public ParsedGraph {};

TEST_F(SharedKeyParts, AreThoseOfAllWhoReadThem) {
  parse(stepTypes(1, 4) + R"(
    func.func @main(%q: !query, %pool: !pool, %k: !added, %slots: !t,
                    %copies: !copies, %pages: !pages, %past: !r,
                    %first: !first) -> (!seen, !seen, !pool) {
      %w = onnx.PageWrite %pool, %k, %slots, %copies {axis = 2 : i64}
        : (!pool, !added, !t, !copies) -> !pool
      %s = onnx.PagedAttentionParts %q, %w, %w, %pages, %past, %first
        {parts = 2 : i64, scale = 1.0 : f32}
        : (!query, !pool, !pool, !pages, !r, !first) -> !seen
      %u = onnx.PagedAttentionParts %q, %w, %w, %pages, %past, %first
        {parts = 2 : i64, scale = 2.0 : f32}
        : (!query, !pool, !pool, !pages, !r, !first) -> !seen
      return %s, %u, %w : !seen, !seen, !pool
    })");
  plan::Plan plan(graph());
  for (unsigned op : {1u, 2u})
    graph().space.forEachLeaf(graph().ops[op].operands[0][1],
                              [&](plan::FactorNode leaf, bool) {
                                plan.ops[op].split(leaf, {{"tp", 1, 2}});
                              });
  plan::splitKeyParts(graph(), plan, {});
  for (unsigned op : {0u, 1u, 2u})
    EXPECT_EQ(plan::operandSharding(graph(), plan, op, op == 0 ? 0 : 1).str(),
              R"([{}, {}, (2:"tp"=2, 8), {}])")
        << op;
}

} // namespace
