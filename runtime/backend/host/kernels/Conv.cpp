//===- Conv.cpp - Convolution in 1 to 3 spatial dims ----------------------===//
//
// X [n, c, spatial...], W [m, c / group, kernel...], bias [m] -> Y. Each image
// and group is unfolded (im2col: one row per channel and tap, one column per
// output position) and multiplied by W. Fewer than 3 spatial dims are leading
// dims of size 1.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/Dispatch.h"
#include "runtime/backend/host/kernels/MatrixProduct.h"
#include "runtime/backend/host/kernels/StridedLoop.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Conv";
constexpr int kSpatial = 3;

struct Window {
  int64_t in[kSpatial], out[kSpatial], taps[kSpatial];
  int64_t step[kSpatial], before[kSpatial], dilation[kSpatial];
  int64_t stride[kSpatial]; ///< of X, in elements
};

struct Convolution {
  const TensorView *x, *w, *bias, *y;
  Window window;
  int64_t group;
  int64_t channels, features; ///< per group, of X and Y
  int64_t positions = 1;      ///< of an output image
  int64_t taps = 1;           ///< times channels: rows of the unfolded image
};

int64_t intAt(const KernelCall &call, const char *name, int index,
              int64_t otherwise) {
  const KernelAttribute *attribute = call.find(name);
  return attribute && index < attribute->numInts ? attribute->ints[index]
                                                 : otherwise;
}

Status checkWindow(const Convolution &c, int d, int64_t after) {
  const Window &w = c.window;
  const int64_t span = w.dilation[d] * (w.taps[d] - 1) + 1;
  const int64_t padded = w.in[d] + w.before[d] + after;
  if (w.step[d] < 1 || w.dilation[d] < 1 || w.taps[d] < 1)
    return failure(kName, "strides, dilations and kernel must be at least 1");
  if (w.out[d] != (padded < span ? 0 : (padded - span) / w.step[d] + 1))
    return failure(kName, "the output has dims " + dimsToString(*c.y) +
                              " for an input of " + dimsToString(*c.x));
  return Status::ok();
}

Status plan(const KernelCall &call, Convolution &c) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 2));
  c.x = &call.inputs[0];
  c.w = &call.inputs[1];
  c.bias = hasInput(call, 2) ? &call.inputs[2] : nullptr;
  c.y = &call.outputs[0];
  c.group = call.intOr("group", 1);
  const int rank = c.x->rank, spatial = rank - 2;
  if (spatial < 1 || spatial > kSpatial || c.w->rank != rank ||
      c.y->rank != rank || c.group < 1)
    return failure(kName, "no kernel for X " + dimsToString(*c.x) + ", W " +
                              dimsToString(*c.w));
  c.channels = c.w->dims[1];
  c.features = c.w->dims[0] / c.group;
  if (c.x->dims[1] != c.channels * c.group || c.w->dims[0] % c.group != 0 ||
      c.y->dims[1] != c.w->dims[0] || c.y->dims[0] != c.x->dims[0] ||
      (c.bias && (c.bias->rank != 1 || c.bias->dims[0] != c.w->dims[0])))
    return failure(kName, "X " + dimsToString(*c.x) + " does not fit W " +
                              dimsToString(*c.w));
  for (const TensorView *view : {c.w, c.y, c.bias})
    if (view)
      SHARDC_RETURN_IF_ERROR(expectElement(kName, c.x->element, *view));
  for (int d = 0; d < kSpatial; ++d) {
    const int s = d - (kSpatial - spatial); // spatial dim of X, if >= 0
    const auto of = [&](const TensorView *view) {
      return s < 0 ? 1 : view->dims[s + 2];
    };
    Window &w = c.window;
    w.in[d] = of(c.x);
    w.out[d] = of(c.y);
    w.taps[d] = of(c.w);
    w.stride[d] = s < 0 ? 0 : c.x->strides[s + 2];
    w.step[d] = s < 0 ? 1 : intAt(call, "strides", s, 1);
    w.dilation[d] = s < 0 ? 1 : intAt(call, "dilations", s, 1);
    w.before[d] = s < 0 ? 0 : intAt(call, "pads", s, 0);
    SHARDC_RETURN_IF_ERROR(
        checkWindow(c, d, s < 0 ? 0 : intAt(call, "pads", s + spatial, 0)));
    c.positions *= w.out[d];
    c.taps *= w.taps[d];
  }
  return Status::ok();
}

/// Input position that output position `o` reads at `tap`, if inside.
bool inputAt(const Window &w, int d, int64_t o, int64_t tap, int64_t &at) {
  at = o * w.step[d] - w.before[d] + tap * w.dilation[d];
  return at >= 0 && at < w.in[d];
}

