//===- SimulatedLibrary.cpp - Launches of generated kernels ---------------===//
//
// A simulated GPU runs no cubin. The artifact has the same kernels for the
// host, which are called in its place, row by row, when the launch would run:
//
//   ARTIFACT/kernels/sm_90.cubin       what is loaded: it has to be there
//   ARTIFACT/kernels/x86-64-v3.so      what runs (Generated.h)
//   ARTIFACT/manifest.json             how it is called: "kernels"
//
// A launch has the arguments that CudaKernels.h says; its blocks, threads,
// shared memory and operands are checked as far as the GPU's kernel needs them.
//
//===----------------------------------------------------------------------===//
#include "runtime/artifact/Generated.h"
#include "tests/conformance/cuda/SimulatedDevice.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace shardc;
using namespace shardc::testing;

/// What a launch has to know of a kernel.
struct CUkern_st {
  struct Operand {
    int64_t bytes; ///< of an element
    bool isPerRow;
  };
  artifact::GeneratedFunction function = nullptr;
  std::vector<Operand> operands;
  int64_t slots = 0;
  bool mixesColumns = false;
  size_t mostShared = kSimulatedShared;
};

struct CUlib_st {
  void *host = nullptr;
  nlohmann::json forms; ///< by the kernel's name
  std::map<std::string, std::unique_ptr<CUkern_st>> kernels;
};

namespace {

constexpr unsigned kWarp = 32, kMostThreads = 512;
constexpr size_t kRowDims = 3, kReductionFloats = 32;

std::mutex mutex;
std::map<const void *, CUkern_st *> &kernels() {
  static auto &map = *new std::map<const void *, CUkern_st *>;
  return map;
}

CUkern_st *kernelAt(const void *handle) {
  std::lock_guard lock(mutex);
  auto found = kernels().find(handle);
  return found == kernels().end() ? nullptr : found->second;
}

/// The arguments of a launch, in their order.
struct Call {
  const CUkern_st *kernel = nullptr;
  std::vector<std::byte *> operands;
  int64_t columns = 0, rows[kRowDims] = {};
  std::vector<int64_t> strides; ///< [operands][kRowDims], in elements
  std::byte *scratch = nullptr;
  int64_t slotFloats = 0;

  explicit Call(const CUkern_st &called, void **next)
      : kernel(&called), operands(called.operands.size()),
        strides(called.operands.size() * kRowDims) {
    auto take = [&](auto &value) {
      std::memcpy(&value, *next++, sizeof value);
    };
    for (std::byte *&operand : operands)
      take(operand);
    take(columns);
    for (int64_t &extent : rows)
      take(extent);
    for (int64_t &stride : strides)
      take(stride);
    take(scratch);
    take(slotFloats);
  }

  int64_t allRows() const { return rows[0] * rows[1] * rows[2]; }
  /// Bytes of the slots of one block.
  size_t slotBytes() const {
    return 4 * static_cast<size_t>(kernel->slots) *
           static_cast<size_t>(slotFloats);
  }

  bool areSizesValid() const;
  bool isOnGpu(size_t operand) const;
  void run(int device) const;
};

bool Call::areSizesValid() const {
  if (columns < 0)
    return false;
  // Rows are counted in 32 bits.
  double count = 1;
  for (int64_t extent : rows) {
    if (extent < 0)
      return false;
    count *= static_cast<double>(extent);
  }
  // A row begins up to 7 floats behind its slot, as far as in memory.
  return count < 2147483648.0 &&
         (kernel->slots == 0 ||
          (slotFloats >= columns + 7 && slotFloats % 8 == 0));
}

/// Whether all bytes of an operand are the GPU's.
bool Call::isOnGpu(size_t operand) const {
  if (allRows() == 0 || columns == 0)
    return true;
  const auto [bytes, isPerRow] = kernel->operands[operand];
  int64_t low = 0, high = isPerRow ? 1 : columns;
  for (size_t d = 0; d < kRowDims; ++d) {
    const int64_t last = (rows[d] - 1) * strides[operand * kRowDims + d];
    (last < 0 ? low : high) += last;
  }
  return reinterpret_cast<uintptr_t>(operands[operand]) %
                 static_cast<uintptr_t>(bytes) ==
             0 &&
         isOnSimulatedGpu(operands[operand] + low * bytes,
                          static_cast<size_t>((high - low) * bytes));
}

void Call::run(int device) const {
  for (size_t i = 0; i < operands.size(); ++i)
    if (!isOnGpu(i))
      return failSimulated(device, cudaErrorIllegalAddress);
  if (allRows() == 0)
    return;
  std::vector<float> slots(
      static_cast<size_t>(artifact::scratchFloats(kernel->slots, columns)));
  std::vector<int64_t> sizes{columns};
  for (size_t i = 0; i < operands.size(); ++i)
    sizes.push_back(strides[i * kRowDims]);
  std::vector<void *> at(operands.size());
  for (int64_t z = 0; z < rows[2]; ++z)
    for (int64_t y = 0; y < rows[1]; ++y) {
      for (size_t i = 0; i < operands.size(); ++i)
        at[i] = onSimulatedGpu(operands[i]) +
                kernel->operands[i].bytes * (y * strides[i * kRowDims + 1] +
                                             z * strides[i * kRowDims + 2]);
      kernel->function(at.data(), sizes.data(), 0, rows[0], slots.data());
    }
}

/// Of manifest.json; false: it is none.
bool readForm(const nlohmann::json &form, CUkern_st &kernel) {
  if (!form.is_object())
    return false;
  kernel.slots = form.value("slots", int64_t{-1});
  kernel.mixesColumns = form.value("mixes_columns", false);
  for (const nlohmann::json &operand : form.value("operands", nlohmann::json()))
    for (artifact::ElementType type : artifact::EnumValuesElementType())
      if (operand.value("element", "") == artifact::EnumNameElementType(type))
        kernel.operands.push_back(
            {artifact::elementBytes(type), operand.value("per", "") == "row"});
  return kernel.slots >= 0 && !kernel.operands.empty() &&
         kernel.operands.size() == form["operands"].size();
}

/// Whether there is room for reductions and slots, and it is the GPU's.
bool hasScratch(const Call &call, dim3 blocks, size_t sharedBytes) {
  const size_t reductions = 4 * kReductionFloats;
  if (call.kernel->slots == 0)
    return sharedBytes >= (call.kernel->mixesColumns ? reductions : 0);
  if (!call.scratch)
    return sharedBytes >= reductions + call.slotBytes();
  return sharedBytes >= reductions &&
         isOnSimulatedGpu(call.scratch, size_t{blocks.x} * blocks.y * blocks.z *
                                            call.slotBytes());
}

} // namespace

