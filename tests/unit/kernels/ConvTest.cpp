#include "tests/unit/kernels/KernelTest.h"

namespace shardc::runtime::host {
namespace {

struct Problem {
  Tensor x, w;
  Dims strides, pads, dilations;
  int64_t group = 1;
};

Dims outputDims(const Problem &s) {
  Dims dims = {s.x.view.dims[0], s.w.view.dims[0]};
  const size_t spatial = s.strides.size();
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t span = s.dilations[d] * (s.w.view.dims[d + 2] - 1) + 1;
    dims.push_back(
        (s.x.view.dims[d + 2] + s.pads[d] + s.pads[d + spatial] - span) /
            s.strides[d] +
        1);
  }
  return dims;
}

/// One output element from the definition.
template <typename T> double convolve(const Problem &s, const Dims &at) {
  const size_t spatial = s.strides.size();
  const int64_t channels = s.w.view.dims[1];
  const int64_t firstChannel = at[1] / (s.w.view.dims[0] / s.group) * channels;
  Dims taps(s.w.view.dims + 1, s.w.view.dims + s.w.view.rank);
  double sum = 0;
  forEach(taps, [&](const Dims &tap) {
    Dims from = {at[0], firstChannel + tap[0]}, weight = {at[1]};
    weight.insert(weight.end(), tap.begin(), tap.end());
    for (size_t d = 0; d < spatial; ++d) {
      from.push_back(at[d + 2] * s.strides[d] - s.pads[d] +
                     tap[d + 1] * s.dilations[d]);
      if (from.back() < 0 || from.back() >= s.x.view.dims[d + 2])
        return;
    }
    sum += double(s.x.at<T>(from)) * double(s.w.at<T>(weight));
  });
  return sum;
}

template <typename T> void expectConv(const Problem &s) {
  const Dims dims = outputDims(s);
  const Tensor bias = Tensor::integers<T>({dims[1]}, 9);
  const Tensor plain = Tensor::filled<T>(dims, T(Compute<T>(9)));
  for (const Tensor &x : {s.x, s.x.scattered()})
    for (const Tensor &w : {s.w, s.w.scattered()})
      for (const Tensor &out : {plain, plain.scattered()}) {
        EXPECT_OK(runKernel("Conv", {x, w, bias}, {out},
                            Attributes()
                                .ints("strides", s.strides)
                                .ints("pads", s.pads)
                                .ints("dilations", s.dilations)
                                .ints("group", {s.group})));
        forEach(dims, [&](const Dims &at) {
          EXPECT_EQ(double(out.at<T>(at)),
                    convolve<T>(s, at) + double(bias.at<T>({at[1]})));
        });
      }
}

template <typename T> void everyRank() {
  expectConv<T>({Tensor::integers<T>({2, 3, 11}, 1),
                 Tensor::integers<T>({4, 3, 3}, 2),
                 {2},
                 {1, 2},
                 {2}});
  expectConv<T>({Tensor::integers<T>({2, 4, 7, 6}, 3),
                 Tensor::integers<T>({6, 2, 3, 2}, 4),
                 {1, 2},
                 {1, 0, 0, 1},
                 {1, 2},
                 2});
  expectConv<T>({Tensor::integers<T>({1, 2, 4, 5, 3}, 5),
                 Tensor::integers<T>({3, 2, 2, 3, 1}, 6),
                 {1, 2, 1},
                 {0, 1, 0, 1, 1, 0},
                 {1, 1, 1}});
}

TEST(Conv, OneToThreeDims) {
  everyRank<float>();
  everyRank<double>();
  everyRank<Float16>();
}

/// One or two features of a group, which are summed up without unfolding.
template <typename T> void fewFeatures() {
  for (int64_t features : {1, 2})
    for (int64_t step : {1, 2, 3})
      for (int64_t before : {0, 1, 5}) {
        expectConv<T>({Tensor::integers<T>({2, 8, 7, 9}, 1),
                       Tensor::integers<T>({4 * features, 2, 2, 3}, 2),
                       {1, step},
                       {before, before, 1, 2},
                       {2, 3},
                       4});
        expectConv<T>({Tensor::integers<T>({1, 8, 13}, 3),
                       Tensor::integers<T>({8 * features, 1, 4}, 4),
                       {step},
                       {before, 3},
                       {step},
                       8});
      }
}

TEST(Conv, FewFeaturesOfAGroup) {
  fewFeatures<float>();
  fewFeatures<double>();
  fewFeatures<Float16>();
}

TEST(Conv, PatchEmbedding) {
  expectConv<float>({Tensor::integers<float>({2, 3, 8, 8}, 1),
                     Tensor::integers<float>({5, 3, 4, 4}, 2),
                     {4, 4},
                     {0, 0, 0, 0},
                     {1, 1}});
}

TEST(Conv, EmptyBatchFeaturesAndChannels) {
  const auto make = [](int64_t batch, int64_t channels, int64_t features) {
    return Problem{Tensor::integers<float>({batch, channels, 4, 4}),
                   Tensor::integers<float>({features, channels, 2, 2}),
                   {1, 1},
                   {0, 0, 0, 0},
                   {1, 1}};
  };
  expectConv<float>(make(0, 2, 3));
  expectConv<float>(make(2, 2, 0));
  expectConv<float>(make(2, 0, 3)); // the bias alone
}

TEST(Conv, RejectsAnOutputOfAnotherSize) {
  const Status status = runKernel(
      "Conv",
      {Tensor::integers<float>({1, 1, 4}), Tensor::integers<float>({1, 1, 2})},
      {Tensor::integers<float>({1, 1, 4})});
  EXPECT_EQ(status.message(),
            "Conv: the output has dims [1, 1, 4] for an input of [1, 1, 4]");
}

} // namespace
} // namespace shardc::runtime::host
