#include "tests/conformance/cuda/KernelComparison.h"

#include <cmath>

namespace shardc::testing {
namespace {

using runtime::host::BFloat16;
using runtime::host::Boolean;
using runtime::host::Float16;

template <typename T> class AttentionKernel : public ::testing::Test {
protected:
  static constexpr auto kElement = runtime::host::elementTypeOf<T>();

  /// Q [b, hq, sq, d], K and V of hkv heads, sk keys and dv columns.
  void make(const Dims &q, int64_t kvHeads, int64_t keys, int64_t columns) {
    inputs = {numbers<T>(q, 1), numbers<T>({q[0], kvHeads, keys, q[3]}, 2),
              numbers<T>({q[0], kvHeads, keys, columns}, 3)};
    result = {q[0], q[1], q[2], columns};
  }
  void expectSame(const Attributes &attributes = {}) {
    compare("Attention", inputs, {Tensor::filled<T>(result, T(7))}, attributes,
            2 * toleranceOf(kElement));
  }

  std::vector<Tensor> inputs;
  Dims result;
};
using Types = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(AttentionKernel, Types);

TYPED_TEST(AttentionKernel, seesAllKeys) {
  for (const Dims &q : {Dims{1, 1, 1, 1}, Dims{2, 2, 33, 16},
                        Dims{1, 3, 70, 40}, Dims{1, 1, 5, 33}})
    for (int64_t keys : {1, 65}) {
      this->make(q, 1, keys, 24);
      this->expectSame();
    }
}

TYPED_TEST(AttentionKernel, takesHeadsOfAnySize) {
  this->make({1, 2, 18, 70}, 1, 20, 150);
  this->expectSame();
  this->make({1, 1, 3, 150}, 1, 70, 300);
  this->expectSame();
}

TYPED_TEST(AttentionKernel, takesHeadsOfModels) {
  for (int64_t depth : {64, 80, 96, 128, 192, 256}) {
    this->make({1, 2, 70, depth}, 1, 140, depth);
    this->expectSame(
        Attributes().ints("is_causal", {1}).ints("causal_offset", {70}));
  }
}

/// Lines that begin where 16 bytes can be loaded at once, and others.
TYPED_TEST(AttentionKernel, takesPartsOfACache) {
  for (int64_t first : {0, 8, 3})
    for (int64_t window : {0, 50}) {
      this->make({2, 4, 40, 64}, 2, 160, 64);
      for (int i : {1, 2}) {
        const Tensor cache = numbers<TypeParam>({2, 2, 400, 96}, 10 + i);
        this->inputs[size_t(i)] = cache.slice(2, 33, 160).slice(3, first, 64);
      }
      this->expectSame(Attributes()
                           .ints("is_causal", {1})
                           .ints("causal_offset", {100})
                           .ints("window", {window}));
    }
}

/// Of 100 rows some hide whole tiles of keys, and one sees nothing.
TYPED_TEST(AttentionKernel, masksTilesOfKeys) {
  for (bool shows : {true, false}) {
    this->make({1, 4, 50, 32}, 2, 200, 72);
    Tensor mask = shows
                      ? Tensor::filled<Boolean>({1, 4, 50, 200}, Boolean(true))
                      : numbers<TypeParam>({1, 4, 50, 200}, 7);
    for (int64_t i = 0; i < mask.view.numElements(); ++i) {
      const int64_t key = i % 200, query = i / 200 % 50;
      if (key / 64 != query % 4 || query == 13) {
        if (shows)
          mask.view.template as<Boolean>()[i] = Boolean(false);
        else
          mask.view.template as<TypeParam>()[i] = TypeParam(-INFINITY);
      }
    }
    this->inputs.push_back(mask);
    this->expectSame(Attributes().number("softcap", 2));
  }
}

TYPED_TEST(AttentionKernel, takesEmptyDims) {
  for (const Dims &q :
       {Dims{0, 2, 3, 4}, Dims{1, 2, 0, 4}, Dims{1, 0, 2, 4}, Dims{1, 2, 3, 0}})
    for (int64_t keys : {0, 3}) {
      this->make(q, q[1] == 0 ? 0 : 1, keys, 5);
      this->expectSame();
    }
  this->make({1, 2, 20, 4}, 1, 3, 0);
  this->expectSame();
}

TYPED_TEST(AttentionKernel, isCausalInAWindow) {
  for (int64_t rows : {3, 50})
    for (int64_t window : {0, 7}) {
      this->make({1, 4, rows, 16}, 2, 90, 16);
      this->expectSame(Attributes()
                           .ints("is_causal", {1})
                           .ints("causal_offset", {40})
                           .ints("window", {window})
                           .number("softcap", 3));
    }
}

TYPED_TEST(AttentionKernel, addsAMaskOfAnyStrides) {
  for (int64_t rows : {2, 20}) {
    this->make({2, 2, rows, 8}, 1, 40, 8);
    this->inputs.push_back(
        numbers<TypeParam>({1, 1, rows, 40}, 4).broadcast({2, 2, rows, 40}));
    this->expectSame();
    this->inputs[3] = this->inputs[3].scattered();
    this->expectSame();
  }
}

TYPED_TEST(AttentionKernel, hidesKeysAndWholeRows) {
  for (int64_t rows : {2, 20})
    for (const char *zero : {"hidden", "nan", "none"}) {
      this->make({1, 2, rows, 8}, 2, 40, 8);
      Tensor mask = Tensor::filled<Boolean>({1, 2, rows, 40}, Boolean(true));
      for (int64_t i = 0; i < mask.view.numElements(); ++i)
        mask.view.as<Boolean>()[i] = Boolean(i / 40 % 3 != 1 && i % 5 != 2);
      this->inputs.push_back(mask);
      this->expectSame(Attributes().text("zero_rows", zero));
    }
}

TYPED_TEST(AttentionKernel, hasSinks) {
  for (int64_t rows : {2, 20}) {
    this->make({1, 4, rows, 8}, 2, 20, 8);
    this->inputs.push_back(Tensor::absent());
    this->inputs.push_back(numbers<TypeParam>({4}, 9));
    this->expectSame(Attributes().number("scale", 0.25));
  }
}

TYPED_TEST(AttentionKernel, takesStridedOperands) {
  for (int64_t rows : {1, 20}) {
    this->make({2, 4, rows, 8}, 2, 40, 8);
    for (Tensor &input : this->inputs)
      input = input.scattered();
    compare("Attention", this->inputs,
            {Tensor::filled<TypeParam>(this->result, TypeParam(7)).scattered()},
            {}, 2 * toleranceOf(this->kElement));
  }
}

TYPED_TEST(AttentionKernel, splitsALongCacheOverBlocks) {
  this->make({1, 4, 1, 16}, 2, 1600, 16);
  this->expectSame(
      Attributes().ints("is_causal", {1}).ints("causal_offset", {1500}));
  this->inputs.push_back(Tensor::absent());
  this->inputs.push_back(numbers<TypeParam>({4}, 9));
  this->expectSame();
}

TYPED_TEST(AttentionKernel, goesByThePlacesOfPieces) {
  for (int64_t rows : {6, 40}) {
    this->make({1, 2, rows, 8}, 1, 30, 8);
    this->expectSame(Attributes()
                         .ints("is_causal", {1})
                         .ints("query_pieces", {8, 2, 40, rows - 2})
                         .ints("key_pieces", {0, 20, 35, 10}));
  }
}

TYPED_TEST(AttentionKernel, takesKeysInParts) {
  using A = runtime::host::Compute<TypeParam>;
  for (int64_t rows : {3, 30})
    for (int64_t columns : {8, 140}) {
      this->make({1, 2, rows, 8}, 1, 60, columns);
      const Tensor values = Tensor::filled<A>(this->result, A(5));
      const Tensor stats = Tensor::filled<A>({1, 2, rows, 2}, A(5));
      const double tolerance = toleranceOf(this->kElement);
      for (int64_t part : {0, 1}) {
        std::vector<Tensor> inputs = {
            this->inputs[0], this->inputs[1].slice(2, 30 * part, 30),
            this->inputs[2].slice(2, 30 * part, 30), Tensor::absent()};
        if (part == 1) {
          inputs.push_back(values);
          inputs.push_back(stats);
        }
        compare("AttentionPart", inputs, {values, stats},
                Attributes()
                    .ints("is_causal", {1})
                    .ints("causal_offset", {10})
                    .ints("key_pieces", {30 * part, 30}),
                tolerance);
      }
      compare("AttentionFinish", {values, stats, numbers<TypeParam>({2}, 5)},
              {Tensor::filled<TypeParam>(this->result, TypeParam(7))}, {},
              tolerance);
    }
}

} // namespace
} // namespace shardc::testing
