#include "runtime/program/StageScalars.h"

#include "runtime/artifact/ScalarDependence.h"
#include "tests/unit/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

using test::ProgramBuilder;

/// s rows over 4 ranks; `place` is where a rank's begin.
struct Rows {
  ProgramBuilder builder{{{"tp", 4}}};
  const uint32_t s = builder.symbol("s", 0, 0);
  const uint32_t place = builder.multiply(s, builder.coordinate(0));
  std::string bytes;
  const artifact::Program *program;
  const std::vector<std::vector<int64_t>> coordinates{{0}, {1}, {2}, {3}};

  Rows() {
    builder.input("x", artifact::ElementType_Float32, {builder.whole(s)});
    bytes = builder.finish();
    program = artifact::GetProgram(bytes.data());
  }
};

TEST(StageScalars, areThoseOfTheRankAndOfOthersWhereTheyAreAskedFor) {
  Rows rows;
  StageScalars scalars(*rows.program, rows.coordinates, /*rank=*/2);
  const std::vector<int64_t> ten{10}, three{3};
  ASSERT_TRUE(scalars.bind(ten).isOk());
  EXPECT_EQ(scalars.mine()[rows.place], 20);
  std::span<const int64_t> other;
  ASSERT_TRUE(scalars.of(3, other).isOk());
  EXPECT_EQ(other[rows.place], 30);
  // Others' are not kept beyond the symbols that they are for.
  ASSERT_TRUE(scalars.bind(three).isOk());
  ASSERT_TRUE(scalars.of(3, other).isOk());
  EXPECT_EQ(other[rows.place], 9);
  EXPECT_EQ(scalars.mine()[rows.place], 6);
}

TEST(StageScalars, areEvaluatedAgainAfterLoadingAndAfterAnError) {
  Rows rows;
  StageScalars scalars(*rows.program, rows.coordinates, /*rank=*/3);
  const std::vector<uint8_t> dependence = scalarDependences(*rows.program);
  ASSERT_TRUE(scalars.bindLoad(dependence).isOk());
  EXPECT_EQ(scalars.mine()[rows.place], 0);
  const std::vector<int64_t> two{2}, huge{INT64_MAX};
  ASSERT_TRUE(scalars.bind(two).isOk());
  EXPECT_EQ(scalars.mine()[rows.place], 6);
  EXPECT_FALSE(scalars.bind(huge).isOk()) << "it overflows";
  EXPECT_FALSE(scalars.bind(huge).isOk()) << "it is not taken for bound";
  ASSERT_TRUE(scalars.bind(two).isOk());
  EXPECT_EQ(scalars.mine()[rows.place], 6);
}

} // namespace
} // namespace shardc::runtime
