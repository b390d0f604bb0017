#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/KernelTypes.h"
#include "tests/conformance/cuda/QuantizedTensors.h"

#include <cmath>

namespace shardc::testing {
namespace {

using namespace runtime::host;

const Dims kShapes[] = {{1, 1}, {6, 40}, {5, 7}, {4, 0}, {3, 2, 24}};

/// One scale for all, and one for each index of a dim.
template <typename T>
std::vector<Tensor> scalesFor(const Dims &dims, uint32_t seed) {
  std::vector<Tensor> scales = {
      numbers<T>(Dims(dims.size(), 1), seed).broadcast(dims)};
  for (size_t d = 0; d < dims.size(); ++d) {
    Dims one(dims.size(), 1);
    one[d] = dims[d];
    scales.push_back(numbers<T>(one, seed + 1).broadcast(dims));
  }
  return scales;
}

TEST(QuantizedKernels, readIntegersOfAllSizes) {
  forTypes(FloatTypes(), [](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const auto element : kScaledTypes)
      for (const Dims &dims : kShapes) {
        const Tensor x = quantized(element, dims);
        const Tensor zero =
            quantized(element, Dims(dims.size(), 1), 7).broadcast(dims);
        const Tensor out = Tensor::filled<T>(dims, T());
        for (const Tensor &scale : scalesFor<T>(dims, 2)) {
          compare("DequantizeLinear", {x, scale}, {out}, {}, kExact);
          compare("DequantizeLinear", {x, scale, zero}, {out.scattered()}, {},
                  kExact);
          compare("DequantizeLinear", {x, scale, scale}, {out}, {}, kExact);
        }
      }
  });
}

/// Halves of bytes that begin in the middle of one, and columns of them.
TEST(QuantizedKernels, readPartsOfHalves) {
  for (const auto element :
       {artifact::ElementType_Int4, artifact::ElementType_UInt4}) {
    const Tensor scale = numbers<float>({6, 1}, 2).broadcast({6, 16});
    const Tensor out = Tensor::filled<float>({6, 16}, 9);
    for (const int64_t width : {16, 17, 24}) {
      Tensor x = quantized(element, {7, width});
      compare("DequantizeLinear", {x.slice(0, 0, 6).slice(1, 0, 16), scale},
              {out}, {}, kExact);
      x.view.dims[0] = 6;
      x.view.dims[1] = 16;
      x.view.skipped = 1;
      compare("DequantizeLinear", {x, scale}, {out}, {}, kExact);
    }
    const Tensor columns = quantizedInOrder(element, {6, 16}, {1, 0});
    compare("DequantizeLinear", {columns, scale}, {out}, {}, kExact);
    const Tensor result = Tensor::filled<float>({16, 6}, 9).permuted({1, 0});
    compare("DequantizeLinear", {columns, scale}, {result}, {}, kExact);
  }
}

TEST(QuantizedKernels, readBlocks) {
  for (const auto element : kScaledTypes)
    for (const int64_t block : {1, 3, 8, 16})
      for (const int64_t axis : {0, 1}) {
        const Dims dims = {48, 48};
        Dims blocks = dims;
        blocks[size_t(axis)] = (48 + block - 1) / block;
        const Tensor x = quantized(element, dims);
        const Tensor scale = numbers<float>(blocks, 2);
        const Tensor zero = quantized(element, blocks, 3);
        Dims one = blocks;
        one[size_t(axis)] = 1;
        const Tensor out = Tensor::filled<float>(dims, 9);
        const auto attributes = [&] {
          return Attributes().ints("axis", {axis}).ints("block_size", {block});
        };
        compare("DequantizeLinear", {x, scale}, {out}, attributes(), kExact);
        compare("DequantizeLinear", {x, scale, zero}, {out}, attributes(),
                kExact);
        compare("DequantizeLinear", {x, scale, quantized(element, one, 4)},
                {out.scattered()}, attributes(), kExact);
        compare("DequantizeLinear", {x, scale, numbers<float>(blocks, 5)},
                {Tensor::filled<float>({48, 48}, 9).permuted({1, 0})},
                attributes(), kExact);
      }
}

/// Heads 3 to 5 of 6, of 16 elements, in blocks that do not end with heads.
TEST(QuantizedKernels, readBlocksThatThePartOfARankCuts) {
  const auto part = [](int64_t block) {
    return Attributes()
        .ints("axis", {1})
        .ints("block_size", {block})
        .ints("base", {96})
        .ints("starts", {3, 2, 0})
        .ints("locals", {3, 4, 8})
        .ints("globals", {6, 8, 8});
  };
  for (const int64_t block : {8, 10, 32}) {
    const int64_t blocks = (96 + 6 * 64 + block - 1) / block;
    const Tensor x = quantized(artifact::ElementType_Int8, {4, 96});
    const Tensor scale = numbers<float>({4, blocks}, 2);
    const Tensor out = Tensor::filled<float>({4, 96}, 9);
    compare("DequantizeLinear", {x, scale}, {out}, part(block), kExact);
    const Tensor zero = Tensor::filled<int8_t>({4, 96}, 9);
    compare("QuantizeLinear", {numbers<float>({4, 96}), scale}, {zero},
            part(block), kExact);
    const Status status =
        runOnDevice("DequantizeLinear", {x, scale.slice(1, 0, 30 / block)},
                    {out}, part(block));
    EXPECT_NE(status.message().find("has no scale for block"),
              std::string::npos)
        << status.message();
  }
}

TEST(QuantizedKernels, roundAndClamp) {
  forTypes(FloatTypes(), [](auto from) {
    using X = typename decltype(from)::Type;
    forTypes(TypeList<int8_t, uint8_t, int16_t, uint16_t>(), [](auto to) {
      using Q = typename decltype(to)::Type;
      for (const Dims &dims : kShapes)
        for (const Tensor &scale : scalesFor<X>(dims, 3)) {
          const Tensor out = Tensor::filled<Q>(dims, Q());
          const Tensor zero =
              numbers<Q>(Dims(dims.size(), 1), 4).broadcast(dims);
          compare("QuantizeLinear", {numbers<X>(dims), scale}, {out}, {},
                  kExact);
          compare("QuantizeLinear", {numbers<X>(dims).scattered(), scale, zero},
                  {out.scattered()}, {}, kExact);
        }
    });
  });
  const Tensor odd = Tensor::of<float>(
      {8}, {0.5, 1.5, -0.5, -1.5, 1000, -INFINITY, INFINITY, NAN});
  const Tensor one = Tensor::of<float>({1}, {1}).broadcast({8});
  const Tensor ten = Tensor::of<int8_t>({1}, {10}).broadcast({8});
  compare("QuantizeLinear", {odd, one, ten}, {Tensor::filled<int8_t>({8}, 9)},
          {}, kExact);
}

} // namespace
} // namespace shardc::testing
