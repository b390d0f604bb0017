//===- MatrixProduct.cpp - sgemm, and loops for the other types -----------===//
//
// Without oneDNN the loops serve float too: slower, but the same results up to
// rounding.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/host/product/MatrixProduct.h"

#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/Loops.h"

#ifdef SHARDC_HAS_DNNL
#include <oneapi/dnnl/dnnl.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

#include <string>

namespace shardc::runtime::host {
namespace {

template <typename Acc>
void scaleRows(int64_t m, int64_t n, Acc beta, Acc *c, int64_t leading) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      c[i * leading + j] = beta == Acc(0) ? Acc(0) : beta * c[i * leading + j];
}

/// Row i of C gathers the rows of B, so that the inner loop is contiguous
/// unless B is transposed; then it is a dot product.
template <typename Acc>
void multiplyLoops(int64_t m, int64_t n, int64_t k, Acc alpha,
                   const Matrix<Acc> &a, const Matrix<Acc> &b, Acc beta, Acc *c,
                   int64_t leading) {
  const auto at = [&](int64_t i, int64_t l) {
    return a.transposed ? a.data[l * a.leading + i] : a.data[i * a.leading + l];
  };
  scaleRows(m, n, beta, c, leading);
  for (int64_t i = 0; i < m; ++i) {
    Acc *row = c + i * leading;
    if (b.transposed) {
      for (int64_t j = 0; j < n; ++j) {
        Acc sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += at(i, l) * b.data[j * b.leading + l];
        row[j] += alpha * sum;
      }
      continue;
    }
    for (int64_t l = 0; l < k; ++l) {
      const Acc factor = alpha * at(i, l);
      const Acc *from = b.data + l * b.leading;
      for (int64_t j = 0; j < n; ++j)
        row[j] += factor * from[j];
    }
  }
}

/// Panels of B that are packed at once, a block of depth of each: they stay in
/// the second cache.
constexpr int64_t kPanels = 3;

/// Rows [k, k + depth) of columns [begin, begin + count), as packMatrix has them.
void packBlock(const Matrix<float> &b, Span rows, int64_t begin, int64_t count,
               float *to) {
  const int64_t depth = rows.end - rows.begin;
  const int64_t rowStep = b.transposed ? 1 : b.leading;
  const int64_t columnStep = b.transposed ? b.leading : 1;
  for (int64_t first = 0; first < count; first += kPanelColumns) {
    const int64_t width = std::min(kPanelColumns, count - first);
    const float *from =
        b.data + rows.begin * rowStep + (begin + first) * columnStep;
    for (int64_t k = 0; k < depth; ++k, to += kPanelColumns) {
      for (int64_t j = 0; j < width; ++j)
        to[j] = from[k * rowStep + j * columnStep];
      std::fill(to + width, to + kPanelColumns, 0.f);
    }
  }
}

/// As multiplyPacked does it, packing as it goes.
void multiplyInOrder(int64_t m, int64_t n, int64_t k, float alpha,
                     const Matrix<float> &a, const Matrix<float> &b, float beta,
                     float *c, int64_t leading) {
  constexpr int64_t kWidth = kPanels * kPanelColumns;
  const int64_t groups = (n + kWidth - 1) / kWidth;
  const int64_t threads = threadsForProduct(groups, m, n, k);
  shareRanges(groups, threads, /*least=*/1, [&](int64_t begun, int64_t end) {
    alignas(64) float packed[kWidth * kDepthBlock];
    PackedProduct product;
    product.m = m;
    product.rowStepA = a.transposed ? 1 : a.leading;
    product.depthStepA = a.transposed ? a.leading : 1;
    product.leadingC = leading;
    product.alpha = alpha;
    for (int64_t group = begun; group < end; ++group) {
      const int64_t begin = group * kWidth;
      product.n = std::min(kWidth, n - begin);
      product.c = c + begin;
      for (int64_t at = 0; at < k; at += kDepthBlock) {
        product.k = std::min(kDepthBlock, k - at);
        product.a = a.data + at * product.depthStepA;
        product.beta = at == 0 ? beta : 1;
        packBlock(b, {at, at + product.k}, begin, product.n, packed);
        product.setPacked(reinterpret_cast<const std::byte *>(packed),
                          artifact::ElementType_Float32);
        loops().multiplyPanels.ofFloat(
            product, {0, (product.n + kPanelColumns - 1) / kPanelColumns});
      }
    }
  });
}

/// On this thread alone.
Status multiplyFastest(int64_t m, int64_t n, int64_t k, float alpha,
                       const Matrix<float> &a, const Matrix<float> &b,
                       float beta, float *c, int64_t leading) {
#ifdef SHARDC_HAS_DNNL
#ifdef _OPENMP
  omp_set_num_threads(1); // oneDNN's, of the calling thread
#endif
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k,
                 alpha, a.data, a.leading, b.data, b.leading, beta, c, leading);
  if (status != dnnl_success)
    return Status::error(StatusCode::Artifact,
                         "oneDNN's sgemm failed with status " +
                             std::to_string(static_cast<int>(status)));
#else
  multiplyLoops(m, n, k, alpha, a, b, beta, c, leading);
#endif
  return Status::ok();
}

