//===- host-time.cpp - What a step takes beside its kernels ---------------===//
//
// Steps of one token of one sequence, with kernels that do nothing:
//
//   shardc decoder.onnx --serve --kernels reference -o decoder.shard
//   build/bin/bench-host-time decoder.shard
//
// What is left is the host's: the step's inputs, its threads, scalars that
// lengths say, and the walk over the instructions. Of a text model (serve/
// TextInputs.h), whose kernels are all the runtime's own.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernels/Kernel.h"
#include "runtime/serve/Sequences.h"
#include "runtime/serve/TextInputs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

using namespace shardc::runtime;
using Clock = std::chrono::steady_clock;

static constexpr int kWarmUps = 10, kSteps = 301;
static std::atomic<int64_t> numCalls = 0;

static Status doNothing(const KernelCall &) { return Status::ok(); }
static Status count(const KernelCall &) {
  numCalls.fetch_add(1, std::memory_order_relaxed);
  return Status::ok();
}

/// Kernels are found once, and run through what is found: a process that times
/// nothing else may change them.
static void replaceKernels(const char *const *names, size_t numNames,
                           Status (*run)(const KernelCall &)) {
  for (size_t i = 0; i < numNames; ++i)
    if (const Kernel *kernel = findHostKernel(names[i]))
      const_cast<Kernel *>(kernel)->run = run;
}

struct Steps {
  SequencePool &pool;
  const TextInputs &inputs;
  std::unique_ptr<Sequence> sequence;
  std::vector<Tensor> outputs;
  TextInputs::Row row;

  Status run() {
    const int64_t token = 1;
    inputs.fill({&token, 1}, sequence->length(), {}, false, row);
    const Row one{sequence.get(), row.tensors};
    return pool.step({&one, 1}, outputs);
  }
  /// Microseconds, the median.
  Status time(double &microseconds) {
    std::vector<double> times;
    for (int step = 0; step < kWarmUps + kSteps; ++step) {
      const Clock::time_point begin = Clock::now();
      SHARDC_RETURN_IF_ERROR(run());
      if (step >= kWarmUps)
        times.push_back(
            std::chrono::duration<double, std::micro>(Clock::now() - begin)
                .count());
    }
    std::nth_element(times.begin(), times.begin() + kSteps / 2, times.end());
    microseconds = times[kSteps / 2];
    return Status::ok();
  }
};

static Status measure(const std::string &artifact, const char *const *names,
                      size_t numNames) {
  std::unique_ptr<Session> session;
  SHARDC_RETURN_IF_ERROR(Session::open(artifact, {}, session));
  std::vector<size_t> caches;
  for (const CacheInfo &cache : session->caches())
    caches.push_back(cache.input);
  TextInputs inputs;
  SHARDC_RETURN_IF_ERROR(TextInputs::make(session->inputs(), caches, inputs));
  std::unique_ptr<SequencePool> pool;
  SHARDC_RETURN_IF_ERROR(
      SequencePool::create(*session, 4 * (kWarmUps + kSteps), pool));
  Steps steps{*pool, inputs, pool->add(), {}, {}};
  steps.outputs.resize(session->outputs().size());
  double whole = 0, host = 0;
  SHARDC_RETURN_IF_ERROR(steps.time(whole));
  replaceKernels(names, numNames, count);
  SHARDC_RETURN_IF_ERROR(steps.run());
  replaceKernels(names, numNames, doNothing);
  SHARDC_RETURN_IF_ERROR(steps.time(host));
  const double calls = double(numCalls) / session->worldSize();
  std::printf(
      "%.0f kernels a rank; a step takes %.1f us, without them %.1f us: "
      "%.2f us each, or 40 us and %.2f us each\n",
      calls, whole, host, host / calls, (host - 40) / calls);
  return Status::ok();
}

int main(int argc, char **argv) {
  // Of decoders; another one is an instruction that counts as the host's.
  static constexpr const char *kKernels[] = {"Add",
                                             "Sub",
                                             "Mul",
                                             "Div",
                                             "Neg",
                                             "Sqrt",
                                             "Pow",
                                             "Reciprocal",
                                             "Sigmoid",
                                             "Swish",
                                             "Gelu",
                                             "Tanh",
                                             "Cos",
                                             "Sin",
                                             "Cast",
                                             "Concat",
                                             "Copy",
                                             "Gather",
                                             "MatMul",
                                             "PagedAttention",
                                             "PageWrite",
                                             "Range",
                                             "ReduceMean",
                                             "ReduceSum",
                                             "RMSNormalization",
                                             "LayerNormalization",
                                             "RotaryEmbedding",
                                             "Softmax",
                                             "Where",
                                             "Less",
                                             "LessOrEqual",
                                             "Transpose",
                                             "Expand",
                                             "Gemm"};
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench-host-time ARTIFACT\n");
    return 2;
  }
  const Status status = measure(argv[1], kKernels, std::size(kKernels));
  if (!status.isOk())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return status.isOk() ? 0 : 1;
}
