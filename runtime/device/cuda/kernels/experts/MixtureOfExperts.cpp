//===- MixtureOfExperts.cpp - Tokens through chosen experts, on a GPU -----===//
//
// See the host's kernel for what is computed, Experts.h for how.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/AlignedBuffer.h"
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/experts/Experts.h"
#include "runtime/device/cuda/kernels/index/IndexTuple.h"

#include <tuple>

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "MixtureOfExperts";
/// Of what is between the kernels; tokens beyond it come in another turn.
constexpr int64_t kTurnBytes = int64_t{256} << 20;

using host::kBias;
using host::kIndices;
using host::kTokens;
using host::kUp;

/// Weights as tiles read them, and as few pairs do, if these can.
struct ExpertWeights {
  ExpertMatrix matrix;
  FewMatrix few;
  int64_t strides[3] = {}; ///< from expert to expert: data, scale, zero point
  bool hasFew = false;

  Status read(const host::ExpertOperand &operand) {
    const host::QuantizedViews &views = operand.views;
    const TensorView &data = views.data;
    matrix.k = data.dims[1];
    matrix.columns = data.dims[2];
    std::copy_n(data.strides, 3, matrix.data);
    if (operand.isQuantized) {
      SHARDC_RETURN_IF_ERROR(checkQuantized(views));
      SHARDC_RETURN_IF_ERROR(
          matrix.blocks.read(operand.attributesOnly(), kName, views));
      matrix.integers = Integers(data);
      matrix.isFloat8 = host::isScaledFloat8(data.element);
      if (matrix.isFloat8)
        matrix.decode =
            Float8Decoder(host::Float8Reader::formatOf(data.element));
      matrix.scale = views.scale.data;
      matrix.hasZeros = views.hasZeroPoint;
      if (views.zeroPoint.element == views.scale.element)
        matrix.zeroNumbers = views.zeroPoint.data;
      matrix.zeros = Integers(views.zeroPoint);
      matrix.axis = views.axis;
      for (int d = 0; d < 3; ++d)
        if (!views.hasBlocks || d != views.axis) {
          matrix.scaleAt[d] = views.scale.strides[d];
          matrix.zeroAt[d] = views.zeroPoint.strides[d];
        }
    } else {
      matrix.numbers = data.data;
    }
    hasFew = readFewMatrix(views, operand.isQuantized, matrix.blocks, few) &&
             data.strides[0] % few.alignment() == 0;
    strides[0] = data.strides[0];
    strides[1] = matrix.scaleAt[0];
    strides[2] = matrix.zeroAt[0];
    return Status::ok();
  }

private:
  static Status checkQuantized(const host::QuantizedViews &views) {
    const bool hasStoredZeros =
        views.hasZeroPoint && views.zeroPoint.element != views.scale.element;
    const bool isFloat8 = host::isScaledFloat8(views.data.element);
    if (isFloat8 ? hasStoredZeros : !areIntegers(views.data.element))
      return host::unsupported(kName, views.data.element);
    return hasStoredZeros
               ? host::expectElement(kName, views.data.element, views.zeroPoint)
               : Status::ok();
  }
};

struct Experts {
  TensorView tokens, indices, weights, y;
  ExpertWeights up, down;
  ExpertBias bias;
  int64_t all = 0, first = 0, here = 0;

  Status read(const KernelCall &call) {
    host::ExpertProducts products;
    SHARDC_RETURN_IF_ERROR(products.read(call, kName));
    SHARDC_RETURN_IF_ERROR(up.read(products.up));
    SHARDC_RETURN_IF_ERROR(down.read(products.down));
    tokens = call.inputs[kTokens];
    indices = call.inputs[kIndices];
    weights = call.inputs[host::kWeights];
    y = call.outputs[0];
    here = call.inputs[kUp].dims[0];
    std::tie(all, first) = host::expertsOf(call);
    if (host::hasInput(call, kBias)) {
      const TensorView &view = call.inputs[kBias];
      bias = {view.data, {view.strides[0], view.strides[1]}};
    }
    return host::dispatch(host::FloatTypes(), tokens.element, kName,
                          [](auto) {});
  }

  bool isDouble() const {
    return tokens.element == artifact::ElementType_Float64;
  }

  /// Tokens [begin, begin + count).
  Experts part(int64_t begin, int64_t count) const {
    Experts part = *this;
    for (TensorView *view :
         {&part.tokens, &part.indices, &part.weights, &part.y})
      *view = narrowed(*view, 0, begin, count);
    return part;
  }
};

/// What is between the kernels, in scratch, for so many tokens.
struct Between {
  ExpertOrder order;
  std::byte *tokens, *products, *activated, *results;
  int64_t bytes = 0;

