//===- WeightChecks.cpp - What a program says of its weights --------------===//
#include "runtime/artifact/check/ProgramChecks.h"

#include "runtime/base/Message.h"

namespace shardc::runtime {

Status ProgramChecker::checkWeights() {
  for (const artifact::Weight *weight : *program.weights()) {
    std::string where = message("weight ", weight->name()->c_str());
    if (weight->element() > artifact::ElementType_MAX ||
        !isAligned(weight->dims()))
      return artifactError(where, " is malformed");
    SHARDC_RETURN_IF_ERROR(
        checkLayouts(weight->layout(), weight->dims()->size(), where.c_str()));
    int64_t bits = artifact::elementBits(weight->element());
    for (int64_t dim : *weight->dims())
      if (dim < 0 || __builtin_mul_overflow(bits, dim, &bits))
        return artifactError(where, " has impossible dims");
    const int64_t bytes = (bits - 1) / 8 + (bits > 0);
    if (weight->length() != static_cast<uint64_t>(bytes))
      return artifactError(where, " has ", weight->length(),
                           " bytes in its file, expected ", bytes);
    if (weight->present() >= 0)
      SHARDC_RETURN_IF_ERROR(
          checkScalarIndex(static_cast<uint32_t>(weight->present()),
                           kOnCoordinates, where.c_str()));
    for (const artifact::DimLayout *layout : *weight->layout())
      for (const artifact::SegmentLayout *segment : *layout->segments())
        for (const artifact::FactorLayout *factor : *segment->factors())
          SHARDC_RETURN_IF_ERROR(
              checkScalarIndex(factor->size(), kOnNothing, where.c_str()));
  }
  return Status::ok();
}

/// The weights of a join differ along its dim only.
static bool fitTogether(const artifact::Weight &first,
                        const artifact::Weight &other, uint32_t dim) {
  if (first.element() != other.element() ||
      first.dims()->size() != other.dims()->size())
    return false;
  for (uint32_t d = 0; d < first.dims()->size(); ++d)
    if (d != dim && first.dims()->Get(d) != other.dims()->Get(d))
      return false;
  return true;
}

Status ProgramChecker::checkJoins() {
  if (!program.joins())
    return Status::ok();
  const auto &weights = *program.weights();
  for (uint32_t j = 0; j < program.joins()->size(); ++j) {
    const artifact::Join *join = program.joins()->Get(j);
    if (join->weights()->size() < 2)
      return artifactError("join ", j, " is malformed");
    for (uint32_t w : *join->weights())
      if (w >= weights.size())
        return artifactError("join ", j, " refers to weight ", w,
                             ", the program has ", weights.size());
    const artifact::Weight &first = *weights.Get(join->weights()->Get(0));
    if (join->dim() >= first.dims()->size())
      return artifactError("join ", j, " is malformed");
    for (uint32_t w : *join->weights())
      if (!fitTogether(first, *weights.Get(w), join->dim()))
        return artifactError("join ", j, " has weights ", first.name()->c_str(),
                             " and ", weights.Get(w)->name()->c_str(),
                             ", which do not fit together");
  }
  return Status::ok();
}

} // namespace shardc::runtime
