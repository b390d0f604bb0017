//===- Conv.cpp - Convolution in 1 to 3 spatial dims, on a GPU ------------===//
//
// Images are unfolded into scratch (im2col: one row per channel and tap, one
// column per output position), as many at a time as 64 MiB hold, and multiplied
// by W: one batched product for all groups and images of a turn. Where a tap is
// all there is to read, X is its own unfolding. One channel a group has a
// kernel of its own.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/AlignedBuffer.h"
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/image/ConvWindows.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/device/cuda/kernels/product/Product.h"
#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/tensor/CopyView.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "Conv";
constexpr int64_t kColumnBytes = int64_t{64} << 20;
constexpr int64_t kTile = 128; ///< positions of an image that is too large

/// The dims from `begin` on as one; false where they lie otherwise.
bool flatten(const TensorView &view, int begin, int64_t &stride) {
  const auto nest = host::nestOf(host::dimsOf(view, begin, view.rank));
  stride = nest.innerStride(0);
  return nest.rank == 1;
}

class ConvProduct {
public:
  Status read(const KernelCall &call) {
    SHARDC_RETURN_IF_ERROR(c.read(call, kName));
    rows = c.channels * c.taps;
    size = artifact::elementBytes(c.x->element);
    unfolds = !flatten(*c.x, 2, xStride) || !isPointwise();
    packsW = !flatten(*c.w, 1, wStride);
    packsY = !flatten(*c.y, 2, yStride);
    images = c.x->dims[0];
    const int64_t ofPosition = std::max<int64_t>(c.group * rows * size, 1);
    const int64_t ofImage = ofPosition * std::max<int64_t>(c.positions, 1);
    const int64_t tiles =
        std::max<int64_t>(kColumnBytes / (ofPosition * kTile), 1);
    const bool isWhole = !unfolds || ofImage <= kColumnBytes;
    imagesOfTurn = !unfolds  ? std::max<int64_t>(images, 1)
                   : isWhole ? std::max<int64_t>(kColumnBytes / ofImage, 1)
                             : 1;
    positionsOfTurn =
        isWhole ? c.positions : std::min(tiles * kTile, c.positions);
    return host::dispatch(host::FloatTypes(), c.x->element, kName, [](auto) {});
  }

  bool isDirect() const { return c.channels == 1 && c.group > 1; }
  Status runDirectly(cudaStream_t stream) const {
    return convolveDirectly(c, stream);
  }

  int64_t scratchBytes() const {
    int64_t product = 0;
    const Status status = forEachTurn([&](const ConvTurn &turn) {
      const Views views = viewsOf(turn, nullptr);
      product =
          std::max(product, productScratchBytes(views.a, views.b, views.c));
      return Status::ok();
    });
    return status.isOk() ? columnBytes() + wBytes() + yBytes() + product : 0;
  }

  Status run(std::byte *scratch, CudaStream &stream) const {
    if (packsW)
      SHARDC_RETURN_IF_ERROR(copyStrided(
          packedLike(scratch + columnBytes(), *c.w), *c.w, stream.stream()));
    SHARDC_RETURN_IF_ERROR(forEachTurn(
        [&](const ConvTurn &turn) { return runTurn(turn, scratch, stream); }));
    return packsY
               ? copyStrided(
                     *c.y, packedLike(scratch + columnBytes() + wBytes(), *c.y),
                     stream.stream())
               : Status::ok();
  }

private:
  /// Of a product: [groups, images, ...] each.
  struct Views {
    TensorView a, b, c;
  };

  /// Each output position reads one element of a channel, its own.
  bool isPointwise() const {
    bool isOne = c.taps == 1;
    for (int d = 0; d < host::kConvDims; ++d)
      isOne &= c.window.step[d] == 1 && c.window.before[d] == 0 &&
               c.window.in[d] == c.window.out[d];
    return isOne;
  }

  int64_t columnBytes() const {
    return unfolds ? alignBuffer(c.group * std::min(imagesOfTurn, images) *
                                 rows * positionsOfTurn * size)
                   : 0;
  }
  int64_t wBytes() const {
    return packsW ? alignBuffer(c.w->numElements() * size) : 0;
  }
  int64_t yBytes() const {
    return packsY ? alignBuffer(c.y->numElements() * size) : 0;
  }

