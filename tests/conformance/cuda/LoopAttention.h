//===- LoopAttention.h - A library's attention that is a loop -------------===//
//
// In place of cuDNN, as strict as its guide lets it be, on a simulated GPU.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_CUDA_LOOPATTENTION_H
#define SHARDC_TESTS_CONFORMANCE_CUDA_LOOPATTENTION_H

#include "runtime/device/cuda/CudaStatus.h"
#include "runtime/device/cuda/attention/FusedAttention.h"
#include "runtime/kernels/StorageTypes.h"
#include "tests/conformance/cuda/SimulatedCosts.h"
#include "tests/conformance/cuda/SimulatedDevice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shardc::testing {

using runtime::FusedAttention;
using runtime::FusedAttentionOperands;
using runtime::FusedAttentionShape;
using runtime::Status;
using runtime::host::BFloat16;
using runtime::host::Float16;

/// What the library was asked, and how it answers.
struct LoopLog {
  std::vector<FusedAttentionShape> planned;
  int runs = 0;
  bool isPadded = false; ///< what ran last
  bool refuses = false;
  bool isWrong = false, isLastRowLost = false;
  bool takesAllMemory = false; ///< that the device has left
  int64_t workspace = 0;
  bool isPaddingWrong = false;
  int alive = 0;         ///< plans
  int runsOfDropped = 0; ///< plans that ran when they were gone
};

/// As strict as NVIDIA's guide lets it be. Rows that see nothing, and those that
/// are padding, become what a library may leave there; keys that are padding
/// are read, and weigh 0.
template <typename T> class LoopAttention final : public FusedAttention {
public:
  LoopAttention(const FusedAttentionShape &shape, LoopLog &log)
      : s(shape), log(log) {
    ++log.alive;
  }
  ~LoopAttention() override { --log.alive; }
  int64_t workspaceBytes() const override { return log.workspace; }
  Status run(const FusedAttentionOperands &operands, std::byte *,
             cudaStream_t stream) override {
    ++log.runs;
    log.isPadded = s.isPadded;
    EXPECT_EQ(s.isPadded, operands.queryLengths && operands.keyLengths);
    auto attend = [this, &all = log, lives = std::weak_ptr<int>(life),
                   operands] {
      if (lives.expired())
        ++all.runsOfDropped; // its code is not on the GPU any more
      else
        this->attend(onSimulatedGpu(operands));
    };
    return runtime::cudaStatus(enqueueSimulated(stream, attend), "attention");
  }

private:
  static const T *row(const std::byte *data, const int64_t (&strides)[3],
                      int64_t b, int64_t h, int64_t i) {
    return reinterpret_cast<const T *>(data) + b * strides[0] + h * strides[1] +
           i * strides[2];
  }
  bool sees(int64_t i, int64_t j) const {
    if (i >= queries || j >= keys)
      return false;
    const int64_t last = i + (s.alignsEnds ? keys - queries : 0);
    return !s.isCausal || (j <= last && (s.window == 0 || j > last - s.window));
  }
  /// Tile by tile, the largest score so far as the one that is subtracted: of
  /// tiles in which all are -inf nothing is made but NaN.
  struct Place {
    int64_t b, kv, i;
  };
  void sumTiles(const FusedAttentionOperands &operands, const Place &at,
                const std::vector<double> &scores, double &sum,
                std::vector<double> &values) {
    constexpr int64_t kTile = 8;
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t first = 0; first < s.keys; first += kTile) {
      std::vector<int64_t> seen;
      double next = largest;
      for (int64_t j = first; j < std::min(first + kTile, s.keys); ++j)
        if (sees(at.i, j)) {
          seen.push_back(j);
          next = std::max(next, scores[size_t(j)]);
        }
      if (seen.empty())
        continue;
      const double factor = std::exp(largest - next);
      sum *= factor;
      for (double &value : values)
        value *= factor;
      largest = next;
      for (int64_t j : seen) {
        const double weight = std::exp(scores[size_t(j)] - largest);
        sum += weight;
        for (int64_t d = 0; d < s.depth; ++d)
          values[size_t(d)] +=
              weight * double(row(operands.v, s.v, at.b, at.kv, j)[d]);
      }
    }
  }
  void attend(const FusedAttentionOperands &operands) {
    for (int64_t b = 0; b < s.batches; ++b) {
      queries = s.isPadded ? operands.queryLengths[b] : s.queries;
      keys = s.isPadded ? operands.keyLengths[b] : s.keys;
      ASSERT_TRUE(queries >= 0 && queries <= s.queries && keys >= 0 &&
                  keys <= s.keys);
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.queries; ++i)
          attend(operands, b, h, i);
    }
  }
  void attend(const FusedAttentionOperands &operands, int64_t b, int64_t h,
              int64_t i) {
    const int64_t kv = h / (s.heads / s.kvHeads);
    const T *q = row(operands.q, s.q, b, h, i);
    std::vector<double> scores(static_cast<size_t>(s.keys));
    for (int64_t j = 0; j < s.keys; ++j) {
      double score = 0;
      for (int64_t d = 0; d < s.depth; ++d)
        score += double(q[d]) * double(row(operands.k, s.k, b, kv, j)[d]);
      score *= s.scale;
      if (s.hasBias)
        score += double(row(operands.bias, s.bias, b, h, i)[j]);
      scores[size_t(j)] = score;
    }
    double sum = 0;
    std::vector<double> values(static_cast<size_t>(s.depth));
    sumTiles(operands, {b, kv, i}, scores, sum, values);
    for (int64_t j = keys; j < s.keys; ++j) {
      sum += 0 * scores[size_t(j)];
      for (int64_t d = 0; d < s.depth; ++d)
        values[size_t(d)] += 0 * double(row(operands.v, s.v, b, kv, j)[d]);
    }
    // A tile of a library's may reach behind a row, and weigh that with 0.
    const int64_t behind =
        s.hasBias ? std::min((s.keys + 7) / 8 * 8, s.bias[2]) : 0;
    for (int64_t j = s.keys; j < behind; ++j)
      sum += 0 * double(row(operands.bias, s.bias, b, h, i)[j]);
    T *y = const_cast<T *>(row(operands.y, s.y, b, h, i));
    for (int64_t d = 0; d < s.depth; ++d) {
      const double value = values[size_t(d)];
      y[d] = T(float(sum == 0 ? 77 : value / sum + (isWrong() ? 1 : 0)));
      if (log.isLastRowLost && i == queries - 1)
        y[d] = T(0.f);
    }
  }

  bool isWrong() const {
    return log.isWrong || (log.isPaddingWrong && s.isPadded);
  }

  const FusedAttentionShape s;
  LoopLog &log;
  int64_t queries = 0, keys = 0; ///< of the batch at hand
  const std::shared_ptr<int> life = std::make_shared<int>();
};