extern "C" {

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *path,
                                    cudaJitOption *, void **, unsigned,
                                    cudaLibraryOption *, void **, unsigned) {
  namespace fs = std::filesystem;
  const fs::path file = path;
  if (!fs::exists(file))
    return noted(cudaErrorFileNotFound);
  const std::string host =
      fs::absolute(file.parent_path() / "x86-64-v3.so").string();
  void *handle = dlopen(host.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return noted(cudaErrorSharedObjectInitFailed);
  std::ifstream manifest(file.parent_path().parent_path() / "manifest.json");
  const auto json = nlohmann::json::parse(manifest, nullptr, false);
  if (!json.is_object())
    return noted(cudaErrorInvalidSource);
  *library =
      new CUlib_st{handle, json.value("kernels", nlohmann::json::object()), {}};
  return noted(cudaSuccess);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  if (!library)
    return noted(cudaErrorInvalidResourceHandle);
  {
    std::lock_guard lock(mutex);
    for (const auto &[name, kernel] : library->kernels)
      kernels().erase(kernel.get());
  }
  // Its code stays: what was launched may still be to run.
  for (auto &[name, kernel] : library->kernels)
    (void)kernel.release();
  delete library;
  return noted(cudaSuccess);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library,
                                 const char *name) {
  std::lock_guard lock(mutex);
  std::unique_ptr<CUkern_st> &known = library->kernels[name];
  if (!known) {
    auto made = std::make_unique<CUkern_st>();
    made->function = reinterpret_cast<artifact::GeneratedFunction>(
        dlsym(library->host, name));
    if (!made->function ||
        !readForm(library->forms.value(name, nlohmann::json()), *made))
      return noted(cudaErrorSymbolNotFound);
    kernels()[made.get()] = made.get();
    known = std::move(made);
  }
  *kernel = known.get();
  return noted(cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void *handle,
                                 cudaFuncAttribute attribute, int value) {
  CUkern_st *kernel = kernelAt(handle);
  if (!kernel)
    return noted(cudaErrorInvalidDeviceFunction);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      static_cast<size_t>(value) > kSimulatedSharedMost)
    return noted(cudaErrorInvalidValue);
  kernel->mostShared = static_cast<size_t>(value);
  return noted(cudaSuccess);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                            cudaFuncAttribute attribute,
                                            int value, int) {
  return cudaFuncSetAttribute(kernel, attribute, value);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 blocks, dim3 threads,
                             void **arguments, size_t sharedBytes,
                             cudaStream_t stream) {
  const CUkern_st *kernel = kernelAt(function);
  if (!kernel)
    return noted(cudaErrorInvalidDeviceFunction);
  if (!isSimulatedGrid(blocks, threads, sharedBytes, kernel->mostShared) ||
      threads.x % kWarp != 0 || threads.x > kMostThreads || threads.y != 1 ||
      threads.z != 1)
    return noted(cudaErrorInvalidConfiguration);
  const Call call(*kernel, arguments);
  if (!call.areSizesValid() || !hasScratch(call, blocks, sharedBytes))
    return noted(cudaErrorInvalidValue);
  return enqueueSimulated(
      stream, [call, device = simulatedCurrent()] { call.run(device); });
}

} // extern "C"
