//===- KnownValueTest.cpp - Small tensors known at compile time -----------===//

#include "dialects/onnx/KnownValue.h"
#include "dialects/onnx/evaluate/Tensor.h"

#include <gtest/gtest.h>

using namespace shardc;

namespace {

constexpr int64_t kHalf = int64_t(1) << 32; // its square is 0 in 64 bits

TEST(KnownValue, NumbersOfElementsDoNotWrapAround) {
  EXPECT_EQ(onnx::numElements({2, 3}), 6);
  EXPECT_EQ(onnx::numElements({}), 1);
  EXPECT_EQ(onnx::numElements({kHalf, kHalf}), INT64_MAX);
  EXPECT_EQ(onnx::numElements({kHalf, kHalf, 0}), 0);
}

TEST(KnownValue, NoMoreElementsAreCountedThanAreEvaluated) {
  EXPECT_EQ(onnx::evaluate::countOf({2, 3}), 6);
  EXPECT_EQ(onnx::evaluate::countOf({3, INT64_MAX}),
            onnx::evaluate::kMostElements);
  EXPECT_EQ(onnx::evaluate::countOf({kHalf, kHalf, 0}), 0);
}

TEST(KnownValue, StridesAreNumbersWhereNothingIsStrided) {
  EXPECT_EQ(onnx::evaluate::stridesOf({4, 2, 3}),
            onnx::evaluate::Shape({6, 3, 1}));
  EXPECT_EQ(onnx::evaluate::stridesOf({0, kHalf, kHalf}),
            onnx::evaluate::Shape({onnx::evaluate::kMostElements, kHalf, 1}));
}

} // namespace
