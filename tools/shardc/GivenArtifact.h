//===- GivenArtifact.h - An artifact where flags or a model are expected --===//
//
// An artifact has its plan: flags that make one change nothing of it, and who
// gives them wants the model.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_GIVENARTIFACT_H
#define SHARDC_TOOLS_SHARDC_GIVENARTIFACT_H

#include "tools/shardc/Flags.h"

#include <nlohmann/json_fwd.hpp>

namespace shardc {

/// "", or the flag beside an artifact, or a report, that a model would need, which
/// plan that has, and how to compile it again.
std::string wrongFlag(const Flags &flags, const nlohmann::json &report);

/// "", or that what should be a model is an artifact, and of which.
std::string wrongModel(const Flags &flags);

} // namespace shardc

#endif // SHARDC_TOOLS_SHARDC_GIVENARTIFACT_H