/// One row of the unfolded image: what every output position reads at a tap.
template <typename T, typename Acc>
void unfoldTap(const Window &w, const T *x, const int64_t (&tap)[kSpatial],
               Acc *row) {
  const int64_t width = w.out[2];
  int64_t d, h, column;
  for (int64_t od = 0; od < w.out[0]; ++od)
    for (int64_t oh = 0; oh < w.out[1]; ++oh, row += width) {
      if (!inputAt(w, 0, od, tap[0], d) || !inputAt(w, 1, oh, tap[1], h)) {
        std::fill(row, row + width, Acc(0));
        continue;
      }
      const T *line = x + d * w.stride[0] + h * w.stride[1];
      for (int64_t ow = 0; ow < width; ++ow)
        row[ow] = inputAt(w, 2, ow, tap[2], column)
                      ? Acc(Compute<T>(line[column * w.stride[2]]))
                      : Acc(0);
    }
}

template <typename T, typename Acc>
void unfold(const Convolution &c, const T *x, Acc *columns) {
  const Window &w = c.window;
  for (int64_t channel = 0; channel < c.channels; ++channel)
    for (int64_t d = 0; d < w.taps[0]; ++d)
      for (int64_t h = 0; h < w.taps[1]; ++h)
        for (int64_t k = 0; k < w.taps[2]; ++k) {
          unfoldTap(w, x + channel * c.x->strides[1], {d, h, k}, columns);
          columns += c.positions;
        }
}

/// W of a group: in place if its rows are dense, else packed.
template <typename T, typename Acc>
Matrix<Acc> weightsOf(const Convolution &c, const T *w, Acc *packed) {
  const auto row = nestOf(dimsOf(*c.w, 1, c.w->rank));
  const int64_t columns = c.channels * c.taps;
  if (row.rank == 1)
    return asMatrix({c.features, columns, c.w->strides[0], row.innerStride(0)},
                    w, packed);
  Acc *to = packed;
  for (int64_t m = 0; m < c.features; ++m)
    forEachIndex(row, [&](const int64_t (&at)[1]) {
      *to++ = Acc(Compute<T>(w[m * c.w->strides[0] + at[0]]));
    });
  return {packed, std::max<int64_t>(columns, 1), false};
}

template <typename T, typename Acc>
void writeGroup(const Convolution &c, const T *bias, const Acc *from, T *to) {
  const auto image = nestOf(dimsOf(*c.y, 2, c.y->rank));
  for (int64_t m = 0; m < c.features; ++m) {
    const Acc offset =
        bias ? Acc(Compute<T>(bias[m * c.bias->strides[0]])) : Acc(0);
    T *target = to + m * c.y->strides[1];
    forEachIndex(image, [&](const int64_t (&at)[1]) {
      target[at[0]] = T(Compute<T>(*from++ + offset));
    });
  }
}

/// Scratch, in elements: weights of a group, unfolded image, result.
int64_t scratchElements(const Convolution &c) {
  const int64_t rows = c.channels * c.taps;
  return c.features * rows + rows * c.positions + c.features * c.positions;
}

template <typename T>
Status convolve(const Convolution &c, std::byte *scratch) {
  using Acc = Accumulator<T>;
  const int64_t rows = c.channels * c.taps;
  Acc *weights = reinterpret_cast<Acc *>(scratch);
  Acc *columns = weights + c.features * rows;
  Acc *result = columns + rows * c.positions;
  const int64_t width = std::max<int64_t>(c.positions, 1);
  for (int64_t g = 0; g < c.group; ++g) {
    const int64_t feature = g * c.features;
    const Matrix<Acc> matrix =
        weightsOf(c, c.w->as<T>() + feature * c.w->strides[0], weights);
    const T *bias =
        c.bias ? c.bias->as<T>() + feature * c.bias->strides[0] : nullptr;
    for (int64_t n = 0; n < c.x->dims[0]; ++n) {
      unfold(c,
             c.x->as<T>() + n * c.x->strides[0] +
                 g * c.channels * c.x->strides[1],
             columns);
      SHARDC_RETURN_IF_ERROR(
          multiply(c.features, c.positions, rows, Acc(1), matrix,
                   Matrix<Acc>{columns, width, false}, Acc(0), result, width));
      writeGroup(c, bias, result,
                 c.y->as<T>() + n * c.y->strides[0] +
                     feature * c.y->strides[1]);
    }
  }
  return Status::ok();
}

Status run(const KernelCall &call) {
  Convolution c;
  SHARDC_RETURN_IF_ERROR(plan(call, c));
  return dispatch(FloatTypes(), c.x->element, kName, [&](auto tag) {
    return convolve<typename decltype(tag)::Type>(c, call.scratch);
  });
}

int64_t scratchBytes(const KernelCall &call) {
  Convolution c;
  if (!plan(call, c).isOk())
    return 0; // run reports it
  const bool isDouble = c.x->element == artifact::ElementType_Float64;
  return scratchElements(c) * (isDouble ? 8 : 4);
}

const HostKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::host
