// Kernels give the same bits on one thread and on several, which share out their
// work; the oracles of one thread are those of the kernels' own tests.
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/ThreadedLoop.h"
#include "runtime/launch/HostThreads.h"
#include "tests/unit/kernels/KernelTest.h"

#include <atomic>
#include <numeric>
#include <set>

namespace shardc::runtime::host {
namespace {

class KernelThreads : public testing::Test {
protected:
  void TearDown() override { setHostThreads(1); }

  /// Runs it on one thread and on several.
  void expectSameBits(std::string_view name, const std::vector<Tensor> &inputs,
                      const Dims &result, const Attributes &attributes = {}) {
    const Tensor one = Tensor::filled<float>(result, 9);
    setHostThreads(1);
    EXPECT_OK(runKernel(name, inputs, {one}, attributes));
    for (int threads : {2, 3, 5}) {
      const Tensor several = Tensor::filled<float>(result, 7);
      setHostThreads(threads);
      EXPECT_OK(runKernel(name, inputs, {several}, attributes));
      EXPECT_TRUE(several.hasMemoryOf(one)) << name << " on " << threads;
    }
  }
};

/// Not the same on every row, and of no round size.
Tensor numbers(const Dims &dims, uint32_t seed) {
  const Tensor made = Tensor::integers<float>(dims, seed);
  for (int64_t i = 0; i < made.view.numElements(); ++i)
    made.view.as<float>()[i] += 0.37f * float(i % 11);
  return made;
}

TEST_F(KernelThreads, UnitsAreSharedOutOnceEach) {
  setHostThreads(3);
  std::vector<std::atomic<int>> calls(101);
  std::set<int64_t> threads;
  EXPECT_OK(shareOut(
      101, 3, /*chunk=*/8,
      [&](int64_t thread) {
        EXPECT_EQ(kernelThreads(), 1); // what is inside has one
        return thread;
      },
      [&](int64_t thread, int64_t unit) {
        EXPECT_LT(thread, 3);
        ++calls[unit];
        return Status::ok();
      }));
  for (const std::atomic<int> &count : calls)
    EXPECT_EQ(count, 1);
  EXPECT_EQ(kernelThreads(), 3);
}

TEST_F(KernelThreads, AnErrorOfOneUnitIsThatOfAll) {
  setHostThreads(3);
  for (int64_t threads : {1, 3}) {
    const Status status = shareOut(
        9, threads, /*chunk=*/2, [](int64_t thread) { return thread; },
        [](int64_t, int64_t unit) {
          return unit == 5 ? Status::error(StatusCode::Artifact, "unit five")
                           : Status::ok();
        });
    EXPECT_FALSE(status.isOk());
    EXPECT_EQ(status.message(), "unit five");
  }
}

TEST_F(KernelThreads, LittleWorkWakesNobody) {
  setHostThreads(8);
  EXPECT_EQ(threadsFor(100, kElementsPerThread - 1), 1);
  EXPECT_EQ(threadsFor(100, 3 * kElementsPerThread), 3);
  EXPECT_EQ(threadsFor(2, 100 * kElementsPerThread), 2);
  EXPECT_EQ(threadsFor(100, 100 * kElementsPerThread), 8);
  EXPECT_EQ(threadsFor(0, 0), 1);
}

TEST_F(KernelThreads, PartsOfANestAreTheNest) {
  setHostThreads(5);
  for (const Dims &dims :
       {Dims{3, 7, 100}, Dims{1, 2, 4000}, Dims{64, 5}, Dims{4}, Dims{0, 9}}) {
    const Tensor all = Tensor::filled<float>(dims, 0);
    const Tensor view = all.scattered();
    const auto nest = nestOf(view.view);
    for (int64_t width : {int64_t(0), int64_t(1), int64_t(1) << 20}) {
      const SplitNest<1> split(nest, width);
      std::vector<int64_t> seen, expected;
      forEachIndex(nest,
                   [&](const int64_t (&at)[1]) { expected.push_back(at[0]); });
      for (int64_t p = 0; p < split.parts(); ++p) {
        int64_t first[1];
        forEachIndex(split.part(p, first), [&](const int64_t (&at)[1]) {
          seen.push_back(first[0] + at[0]);
        });
      }
      std::sort(seen.begin(), seen.end());
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(seen, expected);
      if (width == 0) {
        EXPECT_EQ(split.parts(), 1);
      }
    }
  }
  const Tensor some = Tensor::filled<float>({3, 7}, 0);
  EXPECT_EQ(SplitNest<1>(nestOf(some.view), 1 << 20).parts(), 5);
}

TEST_F(KernelThreads, Attention) {
  const Tensor k = numbers({2, 3, 333, 32}, 2), v = numbers({2, 3, 333, 16}, 3);
  const Tensor mask = numbers({1, 1, 200, 333}, 4).broadcast({2, 6, 200, 333});
  const Tensor q = numbers({2, 6, 200, 32}, 1);
  const auto causal = [] {
    return Attributes().ints("is_causal", {1}).ints("causal_offset", {133});
  };
  expectSameBits("Attention", {q, k, v}, {2, 6, 200, 16});
  expectSameBits("Attention", {q, k, v, mask}, {2, 6, 200, 16}, causal());
  // One key head: its tiles are shared out.
  expectSameBits("Attention",
                 {q.slice(0, 0, 1), k.slice(0, 0, 1).slice(1, 0, 1),
                  v.slice(0, 0, 1).slice(1, 0, 1)},
                 {1, 6, 200, 16}, causal());
  // A step of decoding.
  const Tensor longer = numbers({2, 3, 4000, 32}, 5);
  expectSameBits("Attention", {q.slice(2, 0, 1), longer, longer},
                 {2, 6, 1, 32});
  expectSameBits("Attention", {q, k, v, Tensor::absent(), numbers({6}, 6)},
                 {2, 6, 200, 16});
}

TEST_F(KernelThreads, AttentionToPages) {
  // Rows of 150, 1, 0 and 49 queries behind 100, 300, 9 and 0 keys.
  const Dims first = {0, 150, 151, 151, 200}, past = {100, 300, 9, 0};
  const int64_t places = 16, pages = 20;
  std::vector<int64_t> table(4 * pages);
  std::iota(table.begin(), table.end(), 0);
  const auto indices = [](const Dims &dims, const std::vector<int64_t> &from) {
    return Tensor::of<int64_t>(dims, from);
  };
  const Tensor k = numbers({80, 3, places, 32}, 2);
  const Tensor v = numbers({80, 3, places, 16}, 3);
  std::vector<Tensor> inputs = {numbers({1, 6, 200, 32}, 1),
                                k,
                                v,
                                indices({4, pages}, table),
                                indices({4}, past),
                                indices({5}, first)};
  const auto attributes = [] { return Attributes().ints("is_causal", {1}); };
  expectSameBits("PagedAttention", inputs, {1, 6, 200, 16}, attributes());
  expectSameBits("PagedAttentionParts", inputs, {2, 6, 200, 18}, attributes());
  // Behind queries of no row: what a row gets is what it got at the beginning.
  const Tensor q = inputs[0];
  const Tensor first200 = Tensor::filled<float>({1, 6, 200, 16}, 9);
  EXPECT_OK(runKernel("PagedAttention", inputs, {first200}, attributes()));
  inputs[0] = Tensor::filled<float>({1, 6, 330, 32}, 9);
  forEach(q.dims(), [&](const Dims &at) {
    Dims behind = at;
    behind[2] += 100;
    inputs[0].view.as<float>()[inputs[0].offset(behind)] = q.at<float>(at);
  });
  inputs[5] = indices({5}, {100, 250, 251, 251, 300});
  const Tensor moved = Tensor::filled<float>({1, 6, 330, 16}, 9);
  EXPECT_OK(runKernel("PagedAttention", inputs, {moved}, attributes()));
  EXPECT_EQ(moved.slice(2, 100, 200).values<float>(), first200.values<float>());
  EXPECT_EQ(moved.slice(2, 0, 100).values<float>(),
            std::vector<float>(6 * 100 * 16, 0));
  EXPECT_EQ(moved.slice(2, 300, 30).values<float>(),
            std::vector<float>(6 * 30 * 16, 0));
  expectSameBits("PagedAttention", inputs, {1, 6, 330, 16}, attributes());
  inputs[0] = q;
  inputs[5] = indices({5}, first);
  // Pages of 8 bits, whose numbers each thread has in scratch of its own.
  inputs[1] = Tensor::integers<int8_t>({80, 3, places, 32}, 2);
  inputs[2] = Tensor::integers<int8_t>({80, 3, places, 16}, 3);
  inputs.insert(inputs.end(), {numbers({4, 1, 1, pages * places}, 7),
                               numbers({6}, 8), numbers({80, 3, places, 1}, 4),
                               numbers({80, 3, places, 1}, 5)});
  expectSameBits("PagedAttention", inputs, {1, 6, 200, 16}, attributes());
}

TEST_F(KernelThreads, ProductsOfManyMatrices) {
  expectSameBits("MatMul", {numbers({7, 40, 64}, 1), numbers({7, 64, 90}, 2)},
                 {7, 40, 90});
  expectSameBits("MatMul",
                 {numbers({7, 40, 64}, 1).scattered(),
                  numbers({1, 64, 90}, 2).broadcast({7, 64, 90})},
                 {7, 40, 90});
}

TEST_F(KernelThreads, Convolution) {
  // Many groups, and one whose image is unfolded.
  expectSameBits("Conv",
                 {numbers({2, 24, 40, 40}, 1), numbers({24, 1, 3, 3}, 2)},
                 {2, 24, 38, 38},
                 Attributes()
                     .ints("strides", {1, 1})
                     .ints("pads", {0, 0, 0, 0})
                     .ints("dilations", {1, 1})
                     .ints("group", {24}));
  const Tensor x = Tensor::integers<float>({1, 7, 60, 60}, 1);
  expectSameBits("Conv", {x, Tensor::integers<float>({5, 7, 3, 3}, 2)},
                 {1, 5, 60, 60},
                 Attributes()
                     .ints("strides", {1, 1})
                     .ints("pads", {1, 1, 1, 1})
                     .ints("dilations", {1, 1})
                     .ints("group", {1}));
}

TEST_F(KernelThreads, RowsAndElements) {
  const Tensor x = numbers({5, 333, 100}, 1), y = numbers({5, 333, 100}, 2);
  const auto onLast = [] { return Attributes().ints("axis", {2}); };
  expectSameBits("Add", {x, y}, {5, 333, 100});
  expectSameBits("Exp", {x.scattered()}, {5, 333, 100});
  expectSameBits("Softmax", {x}, {5, 333, 100}, onLast());
  expectSameBits("Softmax", {x}, {5, 333, 100}, Attributes().ints("axis", {1}));
  expectSameBits("LayerNormalization",
                 {x, numbers({100}, 3), numbers({100}, 4)}, {5, 333, 100},
                 onLast());
  expectSameBits("Copy", {x.permuted({2, 0, 1})}, {100, 5, 333});
  expectSameBits("Copy", {x.slice(1, 0, 160, 2)}, {5, 160, 100});
  std::vector<int64_t> rows(1000);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = int64_t(i * 7) % 333;
  expectSameBits("Gather",
                 {y.slice(0, 1, 1), Tensor::of<int64_t>({1000}, rows)},
                 {1, 1000, 100}, Attributes().ints("axis", {1}));
  expectSameBits("ReduceSum", {x}, {5, 333, 1}, Attributes().ints("axes", {2}));
  expectSameBits("ReduceSum", {x}, {1, 333, 100},
                 Attributes().ints("axes", {0}));
  expectSameBits("ReduceSum", {numbers({90000, 4}, 1)}, {1, 4},
                 Attributes().ints("axes", {0}));
}

} // namespace
} // namespace shardc::runtime::host
