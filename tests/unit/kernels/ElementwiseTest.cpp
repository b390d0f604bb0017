#include "tests/unit/kernels/KernelTest.h"

#include <cmath>
#include <limits>

namespace shardc::runtime::host {
namespace {

const float kNaN = std::nanf("");
const float kInfinity = std::numeric_limits<float>::infinity();

struct UnaryCase {
  const char *kernel;
  double (*oracle)(double);
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }

const UnaryCase kUnary[] = {
    {"Neg", [](double x) { return -x; }},
    {"Abs", [](double x) { return std::abs(x); }},
    {"Sign", [](double x) { return double((x > 0) - (x < 0)); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"Sigmoid", sigmoid},
    {"Relu", [](double x) { return std::max(x, 0.0); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Tan", [](double x) { return std::tan(x); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Round", [](double x) { return std::nearbyint(x); }},
    {"Softplus", softplus},
    {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
    {"LeakyRelu", [](double x) { return x < 0 ? 0.01 * x : x; }},
    {"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }},
    {"HardSwish",
     [](double x) { return x * std::min(1.0, std::max(0.0, x / 6 + 0.5)); }},
    {"HardSigmoid",
     [](double x) { return std::min(1.0, std::max(0.0, 0.2 * x + 0.5)); }},
    {"Mish", [](double x) { return x * std::tanh(softplus(x)); }},
    {"Swish", [](double x) { return x * sigmoid(x); }},
    {"Gelu",
     [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
};

/// From -10 to 10, subtle values near 0 included.
template <typename T> Tensor probes() {
  std::vector<Compute<T>> values;
  for (int i = -80; i <= 80; ++i)
    values.push_back(Compute<T>(i / 8.0));
  for (double x : {1e-3, -1e-3, 0.6, -0.63, 3.9, 4.1})
    values.push_back(Compute<T>(x));
  return Tensor::of<T>({int64_t(values.size())}, values);
}

template <typename T> void matchesOracles(double relative) {
  const Tensor x = probes<T>();
  for (const UnaryCase &test : kUnary)
    for (const Tensor &in : {x, x.scattered()}) {
      const Tensor out = Tensor::filled<T>(x.dims(), T(Compute<T>(9)));
      EXPECT_OK(runKernel(test.kernel, {in}, {out}));
      forEach(x.dims(), [&](const Dims &at) {
        const double expected = test.oracle(double(in.at<T>(at)));
        EXPECT_NEAR(double(out.at<T>(at)), expected,
                    relative * (1e-2 + std::abs(expected)))
            << test.kernel << " of " << double(in.at<T>(at));
      });
    }
}

TEST(Unary, MatchesOracles) {
  matchesOracles<float>(2e-5);
  matchesOracles<double>(1e-12);
  matchesOracles<Float16>(2e-3);
  matchesOracles<BFloat16>(1e-2);
}

TEST(Unary, SpecialValues) {
  const Tensor x = Tensor::of<float>({4}, {kNaN, kInfinity, -kInfinity, -0.f});
  const auto run = [&](const char *kernel) {
    const Tensor out = Tensor::filled<float>({4}, 9);
    EXPECT_OK(runKernel(kernel, {x}, {out}));
    EXPECT_TRUE(std::isnan(out.at<float>({0}))) << kernel;
    return std::vector<float>{out.at<float>({1}), out.at<float>({2}),
                              out.at<float>({3})};
  };
  EXPECT_EQ(run("Exp"), (std::vector<float>{kInfinity, 0, 1}));
  EXPECT_EQ(run("Tanh"), (std::vector<float>{1, -1, 0}));
  EXPECT_EQ(run("Erf"), (std::vector<float>{1, -1, 0}));
  EXPECT_EQ(run("Sigmoid"), (std::vector<float>{1, 0, 0.5f}));
  EXPECT_EQ(run("Relu"), (std::vector<float>{kInfinity, 0, 0}));
  EXPECT_EQ(run("Softplus"), (std::vector<float>{kInfinity, 0, std::log(2.f)}));
}

TEST(Unary, ExpReachesBothEnds) {
  const Tensor out = Tensor::filled<float>({4}, 9);
  EXPECT_OK(runKernel(
      "Exp", {Tensor::of<float>({4}, {88.7f, 89, -87.3f, -104})}, {out}));
  EXPECT_NEAR(out.at<float>({0}) / std::exp(88.7f), 1, 1e-5);
  EXPECT_EQ(out.at<float>({1}), kInfinity);
  EXPECT_NEAR(out.at<float>({2}) / std::exp(-87.3f), 1, 1e-5);
  EXPECT_NEAR(out.at<float>({3}), 0, 1e-44);
}

TEST(Unary, GeluByTanh) {
  const Tensor x = probes<float>();
  const Tensor out = Tensor::filled<float>(x.dims(), 9);
  EXPECT_OK(
      runKernel("Gelu", {x}, {out}, Attributes().text("approximate", "tanh")));
  forEach(x.dims(), [&](const Dims &at) {
    const double v = x.at<float>(at);
    EXPECT_NEAR(
        out.at<float>(at),
        v / 2 *
            (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))),
        1e-5 * (1e-1 + std::abs(v)));
  });
}

TEST(Unary, IntegersAndBools) {
  const Tensor x = Tensor::of<int64_t>({3}, {-5, 0, INT64_MIN});
  const Tensor out = Tensor::filled<int64_t>({3}, 9);
  EXPECT_OK(runKernel("Neg", {x}, {out}));
  EXPECT_EQ(out.values<int64_t>(), (std::vector<int64_t>{5, 0, INT64_MIN}));
  EXPECT_OK(runKernel("BitwiseNot", {x}, {out}));
  EXPECT_EQ(out.values<int64_t>(), (std::vector<int64_t>{4, -1, INT64_MAX}));
  const Tensor flags = Tensor::filled<Boolean>({2}, Boolean());
  EXPECT_OK(
      runKernel("Not", {Tensor::of<Boolean>({2}, {true, false})}, {flags}));
  EXPECT_EQ(flags.values<Boolean>(), (std::vector<bool>{false, true}));
  EXPECT_OK(runKernel("IsNaN", {Tensor::of<float>({2}, {kNaN, 1})}, {flags}));
  EXPECT_EQ(flags.values<Boolean>(), (std::vector<bool>{true, false}));
  EXPECT_OK(runKernel("IsInf",
                      {Tensor::of<float>({2}, {-kInfinity, kInfinity})},
                      {flags}, Attributes().ints("detect_negative", {0})));
  EXPECT_EQ(flags.values<Boolean>(), (std::vector<bool>{false, true}));
}

TEST(Cast, TruncatesAndTestsForZero) {
  const Tensor x = Tensor::of<float>({4}, {-1.9f, 0, 0.5f, 300});
  const Tensor ints = Tensor::filled<int32_t>({4}, 9);
  EXPECT_OK(runKernel("Cast", {x}, {ints}));
  EXPECT_EQ(ints.values<int32_t>(), (std::vector<int32_t>{-1, 0, 0, 300}));
  const Tensor flags = Tensor::filled<Boolean>({4}, Boolean());
  EXPECT_OK(runKernel("Cast", {x}, {flags}));
  EXPECT_EQ(flags.values<Boolean>(),
            (std::vector<bool>{true, false, true, true}));
  const Tensor back = Tensor::filled<BFloat16>({4}, BFloat16(9));
  EXPECT_OK(runKernel("Cast", {flags.scattered()}, {back}));
  EXPECT_EQ(back.values<BFloat16>(), (std::vector<float>{1, 0, 1, 1}));
}

/// Expected values are ONNX Runtime's.
TEST(Cast, FloatsThatFitNoInteger) {
  const Tensor x = Tensor::of<float>(
      {8}, {300.7f, -300.7f, 3e9f, -3e9f, 1e19f, INFINITY, -INFINITY, NAN});
  const auto expectCast = [&](auto... values) {
    using To = std::common_type_t<decltype(values)...>;
    const Tensor out = Tensor::filled<To>({8}, To(1));
    EXPECT_OK(runKernel("Cast", {x}, {out}));
    EXPECT_EQ(out.values<To>(), (std::vector<To>{values...}));
  };
  constexpr int32_t least = std::numeric_limits<int32_t>::min();
  constexpr int64_t least64 = std::numeric_limits<int64_t>::min();
  constexpr int16_t zero = 0;
  expectCast(int16_t(300), int16_t(-300), zero, zero, zero, zero, zero, zero);
  expectCast(300, -300, least, least, least, least, least, least);
  expectCast(int64_t(300), int64_t(-300), int64_t(3000000000),
             int64_t(-3000000000), least64, least64, least64, least64);
  const Tensor few = Tensor::of<float>({4}, {-300.7f, 3e9f, -3e9f, 1e19f});
  const Tensor out = Tensor::filled<uint64_t>({4}, uint64_t(1));
  EXPECT_OK(runKernel("Cast", {few}, {out}));
  EXPECT_EQ(
      out.values<uint64_t>(),
      (std::vector<uint64_t>{18446744073709551316u, 3000000000u,
                             18446744070709551616u, 9999999980506447872u}));
}

TEST(Cast, AnyNonZeroByteIsTrue) {
  Boolean value;
  value.byte = 0x80;
  EXPECT_TRUE(value);
  const Tensor x = Tensor::filled<Boolean>({1}, value);
  const Tensor out = Tensor::filled<float>({1}, 9);
  EXPECT_OK(runKernel("Cast", {x}, {out}));
  EXPECT_EQ(out.at<float>({0}), 1);
}

template <typename T> void binaryInEveryLayout() {
  const Tensor a = Tensor::integers<T>({4, 3, 5}, 1);
  const std::pair<const char *, double (*)(double, double)> cases[] = {
      {"Add", [](double x, double y) { return x + y; }},
      {"Sub", [](double x, double y) { return x - y; }},
      {"Mul", [](double x, double y) { return x * y; }},
      {"Min", [](double x, double y) { return std::min(x, y); }},
      {"Max", [](double x, double y) { return std::max(x, y); }}};
  for (const Tensor &b :
       {Tensor::integers<T>({4, 3, 5}, 2), Tensor::integers<T>({5}, 3),
        Tensor::integers<T>({3, 1}, 4), Tensor::integers<T>({}, 5),
        Tensor::integers<T>({4, 3, 5}, 6).scattered()})
    for (const auto &[kernel, oracle] : cases)
      for (const bool swapped : {false, true}) {
        const Tensor out = Tensor::filled<T>(a.dims(), T(Compute<T>(9)));
        const Tensor y = b.broadcast(a.dims());
        const Tensor &left = swapped ? y : a, &right = swapped ? a : y;
        EXPECT_OK(runKernel(kernel, {left, right}, {out}));
        forEach(a.dims(), [&](const Dims &at) {
          EXPECT_EQ(double(out.at<T>(at)),
                    oracle(double(left.at<T>(at)), double(right.at<T>(at))))
              << kernel;
        });
      }
}

TEST(Binary, EveryLayout) {
  binaryInEveryLayout<float>();
  binaryInEveryLayout<double>();
  binaryInEveryLayout<Float16>();
  binaryInEveryLayout<BFloat16>();
  binaryInEveryLayout<int8_t>();
  binaryInEveryLayout<int32_t>();
  binaryInEveryLayout<int64_t>();
}

TEST(Binary, InPlace) {
  const Tensor a = Tensor::integers<float>({40}, 1);
  const Tensor b = Tensor::integers<float>({40}, 2);
  const auto before = a.values<float>();
  EXPECT_OK(runKernel("Add", {a, b}, {a}));
  for (int64_t i = 0; i < 40; ++i)
    EXPECT_EQ(a.at<float>({i}), before[i] + b.at<float>({i}));
}

template <typename T>
std::vector<T> binary(const char *kernel, const std::vector<T> &a,
                      const std::vector<T> &b, Attributes attributes = {}) {
  const Dims dims = {int64_t(a.size())};
  const Tensor out = Tensor::filled<T>(dims, 9);
  EXPECT_OK(runKernel(kernel, {Tensor::of<T>(dims, a), Tensor::of<T>(dims, b)},
                      {out}, attributes));
  return out.values<T>();
}

TEST(Binary, IntegerDivision) {
  using Ints = std::vector<int64_t>;
  EXPECT_EQ(binary<int64_t>("Div", {7, -7, INT64_MIN}, {2, 2, -1}),
            (Ints{3, -3, INT64_MIN}));
  EXPECT_EQ(binary<int64_t>("Mod", {7, -7, 7, -7}, {3, 3, -3, -3}),
            (Ints{1, 2, -2, -1}));
  EXPECT_EQ(binary<int64_t>("Mod", {7, -7, 7, -7}, {3, 3, -3, -3},
                            Attributes().ints("fmod", {1})),
            (Ints{1, -1, 1, -1}));
  EXPECT_EQ(binary<float>("Div", {1, 0}, {0, 4})[0], kInfinity);
  const Tensor zero = Tensor::of<int64_t>({1}, {0});
  for (const char *kernel : {"Div", "Mod"}) {
    const Status status = runKernel(kernel, {zero, zero}, {zero});
    EXPECT_EQ(status.message(),
              std::string(kernel) + ": integer division by zero");
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  }
}

TEST(Binary, NaNPropagatesThroughMinAndMax) {
  for (const char *kernel : {"Min", "Max"})
    for (float value : binary<float>(kernel, {kNaN, 1}, {1, kNaN}))
      EXPECT_TRUE(std::isnan(value)) << kernel;
}

TEST(Pow, MixedTypes) {
  const Tensor base = Tensor::of<float>({3}, {2, -3, 0.5f});
  const Tensor out = Tensor::filled<float>({3}, 9);
  EXPECT_OK(
      runKernel("Pow", {base, Tensor::of<int64_t>({3}, {3, 2, -1})}, {out}));
  EXPECT_EQ(out.values<float>(), (std::vector<float>{8, 9, 2}));
  for (float exponent : {2.f, 3.f}) {
    const Tensor scalar = Tensor::of<float>({}, {exponent}).broadcast({3});
    EXPECT_OK(runKernel("Pow", {base, scalar}, {out}));
    EXPECT_EQ(out.at<float>({1}), exponent == 2 ? 9 : -27);
  }
  EXPECT_EQ(binary<int64_t>("Pow", {2, -2, 7, -1}, {40, 3, 0, -3}),
            (std::vector<int64_t>{1ll << 40, -8, 1, -1}));
}

TEST(Compare, OrdersAndTreatsNaNAsUnordered) {
  const Tensor a = Tensor::of<float>({4}, {1, 2, 3, kNaN});
  const Tensor b = Tensor::of<float>({}, {2}).broadcast({4});
  const std::pair<const char *, std::vector<bool>> cases[] = {
      {"Equal", {false, true, false, false}},
      {"Less", {true, false, false, false}},
      {"LessOrEqual", {true, true, false, false}},
      {"Greater", {false, false, true, false}},
      {"GreaterOrEqual", {false, true, true, false}}};
  for (const auto &[kernel, expected] : cases) {
    const Tensor out = Tensor::filled<Boolean>({4}, Boolean());
    EXPECT_OK(runKernel(kernel, {a, b}, {out}));
    EXPECT_EQ(out.values<Boolean>(), expected) << kernel;
  }
}

TEST(Logical, TruthTables) {
  const Tensor a = Tensor::of<Boolean>({4}, {true, true, false, false});
  const Tensor b = Tensor::of<Boolean>({4}, {true, false, true, false});
  const std::pair<const char *, std::vector<bool>> cases[] = {
      {"And", {true, false, false, false}},
      {"Or", {true, true, true, false}},
      {"Xor", {false, true, true, false}}};
  for (const auto &[kernel, expected] : cases) {
    const Tensor out = Tensor::filled<Boolean>({4}, Boolean());
    EXPECT_OK(runKernel(kernel, {a, b}, {out}));
    EXPECT_EQ(out.values<Boolean>(), expected) << kernel;
  }
  EXPECT_EQ(binary<int32_t>("BitwiseAnd", {12}, {10})[0], 8);
  EXPECT_EQ(binary<int32_t>("BitwiseOr", {12}, {10})[0], 14);
  EXPECT_EQ(binary<int32_t>("BitwiseXor", {12}, {-10})[0], 12 ^ -10);
}

TEST(Where, ChoosesInEveryLayout) {
  const Tensor mask = Tensor::integers<Boolean>({3, 1, 8}).broadcast({3, 4, 8});
  const Tensor x = Tensor::integers<float>({3, 4, 8}, 2);
  for (const Tensor &condition : {mask, mask.scattered()})
    for (const Tensor &y : {Tensor::integers<float>({3, 4, 8}, 3),
                            Tensor::filled<float>({}, -kInfinity)}) {
      const Tensor other = y.broadcast(x.dims());
      const Tensor out = Tensor::filled<float>(x.dims(), 9);
      EXPECT_OK(runKernel("Where", {condition, x, other}, {out}));
      forEach(x.dims(), [&](const Dims &at) {
        EXPECT_EQ(out.at<float>(at), condition.at<Boolean>(at)
                                         ? x.at<float>(at)
                                         : other.at<float>(at));
      });
    }
}

TEST(Clip, BoundsAreOptional) {
  const Tensor x = Tensor::of<float>({4}, {-5, 0, 5, kNaN});
  const Tensor low = Tensor::of<float>({}, {-1}).broadcast({4});
  const Tensor high = Tensor::of<float>({}, {2}).broadcast({4});
  const auto run = [&](const Tensor &from, const Tensor &to) {
    const Tensor out = Tensor::filled<float>({4}, 9);
    EXPECT_OK(runKernel("Clip", {x, from, to}, {out}));
    EXPECT_TRUE(std::isnan(out.at<float>({3})));
    return std::vector<float>{out.at<float>({0}), out.at<float>({1}),
                              out.at<float>({2})};
  };
  EXPECT_EQ(run(low, high), (std::vector<float>{-1, 0, 2}));
  EXPECT_EQ(run(low, Tensor::absent()), (std::vector<float>{-1, 0, 5}));
  EXPECT_EQ(run(Tensor::absent(), high), (std::vector<float>{-5, 0, 2}));
  EXPECT_EQ(run(high, low), (std::vector<float>{-1, -1, -1}));
}

TEST(PRelu, ScalesNegatives) {
  EXPECT_EQ(binary<float>("PRelu", {-2, 2}, {0.5f, 0.5f}),
            (std::vector<float>{-1, 2}));
}

} // namespace
} // namespace shardc::runtime::host
