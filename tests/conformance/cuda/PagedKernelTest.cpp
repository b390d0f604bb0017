// PagedAttention and PageWrite on a GPU, as on the host.
#include "runtime/kernels/host/product/MatrixProduct.h"
#include "tests/conformance/cuda/KernelComparison.h"

namespace shardc::testing {
namespace {

using runtime::host::BFloat16;
using runtime::host::Boolean;
using runtime::host::Float16;

/// Three rows: a prompt, a single token behind many, a part of a prompt; one
/// token is no row's.
template <typename T> class PagedAttentionKernel : public ::testing::Test {
protected:
  static constexpr int64_t kTokens = 3 + 1 + 6 + 1, kNumPages = 20;

  void make(int64_t heads, int64_t kvHeads, int64_t depth, int64_t columns,
            int64_t size = 16) {
    ofPage = size;
    const int64_t places[3] = {3, 271, 39};
    std::vector<int64_t> pages;
    int64_t next = 0, most = 0;
    for (int64_t keys : places)
      most = std::max(most, (keys + ofPage - 1) / ofPage);
    for (int64_t keys : places)
      for (int64_t p = 0; p < most; ++p)
        pages.push_back(p * ofPage < keys ? 7 * ++next % kNumPages : -1);
    inputs = {numbers<T>({1, heads, kTokens, depth}, 1),
              numbers<T>({kNumPages, kvHeads, ofPage, depth}, 2),
              numbers<T>({kNumPages, kvHeads, ofPage, columns}, 3),
              Tensor::of<int64_t>({3, most}, pages),
              Tensor::of<int64_t>({3}, {0, 270, 33}),
              Tensor::of<int64_t>({4}, {0, 3, 4, 10})};
    result = {1, heads, kTokens, columns};
    numKeys = most * ofPage;
  }
  void expectSame(const Attributes &attributes = {}) {
    const auto withScales = [&](std::vector<Tensor> all) {
      if (scales.view.isAbsent())
        return all;
      all.resize(8, Tensor::absent());
      all.insert(all.end(), 2, scales);
      return all;
    };
    compare("PagedAttention", withScales(inputs),
            {Tensor::filled<T>(result, T(7))}, attributes,
            2 * toleranceOf(runtime::host::elementTypeOf<T>()));
    if (inputs.size() > 7)
      inputs.pop_back(); // sinks are those of the merge
    Dims seen = result;
    seen[0] = inputs[1].view.dims[2] % 2 == 0 ? 2 : 1;
    seen[3] += 2;
    for (const auto &places :
         {std::vector<int64_t>{0, ofPage}, {ofPage, 2 * ofPage}})
      if (places[0] == 0 || inputs.size() == 6)
        compare("PagedAttentionParts", withScales(inputs),
                {Tensor::filled<runtime::host::Accumulator<T>>(seen, 7)},
                Attributes(attributes).ints("places", places),
                2 * toleranceOf(runtime::host::elementTypeOf<T>()));
  }

  std::vector<Tensor> inputs;
  Tensor scales = Tensor::absent();
  Dims result;
  int64_t numKeys = 0, ofPage = 0;
};
using Types = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(PagedAttentionKernel, Types);

TYPED_TEST(PagedAttentionKernel, rowsOfDifferentLengths) {
  const Attributes causal = Attributes().ints("is_causal", {1});
  for (int64_t ofPage : {16, 5}) {
    this->make(4, 2, 24, 12, ofPage);
    this->expectSame();
    this->expectSame(causal);
    this->expectSame(
        Attributes(causal).ints("window", {7}).number("softcap", 2));
  }
}

TYPED_TEST(PagedAttentionKernel, headsOfAnySize) {
  this->make(9, 1, 70, 150);
  this->expectSame(Attributes().ints("is_causal", {1}));
  this->make(3, 3, 1, 1);
  this->expectSame(Attributes().ints("is_causal", {1}));
}

TYPED_TEST(PagedAttentionKernel, masksOfRowsAndOfTokens) {
  this->make(4, 2, 16, 16);
  const auto last = [&](const Tensor &mask) {
    this->inputs.erase(this->inputs.begin() + 6, this->inputs.end());
    this->inputs.push_back(mask);
    this->expectSame(Attributes().ints("is_causal", {1}));
  };
  last(numbers<Boolean>({3, 1, 1, this->numKeys}, 5));
  last(numbers<Boolean>({1, 4, this->kTokens, this->numKeys}, 6));
  last(numbers<TypeParam>({1, 1, this->kTokens, this->numKeys}, 7));
  this->inputs.push_back(numbers<TypeParam>({4}, 8));
  this->expectSame();
}

TYPED_TEST(PagedAttentionKernel, poolsOf8Bits) {
  for (int64_t ofPage : {16, 5}) {
    this->make(4, 2, 24, 12, ofPage);
    const std::vector<Tensor> plain = this->inputs;
    for (const bool isFloat : {false, true}) {
      for (size_t i : {1, 2}) {
        this->inputs[i] = numbers<int8_t>(plain[i].dims(), uint32_t(i));
        if (!isFloat)
          continue;
        for (int64_t j = 0; j < this->inputs[i].view.numElements(); ++j)
          this->inputs[i].view.template as<uint8_t>()[j] &= 0xbe; // no NaN
        this->inputs[i].view.element = artifact::ElementType_Float8E4M3FN;
      }
      this->scales = numbers<float>(
          {plain[1].view.dims[0], plain[1].view.dims[1], ofPage, 1}, 9);
      this->expectSame(Attributes().ints("is_causal", {1}));
    }
  }
}

TYPED_TEST(PagedAttentionKernel, viewsOfPools) {
  this->make(4, 2, 16, 24);
  for (size_t i : {0, 1, 2})
    this->inputs[i] = this->inputs[i].scattered();
  this->expectSame(Attributes().ints("is_causal", {1}));
}

TYPED_TEST(PagedAttentionKernel, takesEmptyDims) {
  const Attributes scale = Attributes().number("scale", 1);
  this->make(2, 1, 0, 4);
  this->expectSame(scale);
  this->make(2, 1, 4, 0);
  this->expectSame(scale);
}

template <typename T> class MergeAttentionKernel : public ::testing::Test {};
TYPED_TEST_SUITE(MergeAttentionKernel, Types);

TYPED_TEST(MergeAttentionKernel, ofParts) {
  using Acc = runtime::host::Accumulator<TypeParam>;
  for (const Dims &dims : {Dims{3, 4, 5, 150}, {1, 2, 1, 3}, {2, 1, 3, 2}}) {
    Dims result = dims;
    result[0] = 1;
    result[3] -= 2;
    const Tensor seen = numbers<Acc>(dims, 1);
    for (int64_t i = dims[3] - 1; i < seen.view.numElements(); i += dims[3])
      seen.view.as<Acc>()[i] = 2; // a sum is above 0
    compare("MergeAttention", {seen, numbers<TypeParam>({dims[1]}, 2)},
            {Tensor::filled<TypeParam>(result, TypeParam(7))}, {},
            2 * toleranceOf(runtime::host::elementTypeOf<TypeParam>()));
  }
}

TEST(PagedAttentionFaults, areFoundOnTheDevice) {
  const auto run = [](std::vector<int64_t> pages, std::vector<int64_t> past,
                      std::vector<int64_t> first) {
    return runOnDevice(
        "PagedAttention",
        {numbers<float>({1, 2, 3, 4}, 1), numbers<float>({4, 1, 8, 4}, 2),
         numbers<float>({4, 1, 8, 4}, 3), Tensor::of<int64_t>({2, 1}, pages),
         Tensor::of<int64_t>({2}, past), Tensor::of<int64_t>({3}, first)},
        {Tensor::filled<float>({1, 2, 3, 4}, 7)});
  };
  EXPECT_TRUE(run({0, 3}, {2, 6}, {0, 1, 3}).isOk());
  EXPECT_TRUE(run({0, 3}, {-1, 6}, {0, 1, 3}).isOk()); // no key, none hidden
  for (const Status &status :
       {run({0, 4}, {2, 6}, {0, 1, 3}), run({0, -1}, {2, 6}, {0, 1, 3}),
        run({0, 3}, {2, 7}, {0, 1, 3}), run({0, 3}, {-2, 6}, {0, 1, 3}),
        run({0, 3}, {2, 6}, {0, 1, 4}), run({0, 3}, {2, 6}, {0, 3, 1})})
    EXPECT_NE(status.message().find("a row has more keys"), std::string::npos)
        << status.message();
}

template <typename T> void comparePageWrite(const Dims &page, int axis) {
  Dims pool = page, added = page;
  pool.insert(pool.begin(), 6);
  added.insert(added.begin(), 1);
  added[size_t(axis)] = 3;
  const int64_t places = pool[size_t(axis)];
  const Tensor slots =
      Tensor::of<int64_t>({3}, {5 * places + 1, -1, 2 * places});
  const Tensor copies = Tensor::of<int64_t>({2, 2}, {0, 3, 3, 4});
  const Attributes attributes = Attributes().ints("axis", {axis});
  const Tensor in = numbers<T>(pool, 1);
  compare("PageWrite", {in, numbers<T>(added, 2), slots, copies}, {in.copy()},
          attributes, kExact);
  const Tensor place = numbers<T>(pool, 3);
  compare("PageWrite", {place, numbers<T>(added, 4).scattered(), slots, copies},
          {place}, attributes, kExact);
  const Tensor part = numbers<T>(pool, 5);
  compare("PageWrite", {part, numbers<T>(added, 6), slots, copies}, {part},
          Attributes(attributes).ints("places", {places, 2 * places}), kExact);
}

TEST(PageWriteKernel, writesAndCopies) {
  comparePageWrite<float>({2, 16, 8}, 2);
  comparePageWrite<float>({2, 16, 3}, 2);
  comparePageWrite<Float16>({16, 2, 8}, 1);
  comparePageWrite<int8_t>({5, 4, 7}, 2);
  comparePageWrite<double>({5, 4, 7}, 3);
}

TEST(PageWriteKernel, faultsAreFoundOnTheDevice) {
  const auto run = [](int64_t slot, int64_t page) {
    return runOnDevice("PageWrite",
                       {numbers<float>({2, 1, 4, 2}),
                        numbers<float>({1, 1, 1, 2}),
                        Tensor::of<int64_t>({1}, {slot}),
                        Tensor::of<int64_t>({1, 2}, {page, 0})},
                       {Tensor::filled<float>({2, 1, 4, 2}, 7)},
                       Attributes().ints("axis", {2}));
  };
  EXPECT_TRUE(run(7, 1).isOk());
  for (const Status &status : {run(8, 1), run(0, 2), run(0, -1)})
    EXPECT_NE(status.message().find("a page or a slot is outside"),
              std::string::npos)
        << status.message();
}

} // namespace
} // namespace shardc::testing
