#include "runtime/device/cuda/products/GemmCache.h"

#include "runtime/base/Message.h"
#include "runtime/device/cuda/CudaStatus.h"
#include "runtime/device/cuda/StreamState.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace shardc::runtime {
namespace {

using namespace artifact;

struct Types {
  cudaDataType_t data[2], result;
  cublasComputeType_t compute;
  cudaDataType_t scale;
};

cudaDataType_t dataType(int element) {
  switch (element) {
  case ElementType_Float64:
    return CUDA_R_64F;
  case ElementType_Float16:
    return CUDA_R_16F;
  case ElementType_BFloat16:
    return CUDA_R_16BF;
  case ElementType_Int8:
    return CUDA_R_8I;
  case ElementType_Int32:
    return CUDA_R_32I;
  case ElementType_Float8E4M3FN:
    return CUDA_R_8F_E4M3;
  case ElementType_Float8E5M2:
    return CUDA_R_8F_E5M2;
  default:
    return CUDA_R_32F;
  }
}

Status typesOf(const int (&elements)[3], bool usesTf32, Types &types) {
  types = {{dataType(elements[0]), dataType(elements[1])},
           dataType(elements[2]),
           CUBLAS_COMPUTE_32F,
           CUDA_R_32F};
  switch (elements[0]) {
  case ElementType_Float32:
    if (usesTf32)
      types.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    return Status::ok();
  case ElementType_Float16:
  case ElementType_BFloat16:
  case ElementType_Float8E4M3FN:
  case ElementType_Float8E5M2:
    return Status::ok();
  case ElementType_Float64:
    types.compute = CUBLAS_COMPUTE_64F;
    types.scale = CUDA_R_64F;
    return Status::ok();
  case ElementType_Int8:
    types.compute = CUBLAS_COMPUTE_32I;
    types.scale = CUDA_R_32I;
    return Status::ok();
  default:
    return unsupportedError(
        "the GPU multiplies matrices of floats, found ",
        EnumNameElementType(static_cast<ElementType>(elements[0])));
  }
}

/// A factor of the type that cuBLASLt scales products of `element` with.
class Scalar {
public:
  Scalar(double value, ElementType element)
      : asDouble(value), asFloat(static_cast<float>(value)),
        asInt(static_cast<int32_t>(value)), element(element) {}
  const void *data() const {
    if (element == ElementType_Float64)
      return &asDouble;
    return element == ElementType_Int8 ? static_cast<const void *>(&asInt)
                                       : &asFloat;
  }

private:
  double asDouble;
  float asFloat;
  int32_t asInt;
  ElementType element;
};

/// Largest power of two, up to 256, that divides all addresses.
unsigned alignmentOf(std::initializer_list<const void *> pointers) {
  uintptr_t bits = 256;
  for (const void *pointer : pointers)
    bits |= reinterpret_cast<uintptr_t>(pointer);
  return static_cast<unsigned>(bits & (~bits + 1));
}

cublasLtEpilogue_t epilogueOf(GemmEpilogue::Activation activation,
                              bool hasBias) {
  constexpr cublasLtEpilogue_t epilogues[][2] = {
      {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS},
      {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS},
      {CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS}};
  return epilogues[activation][hasBias];
}

} // namespace

Status GemmCache::open(int ofDevice) {
  device = ofDevice;
  file = AlgorithmFile::forDevice(device);
  const char *tf32 = std::getenv("SHARDC_TF32");
  usesTf32 = tf32 && std::strcmp(tf32, "1") == 0;
  SHARDC_RETURN_IF_ERROR(
      cublasStatus(cublasLtCreate(&handle), "cublasLtCreate"));
  int major = 0, minor = 0;
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
      "cudaDeviceGetAttribute"));
  SHARDC_RETURN_IF_ERROR(cudaStatus(
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
      "cudaDeviceGetAttribute"));
  hasFloat8s = 10 * major + minor >= 89;
  return cudaStatus(cudaMalloc(&workspace, kWorkspaceBytes),
                    "cuBLASLt's workspace");
}

GemmCache::~GemmCache() {
  for (auto &[key, product] : products)
    destroy(product);
  if (handle)
    cublasLtDestroy(handle);
  cudaFree(workspace);
}

void GemmCache::destroy(Product &product) {
  for (cublasLtMatrixLayout_t layout : product.layouts)
    if (layout)
      cublasLtMatrixLayoutDestroy(layout);
  if (product.operation)
    cublasLtMatmulDescDestroy(product.operation);
}

