#include "tests/conformance/cuda/SimulatedProduct.h"

#include <algorithm>
#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <vector>

namespace shardc::testing {
namespace {

/// Calls `body` with a value of the type; whether there is such a type.
template <typename Body> bool withType(cudaDataType type, Body body) {
  switch (type) {
  case CUDA_R_32F:
    return body(float()), true;
  case CUDA_R_64F:
    return body(double()), true;
  case CUDA_R_16F:
    return body(__half()), true;
  case CUDA_R_16BF:
    return body(__nv_bfloat16()), true;
  case CUDA_R_8F_E4M3:
    return body(__nv_fp8_e4m3()), true;
  case CUDA_R_8F_E5M2:
    return body(__nv_fp8_e5m2()), true;
  case CUDA_R_8I:
    return body(int8_t()), true;
  case CUDA_R_32I:
    return body(int32_t()), true;
  default:
    return false;
  }
}

template <typename T>
constexpr bool isFloat8 =
    std::is_same_v<T, __nv_fp8_e4m3> || std::is_same_v<T, __nv_fp8_e5m2>;

template <typename To, typename From> To convert(From x) {
  if constexpr (isFloat8<From>)
    return static_cast<To>(static_cast<float>(x));
  else if constexpr (isFloat8<To>)
    return To(static_cast<float>(x));
  else if constexpr (std::is_same_v<From, __half>)
    return static_cast<To>(__half2float(x));
  else if constexpr (std::is_same_v<From, __nv_bfloat16>)
    return static_cast<To>(__bfloat162float(x));
  else if constexpr (std::is_same_v<To, __half>)
    return __float2half(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, __nv_bfloat16>)
    return __float2bfloat16(static_cast<float>(x));
  else
    return static_cast<To>(x);
}

/// op(matrix) [rows, columns], column-major and packed.
template <typename T>
std::vector<T> packed(const std::byte *data, const SimulatedLayout &layout,
                      bool transposes, int64_t rows, int64_t columns) {
  std::vector<T> values(static_cast<size_t>(rows * columns));
  withType(layout.type, [&](auto element) {
    const auto *from = reinterpret_cast<const decltype(element) *>(data);
    for (int64_t column = 0, i = 0; column < columns; ++column)
      for (int64_t row = 0; row < rows; ++row, ++i)
        values[static_cast<size_t>(i)] = convert<T>(
            from[transposes ? layout.at(column, row) : layout.at(row, column)]);
  });
  return values;
}

template <typename T>
T readAt(const std::byte *data, cudaDataType type, int64_t at) {
  T value = 0;
  withType(type, [&](auto element) {
    value = convert<T>(reinterpret_cast<const decltype(element) *>(data)[at]);
  });
  return value;
}

template <typename T>
void writeAt(std::byte *data, cudaDataType type, int64_t at, T value) {
  withType(type, [&](auto element) {
    using To = decltype(element);
    reinterpret_cast<To *>(data)[at] = convert<To>(value);
  });
}

/// As the GPU's own instruction, tanh.approx.f32, has it.
template <typename T> T approximateTanh(T x) {
  constexpr T kUnits = 1 << 11;
  return std::round(std::tanh(x) * kUnits) / kUnits;
}

/// The tanh form.
template <typename T> T gelu(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x / 2 *
           (1 + approximateTanh(T(0.7978845608028654) *
                                (x + T(0.044715) * x * x * x)));
  return x;
}

template <typename T> class Runner {
public:
  explicit Runner(const SimulatedProduct &product)
      : p(product), gelus(p.operation.epilogue == CUBLASLT_EPILOGUE_GELU ||
                          p.operation.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS),
        relus(p.operation.epilogue == CUBLASLT_EPILOGUE_RELU ||
              p.operation.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS) {}

  void batch(int64_t number) {
    const int64_t m = p.m(), n = p.n(), k = p.k();
    const auto at = [&](const std::byte *data, const SimulatedLayout &layout) {
      return data + number * layout.stride *
                        static_cast<int64_t>(simulatedBytes(layout.type));
    };
    const std::vector<T> a = packed<T>(
        at(p.atA, p.a), p.a, p.operation.transposeA != CUBLAS_OP_N, m, k);
    const std::vector<T> b = packed<T>(
        at(p.atB, p.b), p.b, p.operation.transposeB != CUBLAS_OP_N, k, n);
    auto *d = const_cast<std::byte *>(at(p.atD, p.d));
    std::vector<T> sums(static_cast<size_t>(m));
    for (int64_t column = 0; column < n; ++column) {
      std::fill(sums.begin(), sums.end(), T(0));
      for (int64_t l = 0; l < k; ++l)
        addScaled(sums.data(), a.data() + l * m,
                  b[static_cast<size_t>(column * k + l)], m);
      for (int64_t row = 0; row < m; ++row)
        writeAt(d, p.d.type, p.d.at(row, column),
                finished(sums[static_cast<size_t>(row)], at(p.atC, p.c), row,
                         column, number));
    }
  }

private:
  static void addScaled(T *sums, const T *column, T factor, int64_t count) {
    for (int64_t row = 0; row < count; ++row)
      sums[row] += column[row] * factor;
  }

  T finished(T sum, const std::byte *c, int64_t row, int64_t column,
             int64_t batch) {
    T value = static_cast<T>(p.alpha) * sum;
    for (const float *scale : {p.operation.scaleA, p.operation.scaleB})
      if (scale)
        value *= static_cast<T>(*scale);
    if (p.beta != 0) // else C is not read
      value +=
          static_cast<T>(p.beta) * readAt<T>(c, p.c.type, p.c.at(row, column));
    if (p.operation.hasBias())
      value += readAt<T>(static_cast<const std::byte *>(p.operation.bias),
                         p.d.type, row + batch * p.operation.biasStride);
    return gelus ? gelu(value) : relus ? std::max(value, T(0)) : value;
  }

  const SimulatedProduct &p;
  const bool gelus, relus;
};

} // namespace

size_t simulatedBytes(cudaDataType type) {
  size_t bytes = 0;
  withType(type, [&](auto element) { bytes = sizeof element; });
  return bytes;
}

bool SimulatedLayout::fits() const {
  const uint64_t line = order == CUBLASLT_ORDER_COL ? rows : columns;
  return simulatedBytes(type) > 0 && rows > 0 && columns > 0 && batches > 0 &&
         (order == CUBLASLT_ORDER_COL || order == CUBLASLT_ORDER_ROW) &&
         leading >= static_cast<int64_t>(line) && rows <= INT32_MAX &&
         columns <= INT32_MAX && stride >= 0;
}

int64_t SimulatedLayout::span() const {
  return (batches - 1) * stride +
         at(static_cast<int64_t>(rows) - 1, static_cast<int64_t>(columns) - 1) +
         1;
}

bool SimulatedOperation::hasBias() const {
  return epilogue == CUBLASLT_EPILOGUE_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
}

/// What cublasLtMatmul's documentation asks of products of 8-bit integers in
/// regular order: A transposed, B not, and multiples of 4.
static bool isForIntegerCores(const SimulatedProduct &p) {
  bool fits = p.operation.transposeA == CUBLAS_OP_T &&
              p.operation.transposeB == CUBLAS_OP_N && p.m() % 4 == 0 &&
              p.k() % 4 == 0;
  for (const SimulatedLayout *layout : {&p.a, &p.b, &p.c, &p.d})
    fits &= layout->order == CUBLASLT_ORDER_COL && layout->leading % 4 == 0;
  return fits;
}

static bool isFloat8Type(cudaDataType type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

/// And of those of eight bits of float: one of them with three bits of
/// mantissa, A transposed, B not, and all but the columns of D by 16.
static bool isForFloat8Cores(const SimulatedProduct &p) {
  const auto isWhole = [](const SimulatedLayout &layout) {
    const auto bytes = static_cast<int64_t>(simulatedBytes(layout.type));
    return layout.order == CUBLASLT_ORDER_COL &&
           layout.leading * bytes % 16 == 0 &&
           (layout.batches == 1 || layout.stride * bytes % 16 == 0);
  };
  return isFloat8Type(p.a.type) && isFloat8Type(p.b.type) &&
         (p.a.type == CUDA_R_8F_E4M3 || p.b.type == CUDA_R_8F_E4M3) &&
         (p.d.type == CUDA_R_32F || p.d.type == CUDA_R_16F ||
          p.d.type == CUDA_R_16BF) &&
         p.c.type == p.d.type && p.operation.scale == CUDA_R_32F &&
         p.operation.compute == CUBLAS_COMPUTE_32F &&
         p.operation.pointers == CUBLASLT_POINTER_MODE_HOST &&
         p.operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT &&
         p.operation.transposeA == CUBLAS_OP_T &&
         p.operation.transposeB == CUBLAS_OP_N && p.m() % 16 == 0 &&
         p.k() % 16 == 0 && isWhole(p.a) && isWhole(p.b) && isWhole(p.c) &&
         isWhole(p.d);
}

static bool areSupported(const SimulatedProduct &p) {
  if (p.isOfFloat8())
    return isForFloat8Cores(p);
  if (p.operation.scaleA || p.operation.scaleB)
    return false;
  const cublasComputeType_t compute = p.operation.compute;
  const bool equal = p.a.type == p.b.type && p.c.type == p.d.type;
  const cublasLtEpilogue_t epilogue = p.operation.epilogue;
  const bool isPlain = epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  if (!equal || p.operation.pointers != CUBLASLT_POINTER_MODE_HOST)
    return false;
  if (!isPlain && !p.operation.hasBias() &&
      epilogue != CUBLASLT_EPILOGUE_GELU && epilogue != CUBLASLT_EPILOGUE_RELU)
    return false;
  switch (compute) {
  case CUBLAS_COMPUTE_32F_FAST_TF32:
    return p.a.type == CUDA_R_32F && p.d.type == CUDA_R_32F &&
           p.operation.scale == CUDA_R_32F;
  case CUBLAS_COMPUTE_32F:
    return p.operation.scale == CUDA_R_32F &&
           (p.a.type == CUDA_R_32F || p.a.type == CUDA_R_16F ||
            p.a.type == CUDA_R_16BF) &&
           (p.d.type == p.a.type || p.d.type == CUDA_R_32F);
  case CUBLAS_COMPUTE_64F:
    return p.operation.scale == CUDA_R_64F && p.a.type == CUDA_R_64F &&
           p.d.type == CUDA_R_64F && isPlain;
  case CUBLAS_COMPUTE_32I:
    return p.operation.scale == CUDA_R_32I && p.a.type == CUDA_R_8I &&
           p.d.type == CUDA_R_32I && isPlain && isForIntegerCores(p);
  default:
    return false;
  }
}

bool SimulatedProduct::isOfFloat8() const {
  return isFloat8Type(a.type) || isFloat8Type(b.type);
}

cublasStatus_t SimulatedProduct::check() const {
  for (const SimulatedLayout *layout : {&a, &b, &c, &d})
    if (!layout->fits() || layout->batches != d.batches)
      return CUBLAS_STATUS_INVALID_VALUE;
  const bool turnsA = operation.transposeA != CUBLAS_OP_N,
             turnsB = operation.transposeB != CUBLAS_OP_N;
  const uint64_t inner = turnsA ? a.rows : a.columns;
  if ((turnsA ? a.columns : a.rows) != d.rows ||
      (turnsB ? b.rows : b.columns) != d.columns ||
      (turnsB ? b.columns : b.rows) != inner || c.rows != d.rows ||
      c.columns != d.columns)
    return CUBLAS_STATUS_INVALID_VALUE;
  // Batches of the result must not lie in each other; columns may alternate.
  const uint64_t line = d.order == CUBLASLT_ORDER_COL ? d.rows : d.columns;
  if (d.batches > 1 && d.stride < static_cast<int64_t>(line))
    return CUBLAS_STATUS_INVALID_VALUE;
  return areSupported(*this) ? CUBLAS_STATUS_SUCCESS
                             : CUBLAS_STATUS_NOT_SUPPORTED;
}

void SimulatedProduct::run() const {
  for (int64_t batch = 0; batch < d.batches; ++batch)
    if (operation.compute == CUBLAS_COMPUTE_64F)
      Runner<double>(*this).batch(batch);
    else if (operation.compute == CUBLAS_COMPUTE_32I)
      Runner<int32_t>(*this).batch(batch);
    else
      Runner<float>(*this).batch(batch);
}

} // namespace shardc::testing
