#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/KernelTypes.h"

#include <cmath>

namespace shardc::testing {
namespace {

using namespace runtime::host;

/// Indices in [-size, size), with repetitions.
template <typename I> Tensor indicesInto(int64_t size, const Dims &dims) {
  Tensor tensor = numbers<I>(dims, 5);
  for (int64_t i = 0; i < tensor.view.numElements(); ++i) {
    I &index = tensor.view.as<I>()[i];
    index = I((index % I(2 * size) + I(2 * size)) % I(2 * size) - I(size));
  }
  return tensor;
}

/// One type of each size.
using SizedTypes = TypeList<uint8_t, BFloat16, float, int64_t>;

void expectOutOfRange(const char *name, const std::vector<Tensor> &inputs,
                      const Tensor &output, const Attributes &attributes) {
  const Status status = runOnDevice(name, inputs, {output}, attributes);
  EXPECT_NE(status.message().find("outside of its dim"), std::string::npos)
      << name << ": " << status.message();
}

TEST(IndexKernels, gatherElementsAndSlices) {
  forTypes(IndexTypes(), [&](auto index) {
    using I = typename decltype(index)::Type;
    forTypes(SizedTypes(), [&](auto tag) {
      using T = typename decltype(tag)::Type;
      const Tensor data = numbers<T>({4, 5, 6});
      for (const Dims &dims : {Dims{3, 9, 6}, Dims{4, 0, 2}}) {
        const Tensor indices = indicesInto<I>(5, dims);
        for (const Tensor &x : {data, data.scattered()})
          compare("GatherElements", {x, indices.scattered()},
                  {Tensor::filled<T>(dims, T())},
                  Attributes().ints("axis", {1}), kExact);
      }
      for (const Tensor &x : {data, data.scattered()}) {
        compare("GatherND", {x, indicesInto<I>(4, {3, 2, 2})},
                {Tensor::filled<T>({3, 2, 6}, T())}, {}, kExact);
        compare("GatherND", {x, indicesInto<I>(5, {4, 3, 1})},
                {Tensor::filled<T>({4, 3, 6}, T()).scattered()},
                Attributes().ints("batch_dims", {1}), kExact);
      }
    });
  });
  const Tensor data = numbers<float>({4, 5});
  const Tensor bad = Tensor::of<int64_t>({1, 2}, {0, 5});
  expectOutOfRange("GatherElements", {data, bad},
                   Tensor::filled<float>({1, 2}, 0),
                   Attributes().ints("axis", {1}));
  expectOutOfRange("GatherND", {data, bad}, Tensor::filled<float>({1}, 0), {});
}

TEST(IndexKernels, scatterInOrder) {
  for (const char *reduction : {"none", "add", "mul", "max", "min"})
    forTypes(
        TypeList<float, double, Float16, int32_t, uint8_t>(), [&](auto tag) {
          using T = typename decltype(tag)::Type;
          const Tensor data = numbers<T>({4, 5, 6});
          const auto attributes =
              Attributes().ints("axis", {1}).text("reduction", reduction);
          for (const Dims &dims : {Dims{3, 9, 6}, Dims{4, 0, 2}})
            compare("ScatterElements",
                    {data, indicesInto<int64_t>(5, dims),
                     numbers<T>(dims, 2).scattered()},
                    {Tensor::filled<T>({4, 5, 6}, T())}, attributes, kExact);
          compare("ScatterND",
                  {data.scattered(), indicesInto<int32_t>(4, {3, 4, 2}),
                   numbers<T>({3, 4, 6}, 2)},
                  {Tensor::filled<T>({4, 5, 6}, T()).scattered()}, attributes,
                  kExact);
          compare("ScatterND",
                  {data, indicesInto<int64_t>(4, {40, 3}), numbers<T>({40}, 2)},
                  {Tensor::filled<T>({4, 5, 6}, T())}, attributes, kExact);
        });
  const Tensor data = numbers<float>({4, 5});
  const Tensor bad = Tensor::of<int64_t>({1, 2}, {-1, -6});
  expectOutOfRange("ScatterElements", {data, bad, numbers<float>({1, 2})},
                   Tensor::filled<float>({4, 5}, 0),
                   Attributes().ints("axis", {1}));
  for (const char *reduction : {"none", "add"})
    expectOutOfRange("ScatterND", {data, bad, numbers<float>({1})},
                     Tensor::filled<float>({4, 5}, 0),
                     Attributes().text("reduction", reduction));
}

TEST(IndexKernels, padAndCrop) {
  forTypes(SizedTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const char *mode : {"constant", "reflect", "edge", "wrap"}) {
      const auto attributes =
          Attributes().ints("pads", {1, -1, 4, 0, 2, -2}).text("mode", mode);
      const Tensor x = numbers<T>({2, 5, 6});
      const Tensor out = Tensor::filled<T>({3, 6, 8}, T());
      compare("Pad", {x}, {out}, attributes, kExact);
      compare("Pad", {x.scattered(), numbers<T>({}, 3)}, {out.scattered()},
              attributes, kExact);
    }
    compare("Pad", {numbers<T>({0, 2})}, {Tensor::filled<T>({3, 2}, T(1))},
            Attributes().ints("pads", {1, 0, 2, 0}), kExact);
  });
}

