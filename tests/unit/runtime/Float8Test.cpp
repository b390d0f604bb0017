#include "runtime/base/Float8.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

const Float8Format kFormats[] = {kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2,
                                 kFloat8E5M2FNUZ};

TEST(Float8, EveryByteSurvives) {
  for (const Float8Format &format : kFormats)
    for (int byte = 0; byte < 256; ++byte) {
      const double value = decodeFloat8(format, static_cast<uint8_t>(byte));
      if (!std::isnan(value))
        EXPECT_EQ(encodeFloat8(format, value, false), byte) << value;
      else
        EXPECT_TRUE(std::isnan(
            decodeFloat8(format, encodeFloat8(format, value, true))));
    }
}

TEST(Float8, MovedBitsAreTheSameNumber) {
  for (const Float8Format &format : kFormats)
    for (int byte = 0; byte < 256; ++byte) {
      const double value = decodeFloat8(format, static_cast<uint8_t>(byte));
      const float moved = Float8Decoder(format)(static_cast<uint8_t>(byte));
      EXPECT_EQ(std::isnan(moved), std::isnan(value)) << byte;
      if (!std::isnan(value)) {
        EXPECT_EQ(double(moved), value) << byte;
        EXPECT_EQ(std::signbit(moved), std::signbit(value)) << byte;
      }
    }
}

TEST(Float8, RoundsToTheNearestByte) {
  for (const Float8Format &format : kFormats)
    for (int byte = 0; byte < 0x7f; ++byte) {
      const double low = decodeFloat8(format, static_cast<uint8_t>(byte));
      const double high = decodeFloat8(format, static_cast<uint8_t>(byte + 1));
      if (!std::isfinite(low) || !std::isfinite(high))
        continue;
      EXPECT_EQ(encodeFloat8(format, low + (high - low) * 0.49, true), byte);
      EXPECT_EQ(encodeFloat8(format, low + (high - low) * 0.51, true),
                byte + 1);
      const int even = byte % 2 == 0 ? byte : byte + 1;
      EXPECT_EQ(encodeFloat8(format, (low + high) / 2, true), even);
    }
}

TEST(Float8, SaturatesOrOverflows) {
  EXPECT_EQ(encodeFloat8(kFloat8E4M3FN, 1e6, true), 0x7e); // 448
  EXPECT_EQ(encodeFloat8(kFloat8E4M3FN, -1e6, true), 0xfe);
  EXPECT_EQ(encodeFloat8(kFloat8E4M3FN, 1e6, false), 0x7f); // NaN
  EXPECT_EQ(encodeFloat8(kFloat8E5M2, INFINITY, false), 0x7c);
  EXPECT_EQ(encodeFloat8(kFloat8E5M2, INFINITY, true), 0x7b);
  EXPECT_EQ(encodeFloat8(kFloat8E4M3FNUZ, -1e6, false), 0x80);
  EXPECT_EQ(encodeFloat8(kFloat8E4M3FNUZ, -0.0, true), 0);
}

TEST(Float8, ExponentsAlone) {
  using enum ExponentRounding;
  EXPECT_EQ(decodeFloat8E8M0(127), 1);
  EXPECT_EQ(encodeFloat8E8M0(1, true, Up), 127);
  EXPECT_EQ(encodeFloat8E8M0(1.25, true, Up), 128);
  EXPECT_EQ(encodeFloat8E8M0(1.25, true, Nearest), 127);
  EXPECT_EQ(encodeFloat8E8M0(1.75, true, Nearest), 128);
  EXPECT_EQ(encodeFloat8E8M0(1.75, true, Down), 127);
  EXPECT_EQ(encodeFloat8E8M0(0, true, Up), 0);
  EXPECT_EQ(encodeFloat8E8M0(0, false, Up), 0xff);
}

} // namespace
} // namespace shardc::runtime
