//===- ArtifactSource.h - What an artifact was compiled of ----------------===//
//
// Kept in the manifest, beside the plan:
//
//   "model_root": "..",
//   "source": {"model": {"path": "model.onnx", "bytes": N, "fingerprint": "..."},
//              "machine": "h100:1x8",
//              "recover": true, "doubles": false, "compute": "",
//              "page": 64, "kv_type": "int8"}       of a step of rows
//
// So what it would cost to split a node otherwise need not be kept: the model is
// sharded again, with the artifact's plan.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PLAN_ARTIFACTSOURCE_H
#define SHARDC_COMPILER_PLAN_ARTIFACTSOURCE_H

#include "compiler/Compile.h"

#include <nlohmann/json_fwd.hpp>

namespace shardc {

/// Options that compile the same again, of an artifact's folder and its manifest:
/// "", or why there are none.
std::string readSource(const std::string &artifact,
                       const nlohmann::json &manifest, CompileOptions &options);

/// Adds to the manifest of an artifact's folder what the best other sharding of a
/// node would cost, as "alternatives", or why that is not known, and the remedy, as
/// "no_alternatives" (report/ExplainNode.h). Other reports stay as they are.
void addAlternatives(const std::string &artifact, const std::string &node,
                     nlohmann::json &report);

} // namespace shardc

#endif // SHARDC_COMPILER_PLAN_ARTIFACTSOURCE_H
