//===- TestKernels.cpp - Tiny kernels for tests of the runtime ------------===//
#include "tests/unit/runtime/TestKernels.h"

#include "runtime/base/ThreadTeam.h"
#include "runtime/kernels/Kernel.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace shardc::runtime;

std::atomic<int> shardc::test::timesSlept = 0;

namespace {

/// out = a + b, float32, same dims, dense.
Status testAdd(const KernelCall &call) {
  const float *a = call.inputs[0].as<float>(), *b = call.inputs[1].as<float>();
  for (int64_t i = 0; i < call.outputs[0].numElements(); ++i)
    call.outputs[0].as<float>()[i] = a[i] + b[i];
  return Status::ok();
}

/// out[i] = value + step * i, float32, dense.
Status testFill(const KernelCall &call) {
  for (int64_t i = 0; i < call.outputs[0].numElements(); ++i)
    call.outputs[0].as<float>()[i] =
        static_cast<float>(call.intOr("value", 0) + call.intOr("step", 0) * i);
  return Status::ok();
}

/// out = in through scratch memory; any strides, any type.
Status testCopy(const KernelCall &call) {
  const TensorView &in = call.inputs[0];
  TensorView scratch = packedView(call.scratch, in.element,
                                  {in.dims, static_cast<size_t>(in.rank)});
  copyView(scratch, in);
  copyView(call.outputs[0], scratch);
  return Status::ok();
}

int64_t testCopyScratch(const KernelCall &call) {
  return call.inputs[0].numElements() * 8;
}

/// Copies; it is planned for `ms`.
Status testPlanned(const KernelCall &call) {
  copyView(call.outputs[0], call.inputs[0]);
  return Status::ok();
}

int64_t testPlannedScratch(const KernelCall &call) {
  std::this_thread::sleep_for(std::chrono::milliseconds(call.intOr("ms", 0)));
  return 8;
}

/// Sleeps `ms`, then copies.
Status testSleep(const KernelCall &call) {
  std::this_thread::sleep_for(std::chrono::milliseconds(call.intOr("ms", 0)));
  copyView(call.outputs[0], call.inputs[0]);
  ++shardc::test::timesSlept;
  return Status::ok();
}

/// Fails where the first element of the input is negative and `fail` is 1.
Status testFail(const KernelCall &call) {
  if (call.intOr("fail", 0) == 1 && call.inputs[0].as<float>()[0] < 0)
    return Status::error(StatusCode::Artifact, "failed on purpose");
  copyView(call.outputs[0], call.inputs[0]);
  return Status::ok();
}

bool holds(const TensorView &view, float value) {
  const float *values = view.as<float>();
  return std::find(values, values + view.numElements(), value) !=
         values + view.numElements();
}

/// Fails where an element is -1 and `faulty` is 1; sleeps `ms` where one is -2.
Status testFaults(const KernelCall &call) {
  const bool isFaulty = call.intOr("faulty", 0) == 1;
  if (isFaulty && holds(call.inputs[0], -1)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Status::error(StatusCode::Artifact, "failed on purpose");
  }
  if (isFaulty && holds(call.inputs[0], -2))
    std::this_thread::sleep_for(std::chrono::milliseconds(call.intOr("ms", 0)));
  copyView(call.outputs[0], call.inputs[0]);
  return Status::ok();
}

/// The same, but throws.
Status testThrow(const KernelCall &call) {
  if (!testFail(call).isOk())
    throw 1;
  return Status::ok();
}

/// Of how many threads the rank's kernels are.
Status testThreads(const KernelCall &call) {
  const TensorView &y = call.outputs[0];
  const int threads = teamThreads();
  for (int64_t i = 0; i < y.numElements(); ++i)
    y.as<float>()[i] = static_cast<float>(threads);
  return Status::ok();
}

const HostKernelRegistration add("TestAdd", {testAdd});
const HostKernelRegistration threads("TestThreads", {testThreads});
const HostKernelRegistration fill("TestFill", {testFill});
const HostKernelRegistration copy("TestCopy", {testCopy, testCopyScratch});
const HostKernelRegistration planned("TestPlanned",
                                     {testPlanned, testPlannedScratch});
const HostKernelRegistration sleeper("TestSleep", {testSleep});
const HostKernelRegistration failing("TestFail", {testFail});
const HostKernelRegistration faults("TestFaults", {testFaults});
const HostKernelRegistration throwing("TestThrow", {testThrow});

} // namespace