  Between(const Experts &x, int64_t count, std::byte *scratch)
      : scratch(scratch) {
    const int64_t pairs = count * x.indices.dims[1];
    const int64_t size = x.isDouble() ? 8 : 4;
    for (int32_t **list : {&order.starts, &order.tiles, &order.next})
      *list = reinterpret_cast<int32_t *>(take(x.here + 1, 4));
    order.pairs = reinterpret_cast<int32_t *>(take(pairs, 4));
    order.tileRows = tileRowsOf(x.tokens.element, pairs, x.here);
    tokens = take(std::min(count, kMostFewTokens) * x.up.matrix.k, size);
    products = take(pairs * x.up.matrix.columns, size);
    activated = take(pairs * x.down.matrix.k, size);
    results = take(pairs * x.down.matrix.columns, size);
  }

private:
  std::byte *take(int64_t count, int64_t size) {
    std::byte *at = scratch ? scratch + bytes : nullptr;
    bytes += alignBuffer(count * size);
    return at;
  }
  std::byte *scratch;
};

int64_t tokensOfTurn(const Experts &x) {
  const int64_t bytes =
      x.indices.dims[1] * (x.isDouble() ? 8 : 4) *
          (x.up.matrix.columns + x.down.matrix.k + x.down.matrix.columns) +
      1;
  return std::clamp<int64_t>(kTurnBytes / bytes, 1,
                             std::max<int64_t>(x.tokens.dims[0], 1));
}

template <typename To>
Status activate(const KernelCall &call, const Experts &x, const Between &b,
                int64_t pairs) {
  using Acc = host::Compute<To>;
  host::ExpertActivation<Acc> activation;
  activation.read(call, x.down.matrix.k);
  return activatePairs(reinterpret_cast<const Acc *>(b.products),
                       reinterpret_cast<To *>(b.activated), activation, pairs,
                       x.up.matrix.columns, x.down.matrix.k, streamOf(call));
}

Status runFew(const KernelCall &call, const Experts &x, const Between &b,
              const ExpertChoices &choices) {
  const cudaStream_t stream = streamOf(call);
  auto *tokens = reinterpret_cast<float *>(b.tokens);
  SHARDC_RETURN_IF_ERROR(toFloats(x.tokens, tokens, stream));
  SHARDC_RETURN_IF_ERROR(multiplyPairs(
      choices, tokens, choices.choices, x.up.few, x.up.strides, x.bias,
      x.tokens.element, reinterpret_cast<float *>(b.products), stream));
  SHARDC_RETURN_IF_ERROR(activate<float>(call, x, b, choices.pairs));
  return multiplyPairs(choices, reinterpret_cast<const float *>(b.activated), 1,
                       x.down.few, x.down.strides, {}, x.tokens.element,
                       reinterpret_cast<float *>(b.results), stream);
}

Status runTiles(const KernelCall &call, const Experts &x, const Between &b,
                const ExpertChoices &choices) {
  const cudaStream_t stream = streamOf(call);
  SHARDC_RETURN_IF_ERROR(sortPairs(choices, b.order, stream));
  const ExpertRows tokens = {x.tokens.data,
                             choices.choices,
                             {x.tokens.strides[0], x.tokens.strides[1]}};
  const artifact::ElementType element = x.tokens.element;
  SHARDC_RETURN_IF_ERROR(multiplyTiles(choices, b.order, tokens, x.up.matrix,
                                       x.bias, element, b.products, stream));
  SHARDC_RETURN_IF_ERROR(
      host::dispatch(host::FloatTypes(), element, kName, [&](auto tag) {
        return activate<typename decltype(tag)::Type>(call, x, b,
                                                      choices.pairs);
      }));
  const ExpertRows rows = {b.activated, 1, {x.down.matrix.k, 1}};
  return multiplyTiles(choices, b.order, rows, x.down.matrix, {}, element,
                       b.results, stream);
}

Status runTurn(const KernelCall &call, const Experts &x) {
  const Between b(x, x.tokens.dims[0], call.scratch);
  const ExpertChoices choices(x.indices, x.all, x.first, x.here);
  if (choices.pairs > 0 && x.here > 0) {
    const bool few =
        x.tokens.dims[0] <= kMostFewTokens && x.up.hasFew && x.down.hasFew;
    SHARDC_RETURN_IF_ERROR(few ? runFew(call, x, b, choices)
                               : runTiles(call, x, b, choices));
  }
  return combinePairs(choices, x.weights, b.results, x.y, indexMayFail(call),
                      streamOf(call));
}

Status run(const KernelCall &call) {
  if (host::keepsChoices(call))
    return host::failure(kName, "keeps choices apart on processors alone");
  Experts x;
  SHARDC_RETURN_IF_ERROR(x.read(call));
  const int64_t count = x.tokens.dims[0], size = tokensOfTurn(x);
  for (int64_t begin = 0; begin < count; begin += size)
    SHARDC_RETURN_IF_ERROR(
        runTurn(call, x.part(begin, std::min(size, count - begin))));
  return Status::ok();
}

int64_t scratchBytes(const KernelCall &call) {
  Experts x;
  return x.read(call).isOk() ? Between(x, tokensOfTurn(x), nullptr).bytes
                             : 0; // run reports what that finds
}

const CudaKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::cuda
