//===- SimulatedGpus.h - Memory of the GPUs that tests run on -------------===//
//
// As a framework beside the runtime has it, on the simulation of the CUDA plugin
// (tests/conformance/cuda/SimulatedCaller.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_UNIT_RUNTIME_SIMULATEDGPUS_H
#define SHARDC_TESTS_UNIT_RUNTIME_SIMULATEDGPUS_H

#include "runtime/api/shardrt.h"
#include "tests/conformance/cuda/SimulatedCaller.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace shardc::test {

/// Functions of the plugin, which some session has opened.
class SimulatedGpus {
public:
  /// False: the CUDA plugin was left out of the build.
  bool open(const std::string &plugin) {
    library = dlopen(plugin.c_str(), RTLD_NOW);
    return library != nullptr;
  }
  template <typename Function> Function *find(const char *name) const {
    auto *found = reinterpret_cast<Function *>(dlsym(library, name));
    EXPECT_NE(found, nullptr) << name;
    return found;
  }
  /// Bytes moved since the last call.
  SimulatedCopies takeCopies() {
    SimulatedCopies now;
    find<decltype(simulatedCallerCopies)>("simulatedCallerCopies")(&now);
    const SimulatedCopies before = std::exchange(last, now);
    return {now.toDevice - before.toDevice, now.toHost - before.toHost,
            now.across - before.across};
  }

private:
  void *library = nullptr;
  SimulatedCopies last = {};
};

/// Floats on a GPU.
class GpuFloats {
public:
  GpuFloats(const SimulatedGpus &gpus, int device, size_t count,
            float value = -77)
      : gpus(gpus), device(device), count(count) {
    memory = static_cast<float *>(gpus.find<decltype(simulatedCallerAllocate)>(
        "simulatedCallerAllocate")(device, count * sizeof(float)));
    EXPECT_NE(memory, nullptr);
    write(std::vector<float>(count, value));
  }
  ~GpuFloats() {
    gpus.find<decltype(simulatedCallerFree)>("simulatedCallerFree")(device,
                                                                    memory);
  }
  GpuFloats(const GpuFloats &) = delete;

  void write(const std::vector<float> &values) const {
    gpus.find<decltype(simulatedCallerWrite)>("simulatedCallerWrite")(
        memory, values.data(), values.size() * sizeof(float));
  }
  /// In the default stream, which nobody waits for here.
  void writeLater(const std::vector<float> &values) const {
    gpus.find<decltype(simulatedCallerSetLater)>("simulatedCallerSetLater")(
        device, memory, values.data(), values.size() * sizeof(float));
  }
  std::vector<float> read() const {
    std::vector<float> values(count);
    gpus.find<decltype(simulatedCallerRead)>("simulatedCallerRead")(
        memory, values.data(), count * sizeof(float));
    return values;
  }
  /// `first`: elements in front of it.
  shardrt_view view(const char *name, const std::vector<int64_t> &dims,
                    const int64_t *strides = nullptr, int64_t first = 0) const {
    return {name,
            SHARDRT_FLOAT32,
            static_cast<int32_t>(dims.size()),
            dims.data(),
            strides,
            memory,
            static_cast<uint64_t>(first) * sizeof(float),
            /*device_type=*/2,
            device};
  }
  float *data() const { return memory; }

private:
  const SimulatedGpus &gpus;
  const int device;
  const size_t count;
  float *memory = nullptr;
};

} // namespace shardc::test

#endif // SHARDC_TESTS_UNIT_RUNTIME_SIMULATEDGPUS_H
