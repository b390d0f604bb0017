#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/KernelTypes.h"

#include <cmath>

namespace shardc::testing {
namespace {

using namespace runtime::host;

/// Operands of a few shapes: contiguous, broadcast, strided, empty; of the
/// dims that they come to.
struct Operands {
  std::vector<Tensor> inputs;
  Dims dims;
};
template <typename T> std::vector<Operands> operandsOf(int count) {
  std::vector<Operands> result;
  for (const Dims &dims : {Dims{}, Dims{300}, Dims{2, 3, 5}, Dims{3, 0, 2}}) {
    Operands dense{{}, dims}, strided{{}, dims}, repeated{{}, dims};
    for (int i = 0; i < count; ++i) {
      const Tensor x = numbers<T>(dims, uint32_t(i + 1));
      dense.inputs.push_back(x);
      strided.inputs.push_back(x.scattered());
      Dims once(dims);
      for (size_t d = 0; d < once.size(); ++d)
        once[d] = int(d) % 2 == i % 2 ? 1 : once[d];
      repeated.inputs.push_back(
          numbers<T>(once, uint32_t(i + 3)).broadcast(dims));
    }
    result.insert(result.end(), {dense, strided, repeated});
  }
  return result;
}

template <typename Out, typename T>
void compareAll(const char *name, int count, const Attributes &attributes,
                double tolerance) {
  for (const Operands &operands : operandsOf<T>(count)) {
    const Tensor out = Tensor::filled<Out>(operands.dims, Out());
    compare(name, operands.inputs, {out}, attributes, tolerance);
    compare(name, operands.inputs, {out.scattered()}, attributes, tolerance);
  }
}

TEST(ElementwiseKernels, areTheHostsOfOneOperand) {
  for (const char *name :
       {"Abs",         "Sqrt",      "Reciprocal", "Exp",     "Log",
        "Erf",         "Cos",       "Sin",        "Tan",     "Acos",
        "Asin",        "Atan",      "Cosh",       "Sinh",    "Acosh",
        "Asinh",       "Atanh",     "Floor",      "Ceil",    "Round",
        "Neg",         "Sign",      "Tanh",       "Sigmoid", "Relu",
        "Softplus",    "Softsign",  "LeakyRelu",  "Elu",     "Selu",
        "HardSigmoid", "HardSwish", "Swish",      "Mish",    "Gelu"})
    forTypes(FloatTypes(), [&](auto tag) {
      using T = typename decltype(tag)::Type;
      compareAll<T, T>(name, 1, {}, toleranceOf(elementTypeOf<T>()));
    });
  forTypes(SignedTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const char *name : {"Neg", "Abs", "Sign", "Relu"})
      compareAll<T, T>(name, 1, {}, kExact);
  });
  compareAll<float, float>("Gelu", 1, Attributes().text("approximate", "tanh"),
                           1e-5);
}

TEST(ElementwiseKernels, areTheHostsOfTwoOperands) {
  for (const char *name : {"Add", "Sub", "Mul", "Div", "Mod", "Min", "Max"})
    forTypes(NumericTypes(), [&](auto tag) {
      using T = typename decltype(tag)::Type;
      if constexpr (std::is_integral_v<T>) // no divisor is 0
        for (const Operands &operands : operandsOf<T>(1)) {
          const Tensor divisor = Tensor::filled<T>({}, T(5));
          compare(name, {operands.inputs[0], divisor.broadcast(operands.dims)},
                  {Tensor::filled<T>(operands.dims, T())}, {}, kExact);
        }
      else
        compareAll<T, T>(name, 2, {}, toleranceOf(elementTypeOf<T>()));
    });
  compareAll<float, float>("PRelu", 2, {}, kExact);
  compareAll<float, float>("Mod", 2, Attributes().ints("fmod", {1}), 1e-5);
}

TEST(ElementwiseKernels, divideTheLeastIntegerByMinusOne) {
  const Tensor least = Tensor::of<int32_t>({2}, {INT32_MIN, 7});
  const Tensor minusOne = Tensor::filled<int32_t>({2}, -1);
  for (const char *name : {"Div", "Mod"})
    compare(name, {least, minusOne}, {Tensor::filled<int32_t>({2}, 0)}, {},
            kExact);
}

