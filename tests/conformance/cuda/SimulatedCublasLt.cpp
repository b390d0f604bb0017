//===- SimulatedCublasLt.cpp - The calls of cuBLASLt ----------------------===//
//
// Descriptors keep their attributes; one algorithm is found for whatever
// cuBLASLt does, and it remembers what it was found for: operands that are
// aligned to less, or another shape, are refused.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/cuda/SimulatedCapture.h"
#include "tests/conformance/cuda/SimulatedCosts.h"
#include "tests/conformance/cuda/SimulatedDevice.h"
#include "tests/conformance/cuda/SimulatedProduct.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string_view>

using namespace shardc::testing;

namespace {
std::atomic<int> heuristicsAsked = 0;
} // namespace

int shardc::testing::simulatedHeuristicsAsked() { return heuristicsAsked; }

struct cublasLtContext {
  int device;
};

namespace {

constexpr cublasStatus_t kOk = CUBLAS_STATUS_SUCCESS;
constexpr cublasStatus_t kInvalid = CUBLAS_STATUS_INVALID_VALUE;

struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t alignment[4] = {256, 256, 256, 256}; ///< A, B, C, D
};

/// What an algorithm was found for.
struct Algorithm {
  uint64_t m, n, k;
  uint64_t workspaceBytes;
  uint8_t alignmentBits[4]; ///< powers of two
  int32_t batches;
  bool hasScales; ///< their pointers were there
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t::data));

// The first word of an opaque descriptor is where the attributes are.
template <typename Attributes, typename Opaque>
Attributes *attributesOf(const Opaque *opaque) {
  return reinterpret_cast<Attributes *>(opaque->data[0]);
}
template <typename Attributes, typename Opaque>
void create(Opaque **opaque, const Attributes &attributes) {
  *opaque = new Opaque{};
  (*opaque)->data[0] = reinterpret_cast<uintptr_t>(new Attributes(attributes));
}
template <typename Attributes, typename Opaque>
cublasStatus_t destroy(Opaque *opaque) {
  if (!opaque)
    return kInvalid;
  delete attributesOf<Attributes>(opaque);
  delete opaque;
  return kOk;
}

/// Attributes have the size that the documentation says, whatever they are
/// here.
template <typename Given, typename T>
cublasStatus_t set(T &attribute, const void *buffer, size_t bytes) {
  if (!buffer || bytes < sizeof(Given))
    return kInvalid;
  Given value;
  std::memcpy(&value, buffer, sizeof value);
  attribute = static_cast<T>(value);
  return kOk;
}
template <typename T>
cublasStatus_t setPointer(T &attribute, const void *buffer, size_t bytes) {
  if (!buffer || bytes != sizeof(T))
    return kInvalid;
  std::memcpy(&attribute, buffer, sizeof(T));
  return kOk;
}

SimulatedProduct productOf(cublasLtMatmulDesc_t operation,
                           cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                           cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  SimulatedProduct product;
  product.operation = *attributesOf<SimulatedOperation>(operation);
  product.a = *attributesOf<SimulatedLayout>(a);
  product.b = *attributesOf<SimulatedLayout>(b);
  product.c = *attributesOf<SimulatedLayout>(c);
  product.d = *attributesOf<SimulatedLayout>(d);
  return product;
}

double scalar(const void *value, cudaDataType type) {
  return type == CUDA_R_64F   ? *static_cast<const double *>(value)
         : type == CUDA_R_32I ? *static_cast<const int32_t *>(value)
                              : *static_cast<const float *>(value);
}

Algorithm algorithmFor(const SimulatedProduct &product,
                       const Preference &preference) {
  Algorithm algorithm = {};
  algorithm.m = static_cast<uint64_t>(product.m());
  algorithm.n = static_cast<uint64_t>(product.n());
  algorithm.k = static_cast<uint64_t>(product.k());
  algorithm.batches = product.d.batches;
  algorithm.hasScales = product.operation.scaleA != nullptr;
  algorithm.workspaceBytes =
      std::min<uint64_t>(preference.workspaceBytes, 4096);
  for (int i = 0; i < 4; ++i)
    algorithm.alignmentBits[i] =
        static_cast<uint8_t>(__builtin_ctz(preference.alignment[i]));
  return algorithm;
}

bool isFor(const Algorithm &algorithm, const SimulatedProduct &product) {
  return algorithm.m == static_cast<uint64_t>(product.m()) &&
         algorithm.n == static_cast<uint64_t>(product.n()) &&
         algorithm.k == static_cast<uint64_t>(product.k()) &&
         algorithm.batches == product.d.batches &&
         algorithm.hasScales == (product.operation.scaleA != nullptr);
}

