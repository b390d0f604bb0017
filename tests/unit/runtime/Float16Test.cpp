#include "runtime/base/Float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shardc::runtime {
namespace {

TEST(Float16, everyHalfSurvives) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Half half{static_cast<uint16_t>(bits)};
    float value = toFloat(half);
    float expected = static_cast<float>(std::bit_cast<_Float16>(half.bits));
    EXPECT_EQ(std::isnan(value), std::isnan(expected)) << bits;
    if (std::isnan(value))
      continue;
    EXPECT_EQ(value, expected) << bits;
    EXPECT_EQ(toHalf(value).bits, bits);
  }
}

TEST(Float16, roundsLikeTheHardware) {
  // Steps through all exponents with mantissas near the rounding boundaries.
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4093) {
    float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(toFloat(toHalf(value))));
      EXPECT_TRUE(std::isnan(toFloat(toBFloat(value))));
      continue;
    }
    ASSERT_EQ(toHalf(value).bits,
              std::bit_cast<uint16_t>(static_cast<_Float16>(value)))
        << value;
  }
}

TEST(Float16, ties) {
  EXPECT_EQ(toBFloat(1.00390625f).bits, 0x3f80); // half way: to even
  EXPECT_EQ(toBFloat(1.01171875f).bits, 0x3f82);
  EXPECT_EQ(toBFloat(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(toFloat(BFloat{0xff80}), -INFINITY);
}

} // namespace
} // namespace shardc::runtime