TEST(IndexKernels, makeSequencesAndTriangles) {
  forTypes(NumericTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (int64_t size : {0, 1, 40}) {
      const Tensor out = Tensor::filled<T>({size}, T());
      compare("Range", {}, {out.scattered()},
              Attributes().ints("start", {3}).ints("delta", {2}), kExact);
      compare("Range",
              {Tensor::of<T>({}, {Compute<T>(5)}),
               Tensor::of<T>({}, {Compute<T>(2)})},
              {out}, {}, kExact);
    }
  });
  std::vector<int64_t> values(70);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = int64_t(i * i);
  compare("Symbols", {}, {Tensor::filled<int64_t>({7, 10}, 0).scattered()},
          Attributes().ints("values", values), kExact);
  forTypes(SizedTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (int64_t k : {-100, -2, 0, 1, 100})
      for (int64_t upper : {0, 1}) {
        const auto attributes =
            Attributes().ints("k", {k}).ints("upper", {upper});
        const Tensor x = numbers<T>({2, 4, 5});
        compare("Trilu", {x.scattered()}, {Tensor::filled<T>({2, 4, 5}, T())},
                attributes, kExact);
        compare("Trilu", {numbers<T>({1, 5})}, {Tensor::filled<T>({1, 5}, T())},
                attributes, kExact);
      }
  });
}

TEST(IndexKernels, copyOnceAndAsOtherBits) {
  const Tensor x = numbers<float>({3, 4});
  for (int64_t present : {0, 1})
    compare("Once", {x.scattered()}, {Tensor::filled<float>({3, 4}, 5)},
            Attributes().ints("present", {present}), kExact);
  compare("BitCast", {x}, {Tensor::filled<int32_t>({3, 4}, 5)}, {}, kExact);
}

/// Bytes seen as elements of a part of a byte from `skipped` on.
Tensor partsOf(artifact::ElementType element, const Tensor &bytes,
               const Dims &dims, int64_t skipped = 0) {
  Tensor tensor = bytes;
  const Tensor like = Tensor::filled<uint8_t>(dims, 0);
  tensor.view = like.view;
  tensor.view.data = bytes.view.data;
  tensor.view.element = element;
  tensor.view.skipped = skipped;
  return tensor;
}

