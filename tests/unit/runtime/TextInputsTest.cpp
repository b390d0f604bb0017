//===- TextInputsTest.cpp - What comes with a text ------------------------===//
#include "runtime/serve/TextInputs.h"

#include "runtime/serve/StepInputs.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

using artifact::ElementType_Float32;

struct WithEncoder : testing::Test {
  WithEncoder() {
    const std::vector<TensorInfo> infos = {
        {"input_ids", artifact::ElementType_Int64, {"1", "tokens"}},
        {"encoder_hidden_states",
         ElementType_Float32,
         {"1", std::string(StepSymbols::kEncoderKeys), "8"}}};
    EXPECT_TRUE(TextInputs::make(infos, {}, inputs).isOk());
  }
  Status check(std::vector<int64_t> dims, size_t bytes) {
    const TextInput given{"encoder_hidden_states", ElementType_Float32,
                          std::move(dims), std::vector<std::byte>(bytes)};
    return inputs.check({&given, 1}, keys);
  }

  TextInputs inputs;
  int64_t keys = 0;
};

TEST_F(WithEncoder, saysHowManyKeysItHas) {
  EXPECT_TRUE(check({1, 5, 8}, 160).isOk());
  EXPECT_EQ(keys, 5);
}

TEST_F(WithEncoder, refusesOtherBytesThanItsDimsSay) {
  EXPECT_FALSE(check({1, 5, 8}, 156).isOk());
  EXPECT_FALSE(check({1, 0, 8}, 0).isOk());
  constexpr int64_t half = int64_t(1) << 32; // twice it, 64 bits are all 0
  EXPECT_FALSE(check({1, half, half}, 0).isOk());
}

} // namespace
} // namespace shardc::runtime
