#include "tests/unit/kernels/KernelTest.h"

namespace shardc::runtime::host {
namespace {

/// Elements of a b, in double.
template <typename T>
std::vector<double> product(const Tensor &a, const Tensor &b) {
  Dims dims = a.dims();
  const size_t row = dims.size() - 2, column = dims.size() - 1;
  const int64_t depth = dims[column];
  dims[column] = b.dims()[column];
  std::vector<double> result;
  forEach(dims, [&](const Dims &index) {
    double sum = 0;
    Dims left = index, right = index;
    for (int64_t k = 0; k < depth; ++k) {
      left[column] = right[row] = k;
      sum += double(a.at<T>(left)) * double(b.at<T>(right));
    }
    result.push_back(sum);
  });
  return result;
}

template <typename T>
void expectProduct(const Tensor &a, const Tensor &b, const Tensor &out) {
  const std::vector<double> expected = product<T>(a, b);
  for (auto *run : {runKernel, runPacked}) {
    forEach(out.dims(), [&](const Dims &at) {
      out.view.as<T>()[out.offset(at)] = T(Compute<T>(99));
    });
    EXPECT_OK(run("MatMul", {a, b}, {out}, {}));
    const auto found = out.values<T>();
    EXPECT_EQ(std::vector<double>(found.begin(), found.end()), expected);
  }
}

template <typename T> void multipliesEveryLayout() {
  const Tensor a = Tensor::integers<T>({2, 3, 5, 7}, 1);
  const Tensor b = Tensor::integers<T>({2, 3, 7, 4}, 2);
  const Tensor shared = Tensor::integers<T>({7, 4}, 3).broadcast(b.dims());
  const Tensor transposed =
      Tensor::integers<T>({4, 7}, 4).permuted({1, 0}).broadcast(b.dims());
  const Tensor heads =
      Tensor::integers<T>({2, 5, 3, 7}, 5).permuted({0, 2, 1, 3});
  const Tensor out = Tensor::filled<T>({2, 3, 5, 4}, T(Compute<T>(99)));
  const Tensor columns =
      Tensor::filled<T>({2, 3, 4, 5}, T(Compute<T>(99))).permuted({0, 1, 3, 2});
  for (const Tensor &left : {a, a.scattered(), heads})
    for (const Tensor &right : {b, b.scattered(), shared, transposed})
      for (const Tensor &to : {out, out.scattered(), columns})
        expectProduct<T>(left, right, to);
}

TEST(MatMul, EveryLayoutAndType) {
  multipliesEveryLayout<float>();
  multipliesEveryLayout<double>();
  multipliesEveryLayout<Float16>();
  multipliesEveryLayout<BFloat16>();
  multipliesEveryLayout<int32_t>();
  multipliesEveryLayout<int64_t>();
}

TEST(MatMul, RowsOfOneAcrossABatch) {
  expectProduct<float>(Tensor::integers<float>({6, 1, 8}, 1),
                       Tensor::integers<float>({8, 3}, 2).broadcast({6, 8, 3}),
                       Tensor::filled<float>({6, 1, 3}, 9));
  expectProduct<float>(Tensor::integers<float>({6, 1, 8}, 1),
                       Tensor::integers<float>({6, 8, 3}, 2),
                       Tensor::filled<float>({6, 1, 3}, 9));
}

TEST(MatMul, NothingToSumWritesZeros) {
  const Tensor out = Tensor::filled<float>({2, 3, 4}, 9);
  EXPECT_OK(runKernel("MatMul",
                      {Tensor::filled<float>({2, 3, 0}, 0),
                       Tensor::filled<float>({2, 0, 4}, 0)},
                      {out}));
  EXPECT_EQ(out.values<float>(), std::vector<float>(24, 0));
}

TEST(MatMul, EmptyRowsColumnsAndBatches) {
  for (const Dims &size :
       {Dims{0, 2, 3, 4}, Dims{2, 0, 3, 4}, Dims{2, 3, 0, 4}})
    expectProduct<float>(Tensor::filled<float>({size[0], size[1], size[3]}, 1),
                         Tensor::filled<float>({size[0], size[3], size[2]}, 1),
                         Tensor::filled<float>({size[0], size[1], size[2]}, 9));
}

TEST(MatMul, RejectsDimsThatDoNotFit) {
  const Status status = runKernel(
      "MatMul",
      {Tensor::filled<float>({2, 3}, 0), Tensor::filled<float>({4, 5}, 0)},
      {Tensor::filled<float>({2, 5}, 0)});
  EXPECT_NE(status.message().find("MatMul: expected dims [3, 5]"),
            std::string::npos)
      << status.message();
}

template <typename T> void scalesAndAdds() {
  const Tensor a = Tensor::integers<T>({7, 3}, 1).permuted({1, 0});
  const Tensor b = Tensor::integers<T>({7, 5}, 2);
  const Tensor bias = Tensor::integers<T>({5}, 3).broadcast({3, 5});
  const auto expected = product<T>(a, b);
  const Tensor plain = Tensor::filled<T>({3, 5}, T(Compute<T>(9)));
  for (const Tensor &out :
       {plain, plain.scattered(),
        Tensor::filled<T>({5, 3}, T(Compute<T>(9))).permuted({1, 0})}) {
    for (auto *run : {runKernel, runPacked}) {
      EXPECT_OK(run("Gemm", {a, b, bias}, {out},
                    Attributes().number("alpha", 2).number("beta", 3)));
      forEach({3, 5}, [&](const Dims &at) {
        EXPECT_EQ(double(out.at<T>(at)),
                  2 * expected[at[0] * 5 + at[1]] + 3 * double(bias.at<T>(at)));
      });
    }
  }
  EXPECT_OK(runKernel("Gemm", {a, b, Tensor::absent()}, {plain}));
  const auto found = plain.values<T>();
  EXPECT_EQ(std::vector<double>(found.begin(), found.end()), expected);
}

TEST(Gemm, ScalesAndAddsABroadcastBias) {
  scalesAndAdds<float>();
  scalesAndAdds<double>();
  scalesAndAdds<BFloat16>();
  scalesAndAdds<int64_t>();
}

TEST(Gemm, NothingToSumLeavesTheBias) {
  const Tensor out = Tensor::filled<float>({2, 3}, 9);
  const Tensor bias = Tensor::of<float>({3}, {1, 2, 3}).broadcast({2, 3});
  EXPECT_OK(runKernel("Gemm",
                      {Tensor::filled<float>({2, 0}, 0),
                       Tensor::filled<float>({0, 3}, 0), bias},
                      {out}));
  EXPECT_EQ(out.values<float>(), bias.values<float>());
}

} // namespace
} // namespace shardc::runtime::host
