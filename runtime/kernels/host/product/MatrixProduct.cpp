//===- MatrixProduct.cpp - sgemm, and loops for the other types -----------===//
//
// Without oneDNN the loops serve float too: slower, but the same results up to
// rounding.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/host/product/MatrixProduct.h"

#ifdef SHARDC_HAS_DNNL
#include <oneapi/dnnl/dnnl.h>
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

} // namespace

Status multiply(int64_t m, int64_t n, int64_t k, float alpha,
                const Matrix<float> &a, const Matrix<float> &b, float beta,
                float *c, int64_t leading) {
  if (m == 0 || n == 0)
    return Status::ok();
  if (k == 0) {
    scaleRows(m, n, beta, c, leading);
    return Status::ok();
  }
#ifdef SHARDC_HAS_DNNL
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

Status multiply(int64_t m, int64_t n, int64_t k, double alpha,
                const Matrix<double> &a, const Matrix<double> &b, double beta,
                double *c, int64_t leading) {
  multiplyLoops(m, n, k, alpha, a, b, beta, c, leading);
  return Status::ok();
}

Status multiply(int64_t m, int64_t n, int64_t k, uint64_t alpha,
                const Matrix<uint64_t> &a, const Matrix<uint64_t> &b,
                uint64_t beta, uint64_t *c, int64_t leading) {
  multiplyLoops(m, n, k, alpha, a, b, beta, c, leading);
  return Status::ok();
}

} // namespace shardc::runtime::host
