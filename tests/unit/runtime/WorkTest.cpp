//===- WorkTest.cpp - Bytes and multiply-adds of instructions -------------===//
#include "runtime/trace/Work.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

TensorView
viewOf(std::vector<int64_t> dims,
       artifact::ElementType element = artifact::ElementType_Float32) {
  TensorView view;
  view.element = element;
  view.rank = static_cast<int>(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0; stride *= dims[d]) {
    view.dims[d] = dims[d];
    view.strides[d] = stride;
  }
  return view;
}

Work workOfCall(std::string_view kernel, std::vector<TensorView> inputs,
                const TensorView &output,
                std::vector<KernelAttribute> attributes = {}) {
  KernelCall call;
  call.inputs = inputs.data();
  call.numInputs = static_cast<int>(inputs.size());
  call.outputs = &output;
  call.numOutputs = 1;
  call.attributes = attributes.data();
  call.numAttributes = static_cast<int>(attributes.size());
  return workOf(kernel, call);
}

TEST(Work, ofProducts) {
  const Work plain = workOfCall("MatMul", {viewOf({2, 5, 7}), viewOf({7, 11})},
                                viewOf({2, 5, 11}));
  EXPECT_EQ(plain.multiplyAdds, 2 * 5 * 7 * 11);
  EXPECT_EQ(plain.bytes, 4 * (2 * 5 * 7 + 7 * 11 + 2 * 5 * 11));
  const int64_t one = 1;
  KernelAttribute transposed;
  transposed.name = "transA";
  transposed.ints = &one;
  transposed.numInts = 1;
  EXPECT_EQ(workOfCall("Gemm", {viewOf({7, 5}), viewOf({7, 11})},
                       viewOf({5, 11}), {transposed})
                .multiplyAdds,
            5 * 7 * 11);
}

TEST(Work, countsStoredElementsOnce) {
  TensorView bias = viewOf({4, 6});
  bias.strides[0] = 0;
  const Work work = workOfCall("Add", {viewOf({4, 6}), bias}, viewOf({4, 6}));
  EXPECT_EQ(work.bytes, 4 * (24 + 6 + 24));
  EXPECT_EQ(work.multiplyAdds, 0);
  EXPECT_EQ(
      workOfCall("Gather",
                 {viewOf({1000, 8}), viewOf({3}, artifact::ElementType_Int64)},
                 viewOf({3, 8}))
          .bytes,
      96 + 24 + 96);
  const Work halves =
      workOfCall("Cast", {viewOf({10}, artifact::ElementType_Int4)},
                 viewOf({10}, artifact::ElementType_Float16));
  EXPECT_EQ(halves.bytes, 5 + 20);
}

TEST(Work, ofAttention) {
  const Work work = workOfCall(
      "Attention",
      {viewOf({2, 8, 3, 16}), viewOf({2, 2, 5, 16}), viewOf({2, 2, 5, 32})},
      viewOf({2, 8, 3, 32}));
  EXPECT_EQ(work.multiplyAdds, 2 * 8 * 3 * 5 * (16 + 32));
}

} // namespace
} // namespace shardc::runtime