/// Column-major: C' [m, n] = op(first) [m, k] op(second) [k, n].
Status GemmCache::describe(const Key &key, Product &product) {
  Types types = {};
  SHARDC_RETURN_IF_ERROR(typesOf(key.elements, usesTf32, types));
  SHARDC_RETURN_IF_ERROR(cublasStatus(
      cublasLtMatmulDescCreate(&product.operation, types.compute, types.scale),
      "cublasLtMatmulDescCreate"));
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) {
    return cublasStatus(cublasLtMatmulDescSetAttribute(
                            product.operation, attribute, &value, sizeof value),
                        "cublasLtMatmulDescSetAttribute");
  };
  const cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T};
  SHARDC_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_DESC_TRANSA, operations[key.transposes[0]]));
  SHARDC_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_DESC_TRANSB, operations[key.transposes[1]]));
  SHARDC_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE,
                             epilogueOf(key.activation, key.hasBias)));
  const int64_t dims[3][2] = {{key.m, key.k}, {key.k, key.n}, {key.m, key.n}};
  for (int i = 0; i < 3; ++i) {
    const bool swaps = i < 2 && key.transposes[i];
    SHARDC_RETURN_IF_ERROR(cublasStatus(
        cublasLtMatrixLayoutCreate(
            &product.layouts[i], i < 2 ? types.data[i] : types.result,
            static_cast<uint64_t>(dims[i][swaps]),
            static_cast<uint64_t>(dims[i][!swaps]), key.leading[i]),
        "cublasLtMatrixLayoutCreate"));
    const auto batches = static_cast<int32_t>(key.batches);
    for (auto [attribute, value, bytes] :
         {std::tuple<cublasLtMatrixLayoutAttribute_t, const void *, size_t>{
              CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches},
          {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &key.strides[i],
           sizeof key.strides[i]}})
      SHARDC_RETURN_IF_ERROR(
          cublasStatus(cublasLtMatrixLayoutSetAttribute(
                           product.layouts[i], attribute, value, bytes),
                       "cublasLtMatrixLayoutSetAttribute"));
  }
  return Status::ok();
}

/// As the file has them, which outlives this program: what cuBLASLt is told.
AlgorithmFile::Key GemmCache::fileKeyOf(const Key &key) const {
  Types types = {};
  (void)typesOf(key.elements, usesTf32, types); // described before
  return {key.m, key.n, key.k, key.batches, key.leading[0], key.leading[1],
          key.leading[2], key.strides[0], key.strides[1], key.strides[2],
          types.data[0], types.result, types.compute, types.scale,
          key.transposes[0], key.transposes[1],
          epilogueOf(key.activation, key.hasBias), key.alignment,
          kWorkspaceBytes,
          // Of eight bits of float, else 0.
          types.data[1] == types.data[0] ? 0 : types.data[1], key.hasScales};
}

/// Whether an algorithm of the file is one for this product.
bool GemmCache::canRun(const Product &product,
                       const cublasLtMatmulAlgo_t &algorithm) {
  cublasLtMatmulHeuristicResult_t checked = {};
  return cublasLtMatmulAlgoCheck(handle, product.operation, product.layouts[0],
                                 product.layouts[1], product.layouts[2],
                                 product.layouts[2], &algorithm,
                                 &checked) == CUBLAS_STATUS_SUCCESS &&
         checked.workspaceSize <= kWorkspaceBytes;
}

/// The heuristics' first choice, now or before.
Status GemmCache::choose(const Key &key, Product &product) {
  const AlgorithmFile::Key fileKey = fileKeyOf(key);
  const auto known = file ? file->find(fileKey) : std::nullopt;
  if (known && canRun(product, *known)) {
    product.algorithm = *known;
    return Status::ok();
  }
  SHARDC_RETURN_IF_ERROR(askHeuristics(key, product));
  if (file)
    file->add(fileKey, product.algorithm);
  return Status::ok();
}

Status GemmCache::askHeuristics(const Key &key, Product &product) {
  cublasLtMatmulPreference_t preference = nullptr;
  SHARDC_RETURN_IF_ERROR(
      cublasStatus(cublasLtMatmulPreferenceCreate(&preference),
                   "cublasLtMatmulPreferenceCreate"));
  auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                 const auto &value) {
    return cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value,
                                                sizeof value);
  };
  cublasStatus_t status =
      set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    if (status == CUBLAS_STATUS_SUCCESS)
      status = set(attribute, static_cast<uint32_t>(key.alignment));
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmulAlgoGetHeuristic(
        handle, product.operation, product.layouts[0], product.layouts[1],
        product.layouts[2], product.layouts[2], preference, 1, &found, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  // Only what is refused anywhere may be computed in another way: a capture
  // fails, and the plain run that follows asks again.
  if (isCaptured && status != CUBLAS_STATUS_SUCCESS &&
      status != CUBLAS_STATUS_NOT_SUPPORTED)
    return cublasStatus(status, "cuBLASLt's heuristics in a capture");
  if (status != CUBLAS_STATUS_SUCCESS || count == 0)
    return unsupportedError(
        "cuBLASLt has no product of [", key.n, ", ", key.k, "] and [", key.k,
        ", ", key.m, "] in ",
        EnumNameElementType(static_cast<ElementType>(key.elements[0])), ": ",
        cublasLtGetStatusString(status));
  product.algorithm = found.algo;
  return Status::ok();
}

