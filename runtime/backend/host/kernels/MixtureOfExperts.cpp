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
// `experts` = (all, first): of that many experts, up and down have e from
// number `first` on; choices of others add nothing here.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend/host/kernels/ExpertWeights.h"
#include "runtime/backend/host/kernels/FloatMath.h"
#include "runtime/backend/host/kernels/IndexReader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "MixtureOfExperts";
constexpr int64_t kRows = 128; ///< tokens of an expert at a time

enum Input {
  kTokens,
  kIndices,
  kWeights,
  kUp,
  kDown,
  kBias,
  kUpScale,
  kDownScale = kUpScale + 2
};

/// The weights of a call.
struct Products {
  ExpertOperand up, down;

  Status read(const KernelCall &call) {
    SHARDC_RETURN_IF_ERROR(up.read(call, kName, kUp, kUpScale, "up_"));
    return down.read(call, kName, kDown, kDownScale, "down_");
  }
};

/// Spacing of gates and of what they gate in a row of h.
struct Gate {
  bool isGated = false;
  int64_t step = 1, other = 0; ///< gate i at i * step, its partner `other` on
};

/// How many there are, and the first one here.
std::pair<int64_t, int64_t> expertsOf(const KernelCall &call) {
  if (const KernelAttribute *range = call.find("experts");
      range && range->numInts == 2)
    return {range->ints[0], range->ints[1]};
  return {call.inputs[kUp].dims[0], 0};
}

template <typename T> class ExpertsRun {
  using Acc = Accumulator<T>;

public:
  ExpertsRun(const KernelCall &call, const Products &products)
      : call(call), tokens(call.inputs[kTokens]), y(call.outputs[0]),
        up(products.up), down(products.down) {
    count = tokens.dims[0];
    choices = call.inputs[kIndices].dims[1];
    experts = products.up.data().dims[0];
    std::tie(all, first) = expertsOf(call);
    inputSize = tokens.dims[1];
    wide = products.up.data().dims[2];
    hidden = products.down.data().dims[1];
    outputs = products.down.data().dims[2];
    block = std::min(kRows, std::max<int64_t>(count * choices, 1));
    alpha = Acc(call.floatOr("alpha", 1));
    shift = Acc(call.floatOr("shift", 0));
    limit = Acc(call.floatOr("limit", std::numeric_limits<double>::infinity()));
    if (const KernelAttribute *gated = call.find("gate")) {
      gate.isGated = gated->text != "none";
      const bool isInterleaved = gated->text == "interleaved";
      gate.step = isInterleaved ? 2 : 1;
      gate.other = isInterleaved ? 1 : hidden;
    }
    if (const KernelAttribute *named = call.find("activation"))
      activation = named->text;
  }

  int64_t scratchBytes() const {
    return ownBytes() + up.scratchBytes() + down.scratchBytes();
  }

  Status run() {
    starts = reinterpret_cast<int64_t *>(call.scratch);
    order = starts + experts + 1;
    rows = reinterpret_cast<Acc *>(order + count * choices);
    products = rows + block * inputSize;
    activated = products + block * wide;
    results = activated + block * hidden;
    total = results + block * outputs;
    std::fill(total, total + count * outputs, Acc(0));
    sortByExpert();
    for (int64_t expert = 0; expert < experts; ++expert)
      SHARDC_RETURN_IF_ERROR(runExpert(expert));
    for (int64_t n = 0; n < count; ++n)
      for (int64_t o = 0; o < outputs; ++o)
        y.as<T>()[n * y.strides[0] + o * y.strides[1]] =
            T(total[n * outputs + o]);
    return Status::ok();
  }

private:
  int64_t ownBytes() const {
    const int64_t numbers =
        block * (inputSize + wide + hidden + outputs) + count * outputs;
    const int64_t bytes = (experts + 1 + count * choices) *
                              static_cast<int64_t>(sizeof(int64_t)) +
                          numbers * static_cast<int64_t>(sizeof(Acc));
    return (bytes + 63) / 64 * 64;
  }

  int64_t at(Input input, int64_t choice) const {
    const TensorView &view = call.inputs[input];
    return choice / choices * view.strides[0] +
           choice % choices * view.strides[1];
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
    Matrix<Acc> matrixUp, matrixDown;
    SHARDC_RETURN_IF_ERROR(up.at(expert, kName, scratch, matrixUp));
    SHARDC_RETURN_IF_ERROR(
        down.at(expert, kName, scratch + up.scratchBytes(), matrixDown));
    for (int64_t begin = starts[expert]; begin < end; begin += block) {
      const int64_t size = std::min(block, end - begin);
      gather(order + begin, size);
      SHARDC_RETURN_IF_ERROR(multiply(
          size, wide, inputSize, Acc(1), {rows, leading(inputSize), false},
          matrixUp, Acc(0), products, leading(wide)));
      activate(expert, size);
      SHARDC_RETURN_IF_ERROR(multiply(
          size, outputs, hidden, Acc(1), {activated, leading(hidden), false},
          matrixDown, Acc(0), results, leading(outputs)));
      scatter(order + begin, size);
    }
    return Status::ok();
  }

  static int64_t leading(int64_t columns) {
    return std::max<int64_t>(columns, 1);
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
      if (activation == "silu")
        activateRow(from, to, [&](Acc x) {
          return x / (Acc(1) + exponential(-alpha * x));
        });
      else if (activation == "gelu")
        activateRow(from, to, [](Acc x) {
          return Acc(0.5) * x *
                 (Acc(1) +
                  errorFunction(x * (Acc(1) / std::numbers::sqrt2_v<Acc>)));
        });
      else if (activation == "gelu_tanh")
        activateRow(from, to, [](Acc x) {
          constexpr Acc scale =
              std::numbers::sqrt2_v<Acc> * std::numbers::inv_sqrtpi_v<Acc>;
          return Acc(0.5) * x *
                 (Acc(1) +
                  hyperbolicTangent(scale * (x + Acc(0.044715) * x * x * x)));
        });
      else if (activation == "relu")
        activateRow(from, to, [](Acc x) { return x < Acc(0) ? Acc(0) : x; });
      else
        activateRow(from, to, [](Acc x) { return x; });
    }
  }

  template <typename Function>
  void activateRow(const Acc *from, Acc *to, Function function) const {
    for (int64_t i = 0; i < hidden; ++i) {
      if (!gate.isGated) {
        to[i] = function(from[i]);
        continue;
      }
      const Acc g = from[i * gate.step], u = from[i * gate.step + gate.other];
      to[i] = function(g > limit ? limit : g) * ((u > limit    ? limit
                                                  : u < -limit ? -limit
                                                               : u) +
                                                 shift);
    }
  }

  const KernelCall &call;
  const TensorView &tokens, &y;
  ExpertMatrices<T> up, down;
  int64_t count, choices, inputSize, wide, hidden, outputs, block;
  int64_t experts, all, first;
  Acc alpha, shift, limit;
  Gate gate;
  std::string_view activation = "silu";
  int64_t *starts = nullptr, *order = nullptr;
  Acc *rows = nullptr, *products = nullptr, *activated = nullptr;
  Acc *results = nullptr, *total = nullptr;
};

