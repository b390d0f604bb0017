//===- attention.cpp - Attention of one query behind many keys ------------===//
//
//   build/bin/bench-attention [positions] [threads] [kind] [key heads]
//
// One sequence of 32768 positions, one thread, 32 heads and 8 key heads of 128
// numbers, if nothing else is said. Keys and values are read once: what bounds it is memory, so that each line says how many GB/s
// of keys and values it reads, and how many % that is of what the threads read
// (sums of the same bytes) and of what they copy (both directions together).
// Medians of 21 runs, each kind in turn. Keys and values lie dense ("request",
// as a model with caches of its own has them) or in pages of 64 in no order
// ("pages", as --serve does), also in bytes with a scale for each key and head
// (--kv-type).
//
//===----------------------------------------------------------------------===//
#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/Kernel.h"
#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/attention/PagedChecks.h"
#include "runtime/launch/HostThreads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

using namespace shardc;
using namespace shardc::runtime;
using namespace shardc::runtime::host;
using artifact::ElementType;
using Clock = std::chrono::steady_clock;

static constexpr int64_t kHeads = 32, kSize = 128, kOfPage = 64;
static int64_t keyHeads = 8;
static constexpr int kRounds = 21;

namespace {

/// A dense tensor with memory of its own.
struct Operand {
  AlignedBuffer memory;
  TensorView view;

  Operand() { view.rank = -1; }
  Operand(ElementType element, std::vector<int64_t> dims, int64_t bytes) {
    view.element = element;
    view.rank = int(dims.size());
    int64_t step = 1;
    for (int d = view.rank - 1; d >= 0; --d) {
      view.dims[d] = dims[size_t(d)];
      view.strides[d] = step;
      step *= view.dims[d];
    }
    if (!memory.allocate(view.numElements() * bytes))
      std::abort();
    view.data = memory.data();
    std::memset(view.data, 0, size_t(memory.size()));
  }

  /// Numbers between -1 and 1, different ones.
  void fill() {
    uint32_t state = 1;
    for (int64_t i = 0; i < view.numElements(); ++i) {
      state = state * 1664525u + 1013904223u;
      const float number = float(int32_t(state)) / 2147483648.0f;
      switch (view.element) {
      case artifact::ElementType_Float32:
        view.as<float>()[i] = number;
        break;
      case artifact::ElementType_Float16:
        view.as<Float16>()[i] = Float16(number);
        break;
      case artifact::ElementType_BFloat16:
        view.as<BFloat16>()[i] = BFloat16(number);
        break;
      default: // bytes, none of them a NaN
        view.as<uint8_t>()[i] = uint8_t(state >> 24) & 0xbf;
      }
    }
  }
};

/// A call of a kernel, with all that it reads.
struct Work {
  const char *name;
  double bytes; ///< of keys and values, with their scales
  std::function<void()> run;
  std::vector<double> seconds = {};
};

struct Call {
  const Kernel *kernel = nullptr;
  std::vector<std::unique_ptr<Operand>> tensors;
  std::vector<TensorView> inputs;
  TensorView output;
  int64_t offset = 0, causal = 1;
  double scale = 0.088;
  std::vector<KernelAttribute> attributes;
  AlignedBuffer scratch;
  KernelCall call;

  explicit Call(const char *name) : kernel(findHostKernel(name)) {
    if (!kernel)
      std::abort();
  }
  Operand &add(ElementType element, std::vector<int64_t> dims, int64_t bytes) {
    tensors.push_back(
        std::make_unique<Operand>(element, std::move(dims), bytes));
    tensors.back()->fill();
    return *tensors.back();
  }
  void input(const Operand &tensor) { inputs.push_back(tensor.view); }
  void absent() { inputs.push_back(Operand().view); }