/// Pointers are set before an algorithm is chosen: the heuristics look at them.
Status GemmCache::make(const Key &key, bool swaps, const GemmEpilogue &epilogue,
                       Product &product) {
  SHARDC_RETURN_IF_ERROR(describe(key, product));
  SHARDC_RETURN_IF_ERROR(setPointers(product, swaps, epilogue));
  return choose(key, product);
}

/// While this thread captures: its heuristics fail there since cuBLASLt 13.3.
/// In another thread nothing is refused (cudaStreamCaptureModeThreadLocal).
Status GemmCache::makeBeside(const Key &key, bool swaps,
                             const GemmEpilogue &epilogue, Product &product) {
  Status status;
  isCaptured = true;
  std::thread([&] {
    status = cudaStatus(cudaSetDevice(device), "cudaSetDevice");
    if (status.isOk())
      status = make(key, swaps, epilogue, product);
  }).join();
  isCaptured = false;
  return status;
}

Status GemmCache::find(const Key &key, bool swaps, const GemmEpilogue &epilogue,
                       cudaStream_t stream, Product *&product) {
  if (auto known = products.find(key); known != products.end()) {
    product = &known->second;
    return product->refusal.empty() ? setPointers(*product, swaps, epilogue)
                                    : unsupportedError(product->refusal);
  }
  Product made;
  const Status status = isCapturing(stream)
                            ? makeBeside(key, swaps, epilogue, made)
                            : make(key, swaps, epilogue, made);
  if (!status.isOk()) {
    destroy(made);
    if (status.code() == StatusCode::Unsupported) {
      made = Product();
      made.refusal = status.message();
      products.emplace(key, std::move(made));
    }
    return status;
  }
  product = &products.emplace(key, std::move(made)).first->second;
  return Status::ok();
}

/// What changes from call to call.
Status GemmCache::setPointers(const Product &product, bool swaps,
                              const GemmEpilogue &epilogue) {
  auto set = [&](cublasLtMatmulDescAttributes_t attribute,
                 const void *pointer) {
    return pointer ? cublasStatus(cublasLtMatmulDescSetAttribute(
                                      product.operation, attribute, &pointer,
                                      sizeof pointer),
                                  "cublasLtMatmulDescSetAttribute")
                   : Status::ok();
  };
  SHARDC_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, epilogue.bias));
  SHARDC_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                             swaps ? epilogue.scaleB : epilogue.scaleA));
  return set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
             swaps ? epilogue.scaleA : epilogue.scaleB);
}

Status GemmCache::multiply(const ProductPlan &plan, const GemmTypes &types,
                           const std::byte *a, const std::byte *b, std::byte *c,
                           double alpha, double beta,
                           const GemmEpilogue &epilogue, cudaStream_t stream) {
  // C' = B' A' where C has dense rows; C = A B where it has dense columns,
  // which column-major order takes as it is.
  const bool swaps = !plan.c.isTransposed;
  const ProductOperand &first = swaps ? plan.b : plan.a;
  const ProductOperand &second = swaps ? plan.a : plan.b;
  Key key = {};
  key.m = swaps ? plan.c.columns : plan.c.rows;
  key.n = swaps ? plan.c.rows : plan.c.columns;
  key.k = plan.a.columns;
  key.batches = plan.batches;
  key.elements[0] = swaps ? types.b : types.a;
  key.elements[1] = swaps ? types.a : types.b;
  key.elements[2] = types.c;
  key.hasBias = epilogue.bias != nullptr;
  key.hasScales = epilogue.scaleA != nullptr;
  key.activation = epilogue.activation;
  key.transposes[0] = first.isTransposed == swaps;
  key.transposes[1] = second.isTransposed == swaps;
  const ProductOperand *operands[] = {&first, &second, &plan.c};
  for (int i = 0; i < 3; ++i) {
    key.leading[i] = operands[i]->leading;
    key.strides[i] = operands[i]->batchStride;
  }
  const std::byte *addend = epilogue.addend ? epilogue.addend : c;
  key.alignment = alignmentOf({a, b, addend, c, epilogue.bias});
  Product *product = nullptr;
  SHARDC_RETURN_IF_ERROR(find(key, swaps, epilogue, stream, product));
  const Scalar alphaValue(alpha, types.a), betaValue(beta, types.a);
  const cublasStatus_t status = cublasLtMatmul(
      handle, product->operation, alphaValue.data(), swaps ? b : a,
      product->layouts[0], swaps ? a : b, product->layouts[1], betaValue.data(),
      addend, product->layouts[2], c, product->layouts[2], &product->algorithm,
      workspace, kWorkspaceBytes, stream);
  return status == CUBLAS_STATUS_NOT_SUPPORTED
             ? unsupportedError("cublasLtMatmul: ",
                                cublasLtGetStatusString(status))
             : cublasStatus(status, "cublasLtMatmul");
}

} // namespace shardc::runtime
