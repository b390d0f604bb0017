// What a GPU is given for a call of a generated kernel, without a GPU: a plain
// loop does what the kernel's blocks would, so that each element is seen once.

#include "runtime/device/cuda/RowLaunch.h"
#include "runtime/device/cuda/CudaKernelLibrary.h"

#include <gtest/gtest.h>

#include <numeric>

namespace shardc::runtime {
namespace {

using artifact::ElementType_Float32;

struct Case {
  std::vector<int64_t> dims;
  std::vector<int> order; ///< of the input's dims in memory; columns stay last
  bool mixes = false;
};

TensorView viewOf(std::vector<float> &memory, const std::vector<int64_t> &dims,
                  std::vector<int> order = {}) {
  TensorView view;
  view.rank = static_cast<int>(dims.size());
  if (order.empty()) {
    order.resize(dims.size());
    std::iota(order.begin(), order.end(), 0);
  }
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(order[i]);
    view.strides[d] = stride;
    view.dims[d] = dims[d];
    stride *= dims[d];
  }
  memory.resize(static_cast<size_t>(stride));
  view.data = reinterpret_cast<std::byte *>(memory.data());
  return view;
}

/// out[r, c] += x[r, c], as the words of one launch say.
void addRows(void **words) {
  auto word = [&](int i) { return *static_cast<int64_t *>(words[i]); };
  const auto *x = reinterpret_cast<const float *>(word(0));
  auto *out = reinterpret_cast<float *>(word(1));
  const int64_t columns = word(2), rows[] = {word(3), word(4), word(5)};
  for (int64_t row = 0; row < rows[0] * rows[1] * rows[2]; ++row) {
    const int64_t at[] = {row % rows[0], row / rows[0] % rows[1],
                          row / rows[0] / rows[1]};
    int64_t ofX = 0, ofOut = 0;
    for (int d = 0; d < 3; ++d) {
      ofX += at[d] * word(6 + d);
      ofOut += at[d] * word(9 + d);
    }
    for (int64_t c = 0; c < columns; ++c)
      out[ofOut + c] += x[ofX + c];
  }
}

class RowLaunch : public testing::TestWithParam<Case> {};

TEST_P(RowLaunch, seesEachElementOnce) {
  const Case &param = GetParam();
  std::vector<float> x, out;
  const TensorView input = viewOf(x, param.dims, param.order);
  const TensorView output = viewOf(out, param.dims);
  std::iota(x.begin(), x.end(), 1.f);
  const artifact::GeneratedForm form{
      {{ElementType_Float32, false}, {ElementType_Float32, false}},
      1,
      0,
      param.mixes};
  KernelCall call;
  call.inputs = &input;
  call.numInputs = 1;
  call.outputs = &output;
  call.numOutputs = 1;
  RowSpace space;
  ASSERT_TRUE(bindRows("add", form, call, space).isOk());
  space.fold(form);
  const RowGrid grid = gridFor(form, space);
  EXPECT_EQ(grid.threads % 32, 0u);
  EXPECT_LE(grid.threads, 512u);
  EXPECT_LE(grid.blocksY, 65535u);
  RowArguments arguments(space, grid, nullptr);
  for (int64_t i = 0; i < arguments.numLaunches(); ++i)
    addRows(arguments.of(i));
  for (size_t flat = 0; flat < out.size(); ++flat) {
    int64_t rest = static_cast<int64_t>(flat), at = 0;
    for (size_t d = param.dims.size(); d-- > 0; rest /= param.dims[d])
      at += rest % param.dims[d] * input.strides[d];
    ASSERT_EQ(out[flat], x[static_cast<size_t>(at)]) << flat;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Spaces, RowLaunch,
    testing::Values(Case{{7}, {}}, Case{{5, 7}, {}}, Case{{5, 7}, {}, true},
                    Case{{2, 3, 4, 5}, {0, 2, 1, 3}},
                    Case{{2, 3, 4, 5}, {2, 1, 0, 3}, true},
                    Case{{2, 3, 4, 2, 3, 5}, {4, 3, 2, 1, 0, 5}, true},
                    Case{{70000, 3}, {}, true}, Case{{3, 0, 5}, {}},
                    Case{{300000}, {}}));

TEST(RowGrid, keepsSlotsInSharedMemoryWhereTheyFit) {
  const artifact::GeneratedForm softmax{
      {{ElementType_Float32, false}, {ElementType_Float32, false}}, 1, 1, true};
  RowSpace space;
  space.rank = 1;
  space.dims[0] = 100;
  space.columns = 1001;
  const RowGrid small = gridFor(softmax, space);
  EXPECT_EQ(small.slotFloats, 1016);
  EXPECT_EQ(small.sharedBytes, 4u * (32 + 1016));
  EXPECT_EQ(small.scratchBytes, 0);
  EXPECT_EQ(small.blocksX, 100u);
  EXPECT_EQ(small.threads, 256u);
  space.columns = 50000;
  const RowGrid large = gridFor(softmax, space);
  EXPECT_EQ(large.sharedBytes, 4u * 32);
  EXPECT_EQ(large.scratchBytes, 100 * 4 * 50008);
  EXPECT_EQ(large.threads, 512u);
}

TEST(RowGrid, takesShortRowsTogether) {
  const artifact::GeneratedForm rotate{
      {{ElementType_Float32, false}, {ElementType_Float32, false}},
      1,
      0,
      false};
  RowSpace space;
  space.rank = 1;
  space.dims[0] = 1000;
  space.columns = 64; // of 16 threads
  EXPECT_EQ(gridFor(rotate, space).threads, 256u);
  EXPECT_EQ(gridFor(rotate, space).blocksY, 63u);
  space.dims[0] = 3;
  EXPECT_EQ(gridFor(rotate, space).threads, 64u);
  EXPECT_EQ(gridFor(rotate, space).blocksY, 1u);
  space.columns = 1000;
  EXPECT_EQ(gridFor(rotate, space).threads, 256u);
  EXPECT_EQ(gridFor(rotate, space).blocksY, 3u);
}

TEST(KernelFileChoice, takesTheNearest) {
  KernelFiles files;
  files.names = {"x86-64-v3.so", "compute_80.ptx", "sm_80.cubin", "sm_90.cubin",
                 "sm_100.cubin"};
  EXPECT_EQ(chooseKernelFile("sm_80", files), "sm_80.cubin");
  EXPECT_EQ(chooseKernelFile("sm_89", files), "sm_80.cubin");
  EXPECT_EQ(chooseKernelFile("sm_90", files), "sm_90.cubin");
  EXPECT_EQ(chooseKernelFile("sm_103", files), "sm_100.cubin");
  EXPECT_EQ(chooseKernelFile("sm_120", files), "compute_80.ptx");
  EXPECT_EQ(chooseKernelFile("sm_75", files), "");
  files.names = {"x86-64-v3.so"};
  EXPECT_EQ(chooseKernelFile("sm_90", files), "");
}

} // namespace
} // namespace shardc::runtime