void movesParts(artifact::ElementType element) {
  const Tensor data = numbers<uint8_t>({64});
  const auto compareParts = [&](const char *name, std::vector<Tensor> inputs,
                                const Dims &dims, int64_t skipped,
                                const auto &attributes) {
    const Tensor onHost = Tensor::filled<uint8_t>({40}, 0x5a);
    const Tensor onDevice = Tensor::filled<uint8_t>({40}, 0x5a);
    EXPECT_OK(runKernel(name, inputs, {partsOf(element, onHost, dims, skipped)},
                        attributes()));
    EXPECT_OK(runOnDevice(name, inputs,
                          {partsOf(element, onDevice, dims, skipped)},
                          attributes()));
    EXPECT_EQ(onHost.values<uint8_t>(), onDevice.values<uint8_t>());
  };
  const auto none = [] { return Attributes(); };
  const int64_t ofByte = 8 / artifact::elementBits(element);
  for (int64_t skipped = 0; skipped < ofByte; ++skipped) {
    const Tensor x = partsOf(element, data, {5, 7}, skipped);
    for (int64_t to = 0; to < ofByte; ++to) {
      compareParts("Copy", {x}, {5, 7}, to, none);
      compareParts("Copy", {x.permuted({1, 0})}, {7, 5}, to, none);
      compareParts("Copy", {x.permuted({1, 0}).slice(0, 1, 0)}, {0, 5}, to,
                   none);
    }
    for (const int64_t axis : {0, 1})
      compareParts("Gather", {x, Tensor::of<int64_t>({3}, {4, -1, 0})},
                   axis == 0 ? Dims{3, 7} : Dims{5, 3}, 0,
                   [&] { return Attributes().ints("axis", {axis}); });
  }
}

TEST(IndexKernels, movePartsOfBytes) {
  movesParts(artifact::ElementType_Int4);
  movesParts(artifact::ElementType_UInt2);
}

TEST(IndexKernels, findWhatIsNotZero) {
  forTypes(AllTypes(), [](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const Dims &dims :
         {Dims{7}, Dims{3, 5, 4}, Dims{2, 0}, Dims{70, 30}}) {
      const Tensor x = Tensor::integers<T>(dims);
      int64_t count = 0;
      for (const auto value : x.values<T>())
        count += value != Compute<T>(0);
      const Tensor out =
          Tensor::filled<int64_t>({int64_t(dims.size()), count}, 9);
      compare("NonZero", {x}, {out}, {}, kExact);
      compare("NonZero", {x.scattered()}, {out.scattered()}, {}, kExact);
      if (count == 0)
        continue;
      const Status status =
          runOnDevice("NonZero", {x}, {out.slice(1, 0, count - 1)});
      EXPECT_NE(status.message().find("elements that are not 0"),
                std::string::npos);
    }
  });
  const Tensor odd = Tensor::of<float>({4}, {-0.0f, NAN, 0, -1});
  compare("NonZero", {odd}, {Tensor::filled<int64_t>({1, 2}, 9)}, {}, kExact);
}

/// Of up to 16 bytes, where lines, distances and addresses are multiples.
TEST(IndexKernels, moveWordsOfAnySize) {
  forTypes(SizedTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (int64_t columns : {1, 6, 8, 16})
      for (int64_t first : {0, 2, 8, 3})
        for (int64_t gap : {0, 5, 16}) {
          const Tensor x = numbers<T>({3, 4, columns + first + gap})
                               .slice(2, first, columns);
          const Tensor to =
              Tensor::filled<T>({4, 3, columns + first + gap}, T(7))
                  .slice(2, first, columns);
          compare("Copy", {x.permuted({1, 0, 2})}, {to}, {}, kExact);
          compare("Gather", {x, Tensor::of<int64_t>({2}, {2, -3})},
                  {to.slice(0, 0, 3).slice(1, 0, 2)},
                  Attributes().ints("axis", {1}), kExact);
        }
  });
}

TEST(IndexKernels, appendWordsOfAnySize) {
  forTypes(SizedTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const Tensor lengths = Tensor::of<int64_t>({2}, {3, 0});
    for (int64_t columns : {1, 6, 8, 32})
      for (int64_t first : {0, 1, 8}) {
        const Tensor past =
            numbers<T>({2, 3, 5, columns + first}).slice(3, first, columns);
        const Tensor added = numbers<T>({2, 2, 3, columns}, 2);
        compare("CacheAppend", {past, added.permuted({0, 2, 1, 3}), lengths},
                {Tensor::filled<T>({2, 3, 7, columns}, T(7))}, {}, kExact);
      }
  });
}

} // namespace
} // namespace shardc::testing
