//===- MixtureOfExperts.cpp - Tokens through chosen experts ---------------===//
//
// X [n, d], indices and weights [n, k], up [e, d, h], down [e, f, o] and an
// optional bias [e, h] -> Y [n, o]:
//
//   Y[n] = sum over k of weights[n, k] act(X[n] up[e] + bias[e]) down[e]
//
// with e = indices[n, k]. A counting sort brings together the tokens of each
// expert, which then are the rows of two products; no token is dropped, and
// experts without tokens cost nothing. Each token's sum is in the order of its
// experts, whatever the other tokens are. See the op for what `gate`,
// `activation`, `alpha`, `shift` and `limit` say. Quantised weights have their
// scale and zero point behind the bias, and attributes `up_axis` and so on, as
// DequantizeLinear has them.
//
// With `keeps_choices` Y is [n, k, o], what the sum has added up; zeros of choices
// that others have, and none of them negative: what ranks have of a choice adds up
// to it.
//
// `experts` = (all, first): of that many experts, up and down have e from
// number `first` on; choices of others add nothing here.
//
// MixtureOfExpertsBFloat16 rounds both operands of both products to bfloat16, of
// float or float16, as MatMulBFloat16 does.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/experts/ExpertActivation.h"
#include "runtime/kernels/host/experts/ExpertWeights.h"

#include <algorithm>
#include <tuple>

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "MixtureOfExperts";
constexpr char kRounded[] = "MixtureOfExpertsBFloat16";
constexpr int64_t kRows = 128; ///< tokens of an expert at a time

template <typename T> class ExpertsRun {
  using Acc = Accumulator<T>;

public:
  ExpertsRun(const KernelCall &call, const ExpertProducts &products,
             ExpertRounding rounding)
      : call(call), tokens(call.inputs[kTokens]), y(call.outputs[0]),
        up(products.up, sumOrderOf(call), rounding, call.packed[0]),
        down(products.down, sumOrderOf(call), rounding, call.packed[1]) {
    isSum = !keepsChoices(call);
    count = tokens.dims[0];
    choices = call.inputs[kIndices].dims[1];
    experts = products.up.data().dims[0];
    std::tie(all, first) = expertsOf(call);
    inputSize = tokens.dims[1];
    wide = products.up.data().dims[2];
    hidden = products.down.data().dims[1];
    outputs = products.down.data().dims[2];
    block = std::min(kRows, std::max<int64_t>(count * choices, 1));
    activation.read(call, hidden);
  }

  int64_t scratchBytes() const {
    return ownBytes() + upBytes() + alignBuffer(down.scratchBytes(block));
  }

  Status run() {
    starts = reinterpret_cast<int64_t *>(call.scratch);
    order = starts + experts + 1;
    rows = reinterpret_cast<Acc *>(order + count * choices);
    products = rows + block * inputSize;
    activated = products + block * wide;
    results = activated + block * hidden;
    total = results + block * outputs;
    std::fill(total, total + (isSum ? count * outputs : 0), Acc(0));
    for (int64_t i = 0; i < (isSum ? 0 : count * choices); ++i)
      for (int64_t o = 0; o < outputs; ++o)
        choiceAt(i)[o * y.strides[2]] = T(Acc(0));
    sortByExpert();
    for (int64_t expert = 0; expert < experts; ++expert)
      SHARDC_RETURN_IF_ERROR(runExpert(expert));
    for (int64_t n = 0; n < (isSum ? count : 0); ++n)
      for (int64_t o = 0; o < outputs; ++o)
        y.as<T>()[n * y.strides[0] + o * y.strides[1]] =
            T(total[n * outputs + o]);
    return Status::ok();
  }

private:
  int64_t ownBytes() const {
    const int64_t numbers = block * (inputSize + wide + hidden + outputs) +
                            (isSum ? count * outputs : 0);
    const int64_t bytes = (experts + 1 + count * choices) *
                              static_cast<int64_t>(sizeof(int64_t)) +
                          numbers * static_cast<int64_t>(sizeof(Acc));
    return alignBuffer(bytes);
  }

  int64_t upBytes() const { return alignBuffer(up.scratchBytes(block)); }

  int64_t at(ExpertInput input, int64_t choice) const {
    const TensorView &view = call.inputs[input];
    return choice / choices * view.strides[0] +
           choice % choices * view.strides[1];
  }

  /// Of Y [n, k, o].
  T *choiceAt(int64_t choice) const {
    return y.as<T>() + choice / choices * y.strides[0] +
           choice % choices * y.strides[1];
  }

  /// order[starts[e]..starts[e + 1]): the choices of expert e, n * k + i.
  void sortByExpert() {
    const IndexReader index(call.inputs[kIndices]);
    const auto forEachChoice = [&](auto visit) {
      for (int64_t i = 0; i < count * choices; ++i) {
        const int64_t expert = index.wrapped(at(kIndices, i), all) - first;
        if (expert >= 0 && expert < experts)
          visit(i, expert);
      }
    };
    std::fill(starts, starts + experts + 1, 0);
    forEachChoice([&](int64_t, int64_t expert) { ++starts[expert + 1]; });
    for (int64_t e = 0; e < experts; ++e)
      starts[e + 1] += starts[e];
    forEachChoice(
        [&](int64_t i, int64_t expert) { order[starts[expert]++] = i; });
    std::copy_backward(starts, starts + experts, starts + experts + 1);
    starts[0] = 0;
  }

  Status runExpert(int64_t expert) {
    const int64_t end = starts[expert + 1];
    if (starts[expert] == end)
      return Status::ok();
    std::byte *scratch = call.scratch + ownBytes();
    SHARDC_RETURN_IF_ERROR(up.choose(expert, kName, scratch));
    SHARDC_RETURN_IF_ERROR(down.choose(expert, kName, scratch + upBytes()));
    for (int64_t begin = starts[expert]; begin < end; begin += block) {
      const int64_t size = std::min(block, end - begin);
      gather(order + begin, size);
      SHARDC_RETURN_IF_ERROR(up.multiply(size, rows, products));
      activate(expert, size);
      SHARDC_RETURN_IF_ERROR(down.multiply(size, activated, results));
      scatter(order + begin, size);
    }
    return Status::ok();
  }

  void gather(const int64_t *chosen, int64_t size) {
    for (int64_t r = 0; r < size; ++r) {
      const T *token = tokens.as<T>() + chosen[r] / choices * tokens.strides[0];
      for (int64_t i = 0; i < inputSize; ++i)
        rows[r * inputSize + i] = Acc(token[i * tokens.strides[1]]);
    }
  }

  void scatter(const int64_t *chosen, int64_t size) {
    for (int64_t r = 0; r < size; ++r) {
      const Acc weight =
          Acc(call.inputs[kWeights].template as<T>()[at(kWeights, chosen[r])]);
      const Acc *result = results + r * outputs;
      if (!isSum) {
        T *to = choiceAt(chosen[r]);
        for (int64_t o = 0; o < outputs; ++o) {
          const T rounded = T(weight * result[o]);
          to[o * y.strides[2]] = Acc(rounded) == Acc(0) ? T(Acc(0)) : rounded;
        }
        continue;
      }
      Acc *sum = total + chosen[r] / choices * outputs;
      for (int64_t o = 0; o < outputs; ++o)
        sum[o] += weight * result[o];
    }
  }

  void activate(int64_t expert, int64_t size) {
    if (hasInput(call, kBias)) {
      const TensorView &bias = call.inputs[kBias];
      const T *row = bias.as<T>() + expert * bias.strides[0];
      for (int64_t r = 0; r < size; ++r)
        for (int64_t i = 0; i < wide; ++i)
          products[r * wide + i] += Acc(row[i * bias.strides[1]]);
    }
    for (int64_t r = 0; r < size; ++r) {
      const Acc *from = products + r * wide;
      Acc *to = activated + r * hidden;
      activation.dispatch([&](auto function) {
        for (int64_t i = 0; i < hidden; ++i)
          to[i] = activation.at(from, i, function);
      });
    }
  }

  const KernelCall &call;
  const TensorView &tokens, &y;
  ExpertMatrices<T> up, down;
  bool isSum;
  int64_t count, choices, inputSize, wide, hidden, outputs, block;
  int64_t experts, all, first;
  ExpertActivation<Acc> activation;
  int64_t *starts = nullptr, *order = nullptr;
  Acc *rows = nullptr, *products = nullptr, *activated = nullptr;
  Acc *results = nullptr, *total = nullptr;
};

