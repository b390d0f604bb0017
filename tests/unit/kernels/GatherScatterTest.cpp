#include "tests/unit/kernels/KernelTest.h"

#include <algorithm>

namespace shardc::runtime::host {
namespace {

TEST(Gather, EveryAxisAndIndexType) {
  const Tensor whole = Tensor::integers<float>({3, 4, 5});
  const Tensor wide = Tensor::of<int64_t>({2, 2}, {0, -1, 1, 2});
  const Tensor narrow = Tensor::of<int32_t>({2, 2}, {0, -1, 1, 2});
  for (const Tensor &data : {whole, whole.scattered()})
    for (int axis = 0; axis < 3; ++axis) {
      Dims dims = data.dims();
      dims[axis] = 2;
      dims.insert(dims.begin() + axis, 2);
      for (const Tensor &indices : {wide, narrow, wide.scattered()}) {
        const Tensor out = Tensor::filled<float>(dims, 9);
        EXPECT_OK(runKernel("Gather", {data, indices}, {out},
                            Attributes().ints("axis", {axis})));
        forEach(dims, [&](const Dims &at) {
          const int64_t index = wide.at<int64_t>({at[axis], at[axis + 1]});
          Dims from = at;
          from.erase(from.begin() + axis);
          from[axis] = index < 0 ? index + data.view.dims[axis] : index;
          EXPECT_EQ(out.at<float>(at), data.at<float>(from));
        });
      }
    }
}

TEST(Gather, LookupOfAVocabularyPart) {
  // Rows [2, 5) of a table of 6: rank 1 of 2.
  const Tensor table = Tensor::integers<float>({6, 3});
  const Tensor part = table.slice(0, 2, 3);
  const Tensor ids = Tensor::of<int64_t>({6}, {0, 1, 2, 4, -1, -2});
  const Tensor out = Tensor::filled<float>({6, 3}, 9);
  EXPECT_OK(runKernel("Gather", {part, ids}, {out},
                      Attributes().ints("axis", {0}).ints("lookup", {2, 6})));
  forEach({6, 3}, [&](const Dims &at) {
    const int64_t row = (ids.at<int64_t>({at[0]}) + 6) % 6;
    EXPECT_EQ(out.at<float>(at),
              row >= 2 && row < 5 ? table.at<float>({row, at[1]}) : 0);
  });
  const Tensor none = table.slice(0, 0, 0);
  EXPECT_OK(runKernel("Gather", {none, ids}, {out},
                      Attributes().ints("axis", {0}).ints("lookup", {6, 6})));
  EXPECT_EQ(out.values<float>(), std::vector<float>(18, 0));
}

TEST(Gather, OutOfRangeIsAnError) {
  const auto run = [](int64_t index, Attributes attributes) {
    return runKernel("Gather",
                     {Tensor::integers<float>({4, 2}),
                      Tensor::of<int64_t>({}, {index})},
                     {Tensor::filled<float>({2}, 0)}, attributes)
        .message();
  };
  EXPECT_EQ(run(4, Attributes().ints("axis", {0})),
            "Gather: index 4 is outside of a dim of size 4");
  EXPECT_EQ(run(-5, Attributes().ints("axis", {0})),
            "Gather: index -5 is outside of a dim of size 4");
  EXPECT_EQ(run(9, Attributes().ints("axis", {0}).ints("lookup", {4, 8})),
            "Gather: index 9 is outside of a dim of size 8");
}

TEST(GatherND, TuplesAndBatches) {
  const Tensor data = Tensor::integers<float>({2, 3, 4}).scattered();
  const Tensor pairs = Tensor::of<int64_t>({3, 2}, {0, 1, 1, -1, 1, 0});
  const Tensor rows = Tensor::filled<float>({3, 4}, 9);
  EXPECT_OK(runKernel("GatherND", {data, pairs}, {rows}));
  forEach({3, 4}, [&](const Dims &at) {
    const int64_t second = (pairs.at<int64_t>({at[0], 1}) + 3) % 3;
    EXPECT_EQ(rows.at<float>(at),
              data.at<float>({pairs.at<int64_t>({at[0], 0}), second, at[1]}));
  });
  const Tensor single = Tensor::of<int64_t>({2, 1}, {2, 0});
  const Tensor out = Tensor::filled<float>({2, 4}, 9);
  EXPECT_OK(runKernel("GatherND", {data, single}, {out},
                      Attributes().ints("batch_dims", {1})));
  forEach({2, 4}, [&](const Dims &at) {
    EXPECT_EQ(out.at<float>(at),
              data.at<float>({at[0], single.at<int64_t>({at[0], 0}), at[1]}));
  });
  EXPECT_EQ(runKernel("GatherND", {data, Tensor::of<int64_t>({1, 2}, {0, 3})},
                      {Tensor::filled<float>({1, 4}, 0)})
                .message(),
            "GatherND: index 3 is outside of a dim of size 3");
}

/// Rows that are copied as they are, in front of the axis or behind it.
TEST(GatherElements, RepeatedIndices) {
  const Tensor whole = Tensor::integers<float>({2, 3, 5, 4});
  const Tensor picks = Tensor::of<int64_t>({2, 1, 3, 1}, {4, -5, 2, 0, 3, -1});
  for (const Tensor &data : {whole, whole.scattered()})
    for (const Dims &dims : {Dims{2, 3, 3, 4}, Dims{2, 1, 3, 4},
                             Dims{2, 3, 3, 1}, Dims{2, 3, 3, 0}}) {
      const Tensor out = Tensor::filled<float>(dims, 9).scattered();
      EXPECT_OK(runKernel("GatherElements", {data, picks.broadcast(dims)},
                          {out}, Attributes().ints("axis", {2})));
      forEach(dims, [&](const Dims &at) {
        const int64_t row = (picks.at<int64_t>({at[0], 0, at[2], 0}) + 5) % 5;
        EXPECT_EQ(out.at<float>(at),
                  data.at<float>({at[0], at[1], row, at[3]}));
      });
    }
  const Tensor bad = Tensor::of<int64_t>({1, 1, 1, 1}, {5});
  const Tensor out = Tensor::filled<float>({2, 3, 1, 4}, 9);
  EXPECT_EQ(runKernel("GatherElements", {whole, bad.broadcast({2, 3, 1, 4})},
                      {out}, Attributes().ints("axis", {2}))
                .message(),
            "GatherElements: index 5 is outside of a dim of size 5");
}

TEST(GatherElements, AlongAnAxis) {
  const Tensor data = Tensor::integers<int32_t>({3, 4}).scattered();
  const Tensor indices = Tensor::of<int64_t>({2, 2}, {3, -4, 0, 2});
  const Tensor out = Tensor::filled<int32_t>({2, 2}, 9);
  EXPECT_OK(runKernel("GatherElements", {data, indices}, {out},
                      Attributes().ints("axis", {1})));
  forEach({2, 2}, [&](const Dims &at) {
    EXPECT_EQ(out.at<int32_t>(at),
              data.at<int32_t>({at[0], (indices.at<int64_t>(at) + 4) % 4}));
  });
}

std::vector<float> scatterElements(const char *reduction) {
  const Tensor data = Tensor::of<float>({5}, {1, 2, 3, 4, 5}).scattered();
  const Tensor indices = Tensor::of<int32_t>({3}, {1, -1, 1});
  const Tensor updates = Tensor::of<float>({3}, {10, -20, 30});
  const Tensor out = Tensor::filled<float>({5}, 9);
  EXPECT_OK(
      runKernel("ScatterElements", {data, indices, updates}, {out},
                Attributes().ints("axis", {0}).text("reduction", reduction)));
  return out.values<float>();
}

TEST(ScatterElements, EveryReduction) {
  using Floats = std::vector<float>;
  EXPECT_EQ(scatterElements("none"), (Floats{1, 30, 3, 4, -20}));
  EXPECT_EQ(scatterElements("add"), (Floats{1, 42, 3, 4, -15}));
  EXPECT_EQ(scatterElements("mul"), (Floats{1, 600, 3, 4, -100}));
  EXPECT_EQ(scatterElements("max"), (Floats{1, 30, 3, 4, 5}));
  EXPECT_EQ(scatterElements("min"), (Floats{1, 2, 3, 4, -20}));
}

TEST(ScatterND, WritesAndAddsSlices) {
  const Tensor data = Tensor::integers<float>({3, 2});
  const Tensor indices = Tensor::of<int64_t>({2, 1}, {2, 2});
  const Tensor updates = Tensor::of<float>({2, 2}, {1, 2, 3, 4}).scattered();
  const Tensor out = Tensor::filled<float>({3, 2}, 9);
  EXPECT_OK(runKernel("ScatterND", {data, indices, updates}, {out}));
  EXPECT_EQ(out.at<float>({2, 0}), 3);
  EXPECT_EQ(out.at<float>({2, 1}), 4);
  EXPECT_EQ(out.at<float>({1, 1}), data.at<float>({1, 1}));
  EXPECT_OK(runKernel("ScatterND", {data, indices, updates}, {out},
                      Attributes().text("reduction", "add")));
  EXPECT_EQ(out.at<float>({2, 0}), data.at<float>({2, 0}) + 4);
  EXPECT_EQ(runKernel("ScatterND",
                      {data, Tensor::of<int64_t>({2, 1}, {0, 3}), updates},
                      {out})
                .message(),
            "ScatterND: index 3 is outside of a dim of size 3");
}

} // namespace
} // namespace shardc::runtime::host