class LoopEngine final : public runtime::FusedAttentionEngine {
public:
  explicit LoopEngine(LoopLog &log) : log(log) {}
  ~LoopEngine() override { cudaFree(memory); }
  std::unique_ptr<FusedAttention>
  plan(const FusedAttentionShape &shape) override {
    log.planned.push_back(shape);
    spend(HostCost::AttentionPlan);
    size_t free = 0, total = 0;
    if (log.takesAllMemory && cudaMemGetInfo(&free, &total) == cudaSuccess &&
        free > 0) {
      EXPECT_EQ(cudaMalloc(&memory, free), cudaSuccess);
    }
    if (log.refuses || !isSupported(shape))
      return nullptr;
    if (shape.element == artifact::ElementType_Float16)
      return std::make_unique<LoopAttention<Float16>>(shape, log);
    return std::make_unique<LoopAttention<BFloat16>>(shape, log);
  }

private:
  /// What cuDNN's frontend refuses.
  static bool isSupported(const FusedAttentionShape &s) {
    const bool hasFewKeys = !s.isPadded && s.queries > s.keys;
    if (s.alignsEnds && (hasFewKeys || s.hasBias))
      return false;
    if (s.window != 0 && (hasFewKeys || s.hasBias))
      return false;
    for (const auto *strides : {&s.q, &s.k, &s.v, &s.y})
      for (const int64_t stride : *strides)
        if (stride % 8 != 0)
          return false;
    return s.depth % 8 == 0 && (!s.hasBias || s.bias[2] % 8 == 0);
  }

  LoopLog &log;
  void *memory = nullptr;
};

} // namespace shardc::testing

#endif // SHARDC_TESTS_CONFORMANCE_CUDA_LOOPATTENTION_H