  void finish(ElementType element) {
    output =
        add(element, {1, kHeads, 1, kSize}, artifact::elementBytes(element))
            .view;
    attributes.resize(3);
    attributes[0] = {"scale", nullptr, 0, &scale, 1, {}};
    attributes[1] = {"is_causal", &causal, 1, nullptr, 0, {}};
    attributes[2] = {"causal_offset", &offset, 1, nullptr, 0, {}};
    call.inputs = inputs.data();
    call.numInputs = int(inputs.size());
    call.outputs = &output;
    call.numOutputs = 1;
    call.attributes = attributes.data();
    call.numAttributes = int(attributes.size());
    const int64_t bytes = kernel->scratchBytes ? kernel->scratchBytes(call) : 0;
    if (!scratch.allocate(bytes))
      std::abort();
    call.scratch = scratch.data();
  }
  void run() const {
    if (const Status status = kernel->run(call); !status.isOk()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      std::exit(1);
    }
  }
};

Work ofRequest(const char *name, ElementType element, int64_t positions) {
  auto call = std::make_shared<Call>("Attention");
  const int64_t bytes = artifact::elementBytes(element);
  call->input(call->add(element, {1, kHeads, 1, kSize}, bytes));
  for (int i = 0; i < 2; ++i)
    call->input(call->add(element, {1, keyHeads, positions, kSize}, bytes));
  call->offset = positions - 1;
  call->finish(element);
  return {name, double(2 * keyHeads * positions * kSize * bytes),
          [call] { call->run(); }};
}

Work inPages(const char *name, ElementType compute, ElementType element,
             int64_t positions) {
  auto call = std::make_shared<Call>("PagedAttention");
  const int64_t bytes = artifact::elementBytes(element),
                pages = positions / kOfPage;
  call->input(call->add(compute, {1, kHeads, 1, kSize},
                        artifact::elementBytes(compute)));
  for (int i = 0; i < 2; ++i)
    call->input(call->add(element, {pages, keyHeads, kOfPage, kSize}, bytes));
  const auto integers = [&](std::vector<int64_t> dims) -> Operand & {
    return call->add(artifact::ElementType_Int64, std::move(dims), 8);
  };
  Operand &order = integers({1, pages});
  const int64_t step = pages % 787 ? 787 : 1; // a prime visits each page once
  for (int64_t p = 0; p < pages; ++p)
    order.view.as<int64_t>()[p] = p * step % pages;
  call->input(order);
  Operand &past = integers({1}), &first = integers({2});
  past.view.as<int64_t>()[0] = positions - 1;
  first.view.as<int64_t>()[0] = 0;
  first.view.as<int64_t>()[1] = 1;
  call->input(past);
  call->input(first);
  call->absent();
  call->absent();
  const bool isScaled = element != compute;
  for (int i = 0; isScaled && i < 2; ++i) {
    Operand &scales = call->add(artifact::ElementType_Float32,
                                {pages, keyHeads, kOfPage, 1}, 4);
    // Bytes times scales are between -1 and 1: larger ones would leave weights
    // that are denormal numbers.
    for (int64_t j = 0; j < scales.view.numElements(); ++j)
      scales.view.as<float>()[j] =
          std::abs(scales.view.as<float>()[j]) /
          (element == artifact::ElementType_Int8 ? 127 : 448);
    call->input(scales);
  }
  call->finish(compute);
  return {name,
          double(2 * keyHeads * positions * (kSize * bytes + 4 * isScaled)),
          [call] { call->run(); }};
}

/// Each thread its part of `bytes`.
template <typename Body> void onThreads(int threads, int64_t bytes, Body body) {
  std::vector<std::thread> all;
  const int64_t each = bytes / threads / 64 * 64;
  for (int t = 1; t < threads; ++t)
    all.emplace_back([=] { body(t * each, each); });
  body(0, each);
  for (std::thread &thread : all)
    thread.join();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}

} // namespace