TEST(ElementwiseKernels, reportADivisionByZero) {
  const Tensor x = Tensor::of<int32_t>({2}, {3, 4});
  const Tensor zero = Tensor::of<int32_t>({2}, {1, 0});
  for (const char *name : {"Div", "Mod"}) {
    const Status status =
        runOnDevice(name, {x, zero}, {Tensor::filled<int32_t>({2}, 0)});
    EXPECT_NE(status.message().find("division by zero"), std::string::npos)
        << status.message();
    EXPECT_EQ(status.code(), runtime::StatusCode::InvalidArgument);
  }
}

TEST(ElementwiseKernels, compareAndClassify) {
  forTypes(NumericTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const char *name :
         {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
      compareAll<Boolean, T>(name, 2, {}, kExact);
  });
  const Tensor odd = Tensor::of<float>({4}, {INFINITY, -INFINITY, NAN, 1});
  for (const char *name : {"IsNaN", "IsInf"})
    compare(name, {odd}, {Tensor::filled<Boolean>({4}, Boolean())}, {}, kExact);
  for (const char *name : {"Min", "Max"})
    compare(name, {odd, Tensor::of<float>({4}, {1, NAN, 0, NAN})},
            {Tensor::filled<float>({4}, 0)}, {}, kExact);
}

TEST(ElementwiseKernels, combineBoolsAndBits) {
  for (const char *name : {"And", "Or", "Xor", "Equal"})
    compareAll<Boolean, Boolean>(name, 2, {}, kExact);
  compareAll<Boolean, Boolean>("Not", 1, {}, kExact);
  forTypes(IntegerTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const char *name : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
      compareAll<T, T>(name, 2, {}, kExact);
    compareAll<T, T>("BitwiseNot", 1, {}, kExact);
    for (const char *direction : {"LEFT", "RIGHT"})
      compareAll<T, T>("BitShift", 2, Attributes().text("direction", direction),
                       kExact);
  });
}

TEST(ElementwiseKernels, chooseByACondition) {
  forTypes(AllTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (Operands operands : operandsOf<T>(2)) {
      operands.inputs.insert(operands.inputs.begin(),
                             numbers<Boolean>(operands.dims, 7).scattered());
      compare("Where", operands.inputs, {Tensor::filled<T>(operands.dims, T())},
              {}, kExact);
    }
  });
}

TEST(ElementwiseKernels, clipToBounds) {
  forTypes(NumericTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    using C = Compute<T>;
    const Tensor low = Tensor::of<T>({1}, {C(1)});
    const Tensor high = Tensor::of<T>({}, {C(2)}), none = Tensor::absent();
    for (const Operands &operands : operandsOf<T>(1)) {
      const Tensor x = operands.inputs[0];
      const Tensor out = Tensor::filled<T>(operands.dims, T());
      compare("Clip", {x, low, high}, {out}, {}, kExact);
      compare("Clip", {x, none, high}, {out}, {}, kExact);
      compare("Clip", {x, low}, {out}, {}, kExact);
      compare("Clip", {x}, {out}, {}, kExact);
    }
  });
}

TEST(ElementwiseKernels, raiseToAPowerOfAnyType) {
  forTypes(FloatTypes() + IndexTypes(), [&](auto base) {
    using T = typename decltype(base)::Type;
    forTypes(FloatTypes() + IntegerTypes(), [&](auto exponent) {
      using E = typename decltype(exponent)::Type;
      const Tensor out = Tensor::filled<T>({3, 4}, T());
      const double tolerance =
          std::is_integral_v<T> ? kExact : toleranceOf(elementTypeOf<T>());
      for (int scalar : {0, 1, 2, 3, 5})
        compare(
            "Pow",
            {Tensor::integers<T>({3, 4}),
             Tensor::filled<E>({}, E(Compute<E>(scalar))).broadcast({3, 4})},
            {out}, {}, tolerance);
      compare("Pow",
              {Tensor::integers<T>({3, 4}),
               Tensor::integers<E>({3, 1}, 5).broadcast({3, 4})},
              {out}, {}, tolerance);
    });
  });
}

