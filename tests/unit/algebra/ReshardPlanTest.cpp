//===- ReshardPlanTest.cpp - Collectives between shardings ----------------===//

#include "dialects/dist/algebra/ReshardPlan.h"
#include "tests/unit/Shardings.h"

using namespace shardc;
using namespace shardc::testing;
using dist::DimSharding;
using dist::ReduceKind;
using dist::ReshardStep;
using dist::Sharding;
using dist::StepKind;

namespace {

Sharding sharding(std::vector<DimSharding> dims,
                  std::vector<dist::PartialAxis> partial = {}) {
  Sharding sharding;
  sharding.dims.assign(dims.begin(), dims.end());
  sharding.partial.assign(partial.begin(), partial.end());
  sharding.normalize();
  return sharding;
}

const DimSharding kWhole = DimSharding::unsplit(8);
const DimSharding kTp = DimSharding::whole(8, {axis(4)});
const DimSharding kDp = DimSharding::whole(8, {axis(2, 1, "dp")});
const DimSharding kDpTp = DimSharding::whole(8, {axis(2, 1, "dp"), axis(4)});
const DimSharding kHeads = dim({{{4, {axis(4)}}, {2}}});
const dist::PartialAxis kSum{axis(4), ReduceKind::Sum};
const dist::PartialAxis kMax{axis(4), ReduceKind::Max};
const dist::PartialAxis kDpSum{axis(2, 1, "dp"), ReduceKind::Sum};

/// "reduce tp sum, gather 1 tp, slice, once tp".
std::string plan(const Sharding &from, const Sharding &to) {
  std::string text;
  auto steps = dist::planReshard(from, to);
  if (!steps)
    return "none";
  for (const ReshardStep &step : *steps) {
    text += text.empty() ? "" : ", ";
    text += step.kind == StepKind::AllReduce       ? "reduce"
            : step.kind == StepKind::ReduceScatter ? "scatter"
            : step.kind == StepKind::AllGather     ? "gather"
            : step.kind == StepKind::AllToAll      ? "move"
            : step.kind == StepKind::Slice         ? "slice"
                                                   : "once";
    if (step.kind == StepKind::AllGather || step.kind == StepKind::AllToAll ||
        step.kind == StepKind::ReduceScatter)
      text += " " + std::to_string(step.dim);
    if (step.kind == StepKind::AllToAll)
      text += " to " + std::to_string(step.toDim);
    for (const dist::AxisRef &ref : step.axes)
      text += " " + ref.name;
    if (step.kind == StepKind::AllReduce ||
        step.kind == StepKind::ReduceScatter)
      text += " " + dist::stringify(step.reduceKind).str();
  }
  return text;
}

TEST(ReshardPlan, PicksTheCollective) {
  Sharding whole = sharding({kWhole, kWhole});
  EXPECT_EQ(plan(whole, whole), "");
  EXPECT_EQ(plan(sharding({kWhole, kWhole}, {kSum}), whole), "reduce tp sum");
  EXPECT_EQ(plan(sharding({kWhole, kWhole}, {kMax}), whole), "reduce tp max");
  EXPECT_EQ(plan(sharding({kWhole, kTp}), whole), "gather 1 tp");
  EXPECT_EQ(plan(whole, sharding({kDp, kTp})), "slice");
  EXPECT_EQ(plan(whole, sharding({kWhole, kWhole}, {kSum})), "once tp");
  EXPECT_EQ(plan(sharding({kTp, kWhole}), sharding({kWhole, kTp})),
            "move 0 to 1 tp");
  EXPECT_EQ(plan(sharding({kWhole, kWhole}, {kSum}), sharding({kWhole, kTp})),
            "scatter 1 tp sum");
  EXPECT_EQ(plan(sharding({kWhole, kWhole}, {kSum}), sharding({kHeads, kDp})),
            "scatter 0 tp sum, slice");
}

TEST(ReshardPlan, ReducesAxesOfAKindTogether) {
  Sharding whole = sharding({kWhole});
  EXPECT_EQ(plan(sharding({kWhole}, {kSum, kDpSum}), whole),
            "reduce dp tp sum");
  EXPECT_EQ(plan(sharding({kWhole}, {kMax, kDpSum}), whole),
            "reduce dp sum, reduce tp max");
  EXPECT_EQ(
      plan(sharding({kWhole}, {kSum, kDpSum}), sharding({kWhole}, {kDpSum})),
      "reduce tp sum");
}

TEST(ReshardPlan, ScattersBehindWhatSplitsTheDimAlready) {
  EXPECT_EQ(plan(sharding({kDp}, {kSum}), sharding({kDpTp})),
            "scatter 0 tp sum");
  // The parts that "dp" leaves would have to move: no scattering.
  const DimSharding tpDp = DimSharding::whole(8, {axis(4), axis(2, 1, "dp")});
  EXPECT_EQ(plan(sharding({kDp}, {kSum}), sharding({tpDp})),
            "reduce tp sum, gather 0 dp, slice");
}

TEST(ReshardPlan, GathersOnlyWhatHasToBeWhole) {
  EXPECT_EQ(plan(sharding({kDpTp}), sharding({kDp})), "gather 0 tp");
  EXPECT_EQ(plan(sharding({kDpTp}), sharding({kTp})), "gather 0 dp tp, slice");
  EXPECT_EQ(plan(sharding({kDpTp}), sharding({kWhole})), "gather 0 dp tp");
}

TEST(ReshardPlan, MovesAxesBetweenDims) {
  // Behind the axes that split the other dim already.
  EXPECT_EQ(plan(sharding({kDp, kTp}),
                 sharding({kWhole, DimSharding::whole(
                                       8, {axis(4), axis(2, 1, "dp")})})),
            "move 0 to 1 dp");
  // The minor axis alone; what is left over is gathered, or moved on.
  EXPECT_EQ(plan(sharding({kDpTp, kWhole}), sharding({kDp, kTp})),
            "move 0 to 1 tp");
  EXPECT_EQ(plan(sharding({kDpTp, kWhole}), sharding({kWhole, kTp})),
            "move 0 to 1 tp, gather 0 dp");
  EXPECT_EQ(
      plan(sharding({kDpTp, kWhole, kWhole}), sharding({kWhole, kTp, kDp})),
      "move 0 to 1 tp, move 0 to 2 dp");
  // To fewer ways: those in excess are gathered first.
  EXPECT_EQ(plan(sharding({kWhole, kTp}),
                 sharding({DimSharding::whole(8, {axis(2)}), kWhole})),
            "gather 1 tp, move 1 to 0 tp");
  // Of the same dim: other parts for everyone.
  EXPECT_EQ(plan(sharding({kTp}), sharding({kHeads})), "move 0 to 0 tp");
  const DimSharding zigZag = DimSharding::zigZag(8, {axis(4)});
  EXPECT_EQ(plan(sharding({kTp}), sharding({zigZag})), "move 0 to 0 tp");
  EXPECT_EQ(plan(sharding({zigZag}), sharding({kWhole})), "gather 0 tp");
  // Each axis where the other was: nobody can move first.
  EXPECT_EQ(plan(sharding({kDp, kTp}), sharding({kTp, kDp})),
            "gather 0 dp, move 1 to 0 tp, slice");
}

TEST(ReshardPlan, EndsWhereItShould) {
  std::vector<Sharding> all;
  const DimSharding zigZag = DimSharding::zigZag(8, {axis(4)});
  for (const DimSharding &rows : {kWhole, kTp, kDp, kDpTp, kHeads, zigZag})
    for (const DimSharding &columns : {kWhole, kTp, kDp, kHeads, zigZag})
      for (bool isPartial : {false, true}) {
        Sharding made = isPartial ? sharding({rows, columns}, {kSum})
                                  : sharding({rows, columns});
        dist::Mesh mesh{{{"dp", 2}, {"tp", 4}}};
        if (dist::findProblem(made, {8, 8}, mesh).empty())
          all.push_back(made);
      }
  ASSERT_GT(all.size(), 12u);
  for (const Sharding &from : all)
    for (const Sharding &to : all) {
      auto steps = dist::planReshard(from, to);
      ASSERT_TRUE(steps) << from.str() << " to " << to.str();
      EXPECT_EQ(steps->empty() ? from : steps->back().after, to)
          << from.str() << " to " << to.str();
      EXPECT_LE(steps->size(), 4u);
    }
}

TEST(ReshardPlan, SaysWhereNoStepsLead) {
  const Sharding whole = sharding({kWhole}), max = sharding({kWhole}, {kMax});
  EXPECT_EQ(plan(whole, max), "none");
  EXPECT_EQ(plan(sharding({kTp}), max), "none");
  EXPECT_EQ(plan(whole, sharding({kWhole, kWhole})), "none");
  EXPECT_EQ(plan(max, max), "");
}

} // namespace
