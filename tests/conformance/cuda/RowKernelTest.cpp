#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/KernelTypes.h"

#include <cmath>

namespace shardc::testing {
namespace {

using namespace runtime::host;

const Dims kShapes[] = {{1}, {3, 270}, {2, 5, 7}, {4, 0}, {0, 3}, {2, 1, 33}};

/// Calls body with x as it lies and in other strides, and a result for it.
template <typename T, typename Body>
void forLayouts(const Dims &dims, Body body) {
  const Tensor x = numbers<T>(dims);
  const Tensor out = Tensor::filled<T>(dims, T());
  body(x, out);
  body(x.scattered(), out);
  body(x, out.scattered());
}

TEST(RowKernels, reduceAnyDims) {
  const auto reduce = [](const char *name, auto tag, const Dims &dims,
                         std::vector<int64_t> axes, bool isExact) {
    using T = typename decltype(tag)::Type;
    Dims kept = dims;
    for (int64_t axis : axes)
      kept[size_t(axis)] = 1;
    const Tensor x = numbers<T>(dims);
    for (const Tensor &input : {x, x.scattered()})
      compare(name, {input}, {Tensor::filled<T>(kept, T())},
              Attributes().ints("axes", axes),
              isExact ? kExact : 4 * toleranceOf(elementTypeOf<T>()));
  };
  const auto reduceAll = [&](const char *name, auto types, bool isExact) {
    forTypes(types, [&](auto tag) {
      for (const Dims &dims : {Dims{3, 270}, Dims{2, 5, 7}, Dims{4, 0}}) {
        reduce(name, tag, dims, {}, isExact);
        reduce(name, tag, dims, {0}, isExact);
        reduce(name, tag, dims, {int64_t(dims.size()) - 1}, isExact);
      }
      reduce(name, tag, {2, 5, 7}, {0, 2}, isExact);
      reduce(name, tag, {2, 5, 7}, {0, 1, 2}, isExact);
    });
  };
  for (const char *name : {"ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2",
                           "ReduceSumSquare", "ReduceLogSumExp"})
    reduceAll(name, FloatTypes(), false);
  for (const char *name : {"ReduceSum", "ReduceMean", "ReduceL1",
                           "ReduceSumSquare", "ReduceProd", "ReduceMax"})
    reduceAll(name, IndexTypes(), true);
  for (const char *name : {"ReduceMax", "ReduceMin"})
    reduceAll(name, FloatTypes() + TypeList<int8_t, uint8_t, Boolean>(), true);
  reduce("ReduceProd", Tag<double>(), {3, 9}, {1}, false);
}

TEST(RowKernels, normaliseRowsByTheirSoftmax) {
  for (const char *name : {"Softmax", "LogSoftmax"})
    forTypes(FloatTypes(), [&](auto tag) {
      using T = typename decltype(tag)::Type;
      for (const Dims &dims : kShapes)
        for (size_t axis = dims[0] == 3 ? 1 : 0; axis < dims.size(); ++axis)
          forLayouts<T>(dims, [&](const Tensor &x, const Tensor &out) {
            compare(name, {x}, {out},
                    Attributes().ints("axis", {int64_t(axis)}),
                    toleranceOf(elementTypeOf<T>()));
          });
    });
  const Tensor hidden = Tensor::of<float>(
      {2, 3}, {-INFINITY, -INFINITY, -INFINITY, 1, -INFINITY, NAN});
  compare("Softmax", {hidden}, {Tensor::filled<float>({2, 3}, 0)},
          Attributes().ints("axis", {1}), kExact);
}

TEST(RowKernels, normaliseLayersWithAndWithoutBias) {
  for (const char *name : {"LayerNormalization", "RMSNormalization"})
    forTypes(FloatTypes(), [&](auto tag) {
      using T = typename decltype(tag)::Type;
      using C = Compute<T>;
      for (const Dims &dims : kShapes)
        for (size_t axis = 0; axis < dims.size(); ++axis)
          forLayouts<T>(dims, [&](const Tensor &x, const Tensor &out) {
            const Dims row(dims.begin() + int64_t(axis), dims.end());
            const Dims rows(dims.begin(), dims.begin() + int64_t(axis));
            const Tensor scale = numbers<T>(row, 2), bias = numbers<T>(row, 3);
            const double tolerance = 2 * toleranceOf(elementTypeOf<T>());
            const auto attributes = Attributes().ints("axis", {int64_t(axis)});
            compare(name, {x, scale.scattered()}, {out}, attributes, tolerance);
            compare(name, {x, scale, bias},
                    {out, Tensor::filled<C>(rows, C(0)),
                     Tensor::filled<C>(rows, C(0))},
                    attributes, tolerance);
          });
    });
}

TEST(RowKernels, addUpInOrder) {
  for (const char *name : {"CumSum", "CumProd"})
    forTypes(NumericTypes(), [&](auto tag) {
      using T = typename decltype(tag)::Type;
      for (const Dims &dims :
           {Dims{3, 30}, Dims{2, 5, 7}, Dims{4, 0}, Dims{2, 600}})
        for (int64_t flags = 0; flags < 4; ++flags)
          forLayouts<T>(dims, [&](const Tensor &x, const Tensor &out) {
            compare(name, {x}, {out},
                    Attributes()
                        .ints("axis", {flags % 2})
                        .ints("exclusive", {flags & 1})
                        .ints("reverse", {flags >> 1}),
                    kExact);
          });
    });
}

TEST(RowKernels, findTheLargestAndTheSmallest) {
  forTypes(NumericTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const Dims &dims : {Dims{2, 270}, Dims{2, 5, 7}, Dims{0, 3}}) {
      const Tensor x = Tensor::integers<T>(dims); // with many ties
      for (int64_t axis : {dims[1] == 270 ? 1 : 0, 1})
        for (int64_t flag : {0, 1}) {
          if (dims[size_t(axis)] == 0)
            continue;
          Dims one = dims, few = dims;
          one[size_t(axis)] = 1;
          few[size_t(axis)] = std::min<int64_t>(dims[size_t(axis)], 4);
          for (const char *name : {"ArgMax", "ArgMin"})
            compare(name, {x.scattered()}, {Tensor::filled<int64_t>(one, 9)},
                    Attributes()
                        .ints("axis", {axis})
                        .ints("select_last_index", {flag}),
                    kExact);
          compare("TopK", {x},
                  {Tensor::filled<T>(few, T()).scattered(),
                   Tensor::filled<int64_t>(few, 9)},
                  Attributes().ints("axis", {axis}).ints("largest", {flag}),
                  kExact);
        }
    }
  });
  const Tensor odd = Tensor::of<float>({5}, {1, NAN, INFINITY, NAN, 3});
  for (int64_t flag : {0, 1}) {
    compare("TopK", {odd},
            {Tensor::filled<float>({5}, 0), Tensor::filled<int64_t>({5}, 9)},
            Attributes().ints("axis", {0}).ints("largest", {flag}), kExact);
    compare("ArgMax", {odd}, {Tensor::filled<int64_t>({1}, 9)},
            Attributes().ints("axis", {0}).ints("select_last_index", {flag}),
            kExact);
  }
}

