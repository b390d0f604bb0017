//===- VerifyRings.h - Who may use parts that come in turn ----------------===//
#ifndef SHARDC_PASSES_VERIFY_VERIFYRINGS_H
#define SHARDC_PASSES_VERIFY_VERIFYRINGS_H

#include "dialects/dist/Dist.h"

namespace shardc::verify {

/// The type of a dist.ring says that the value is whole, but a rank never has
/// all of it. Each user must be an op whose rule takes that dim in turn; what
/// else it takes in turn along the same factor must come in the same parts.
///
///   onnx.Attention %q, %k, %v     %k and %v from rings with the same steps
llvm::LogicalResult verifyRing(dist::RingOp ring);

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_VERIFYRINGS_H
