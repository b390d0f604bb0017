#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/KernelTypes.h"

#include <cstdlib>

namespace shardc::testing {
namespace {

using namespace runtime::host;

/// All epilogues, with a result that lies as it does.
template <typename T>
void compareAll(const Tensor &a, const Tensor &b, const Tensor &bias,
                const Tensor &residual, const Tensor &out) {
  for (const Tensor &row : {bias, Tensor::absent()})
    for (const Tensor &rows : {residual, Tensor::absent()})
      for (const char *activation : {"", "relu", "gelu"})
        compare("Linear", {a, b, row, rows}, {out},
                Attributes().text("activation", activation),
                4 * toleranceOf(elementTypeOf<T>()));
}

TEST(LinearKernel, hasAllEpilogues) {
  forTypes(TypeList<float, Float16, BFloat16>(), [](auto tag) {
    using T = typename decltype(tag)::Type;
    const Dims dims = {2, 9, 24};
    const Tensor a = numbers<T>({2, 9, 16}, 1),
                 b = numbers<T>({16, 24}, 2).broadcast({2, 16, 24}),
                 bias = numbers<T>({24}, 3).broadcast(dims),
                 residual = numbers<T>(dims, 4),
                 out = Tensor::filled<T>(dims, T());
    compareAll<T>(a, b, bias, residual, out);
    compareAll<T>(a, b, bias, residual.scattered(), out);
    compareAll<T>(a.scattered(), b, bias, residual, out.scattered());
  });
}

TEST(LinearKernel, hasAMatrixForEachBatch) {
  const Dims dims = {2, 3, 5, 8};
  compareAll<float>(numbers<float>({2, 3, 5, 7}, 1),
                    numbers<float>({2, 3, 7, 8}, 2),
                    numbers<float>({8}, 3).broadcast(dims),
                    numbers<float>(dims, 4), Tensor::filled<float>(dims, 0));
}

TEST(LinearKernel, doesBehindTheProductWhatThatCannotTake) {
  const Dims dims = {6, 8};
  const Tensor a = numbers<float>({6, 4}, 1), b = numbers<float>({4, 8}, 2),
               residual = numbers<float>(dims, 4),
               out = Tensor::filled<float>(dims, 0);
  // A bias at an odd place, a result that is dense along columns, and nothing
  // to sum.
  compareAll<float>(a, b, numbers<float>({9}, 3).slice(0, 1, 8).broadcast(dims),
                    residual, out);
  compareAll<float>(a, b, numbers<float>({8}, 3).broadcast(dims), residual,
                    Tensor::filled<float>({8, 6}, 0).permuted({1, 0}));
  compareAll<float>(numbers<float>({6, 0}), numbers<float>({0, 8}),
                    numbers<float>({8}, 3).broadcast(dims), residual, out);
}

TEST(LinearKernel, doesWithoutEpiloguesWhereThereAreNone) {
  setenv("SHARDC_SIMULATED_EPILOGUES", "0", 1);
  const Dims dims = {11, 8}; // no other test's
  compareAll<float>(numbers<float>({11, 4}, 1), numbers<float>({4, 8}, 2),
                    numbers<float>({8}, 3).broadcast(dims),
                    numbers<float>(dims, 4), Tensor::filled<float>(dims, 0));
  unsetenv("SHARDC_SIMULATED_EPILOGUES");
}

TEST(LinearKernel, ofOneRowAndOfNone) {
  for (int64_t rows : {1, 0}) {
    const Dims dims = {1, rows, 8};
    compareAll<float>(numbers<float>({1, rows, 16}, 1),
                      numbers<float>({1, 16, 8}, 2),
                      numbers<float>({8}, 3).broadcast(dims),
                      numbers<float>(dims, 4), Tensor::filled<float>(dims, 0));
  }
}

} // namespace
} // namespace shardc::testing
