//===- MeshJson.cpp - A mesh as manifests and plan files have it ----------===//

#include "compiler/package/MeshJson.h"

namespace shardc::package {

nlohmann::json meshJson(const dist::Mesh &mesh) {
  nlohmann::json axes = nlohmann::json::array();
  for (const dist::Axis &axis : mesh.axes) {
    axes.push_back({{"name", axis.name}, {"size", axis.size}});
    if (!axis.shares.empty())
      axes.back()["shares"] = axis.shares;
  }
  return axes;
}

} // namespace shardc::package
