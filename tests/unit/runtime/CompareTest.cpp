#include "tools/tensors/Compare.h"

#include <gtest/gtest.h>

#include <limits>

using namespace shardc::runtime;
using namespace shardc::tensors;
namespace artifact = shardc::artifact;

namespace {

Tensor tensor(ElementType element, std::vector<double> values) {
  Tensor made;
  const int64_t dims[] = {static_cast<int64_t>(values.size())};
  EXPECT_TRUE(fromDoubles(element, dims, values, made).isOk());
  return made;
}

TEST(CompareTest, DoublesSurviveEveryTypeThatHoldsThem) {
  using namespace artifact;
  const std::vector<double> values = {0, 1, 2, 100};
  for (ElementType element :
       {ElementType_UInt8, ElementType_Int8, ElementType_Int16,
        ElementType_UInt16, ElementType_Int32, ElementType_UInt32,
        ElementType_Int64, ElementType_UInt64, ElementType_Float16,
        ElementType_BFloat16, ElementType_Float32, ElementType_Float64})
    EXPECT_EQ(toDoubles(tensor(element, values)), values) << element;
  EXPECT_EQ(toDoubles(tensor(ElementType_Float32, {0.1}))[0], double(0.1f));
}

TEST(CompareTest, NoTensorOfFloat8IsMadeOfNumbers) {
  Tensor made;
  const int64_t dims[] = {1};
  const double values[] = {1};
  Status status =
      fromDoubles(artifact::ElementType_Float8E4M3FN, dims, values, made);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
}

TEST(CompareTest, ExactToleranceIsOfTheLargestValue) {
  const auto expected = tensor(artifact::ElementType_Float64, {1000, 0});
  auto differing = [&](double by) {
    return compare(tensor(artifact::ElementType_Float64, {1000, by}), expected,
                   kExactTolerance);
  };
  EXPECT_TRUE(differing(0.9e-6).fits);
  EXPECT_NEAR(differing(0.5e-6).ofTolerance, 0.5, 1e-9);
  Comparison wrong = differing(2e-6);
  EXPECT_FALSE(wrong.fits);
  EXPECT_NE(wrong.problem.find("element 1 is 2e-06, expected 0"),
            std::string::npos)
      << wrong.problem;
}

TEST(CompareTest, ZerosMustBeZeros) {
  const auto zeros = tensor(artifact::ElementType_Float64, {0, 0});
  EXPECT_TRUE(compare(zeros, zeros, kExactTolerance).fits);
  EXPECT_FALSE(compare(tensor(artifact::ElementType_Float64, {0, 1e-30}), zeros,
                       kExactTolerance)
                   .fits);
}

TEST(CompareTest, NotANumberOnlyBesideAnother) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto a = tensor(artifact::ElementType_Float32, {1, nan});
  EXPECT_TRUE(compare(a, a, planTolerance("f32")).fits);
  EXPECT_FALSE(compare(tensor(artifact::ElementType_Float32, {1, 2}), a,
                       planTolerance("low"))
                   .fits);
}

TEST(CompareTest, IntegersAreEqualUnlessQuantised) {
  const auto a = tensor(artifact::ElementType_Int64, {100});
  const auto b = tensor(artifact::ElementType_Int64, {101});
  EXPECT_FALSE(compare(a, b, planTolerance("f32")).fits);
  EXPECT_FALSE(compare(a, b, kExactTolerance).fits);
  EXPECT_TRUE(compare(a, b, planTolerance("quant")).fits);
}

} // namespace