TEST(ElementwiseKernels, castBetweenAllTypes) {
  forTypes(AllTypes(), [](auto from) {
    using From = typename decltype(from)::Type;
    const Tensor x = Tensor::integers<From>({3, 70});
    forTypes(AllTypes(), [&](auto to) {
      using To = typename decltype(to)::Type;
      const Tensor out = Tensor::filled<To>({3, 70}, To());
      compare("Cast", {x}, {out}, {}, kExact);
      compare("Cast", {x.scattered()}, {out.scattered()}, {}, kExact);
    });
  });
}

/// The host says what becomes of those that do not fit.
TEST(ElementwiseKernels, castFloatsThatFitNoInteger) {
  forTypes(FloatTypes(), [](auto from) {
    using From = typename decltype(from)::Type;
    std::vector<Compute<From>> values;
    for (double x : {300.7, -300.7, 3e9, -3e9, 1e19, -1e19, 3e19, double(NAN),
                     double(INFINITY), -double(INFINITY)})
      values.push_back(Compute<From>(x));
    forTypes(IntegerTypes(), [&](auto to) {
      using To = typename decltype(to)::Type;
      compare("Cast", {Tensor::of<From>({10}, values)},
              {Tensor::filled<To>({10}, To())}, {}, kExact);
    });
  });
}

Tensor asElement(Tensor tensor, artifact::ElementType element) {
  tensor.view.element = element;
  return tensor;
}

/// All bytes to numbers, and numbers of all sizes to bytes; bytes are compared
/// as integers.
TEST(ElementwiseKernels, castEightBitsOfFloat) {
  constexpr artifact::ElementType float8[] = {
      artifact::ElementType_Float8E4M3FN, artifact::ElementType_Float8E4M3FNUZ,
      artifact::ElementType_Float8E5M2, artifact::ElementType_Float8E5M2FNUZ,
      artifact::ElementType_Float8E8M0};
  Tensor bytes = Tensor::filled<uint8_t>({2, 128}, 0);
  for (int i = 0; i < 256; ++i)
    bytes.view.as<uint8_t>()[i] = uint8_t(i);
  Tensor wide = Tensor::filled<double>({400}, 0);
  for (int i = 0; i < 400; ++i)
    wide.view.as<double>()[i] = std::ldexp(i % 2 ? -1.21 : 1.37, i / 2 - 100);
  const Tensor odd =
      Tensor::of<float>({5}, {0, -0.0, INFINITY, -INFINITY, NAN});
  const auto compareBytes = [](const Tensor &x, const Dims &dims,
                               artifact::ElementType element,
                               const auto &attributes) {
    const Tensor onHost = Tensor::filled<uint8_t>(dims, 9);
    const Tensor onDevice = Tensor::filled<uint8_t>(dims, 9);
    EXPECT_OK(
        runKernel("Cast", {x}, {asElement(onHost, element)}, attributes()));
    EXPECT_OK(
        runOnDevice("Cast", {x}, {asElement(onDevice, element)}, attributes()));
    EXPECT_EQ(onHost.values<uint8_t>(), onDevice.values<uint8_t>());
  };
  for (const auto element : float8) {
    forTypes(NumericTypes(), [&](auto tag) {
      using T = typename decltype(tag)::Type;
      if constexpr (!std::is_integral_v<T>) // what is no integer may be any
        compare("Cast", {asElement(bytes, element)},
                {Tensor::filled<T>({2, 128}, T()).scattered()}, {}, kExact);
      compareBytes(Tensor::integers<T>({6, 9}).scattered(), {6, 9}, element,
                   [] { return Attributes(); });
    });
    for (const int64_t saturate : {0, 1})
      for (const char *mode : {"up", "down", "nearest"}) {
        const auto attributes = [&] {
          return Attributes()
              .ints("saturate", {saturate})
              .text("round_mode", mode);
        };
        compareBytes(wide, {400}, element, attributes);
        compareBytes(odd, {5}, element, attributes);
        for (const auto from : float8)
          if (from != element)
            compareBytes(asElement(bytes, from), {2, 128}, element, attributes);
      }
  }
}

} // namespace
} // namespace shardc::testing
