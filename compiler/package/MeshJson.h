//===- MeshJson.h - A mesh as manifests and plan files have it ------------===//
//
//   [{"name": "cp", "size": 2}, {"name": "tp", "size": 2, "shares": [3, 1]}]
//
// Axes major first; shares where ways have unequal parts. plan/ReadPlanFile.h
// reads it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_PACKAGE_MESHJSON_H
#define SHARDC_COMPILER_PACKAGE_MESHJSON_H

#include "dialects/dist/algebra/Mesh.h"

#include <nlohmann/json.hpp>

namespace shardc::package {

nlohmann::json meshJson(const dist::Mesh &mesh);

} // namespace shardc::package

#endif // SHARDC_COMPILER_PACKAGE_MESHJSON_H