Status expectSizes(const TensorView &view, std::initializer_list<int64_t> dims,
                   artifact::ElementType element) {
  TensorView expected = view;
  expected.element = element;
  expected.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), expected.dims);
  return expectLike(kName, expected, view);
}

/// Weights of these sizes that are, or become, numbers like those of `x`.
Status expectWeights(const ExpertOperand &weights, const TensorView &x,
                     std::initializer_list<int64_t> dims) {
  const TensorView &data = weights.data();
  SHARDC_RETURN_IF_ERROR(expectSizes(data, dims, data.element));
  return weights.element() == x.element
             ? Status::ok()
             : failure(kName, "weights are not of the tokens' element type");
}

Status read(const KernelCall &call, Products &products) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, kBias));
  const TensorView &x = call.inputs[kTokens], &up = call.inputs[kUp];
  const TensorView &down = call.inputs[kDown];
  const TensorView &indices = call.inputs[kIndices];
  if (x.rank != 2 || up.rank != 3 || down.rank != 3 || indices.rank != 2)
    return failure(kName, "expected tokens [n, d], indices [n, k], experts "
                          "[e, d, h] and [e, f, o]");
  const int64_t n = x.dims[0], experts = up.dims[0];
  const KernelAttribute *gate = call.find("gate");
  const int64_t wide = down.dims[1] * (gate && gate->text != "none" ? 2 : 1);
  SHARDC_RETURN_IF_ERROR(expectIndices(kName, indices));
  SHARDC_RETURN_IF_ERROR(
      expectSizes(indices, {n, indices.dims[1]}, indices.element));
  SHARDC_RETURN_IF_ERROR(
      expectSizes(call.inputs[kWeights], {n, indices.dims[1]}, x.element));
  SHARDC_RETURN_IF_ERROR(products.read(call));
  SHARDC_RETURN_IF_ERROR(
      expectWeights(products.up, x, {experts, x.dims[1], wide}));
  SHARDC_RETURN_IF_ERROR(
      expectWeights(products.down, x, {experts, down.dims[1], down.dims[2]}));
  SHARDC_RETURN_IF_ERROR(
      expectSizes(call.outputs[0], {n, down.dims[2]}, x.element));
  if (hasInput(call, kBias))
    SHARDC_RETURN_IF_ERROR(
        expectSizes(call.inputs[kBias], {experts, wide}, x.element));
  return Status::ok();
}

Status run(const KernelCall &call) {
  Products products;
  SHARDC_RETURN_IF_ERROR(read(call, products));
  SHARDC_RETURN_IF_ERROR(
      expectInRange(kName, call.inputs[kIndices], expertsOf(call).first));
  return dispatch(FloatTypes(), call.inputs[0].element, kName, [&](auto tag) {
    return ExpertsRun<typename decltype(tag)::Type>(call, products).run();
  });
}

int64_t scratchBytes(const KernelCall &call) {
  Products products;
  if (!read(call, products).isOk())
    return 0; // run reports it
  return dispatchBytes(
      FloatTypes(), call.inputs[0].element, kName, [&](auto tag) {
        return ExpertsRun<typename decltype(tag)::Type>(call, products)
            .scratchBytes();
      });
}

const HostKernelRegistration registration(kName, {run, scratchBytes});

} // namespace
} // namespace shardc::runtime::host
