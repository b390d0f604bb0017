#include "passes/import/weights/ReshapedParameter.h"

#include "gtest/gtest.h"

namespace shardc::import {
namespace {

using Shape = std::vector<int64_t>;

struct Case {
  Shape parameter, from, to;
  Shape dims; ///< none: it cannot be said
  int64_t axis = 0, block = 0;
};

void PrintTo(const Case &c, std::ostream *to) {
  *to << testing::PrintToString(c.parameter) << " along "
      << testing::PrintToString(c.from) << " -> "
      << testing::PrintToString(c.to);
}

class ReshapedParameters : public testing::TestWithParam<Case> {};

TEST_P(ReshapedParameters, LieAlongTheNewDims) {
  const Case &c = GetParam();
  auto found = ReshapedParameter::of(c.parameter, c.from, c.to);
  ASSERT_EQ(found.has_value(), !c.dims.empty());
  if (!found)
    return;
  EXPECT_EQ(Shape(found->dims.begin(), found->dims.end()), c.dims);
  EXPECT_EQ(found->block, c.block);
  if (c.block != 0)
    EXPECT_EQ(found->axis, c.axis);
}

INSTANTIATE_TEST_SUITE_P(
    Alike, ReshapedParameters,
    testing::Values(Case{{1, 1, 1}, {4, 8, 32}, {4, 256}, {1, 1}},
                    Case{{4, 1, 1}, {4, 8, 32}, {4, 256}, {4, 1}},
                    Case{{4, 8, 32}, {4, 8, 32}, {32, 32}, {32, 32}},
                    Case{{4, 1}, {4, 256}, {4, 8, 32}, {4, 1, 1}},
                    Case{{4, 1}, {4, 256}, {2, 2, 256}, {2, 2, 1}},
                    Case{{4, 1, 1}, {4, 1, 16}, {1, 4, 16, 1}, {1, 4, 1, 1}},
                    Case{{1, 6}, {5, 6}, {5, 1, 6, 1, 1}, {1, 1, 6, 1, 1}}));

INSTANTIATE_TEST_SUITE_P(
    Blocks, ReshapedParameters,
    testing::Values(
        Case{{4, 8, 1}, {4, 8, 32}, {4, 256}, {4, 8}, 1, 32},
        Case{{8, 1, 4}, {8, 32, 4}, {256, 4}, {8, 4}, 0, 32},
        Case{{1, 8, 1}, {4, 8, 32}, {4, 256}, {1, 8}, 1, 32},
        Case{{4, 1, 1}, {4, 8, 32}, {1024}, {4}, 0, 256},
        Case{{2, 4, 1, 1}, {2, 4, 8, 2}, {2, 1, 64}, {2, 1, 4}, 2, 16},
        Case{{8, 1, 1, 4}, {8, 32, 1, 4}, {256, 4}, {8, 4}, 0, 32}));

INSTANTIATE_TEST_SUITE_P(
    Neither, ReshapedParameters,
    testing::Values(Case{{4, 1, 32}, {4, 8, 32}, {4, 256}, {}},
                    Case{{1, 8, 32}, {4, 8, 32}, {1024}, {}},
                    Case{{4, 1}, {4, 6}, {3, 8}, {}},
                    Case{{4, 1, 8, 1}, {4, 2, 8, 2}, {8, 16}, {}},
                    Case{{4, 1}, {4, 6}, {4, 5}, {}},
                    Case{{0, 1}, {0, 6}, {0, 2}, {}},
                    Case{{4}, {4, 6}, {24}, {}}));

} // namespace
} // namespace shardc::import
