//===- Layers.cpp - Which layer of the model a node is in -----------------===//

#include "compiler/report/Layers.h"

#include "dialects/dist/NodeName.h"
#include "passes/shard/EqualLayers.h"

using namespace mlir;

namespace shardc::report {

LayerNumbers layersOf(ModuleOp module) {
  LayerNumbers numbers;
  // Of profiles, which are alike, the first one that has a node says it.
  for (auto function : module.getOps<func::FuncOp>()) {
    const shard::EqualLayers layers(function);
    for (Operation &op : function.front())
      if (std::optional<unsigned> layer = layers.layerOf(&op))
        numbers.try_emplace(nodeName(&op), *layer);
  }
  return numbers;
}

unsigned countLayers(const LayerNumbers &layers) {
  unsigned count = 0;
  for (const auto &layer : layers)
    count = std::max(count, layer.second + 1);
  return count;
}

} // namespace shardc::report
