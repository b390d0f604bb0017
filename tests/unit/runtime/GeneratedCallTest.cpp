// How calls become rows: each element once, whatever the strides, and nothing
// but what the kernel's form allows. The kernels here are plain C++.

#include "runtime/device/host/HostKernelLibrary.h"

#include <gtest/gtest.h>

#include <numeric>

namespace shardc::runtime {
namespace {

using artifact::ElementType_Float32;

/// out[c] = out[c] + x[c] + row[0]: an element that is done twice shows.
void addRow(void *const *operands, const int64_t *sizes, int64_t first,
            int64_t end, float *) {
  for (int64_t r = first; r < end; ++r)
    for (int64_t c = 0; c < sizes[0]; ++c)
      static_cast<float *>(operands[2])[r * sizes[3] + c] +=
          static_cast<const float *>(operands[0])[r * sizes[1] + c] +
          static_cast<const float *>(operands[1])[r * sizes[2]];
}

GeneratedKernel addKernel(bool mixesColumns) {
  const artifact::GeneratedOperand column{ElementType_Float32, false};
  const artifact::GeneratedOperand row{ElementType_Float32, true};
  return {"rows_add", addRow, {{column, row, column}, 2, 0, mixesColumns}};
}

/// Row-major over dims in this order.
TensorView viewOf(std::vector<float> &memory, std::vector<int64_t> dims,
                  std::vector<int> order = {}) {
  TensorView view;
  view.element = ElementType_Float32;
  view.rank = static_cast<int>(dims.size());
  if (order.empty()) {
    order.resize(dims.size());
    std::iota(order.begin(), order.end(), 0);
  }
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    view.strides[order[i]] = stride;
    stride *= dims[static_cast<size_t>(order[i])];
  }
  std::copy(dims.begin(), dims.end(), view.dims);
  memory.resize(static_cast<size_t>(stride));
  view.data = reinterpret_cast<std::byte *>(memory.data());
  return view;
}

struct Case {
  std::vector<int64_t> dims;
  std::vector<int> order; ///< of x's dims in memory; columns stay last
  bool perRow;            ///< `row` differs from row to row
};

class GeneratedCall : public testing::TestWithParam<Case> {};

TEST_P(GeneratedCall, doesEachElementOnce) {
  const Case &param = GetParam();
  for (bool mixesColumns : {false, true}) {
    std::vector<float> x, row, out;
    auto rowDims = param.dims;
    rowDims.back() = 1;
    TensorView inputs[] = {viewOf(x, param.dims, param.order),
                           viewOf(row, rowDims)};
    TensorView output = viewOf(out, param.dims);
    std::iota(x.begin(), x.end(), 1.f);
    std::iota(row.begin(), row.end(), 0.5f);
    if (!param.perRow)
      std::fill_n(inputs[1].strides, inputs[1].rank, 0);
    const GeneratedKernel kernel = addKernel(mixesColumns);
    KernelCall call;
    call.code = &kernel;
    call.inputs = inputs;
    call.numInputs = 2;
    call.outputs = &output;
    call.numOutputs = 1;
    ASSERT_TRUE(runGenerated(call).isOk());
    std::vector<int64_t> index(param.dims.size());
    for (size_t flat = 0; flat < out.size(); ++flat) {
      int64_t rest = static_cast<int64_t>(flat), atX = 0, atRow = 0;
      for (size_t d = param.dims.size(); d-- > 0; rest /= param.dims[d]) {
        atX += rest % param.dims[d] * inputs[0].strides[d];
        if (d + 1 < param.dims.size())
          atRow += rest % param.dims[d] * inputs[1].strides[d];
      }
      ASSERT_EQ(out[flat],
                x[static_cast<size_t>(atX)] + row[static_cast<size_t>(atRow)])
          << flat;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Spaces, GeneratedCall,
    testing::Values(Case{{7}, {}, false}, Case{{5, 7}, {}, true},
                    Case{{5, 7}, {}, false}, Case{{2, 3, 4, 5}, {}, true},
                    Case{{2, 3, 4, 5}, {0, 2, 1, 3}, true},
                    Case{{2, 3, 4, 5}, {2, 1, 0, 3}, false},
                    Case{{1, 3, 1, 4, 1, 5}, {0, 3, 2, 1, 4, 5}, true},
                    Case{{3, 0, 5}, {}, true}, Case{{3, 4, 0}, {}, true},
                    Case{{4, 1}, {}, true}, Case{{300, 1000}, {}, true},
                    Case{{300000}, {}, false},
                    Case{{30, 10, 1000}, {1, 0, 2}, false}));

TEST(GeneratedCalls, refusesColumnsThatDoNotFit) {
  std::vector<float> x, row, out;
  TensorView inputs[] = {viewOf(x, {4, 8}), viewOf(row, {4, 1})};
  TensorView output = viewOf(out, {4, 8});
  const GeneratedKernel kernel = addKernel(false);
  KernelCall call;
  call.code = &kernel;
  call.inputs = inputs;
  call.numInputs = 2;
  call.outputs = &output;
  call.numOutputs = 1;
  EXPECT_TRUE(runGenerated(call).isOk());
  inputs[0].strides[1] = 2;
  EXPECT_FALSE(runGenerated(call).isOk());
  inputs[0] = viewOf(x, {4, 7});
  EXPECT_FALSE(runGenerated(call).isOk());
  inputs[0] = viewOf(x, {3, 8});
  EXPECT_FALSE(runGenerated(call).isOk());
  inputs[0] = viewOf(x, {4, 1});
  EXPECT_FALSE(runGenerated(call).isOk());
  call.numInputs = 1;
  EXPECT_FALSE(runGenerated(call).isOk());
}

} // namespace
} // namespace shardc::runtime