int main(int argc, char **argv) {
  const int64_t positions = argc > 1 ? std::atoll(argv[1]) : 32768;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  if (positions <= 0 || positions % kOfPage != 0 || threads < 1) {
    std::fprintf(stderr, "usage: bench-attention [positions, a multiple of 64] "
                         "[threads] [kind] [key heads]\n");
    return 2;
  }
  keyHeads = argc > 4 ? std::atoll(argv[4]) : keyHeads;
  if (keyHeads < 1 || kHeads % keyHeads != 0) {
    std::fprintf(stderr, "%lld key heads do not share %lld heads\n",
                 static_cast<long long>(keyHeads),
                 static_cast<long long>(kHeads));
    return 2;
  }
  setHostThreads(threads);
  constexpr auto f32 = artifact::ElementType_Float32;
  constexpr auto f16 = artifact::ElementType_Float16;
  constexpr auto bf16 = artifact::ElementType_BFloat16;
  const int64_t most = 2 * keyHeads * positions * kSize * 4;
  Operand from(f32, {most / 4}, 4), to(f32, {most / 4}, 4);
  from.fill();                    // zeros may all be one page
  std::atomic<uint64_t> sink = 0; // so that reads are made
  std::vector<Work> works;
  works.push_back(
      {"read", double(most), [&] {
         onThreads(threads, most, [&](int64_t begin, int64_t count) {
           // Several sums, since one waits for itself.
           using Words [[gnu::vector_size(64)]] = uint64_t;
           const auto *words =
               reinterpret_cast<const Words *>(from.memory.data() + begin);
           Words sums[4] = {};
           for (int64_t i = 0; i + 4 <= count / 64; i += 4)
             for (int64_t j = 0; j < 4; ++j) {
               __builtin_prefetch(words + i + j + 64, 0, 2);
               sums[j] += words[i + j];
             }
           const Words all = sums[0] + sums[1] + sums[2] + sums[3];
           uint64_t sum = 0;
           for (int lane = 0; lane < 8; ++lane)
             sum += all[lane];
           sink += sum;
         });
       }});
  works.push_back(
      {"copy", 2.0 * double(most), [&] {
         onThreads(threads, most, [&](int64_t begin, int64_t count) {
           std::memcpy(to.memory.data() + begin, from.memory.data() + begin,
                       size_t(count));
         });
       }});
  works.push_back(ofRequest("request, f32", f32, positions));
  works.push_back(ofRequest("request, f16", f16, positions));
  works.push_back(ofRequest("request, bf16", bf16, positions));
  works.push_back(inPages("pages, f32", f32, f32, positions));
  works.push_back(inPages("pages, f16", f16, f16, positions));
  works.push_back(inPages("pages, bf16", bf16, bf16, positions));
  works.push_back(
      inPages("pages, int8", f32, artifact::ElementType_Int8, positions));
  works.push_back(inPages("pages, fp8", f32, artifact::ElementType_Float8E4M3FN,
                          positions));
  if (argc > 3)
    std::erase_if(works, [&](const Work &work) {
      return &work > &works[1] && !std::strstr(work.name, argv[3]);
    });
  for (int round = -2; round < kRounds; ++round)
    for (Work &work : works) {
      const auto start = Clock::now();
      work.run();
      const std::chrono::duration<double> took = Clock::now() - start;
      if (round >= 0)
        work.seconds.push_back(took.count());
    }
  const auto rateOf = [](const Work &work) {
    return work.bytes / median(work.seconds) / 1e9;
  };
  const double reads = rateOf(works[0]), copies = rateOf(works[1]);
  std::printf("| keys and values | ms | GB/s | of a read | of a copy |\n");
  std::printf("|---|---:|---:|---:|---:|\n");
  for (const Work &work : works)
    std::printf("| %s | %.2f | %.1f | %.0f %% | %.0f %% |\n", work.name,
                median(work.seconds) * 1e3, rateOf(work),
                100 * rateOf(work) / reads, 100 * rateOf(work) / copies);
  return 0;
}