/// An operand's bytes are the GPU's, and aligned as the algorithm wants them,
/// which loads 16 bytes at most.
bool isUsable(const void *data, const SimulatedLayout &layout,
              unsigned alignmentBits) {
  const size_t bytes = simulatedBytes(layout.type);
  const size_t alignment =
      std::max<size_t>(bytes, std::min<size_t>(16, size_t{1} << alignmentBits));
  return reinterpret_cast<uintptr_t>(data) % alignment == 0 &&
         isOnSimulatedGpu(data, static_cast<size_t>(layout.span()) * bytes);
}

bool isUsableBias(const SimulatedProduct &product) {
  const int64_t elements =
      product.m() + (product.d.batches - 1) * product.operation.biasStride;
  return reinterpret_cast<uintptr_t>(product.operation.bias) % 16 == 0 &&
         isOnSimulatedGpu(product.operation.bias,
                          static_cast<size_t>(elements) *
                              simulatedBytes(product.d.type));
}

bool isUsableScale(const float *scale) {
  return !scale || (reinterpret_cast<uintptr_t>(scale) % sizeof *scale == 0 &&
                    isOnSimulatedGpu(scale, sizeof *scale));
}

/// Whether the GPU has such cores.
bool canMultiply(const SimulatedProduct &product, int device) {
  cudaDeviceProp properties;
  return !product.isOfFloat8() ||
         (cudaGetDeviceProperties(&properties, device) == cudaSuccess &&
          10 * properties.major + properties.minor >= 89);
}

/// As kernels of Hopper are: one shape in three, each of them always.
bool isLaunchedProgrammatically(const SimulatedProduct &product) {
  return (product.m() + product.n() + product.k()) % 3 == 0;
}

bool isOff(const char *name) {
  const char *value = std::getenv(name);
  return value && std::string_view(value) == "0";
}

/// What runs later: memory must still be there.
void runProduct(SimulatedProduct product, int device, void *workspace,
                size_t workspaceBytes) {
  auto stored = [&](const auto *data, const SimulatedLayout &layout) {
    return storedOnGpu(device, data,
                       static_cast<size_t>(layout.span()) *
                           simulatedBytes(layout.type));
  };
  product.atA = stored(product.atA, product.a);
  product.atB = stored(product.atB, product.b);
  product.atD = stored(product.atD, product.d);
  if (product.beta != 0)
    product.atC = stored(product.atC, product.c);
  if (product.operation.hasBias())
    product.operation.bias = storedOnGpu(device, product.operation.bias,
                                         static_cast<size_t>(product.m()) *
                                             simulatedBytes(product.d.type));
  for (const float **scale :
       {&product.operation.scaleA, &product.operation.scaleB})
    if (*scale)
      *scale = reinterpret_cast<const float *>(
          storedOnGpu(device, *scale, sizeof **scale));
  // Nobody may rely on what is in there.
  if (workspaceBytes > 0)
    if (std::byte *memory = storedOnGpu(device, workspace, workspaceBytes))
      std::memset(memory, 0xff, workspaceBytes);
  if (simulatedFailure(device) == cudaSuccess)
    product.run();
}

} // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = new cublasLtContext{simulatedCurrent()};
  return kOk;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return kOk;
}

size_t cublasLtGetVersion() {
  const char *version = std::getenv("SHARDC_SIMULATED_CUBLASLT");
  return version ? std::strtoul(version, nullptr, 10) : 0;
}

const char *cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "CUBLAS_STATUS_SUCCESS";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  default:
    return "a status of the simulated cuBLASLt";
  }
}

