//===- FactorSpaceTest.cpp - Finest common factorisation ------------------===//

#include "passes/plan/FactorSpace.h"
#include "tests/unit/Shardings.h"

using namespace shardc;
using namespace shardc::testing;
using dist::DimExpr;
using plan::FactorNode;
using plan::FactorSpace;

namespace {

const DimExpr b = DimExpr::symbol("b");

/// Leaves by size: "6 16 | 12 16"; buried ones in parentheses.
std::string leaves(FactorSpace &space, FactorNode node) {
  std::string text;
  for (FactorNode segment : space.segments(node)) {
    text += text.empty() ? "" : " |";
    space.forEachLeaf(segment, [&](FactorNode leaf, bool isBuried) {
      std::string size = space.size(leaf).str();
      text += text.empty() ? "" : " ";
      text += isBuried ? "(" + size + ")" : size;
    });
  }
  return text;
}

class FactorSpaceTest : public ::testing::Test {
protected:
  FactorNode product(std::vector<DimExpr> sizes) {
    std::vector<FactorNode> nodes;
    for (DimExpr size : sizes)
      nodes.push_back(space.leaf(size));
    return space.product(nodes);
  }
  FactorNode concat(std::vector<DimExpr> sizes) {
    std::vector<FactorNode> nodes;
    for (DimExpr size : sizes)
      nodes.push_back(space.leaf(size));
    return space.concat(nodes);
  }
  std::vector<FactorNode> leafNodes(FactorNode node) {
    std::vector<FactorNode> nodes;
    space.forEachLeaf(node, [&](FactorNode leaf, bool) {
      nodes.push_back(space.find(leaf));
    });
    return nodes;
  }

