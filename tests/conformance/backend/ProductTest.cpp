//===- ProductTest.cpp - MatMul and Gemm over views of all kinds ----------===//
//
// Operands lie in memory in any order of dims, with gaps, or repeated; each
// device computes what the definition says. Values are small integers, so that
// sums are exact in any order and type.
//
//===----------------------------------------------------------------------===//
#include "runtime/tensor/CopyView.h"
#include "tests/conformance/backend/BackendFixture.h"

#include <numeric>
#include <random>

namespace shardc::test {
namespace {

using namespace runtime;
using Dims = std::vector<int64_t>;

constexpr auto kFloat = artifact::ElementType_Float32;

/// Dims in the order in which they lie in memory, outermost first, and which of
/// them are repeated there; `gap` elements behind each row.
struct Layout {
  std::vector<int> order;
  std::vector<int> repeated = {};
  int64_t gap = 0;
};

/// A view of floats with such strides, and how many elements it reaches over.
TensorView layOut(const Dims &dims, const Layout &layout, int64_t &elements) {
  TensorView view = packedView(static_cast<std::byte *>(nullptr), kFloat, dims);
  int64_t stride = 1;
  for (auto d = layout.order.rbegin(); d != layout.order.rend(); ++d) {
    const bool repeats =
        std::count(layout.repeated.begin(), layout.repeated.end(), *d) > 0;
    view.strides[*d] = repeats ? 0 : stride;
    if (!repeats)
      stride *= dims[static_cast<size_t>(*d)];
    if (d == layout.order.rbegin())
      stride += layout.gap;
  }
  elements = stride;
  return view;
}

class ProductTest : public BackendTest {
protected:
  struct Operand {
    DeviceBuffer memory;
    TensorView view;                   ///< on the device
    std::vector<float> values, packed; ///< as they lie, and in order
  };

  Operand operand(const Dims &dims, const Layout &layout, bool isOutput) {
    Operand made;
    int64_t elements = 0;
    made.view = layOut(dims, layout, elements);
    made.values.resize(static_cast<size_t>(elements), -77);
    if (!isOutput)
      for (float &value : made.values)
        value =
            static_cast<float>(std::uniform_int_distribution(-3, 3)(random));
    made.memory = memory(elements * 4);
    upload(made.memory, made.values);
    made.packed = inOrder(made);
    made.view.data = made.memory.data();
    return made;
  }
  static std::vector<float> inOrder(const Operand &operand) {
    TensorView from = operand.view;
    from.data = reinterpret_cast<std::byte *>(
        const_cast<float *>(operand.values.data()));
    std::vector<float> values(static_cast<size_t>(from.numElements()));
    copyView(packedView(values.data(), kFloat,
                        std::span(from.dims, static_cast<size_t>(from.rank))),
             from);
    return values;
  }

  /// What lies at the output once the kernel has run.
  void run(const char *name, std::vector<Operand *> inputs, Operand &output,
           std::vector<KernelAttribute> attributes = {}) {
    const Kernel *kernel = device->findKernel(name);
    ASSERT_NE(kernel, nullptr);
    std::vector<TensorView> views;
    for (const Operand *input : inputs)
      views.push_back(input->view);
    KernelCall call;
    call.inputs = views.data();
    call.numInputs = static_cast<int>(views.size());
    call.outputs = &output.view;
    call.numOutputs = 1;
    call.attributes = attributes.data();
    call.numAttributes = static_cast<int>(attributes.size());
    DeviceBuffer scratch =
        memory(kernel->scratchBytes ? kernel->scratchBytes(call) : 0);
    call.scratch = scratch.data();
    ASSERT_OK(stream->launch(*kernel, call, {name, "node", 0}));
    output.values = download<float>(output.memory.data(), output.values.size());
    output.packed = inOrder(output);
  }

  /// Between elements of the output nothing has changed.
  static void expectGapsKept(const Operand &output) {
    const auto gaps = static_cast<std::ptrdiff_t>(output.values.size() -
                                                  output.packed.size());
    EXPECT_GE(std::count(output.values.begin(), output.values.end(), -77.0f),
              gaps);
  }

