//===- ExpertOperands.h - Operands of MixtureOfExperts --------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_EXPERTS_EXPERTOPERANDS_H
#define SHARDC_RUNTIME_KERNELS_EXPERTS_EXPERTOPERANDS_H

#include "runtime/kernels/index/IndexReader.h"
#include "runtime/kernels/quant/Quantized.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace shardc::runtime::host {

/// Operands of MixtureOfExperts by their number.
enum ExpertInput {
  kTokens,
  kIndices,
  kWeights,
  kUp,
  kDown,
  kBias,
  kUpScale,
  kDownScale = kUpScale + 2
};

/// How many there are, and the first one here.
inline std::pair<int64_t, int64_t> expertsOf(const KernelCall &call) {
  if (const KernelAttribute *range = call.find("experts");
      range && range->numInts == 2)
    return {range->ints[0], range->ints[1]};
  return {call.inputs[kUp].dims[0], 0};
}

/// Whether the result is [n, k, o], with what each choice adds to a token.
inline bool keepsChoices(const KernelCall &call) {
  return call.intOr("keeps_choices", 0) != 0;
}

/// Operand `input` of a call, its scale and zero point from operand `scale` on
/// where there is one, and the attributes for it, which start with `prefix`.
class ExpertOperand {
public:
  Status read(const KernelCall &call, std::string_view kernel, int input,
              int scale, std::string_view prefix) {
    views.data = call.inputs[input];
    isQuantized = hasInput(call, scale);
    if (!isQuantized)
      return Status::ok();
    for (int i = 0; i < call.numAttributes; ++i) {
      KernelAttribute attribute = call.attributes[i];
      if (attribute.name.substr(0, prefix.size()) != prefix)
        continue;
      if (numAttributes == kMaxAttributes)
        return failure(kernel, "has too many attributes");
      attribute.name.remove_prefix(prefix.size());
      attributes[numAttributes++] = attribute;
    }
    TensorView inputs[3] = {call.inputs[input], call.inputs[scale], {}};
    if (hasInput(call, scale + 1))
      inputs[2] = call.inputs[scale + 1];
    KernelCall weights = attributesOnly();
    weights.inputs = inputs;
    weights.numInputs = hasInput(call, scale + 1) ? 3 : 2;
    weights.outputs = inputs;
    weights.numOutputs = 1;
    return readQuantized(weights, kernel, views);
  }

  /// The numbers of one expert, to a view on [1, rows, columns].
  Status dequantizeTo(const TensorView &numbers, std::string_view kernel,
                      int64_t expert) const {
    QuantizedViews part = views;
    for (TensorView *view : {&part.data, &part.scale, &part.zeroPoint})
      *view = narrowed(*view, 0, expert, 1);
    part.result = numbers;
    return dequantize(attributesOnly(), kernel, part);
  }

  const TensorView &data() const { return views.data; }
  /// What the numbers are, or will be.
  artifact::ElementType element() const {
    return isQuantized ? views.scale.element : views.data.element;
  }

  bool isQuantized = false;

  /// A call with the attributes for this operand.
  KernelCall attributesOnly() const {
    KernelCall call;
    call.attributes = attributes;
    call.numAttributes = numAttributes;
    return call;
  }

  QuantizedViews views; ///< its data alone, where it holds numbers

private:
  static constexpr int kMaxAttributes = 8;
  KernelAttribute attributes[kMaxAttributes];
  int numAttributes = 0;
};

/// The weights of a call.
struct ExpertProducts {
  ExpertOperand up, down;

  /// Error: operands that do not fit each other.
  Status read(const KernelCall &call, std::string_view kernel);
};

inline Status expectSizes(std::string_view kernel, const TensorView &view,
                          std::initializer_list<int64_t> dims,
                          artifact::ElementType element) {
  TensorView expected = view;
  expected.element = element;
  expected.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), expected.dims);
  return expectLike(kernel, expected, view);
}

/// Weights of these sizes that are, or become, numbers like those of `x`.
inline Status expectWeights(std::string_view kernel,
                            const ExpertOperand &weights, const TensorView &x,
                            std::initializer_list<int64_t> dims) {
  const TensorView &data = weights.data();
  SHARDC_RETURN_IF_ERROR(expectSizes(kernel, data, dims, data.element));
  return weights.element() == x.element
             ? Status::ok()
             : failure(kernel, "weights are not of the tokens' element type");
}

inline Status ExpertProducts::read(const KernelCall &call,
                                   std::string_view kernel) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kernel, kBias));
  const TensorView &x = call.inputs[kTokens], &up = call.inputs[kUp];
  const TensorView &down = call.inputs[kDown];
  const TensorView &indices = call.inputs[kIndices];
  if (x.rank != 2 || up.rank != 3 || down.rank != 3 || indices.rank != 2)
    return failure(kernel, "expected tokens [n, d], indices [n, k], experts "
                           "[e, d, h] and [e, f, o]");
  const int64_t n = x.dims[0], experts = up.dims[0];
  const KernelAttribute *gate = call.find("gate");
  const int64_t wide = down.dims[1] * (gate && gate->text != "none" ? 2 : 1);
  SHARDC_RETURN_IF_ERROR(expectIndices(kernel, indices));
  SHARDC_RETURN_IF_ERROR(
      expectSizes(kernel, indices, {n, indices.dims[1]}, indices.element));
  SHARDC_RETURN_IF_ERROR(expectSizes(kernel, call.inputs[kWeights],
                                     {n, indices.dims[1]}, x.element));
  SHARDC_RETURN_IF_ERROR(this->up.read(call, kernel, kUp, kUpScale, "up_"));
  SHARDC_RETURN_IF_ERROR(
      this->down.read(call, kernel, kDown, kDownScale, "down_"));
  SHARDC_RETURN_IF_ERROR(
      expectWeights(kernel, this->up, x, {experts, x.dims[1], wide}));
  SHARDC_RETURN_IF_ERROR(expectWeights(kernel, this->down, x,
                                       {experts, down.dims[1], down.dims[2]}));
  const TensorView &y = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(
      keepsChoices(call)
          ? expectSizes(kernel, y, {n, indices.dims[1], down.dims[2]},
                        x.element)
          : expectSizes(kernel, y, {n, down.dims[2]}, x.element));
  if (hasInput(call, kBias))
    SHARDC_RETURN_IF_ERROR(
        expectSizes(kernel, call.inputs[kBias], {experts, wide}, x.element));
  return Status::ok();
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_EXPERTS_EXPERTOPERANDS_H