  FactorSpace space;
};

TEST_F(FactorSpaceTest, UnifiesLeavesOfOneSize) {
  FactorNode x = space.leaf(6), y = space.leaf(6), z = space.leaf(4);
  EXPECT_TRUE(space.unify(x, y));
  EXPECT_EQ(space.find(x), space.find(y));
  EXPECT_FALSE(space.unify(x, z));
  EXPECT_TRUE(space.unify(space.leaf(b * 4), space.leaf(b * 4)));
  EXPECT_FALSE(space.unify(space.leaf(b), space.leaf(4)));
}

TEST_F(FactorSpaceTest, DropsFactorsOfOneAndEmptySegments) {
  EXPECT_EQ(leaves(space, product({1, 6, 1})), "6");
  EXPECT_EQ(leaves(space, product({1, 1})), "1");
  EXPECT_EQ(leaves(space, concat({0, 6})), "6");
}

TEST_F(FactorSpaceTest, RefinesALeafToAProduct) {
  FactorNode flat = space.leaf(96), heads = product({6, 16});
  EXPECT_TRUE(space.unify(flat, heads));
  EXPECT_EQ(leaves(space, flat), "6 16");
  EXPECT_EQ(leafNodes(flat), leafNodes(heads));
}

TEST_F(FactorSpaceTest, RefinesBothSides) {
  FactorNode wide = product({8, 16}), tall = product({4, 32});
  EXPECT_TRUE(space.unify(wide, tall));
  EXPECT_EQ(leaves(space, wide), "4 2 16");
  EXPECT_EQ(leafNodes(wide), leafNodes(tall));
}

TEST_F(FactorSpaceTest, RefinesWhateverWasTiedBefore) {
  // q_proj's columns, query heads, and KV heads with their groups.
  FactorNode columns = space.leaf(128), heads = space.leaf(8),
             size = space.leaf(16);
  EXPECT_TRUE(space.unify(columns, space.product({heads, size})));
  FactorNode kv = space.leaf(4), group = space.leaf(2);
  EXPECT_TRUE(space.unify(heads, space.product({kv, group})));
  EXPECT_EQ(leaves(space, columns), "4 2 16");
  EXPECT_EQ(leafNodes(columns).front(), space.find(kv));
}

TEST_F(FactorSpaceTest, FactorsSymbolicSizes) {
  FactorNode merged = space.leaf(b * 6), split = product({b, 6});
  EXPECT_TRUE(space.unify(merged, split));
  EXPECT_EQ(leaves(space, merged), "b 6");
  EXPECT_FALSE(space.unify(product({b, 6}), product({6, b})));
}

TEST_F(FactorSpaceTest, CutsALeafIntoSegments) {
  FactorNode packed = space.leaf(1024), qkv = concat({768, 128, 128});
  EXPECT_TRUE(space.unify(packed, qkv));
  EXPECT_EQ(leaves(space, packed), "768 | 128 | 128");
  EXPECT_EQ(leafNodes(packed), leafNodes(qkv));
}

TEST_F(FactorSpaceTest, AlignsSegmentsOfDifferentLengths) {
  FactorNode fine = concat({32, 64, 32}), coarse = concat({96, 32});
  EXPECT_TRUE(space.unify(coarse, fine));
  EXPECT_EQ(leaves(space, coarse), "32 | 64 | 32");
  FactorNode crossing = concat({48, 80});
  EXPECT_TRUE(space.unify(crossing, fine));
  EXPECT_EQ(leaves(space, fine), "32 | 16 | 48 | 32");
}

TEST_F(FactorSpaceTest, CutsASegmentThatOccursTwice) {
  FactorNode half = space.leaf(96), both = space.concat({half, half});
  FactorNode fine = concat({32, 64, 32, 64});
  EXPECT_TRUE(space.unify(both, fine));
  EXPECT_EQ(leaves(space, fine), "32 | 64 | 32 | 64");
  std::vector<FactorNode> nodes = leafNodes(fine);
  EXPECT_EQ(nodes[0], nodes[2]);
  EXPECT_EQ(nodes[1], nodes[3]);
}

TEST_F(FactorSpaceTest, DistributesAProductOverSegments) {
  // (18, 16) cut at 96: the heads are cut, their size is the same in each.
  for (bool isSwapped : {false, true}) {
    FactorNode heads = product({18, 16}), qkv = concat({96, 96, 96});
    EXPECT_TRUE(isSwapped ? space.unify(qkv, heads) : space.unify(heads, qkv));
    EXPECT_EQ(leaves(space, qkv), "6 16 | 6 16 | 6 16");
    std::vector<FactorNode> nodes = leafNodes(qkv);
    EXPECT_EQ(nodes[1], nodes[3]);
    EXPECT_NE(nodes[0], nodes[2]);
    EXPECT_EQ(nodes, leafNodes(heads));
  }
}

TEST_F(FactorSpaceTest, RefusesACutThroughAFactor) {
  FactorNode heads = product({18, 16});
  EXPECT_FALSE(space.unify(heads, concat({100, 188})));
  EXPECT_EQ(leaves(space, heads), "18 16");
}

TEST_F(FactorSpaceTest, SharesWhatConflictingSidesHaveInCommon) {
  FactorNode x = product({6, 2}), y = product({4, 3});
  EXPECT_FALSE(space.unify(x, y));
  EXPECT_EQ(leaves(space, x), "2 3 2");
  EXPECT_EQ(leaves(space, y), "2 2 3");
  EXPECT_EQ(leafNodes(x).front(), leafNodes(y).front());
  EXPECT_NE(space.find(x), space.find(y));
}

TEST_F(FactorSpaceTest, BuriesSegmentsInsideAProduct) {
  FactorNode pair = concat({2, 3}), node = space.product({pair, space.leaf(4)});
  EXPECT_EQ(leaves(space, node), "(2) (3) 4");
}

/// [1 | n] and [n | 1] are equal where all elements are.
TEST_F(FactorSpaceTest, GivesUpOnADimThatIsTiedToItselfOneFurtherOn) {
  FactorNode n = space.leaf(int64_t(1) << 40);
  EXPECT_FALSE(space.unify(space.concat({space.leaf(1), n}),
                           space.concat({n, space.leaf(1)})));
  EXPECT_LE(space.numNodes(), 4 * FactorSpace::kMaxSegments);
}

TEST_F(FactorSpaceTest, KnowsTheMinorNeighbour) {
  FactorNode kv = space.leaf(4), group = space.leaf(2), size = space.leaf(16);
  FactorNode heads = space.product({kv, group, size});
  EXPECT_EQ(space.minorNeighbour(heads, kv), space.find(group));
  EXPECT_EQ(space.minorNeighbour(heads, group), space.find(size));
  EXPECT_FALSE(space.minorNeighbour(heads, size));
}

TEST_F(FactorSpaceTest, GivesTheShardingOfADim) {
  FactorNode heads = space.leaf(6), size = space.leaf(16);
  FactorNode packed =
      space.concat({space.product({heads, size}), space.leaf(8)});
  llvm::SmallVector<dist::AxisRef, 1> axes{axis(2)}, none;
  dist::DimSharding dim = space.sharding(
      packed, [&](FactorNode leaf) -> llvm::ArrayRef<dist::AxisRef> {
        return leaf == space.find(heads) ? axes : none;
      });
  EXPECT_EQ(text(dim), "[96: (6:\"tp\"=2, 16) | 8: (8)]");
}

} // namespace
