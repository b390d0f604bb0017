//===- ProductMembers.h - What a product with an epilogue does ------------===//
#ifndef SHARDC_PASSES_VERIFY_LOWERED_PRODUCTMEMBERS_H
#define SHARDC_PASSES_VERIFY_LOWERED_PRODUCTMEMBERS_H

#include "dialects/rt/Provenance.h"
#include "dialects/rt/Rt.h"

namespace shardc::verify {

/// Whether a product with sums and an activation is told of all its members:
/// a product of the first two inputs, a sum with each other one, and at last
/// the activation.
bool isOfMembers(rt::CallOp linear, const rt::Members &all);

} // namespace shardc::verify

#endif // SHARDC_PASSES_VERIFY_LOWERED_PRODUCTMEMBERS_H
