//===- AnnotatedPlan.h - What a model's annotations ask for ---------------===//
//
// A configuration of ONNX names devices; a plan names axes of a mesh. Of devices
// 0 to 3 in two pipeline stages, "w" in 2 shards over devices 2 and 3 is a weight
// of stage 1 that "tp" splits:
//
//   mesh <"pp"=2, "tp"=2>   device d is rank d: stage d / 2, tp d % 2
//
// The mesh is that of the flags. Without them it is in the configuration's name,
// if that is of the form that shardc writes ("pp=2,tp=2,sp"); else all devices of
// a stage are "tp".
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_ANNOTATIONS_ANNOTATEDPLAN_H
#define SHARDC_COMPILER_ANNOTATIONS_ANNOTATEDPLAN_H

#include "compiler/import/Import.h"
#include "dialects/dist/algebra/Mesh.h"

namespace shardc::annotations {

struct AnnotatedPlan {
  std::string configuration; ///< its name
  size_t numConfigurations = 0;
  dist::Mesh mesh;
  bool sequenceParallel = false; ///< only of a name
  std::string json;              ///< see passes/plan/Annotations.h
};

/// `wanted` is the name of a configuration, or empty for the first that fits;
/// `given` the mesh of the flags, or null. "" or what is wrong, and what to do.
std::string findAnnotatedPlan(const importer::GraphRecord &record,
                              llvm::StringRef wanted, const dist::Mesh *given,
                              AnnotatedPlan &plan);

/// Name of a configuration for that mesh, replicas left out.
std::string configurationName(const dist::Mesh &mesh, bool sequenceParallel);

} // namespace shardc::annotations

#endif // SHARDC_COMPILER_ANNOTATIONS_ANNOTATEDPLAN_H