/// Rows of which all are sorted, and longer ones: of distinct numbers, of many
/// ties, of one number.
TEST(RowKernels, selectManyOfARow) {
  forTypes(NumericTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const Tensor rows[] = {numbers<T>({3, 130}), numbers<T>({2, 5000}),
                           Tensor::integers<T>({2, 5000}),
                           Tensor::filled<T>({1, 3000}, T(2))};
    for (const Tensor &x : rows)
      for (int64_t k : {5, 64, 130, 2000})
        for (int64_t largest : {0, 1}) {
          const Dims few = {x.view.dims[0], k};
          if (k > x.view.dims[1])
            continue;
          compare("TopK", {x},
                  {Tensor::filled<T>(few, T()),
                   Tensor::filled<int64_t>(few, 9).scattered()},
                  Attributes().ints("axis", {1}).ints("largest", {largest}),
                  kExact);
        }
  });
}

/// Of a vocabulary, and more than there is room to sort.
TEST(RowKernels, selectOfLongRows) {
  const std::pair<Dims, int64_t> cases[] = {{{1, 131072}, 50},
                                            {{1, 2200}, 2100}};
  for (const auto &[dims, k] : cases)
    compare("TopK", {numbers<runtime::host::BFloat16>(dims)},
            {Tensor::filled<runtime::host::BFloat16>(
                 {1, k}, runtime::host::BFloat16(0.f)),
             Tensor::filled<int64_t>({1, k}, 9)},
            Attributes().ints("axis", {1}), kExact);
}

TEST(RowKernels, selectNaNAndZerosInOrder) {
  for (int64_t count : {100, 3000}) {
    Tensor x = numbers<float>({count});
    for (int64_t i = 0; i < count; ++i)
      if (i % 7 < 4) {
        const float odd[] = {NAN, -NAN, 0.f, -0.f};
        x.view.as<float>()[i] = i % 3 ? odd[i % 7] : INFINITY;
      }
    for (int64_t k : {60, 95})
      for (int64_t largest : {0, 1})
        compare(
            "TopK", {x},
            {Tensor::filled<float>({k}, 0), Tensor::filled<int64_t>({k}, 9)},
            Attributes().ints("axis", {0}).ints("largest", {largest}), kExact);
  }
}

TEST(RowKernels, rotatePairs) {
  forTypes(FloatTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (int64_t interleaved : {0, 1})
      for (int64_t pairs : {0, 3, 4})
        forLayouts<T>({2, 3, 5, 8}, [&](const Tensor &x, const Tensor &out) {
          const Tensor cos = numbers<T>({2, 5, pairs}, 2);
          const Tensor sin = numbers<T>({1, 5, pairs}, 3);
          compare("RotaryEmbedding", {x, cos, sin.broadcast({2, 5, pairs})},
                  {out}, Attributes().ints("interleaved", {interleaved}),
                  toleranceOf(elementTypeOf<T>()));
        });
  });
}

} // namespace
} // namespace shardc::testing