  template <typename Visit> Status forEachTurn(Visit visit) const {
    if (c.y->numElements() == 0)
      return Status::ok();
    for (int64_t image = 0; image < images; image += imagesOfTurn)
      for (int64_t at = 0; at < c.positions; at += positionsOfTurn)
        SHARDC_RETURN_IF_ERROR(
            visit({image, std::min(imagesOfTurn, images - image), at,
                   std::min(positionsOfTurn, c.positions - at)}));
    return Status::ok();
  }

  TensorView viewOf(std::byte *data, const ConvTurn &turn, int64_t height,
                    int64_t width, std::initializer_list<int64_t> strides,
                    int64_t first) const {
    TensorView view;
    view.data = data ? data + first * size : nullptr;
    view.element = c.x->element;
    view.rank = 4;
    const int64_t dims[] = {c.group, turn.images, height, width};
    std::copy_n(dims, 4, view.dims);
    std::copy(strides.begin(), strides.end(), view.strides);
    return view;
  }

  Views viewsOf(const ConvTurn &turn, std::byte *scratch) const {
    std::byte *packedW = scratch ? scratch + columnBytes() : nullptr;
    std::byte *packedY = packedW ? packedW + wBytes() : nullptr;
    const TensorView &x = *c.x;
    const TensorView w = packsW ? packedLike(packedW, *c.w) : *c.w;
    const TensorView y = packsY ? packedLike(packedY, *c.y) : *c.y;
    const int64_t along = packsW ? 1 : wStride, across = packsY ? 1 : yStride;
    const int64_t width = turn.positions, image = rows * width;
    return {
        viewOf(w.data, turn, c.features, rows,
               {c.features * w.strides[0], 0, w.strides[0], along}, 0),
        unfolds ? viewOf(scratch, turn, rows, width,
                         {turn.images * image, image, width, 1}, 0)
                : viewOf(x.data, turn, rows, width,
                         {c.channels * x.strides[1], x.strides[0], x.strides[1],
                          xStride},
                         turn.image * x.strides[0] + turn.position * xStride),
        viewOf(y.data, turn, c.features, width,
               {c.features * y.strides[1], y.strides[0], y.strides[1], across},
               turn.image * y.strides[0] + turn.position * across)};
  }

  Status runTurn(const ConvTurn &turn, std::byte *scratch,
                 CudaStream &stream) const {
    const Views views = viewsOf(turn, scratch);
    if (unfolds)
      SHARDC_RETURN_IF_ERROR(unfold(c, turn, scratch, stream.stream()));
    if (c.bias) // to which the product is added
      SHARDC_RETURN_IF_ERROR(copyStrided(
          views.c,
          viewOf(c.bias->data, turn, c.features, turn.positions,
                 {c.features * c.bias->strides[0], 0, c.bias->strides[0], 0},
                 0),
          stream.stream()));
    return runProduct(views.a, views.b, views.c, 1, c.bias ? 1 : 0, {},
                      scratch + columnBytes() + wBytes() + yBytes(), stream);
  }

  host::Convolution c;
  int64_t rows = 0, size = 0, images = 0;
  int64_t imagesOfTurn = 1, positionsOfTurn = 0;
  int64_t xStride = 0, wStride = 0, yStride = 0; ///< of what is one dim
  bool unfolds = true, packsW = false, packsY = false;
};

Status run(const KernelCall &call) {
  ConvProduct conv;
  SHARDC_RETURN_IF_ERROR(conv.read(call));
  CudaStream &stream = CudaStream::of(call);
  return conv.isDirect() ? conv.runDirectly(stream.stream())
                         : conv.run(call.scratch, stream);
}

int64_t scratchBytes(const KernelCall &call) {
  ConvProduct conv;
  if (!conv.read(call).isOk() || conv.isDirect())
    return 0; // run reports what that finds
  return conv.scratchBytes();
}

const CudaKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::cuda