//===--- Descriptors ------------------------------------------------------===//

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  SimulatedLayout attributes;
  attributes.type = type;
  attributes.rows = rows;
  attributes.columns = columns;
  attributes.leading = leading;
  create(layout, attributes);
  return kOk;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy<SimulatedLayout>(layout);
}
cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *buffer, size_t bytes) {
  auto &attributes = *attributesOf<SimulatedLayout>(layout);
  switch (attribute) {
  case CUBLASLT_MATRIX_LAYOUT_ORDER:
    return set<int32_t>(attributes.order, buffer, bytes);
  case CUBLASLT_MATRIX_LAYOUT_LD:
    return set<int64_t>(attributes.leading, buffer, bytes);
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return set<int32_t>(attributes.batches, buffer, bytes);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return set<int64_t>(attributes.stride, buffer, bytes);
  default:
    return kInvalid; // add what is set
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *operation,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  SimulatedOperation attributes;
  attributes.compute = compute;
  attributes.scale = scale;
  create(operation, attributes);
  return kOk;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  return destroy<SimulatedOperation>(operation);
}
cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *buffer, size_t bytes) {
  auto &attributes = *attributesOf<SimulatedOperation>(operation);
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set<int32_t>(attributes.transposeA, buffer, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set<int32_t>(attributes.transposeB, buffer, bytes);
  case CUBLASLT_MATMUL_DESC_POINTER_MODE:
    return set<int32_t>(attributes.pointers, buffer, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return set<uint32_t>(attributes.epilogue, buffer, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return setPointer(attributes.bias, buffer, bytes);
  case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    return setPointer(attributes.scaleA, buffer, bytes);
  case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    return setPointer(attributes.scaleB, buffer, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
    return set<int64_t>(attributes.biasStride, buffer, bytes);
  default:
    return kInvalid; // add what is set
  }
}

//===--- Heuristics -------------------------------------------------------===//

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  create(preference, Preference());
  return kOk;
}
cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy<Preference>(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *buffer,
    size_t bytes) {
  auto &attributes = *attributesOf<Preference>(preference);
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return set<uint64_t>(attributes.workspaceBytes, buffer, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    return set<uint32_t>(attributes.alignment[0], buffer, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    return set<uint32_t>(attributes.alignment[1], buffer, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    return set<uint32_t>(attributes.alignment[2], buffer, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return set<uint32_t>(attributes.alignment[3], buffer, bytes);
  default:
    return kInvalid; // add what is set
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t found[], int *count) {
  *count = 0;
  ++heuristicsAsked;
  spend(HostCost::Heuristics);
  if (isOff("SHARDC_SIMULATED_HEURISTICS"))
    return CUBLAS_STATUS_NOT_INITIALIZED;
  if (isSimulatedCapturing()) // as CUDA 13.3's
    return CUBLAS_STATUS_INTERNAL_ERROR;
  if (!handle || wanted < 1)
    return kInvalid;
  const SimulatedProduct product = productOf(operation, a, b, c, d);
  if ((isOff("SHARDC_SIMULATED_EPILOGUES") &&
       product.operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT) ||
      (isOff("SHARDC_SIMULATED_FLOAT8") && product.isOfFloat8()) ||
      !canMultiply(product, handle->device))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (cublasStatus_t status = product.check(); status != kOk)
    return status;
  const Algorithm algorithm =
      algorithmFor(product, *attributesOf<Preference>(preference));
  found[0] = {};
  std::memcpy(found[0].algo.data, &algorithm, sizeof algorithm);
  found[0].workspaceSize = algorithm.workspaceBytes;
  found[0].state = kOk;
  *count = 1;
  return kOk;
}

cublasStatus_t
cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                        cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                        const cublasLtMatmulAlgo_t *chosen,
                        cublasLtMatmulHeuristicResult_t *result) {
  const SimulatedProduct product = productOf(operation, a, b, c, d);
  if (cublasStatus_t status = product.check(); status != kOk)
    return status;
  Algorithm algorithm;
  std::memcpy(&algorithm, chosen->data, sizeof algorithm);
  if (!handle || !isFor(algorithm, product))
    return kInvalid;
  result->workspaceSize = algorithm.workspaceBytes;
  result->state = kOk;
  return kOk;
}

//===--- Products ---------------------------------------------------------===//

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
               const void *alpha, const void *a, cublasLtMatrixLayout_t layoutA,
               const void *b, cublasLtMatrixLayout_t layoutB, const void *beta,
               const void *c, cublasLtMatrixLayout_t layoutC, void *d,
               cublasLtMatrixLayout_t layoutD,
               const cublasLtMatmulAlgo_t *chosen, void *workspace,
               size_t workspaceBytes, cudaStream_t stream) {
  if (!handle || !alpha || !beta || !chosen ||
      handle->device != simulatedCurrent())
    return kInvalid;
  SimulatedProduct product =
      productOf(operation, layoutA, layoutB, layoutC, layoutD);
  if (cublasStatus_t status = product.check(); status != kOk)
    return status;
  Algorithm algorithm;
  std::memcpy(&algorithm, chosen->data, sizeof algorithm);
  product.alpha = scalar(alpha, product.operation.scale);
  product.beta = scalar(beta, product.operation.scale);
  const uint8_t *bits = algorithm.alignmentBits;
  const size_t needed = algorithm.workspaceBytes;
  if (!isFor(algorithm, product) || !isUsable(a, product.a, bits[0]) ||
      !isUsable(b, product.b, bits[1]) || !isUsable(c, product.c, bits[2]) ||
      !isUsable(d, product.d, bits[3]) ||
      (product.operation.hasBias() && !isUsableBias(product)) ||
      !isUsableScale(product.operation.scaleA) ||
      !isUsableScale(product.operation.scaleB) ||
      // In place or apart.
      (c == d && product.c.leading != product.d.leading) ||
      workspaceBytes < needed ||
      (needed > 0 && !isOnSimulatedGpu(workspace, workspaceBytes)))
    return kInvalid;
  product.atA = static_cast<const std::byte *>(a);
  product.atB = static_cast<const std::byte *>(b);
  product.atC = static_cast<const std::byte *>(c);
  product.atD = static_cast<std::byte *>(d);
  const cudaError_t error =
      enqueueSimulated(stream,
                       [product, workspace, needed, device = handle->device] {
                         runProduct(product, device, workspace, needed);
                       },
                       {.isProgrammatic = isLaunchedProgrammatically(product)});
  return error == cudaSuccess ? kOk : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // extern "C"