/// Rows of C on the threads of the rank, or columns where there are more.
Status multiplyShared(int64_t m, int64_t n, int64_t k, float alpha,
                      const Matrix<float> &a, const Matrix<float> &b,
                      float beta, float *c, int64_t leading) {
  const bool ofRows = m > n;
  const int64_t all = ofRows ? m : n;
  const int64_t units = (all + kPanelColumns - 1) / kPanelColumns;
  const int64_t parts = threadsForProduct(units, m, n, k);
  return shareOut(
      parts, parts, /*chunk=*/1, [](int64_t thread) { return thread; },
      [&](int64_t, int64_t part) {
        const int64_t begin = units * part / parts * kPanelColumns;
        const int64_t end =
            std::min(units * (part + 1) / parts * kPanelColumns, all);
        Matrix<float> ownA = a, ownB = b;
        if (ofRows)
          ownA.data += begin * (a.transposed ? 1 : a.leading);
        else
          ownB.data += begin * (b.transposed ? b.leading : 1);
        return multiplyFastest(
            ofRows ? end - begin : m, ofRows ? n : end - begin, k, alpha, ownA,
            ownB, beta, c + begin * (ofRows ? leading : 1), leading);
      });
}

} // namespace

Status multiply(int64_t m, int64_t n, int64_t k, float alpha,
                const Matrix<float> &a, const Matrix<float> &b, float beta,
                float *c, int64_t leading, SumOrder order) {
  if (m == 0 || n == 0)
    return Status::ok();
  if (k == 0) {
    scaleRows(m, n, beta, c, leading);
    return Status::ok();
  }
  if (order == SumOrder::Fixed) {
    multiplyInOrder(m, n, k, alpha, a, b, beta, c, leading);
    return Status::ok();
  }
  return multiplyShared(m, n, k, alpha, a, b, beta, c, leading);
}

Status multiply(int64_t m, int64_t n, int64_t k, double alpha,
                const Matrix<double> &a, const Matrix<double> &b, double beta,
                double *c, int64_t leading, SumOrder) {
  multiplyLoops(m, n, k, alpha, a, b, beta, c, leading);
  return Status::ok();
}

Status multiply(int64_t m, int64_t n, int64_t k, uint64_t alpha,
                const Matrix<uint64_t> &a, const Matrix<uint64_t> &b,
                uint64_t beta, uint64_t *c, int64_t leading, SumOrder) {
  multiplyLoops(m, n, k, alpha, a, b, beta, c, leading);
  return Status::ok();
}

} // namespace shardc::runtime::host