  std::mt19937 random{5};
};

/// Batches of [m, k] times [k, n].
std::vector<float> product(const std::vector<float> &a,
                           const std::vector<float> &b, int64_t batches,
                           int64_t m, int64_t k, int64_t n) {
  std::vector<float> c(static_cast<size_t>(batches * m * n), 0);
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          c[static_cast<size_t>((batch * m + i) * n + j)] +=
              a[static_cast<size_t>((batch * m + i) * k + l)] *
              b[static_cast<size_t>((batch * k + l) * n + j)];
  return c;
}

TEST_P(ProductTest, matMulOfMatricesInAnyLayout) {
  const Layout layouts[] = {{{0, 1}},        {{1, 0}},      {{0, 1}, {}, 3},
                            {{1, 0}, {}, 5}, {{0, 1}, {0}}, {{0, 1}, {1}}};
  for (auto [m, k, n] : {std::array<int64_t, 3>{5, 7, 3},
                         {1, 8, 16},
                         {16, 1, 4},
                         {6, 8, 1},
                         {1, 1, 1}})
    for (const Layout &ofA : layouts)
      for (const Layout &ofB : layouts)
        for (const Layout &ofC : {layouts[0], layouts[1], layouts[2]}) {
          Operand a = operand({m, k}, ofA, false),
                  b = operand({k, n}, ofB, false),
                  c = operand({m, n}, ofC, true);
          run("MatMul", {&a, &b}, c);
          ASSERT_EQ(c.packed, product(a.packed, b.packed, 1, m, k, n))
              << m << " " << k << " " << n << ", layouts " << &ofA - layouts
              << " " << &ofB - layouts;
          expectGapsKept(c);
        }
}

TEST_P(ProductTest, matMulOfBatchesInAnyOrder) {
  const int64_t outer = 3, inner = 2, m = 4, k = 5, n = 6;
  std::vector<int> order = {0, 1, 2, 3};
  do {
    for (const std::vector<int> &repeated :
         {std::vector<int>{}, {0}, {1}, {0, 1}}) {
      Operand a = operand({outer, inner, m, k}, {order}, false),
              b = operand({outer, inner, k, n}, {order, repeated}, false),
              c = operand({outer, inner, m, n}, {order}, true);
      run("MatMul", {&a, &b}, c);
      ASSERT_EQ(c.packed, product(a.packed, b.packed, outer * inner, m, k, n))
          << order[0] << order[1] << order[2] << order[3] << " "
          << repeated.size();
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_P(ProductTest, matMulOfNothing) {
  for (auto [m, k, n] :
       {std::array<int64_t, 3>{0, 3, 2}, {2, 3, 0}, {2, 0, 3}}) {
    Operand a = operand({m, k}, {{0, 1}}, false),
            b = operand({k, n}, {{0, 1}}, false),
            c = operand({m, n}, {{0, 1}}, true);
    run("MatMul", {&a, &b}, c);
    EXPECT_EQ(c.packed, product(a.packed, b.packed, 1, m, k, n));
  }
}

TEST_P(ProductTest, gemmAddsWhatIsBroadcast) {
  const int64_t m = 6, k = 5, n = 8;
  const double two = 2, half = 0.5;
  const Layout layouts[] = {
      {{0, 1}}, {{1, 0}}, {{0, 1}, {0}}, {{0, 1}, {1}}, {{0, 1}, {0, 1}}};
  auto factor = [](const char *name, const double &value) {
    KernelAttribute attribute;
    attribute.name = name;
    attribute.floats = &value;
    attribute.numFloats = 1;
    return attribute;
  };
  for (const Layout &ofAdded : layouts)
    for (const Layout &ofOut : {layouts[0], layouts[1]})
      for (bool scales : {false, true}) {
        Operand a = operand({m, k}, {{1, 0}}, false),
                b = operand({k, n}, {{1, 0}}, false),
                added = operand({m, n}, ofAdded, false),
                out = operand({m, n}, ofOut, true);
        std::vector<KernelAttribute> attributes;
        if (scales)
          attributes = {factor("alpha", two), factor("beta", half)};
        run("Gemm", {&a, &b, &added}, out, attributes);
        std::vector<float> expected = product(a.packed, b.packed, 1, m, k, n);
        for (size_t i = 0; i < expected.size(); ++i)
          expected[i] = (scales ? 2 : 1) * expected[i] +
                        (scales ? 0.5f : 1) * added.packed[i];
        ASSERT_EQ(out.packed, expected) << &ofAdded - layouts << " " << scales;
      }
}

INSTANTIATE_TEST_SUITE_P(Backends, ProductTest,
                         testing::Values("host", "fake", "cuda"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace shardc::test
