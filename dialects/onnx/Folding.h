//===- Folding.h - Elements of known values -------------------------------===//
//
// What the elementwise ops compute of symbolic integers and numbers. Each
// gives nothing when the result is not certain: a comparison of seq with 128,
// an integer division that may not be exact and may be of a negative number.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_ONNX_FOLDING_H
#define SHARDC_DIALECTS_ONNX_FOLDING_H

#include "dialects/onnx/ShapeInference.h"

namespace shardc::onnx::fold {

#define SHARDC_BINARY_FOLD(name)                                               \
  std::optional<KnownScalar> name(                                             \
      const FoldSite &site, const KnownScalar &lhs, const KnownScalar &rhs);
SHARDC_BINARY_FOLD(add)
SHARDC_BINARY_FOLD(sub)
SHARDC_BINARY_FOLD(mul)
SHARDC_BINARY_FOLD(div)
SHARDC_BINARY_FOLD(mod)
SHARDC_BINARY_FOLD(pow)
SHARDC_BINARY_FOLD(min)
SHARDC_BINARY_FOLD(max)
SHARDC_BINARY_FOLD(equal)
SHARDC_BINARY_FOLD(less)
SHARDC_BINARY_FOLD(lessOrEqual)
SHARDC_BINARY_FOLD(greater)
SHARDC_BINARY_FOLD(greaterOrEqual)
SHARDC_BINARY_FOLD(logicalAnd)
SHARDC_BINARY_FOLD(logicalOr)
SHARDC_BINARY_FOLD(logicalXor)
#undef SHARDC_BINARY_FOLD

#define SHARDC_UNARY_FOLD(name)                                                \
  std::optional<KnownScalar> name(const FoldSite &site,                        \
                                  const KnownScalar &value);
SHARDC_UNARY_FOLD(neg)
SHARDC_UNARY_FOLD(abs)
SHARDC_UNARY_FOLD(ceil)
SHARDC_UNARY_FOLD(floor)
SHARDC_UNARY_FOLD(round)
SHARDC_UNARY_FOLD(sign)
SHARDC_UNARY_FOLD(sqrt)
SHARDC_UNARY_FOLD(reciprocal)
SHARDC_UNARY_FOLD(logicalNot)
#undef SHARDC_UNARY_FOLD

/// The value of an onnx.Cast to `to`.
std::optional<KnownScalar> cast(const FoldSite &site, const KnownScalar &value,
                                mlir::Type to);

} // namespace shardc::onnx::fold

#endif // SHARDC_DIALECTS_ONNX_FOLDING_H