/// What a kernel takes: of what is rounded only that which has more bits.
template <ExpertRounding Rounding>
using TokenTypes = std::conditional_t<Rounding == ExpertRounding::None,
                                      FloatTypes, TypeList<float, Float16>>;
template <ExpertRounding Rounding>
constexpr const char *kNameOf =
    Rounding == ExpertRounding::None ? kName : kRounded;

template <ExpertRounding Rounding> Status run(const KernelCall &call) {
  constexpr const char *name = kNameOf<Rounding>;
  ExpertProducts products;
  SHARDC_RETURN_IF_ERROR(products.read(call, name));
  SHARDC_RETURN_IF_ERROR(
      expectInRange(name, call.inputs[kIndices], expertsOf(call).first));
  return dispatch(TokenTypes<Rounding>(), call.inputs[0].element, name,
                  [&](auto tag) {
                    return ExpertsRun<typename decltype(tag)::Type>(
                               call, products, Rounding)
                        .run();
                  });
}

template <ExpertRounding Rounding>
int64_t scratchBytes(const KernelCall &call) {
  constexpr const char *name = kNameOf<Rounding>;
  ExpertProducts products;
  if (!products.read(call, name).isOk())
    return 0; // run reports it
  return dispatchBytes(TokenTypes<Rounding>(), call.inputs[0].element, name,
                       [&](auto tag) {
                         return ExpertsRun<typename decltype(tag)::Type>(
                                    call, products, Rounding)
                             .scratchBytes();
                       });
}

template <ExpertRounding Rounding, ExpertInput Input>
bool replaces(const KernelCall &call) {
  constexpr const char *name = kNameOf<Rounding>;
  static constexpr std::byte elsewhere{};
  ExpertProducts products;
  if (!products.read(call, name).isOk())
    return false; // run reports it
  bool isAll = false;
  const Status known = dispatch(
      TokenTypes<Rounding>(), call.inputs[0].element, name, [&](auto tag) {
        isAll = ExpertMatrices<typename decltype(tag)::Type>(
                    Input == kUp ? products.up : products.down,
                    sumOrderOf(call), Rounding, &elsewhere)
                    .readsPackedAlone();
      });
  return known.isOk() && isAll;
}

template <ExpertRounding Rounding> Kernel kernelOf() {
  static const OperandPacking packings[] = {
      packingOfExperts<Rounding>(kUp, replaces<Rounding, kUp>),
      packingOfExperts<Rounding>(kDown, replaces<Rounding, kDown>)};
  return {run<Rounding>, scratchBytes<Rounding>, packings};
}

const HostKernelRegistration registration(kName,
                                          kernelOf<ExpertRounding::None>());
const HostKernelRegistration rounded(kRounded,
                                     kernelOf<ExpertRounding::BFloat16>());

} // namespace
} // namespace shardc::runtime::host
