#include "tests/conformance/cuda/KernelComparison.h"
#include "tests/conformance/cuda/KernelTypes.h"

namespace shardc::testing {
namespace {

using namespace runtime::host;

/// X [n, c, spatial...], W [m, c / group, kernel...].
struct Convolution {
  Dims x, w, strides, pads, dilations;
  int64_t group = 1;

  Dims outputs() const {
    Dims dims = {x[0], w[0]};
    const size_t spatial = strides.size();
    for (size_t d = 0; d < spatial; ++d)
      dims.push_back((x[d + 2] + pads[d] + pads[d + spatial] -
                      dilations[d] * (w[d + 2] - 1) - 1) /
                         strides[d] +
                     1);
    return dims;
  }
};

template <typename T>
void compareConv(const Convolution &c, bool inAllLayouts) {
  SCOPED_TRACE(::testing::PrintToString(c.x) + ::testing::PrintToString(c.w));
  const Tensor x = numbers<T>(c.x, 1), w = numbers<T>(c.w, 2);
  const Tensor bias = numbers<T>({c.w[0]}, 3);
  const Tensor out = Tensor::filled<T>(c.outputs(), T());
  const auto attributes = [&] {
    return Attributes()
        .ints("strides", c.strides)
        .ints("pads", c.pads)
        .ints("dilations", c.dilations)
        .ints("group", {c.group});
  };
  const double tolerance = 10 * toleranceOf(elementTypeOf<T>());
  compare("Conv", {x, w, bias}, {out}, attributes(), tolerance);
  if (!inAllLayouts)
    return;
  compare("Conv", {x, w}, {out}, attributes(), tolerance);
  compare("Conv", {x.scattered(), w, bias}, {out}, attributes(), tolerance);
  compare("Conv", {x, w.scattered(), bias}, {out}, attributes(), tolerance);
  compare("Conv", {x, w, bias.scattered()}, {out.scattered()}, attributes(),
          tolerance);
}

const Convolution kConvolutions[] = {
    {{2, 3, 9}, {4, 3, 3}, {1}, {1, 1}, {1}},
    {{2, 4, 11}, {6, 2, 3}, {2}, {2, 0}, {2}, 2},
    {{1, 3, 8, 8}, {5, 3, 4, 4}, {4, 4}, {0, 0, 0, 0}, {1, 1}}, // patches
    {{2, 4, 7, 6}, {6, 2, 3, 2}, {1, 2}, {1, 0, 1, 1}, {1, 2}, 2},
    {{2, 6, 5, 7}, {4, 6, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}}, // pointwise
    {{2, 6, 5, 7}, {4, 3, 1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 2},
    {{2, 4, 9, 5}, {8, 1, 3, 3}, {2, 1}, {1, 1, 1, 1}, {1, 1}, 4}, // depthwise
    {{2, 4, 30}, {4, 1, 5}, {1}, {4, 0}, {1}, 4},
    {{1, 2, 4, 5, 6},
     {3, 2, 2, 3, 1},
     {1, 2, 1},
     {0, 1, 0, 1, 1, 0},
     {2, 1, 1}},
    {{2, 4, 3, 4, 3},
     {4, 1, 2, 2, 2},
     {1, 1, 1},
     {1, 0, 0, 0, 0, 1},
     {1, 1, 1},
     4},
    {{0, 3, 9}, {4, 3, 3}, {1}, {1, 1}, {1}},
    {{2, 3, 2}, {4, 3, 3}, {1}, {0, 0}, {1}}, // no position
    {{2, 0, 5}, {4, 0, 3}, {1}, {0, 0}, {1}},
};

TEST(ConvKernels, readWindowsOfAllKinds) {
  forTypes(FloatTypes(), [](auto tag) {
    for (const Convolution &c : kConvolutions)
      compareConv<typename decltype(tag)::Type>(c, true);
  });
}

/// Unfolded images that scratch does not hold together, or not even one.
TEST(ConvKernels, takeTurnsWithWhatIsUnfolded) {
  compareConv<float>(
      {{3, 64, 112, 112}, {1, 64, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}}, false);
  compareConv<float>(
      {{1, 64, 192, 192}, {1, 64, 3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}}, false);
}

struct Pooling {
  Dims x, y, window, strides, dilations, pads;
};

const Pooling kPoolings[] = {
    {{2, 3, 9}, {2, 3, 4}, {3}, {2}, {1}, {0, 0}},
    {{2, 3, 6, 7}, {2, 3, 6, 3}, {3, 2}, {1, 2}, {1, 2}, {1, 0, 1, 0}},
    {{1, 2, 4, 5, 3},
     {1, 2, 3, 4, 2},
     {2, 2, 2},
     {1, 1, 1},
     {1, 1, 1},
     {0, 0, 0, 0, 0, 0}},
    // The last window reaches beyond the padding, as with ceil_mode.
    {{1, 2, 5, 5}, {1, 2, 3, 3}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {{0, 3, 9}, {0, 3, 4}, {3}, {2}, {1}, {0, 0}}};

TEST(ConvKernels, poolWindows) {
  const auto attributes = [](const Pooling &p, int64_t flag) {
    return Attributes()
        .ints("kernel_shape", p.window)
        .ints("strides", p.strides)
        .ints("dilations", p.dilations)
        .ints("pads", p.pads)
        .ints("p", {flag + 1})
        .ints("count_include_pad", {flag})
        .ints("storage_order", {flag});
  };
  forTypes(FloatTypes() + TypeList<int8_t, uint8_t>(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const Pooling &p : kPoolings)
      for (const int64_t flag : {0, 1}) {
        const Tensor x = numbers<T>(p.x);
        const Tensor y = Tensor::filled<T>(p.y, T());
        compare("MaxPool", {x}, {y, Tensor::filled<int64_t>(p.y, 9)},
                attributes(p, flag), kExact);
        compare("MaxPool", {x.scattered()}, {y.scattered()},
                attributes(p, flag), kExact);
        if constexpr (!std::is_integral_v<T>)
          for (const char *name : {"AveragePool", "LpPool"}) {
            const double tolerance = toleranceOf(elementTypeOf<T>());
            compare(name, {x}, {y}, attributes(p, flag), tolerance);
            compare(name, {x.scattered()}, {y.scattered()}, attributes(p, flag),
                    tolerance);
          }
      }
  });
}

TEST(ConvKernels, sampleImagesAtPositions) {
  struct Images {
    Dims x, grid, y;
  };
  const Images all[] = {{{2, 3, 5}, {2, 7, 1}, {2, 3, 7}},
                        {{2, 3, 5, 4}, {2, 3, 6, 2}, {2, 3, 3, 6}},
                        {{1, 2, 3, 4, 5}, {1, 2, 2, 3, 3}, {1, 2, 2, 2, 3}},
                        {{2, 0, 5}, {2, 7, 1}, {2, 0, 7}}};
  const auto compareModes = [](const Tensor &x, const Tensor &grid,
                               const Tensor &y, double tolerance) {
    for (const char *mode : {"nearest", "linear", "cubic"})
      for (const char *border : {"zeros", "border", "reflection"})
        for (const int64_t aligns : {0, 1})
          compare("GridSample", {x, grid}, {y},
                  Attributes()
                      .text("mode", mode)
                      .text("padding_mode", border)
                      .ints("align_corners", {aligns}),
                  tolerance);
  };
  forTypes(FloatTypes(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (const Images &i : all) {
      const Tensor x = numbers<T>(i.x, 1), y = Tensor::filled<T>(i.y, T());
      const double tolerance = 4 * toleranceOf(elementTypeOf<T>());
      compareModes(x, numbers<float>(i.grid, 2), y, tolerance);
      compareModes(x.scattered(), numbers<T>(i.grid, 3).scattered(),
                   y.scattered(), tolerance);
    }
  });
}

} // namespace
} // namespace shardc::testing
