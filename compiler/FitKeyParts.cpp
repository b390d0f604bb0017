//===- FitKeyParts.cpp - As many parts of the keys as a plan can use ------===//

#include "compiler/FitKeyParts.h"

#include "compiler/RequestSizes.h"
#include "dialects/dist/Dist.h"
#include "dialects/dist/NodeName.h"
#include "dialects/dist/algebra/StorageAxis.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

#include <nlohmann/json.hpp>

#include <map>

using namespace mlir;
using Json = nlohmann::json;

namespace shardc {

/// Text of an object; "" where it has none by that name.
static std::string textOf(const Json &object, const char *name) {
  const bool isThere =
      object.is_object() && object.contains(name) && object[name].is_string();
  return isThere ? object[name].get<std::string>() : "";
}

/// Where the keys of an attention have their parts in a plan (plan/PlanFile.h).
static bool isOfParts(const Json &split) {
  const auto isNumber = [&](const char *name, int64_t number) {
    return !split.contains(name) ? number == 0
                                 : split[name].is_number_integer() &&
                                       split[name].get<int64_t>() == number;
  };
  return split.is_object() && textOf(split, "of") == "operand 1" &&
         isNumber("dim", 2) && isNumber("factor", 0);
}

/// By node, the parts of the keys that a plan has split; 0 where it has not split
/// those of an attention that it has. Phase sharded says what else is wrong.
static std::map<std::string, int64_t> partsOfPlan(StringRef text) {
  std::map<std::string, int64_t> parts;
  const Json plan = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!plan.is_object() || !plan.contains("programs"))
    return parts;
  for (const auto &[name, ops] : plan["programs"].items())
    for (const Json &op : ops) {
      if (textOf(op, "op") != "PagedAttentionParts")
        continue;
      int64_t &here = parts[textOf(op, "node")];
      if (!op.contains("splits"))
        continue;
      for (const Json &split : op["splits"])
        if (isOfParts(split))
          (void)StringRef(textOf(split, "size")).getAsInteger(10, here);
    }
  return parts;
}

/// Of a plan that is there, whatever it says.
static SmallVector<int64_t> partsOfPlan(StringRef plan, ModuleOp module,
                                        ArrayRef<int64_t> most) {
  const std::map<std::string, int64_t> known = partsOfPlan(plan);
  SmallVector<int64_t> parts;
  for (auto [op, count] : llvm::zip(import::pagedAttentions(module), most)) {
    const auto found = known.find(nodeName(op.getOperation()).str());
    const int64_t wanted = found == known.end() ? 1 : found->second;
    parts.push_back(wanted >= 1 && count % wanted == 0 ? wanted : count);
  }
  return parts;
}

/// How many ways the parts of each attention have, where there are several.
static SmallVector<int64_t> usedParts(ModuleOp sharded,
                                      ArrayRef<int64_t> most) {
  SmallVector<int64_t> split;
  sharded.walk([&](onnx::PagedAttentionPartsOp op) {
    split.push_back(dist::numWays(
        dist::getSharding(op.getResult().getType()).dims.front().axes()));
  });
  SmallVector<int64_t> used(most);
  auto next = split.begin();
  for (int64_t &parts : used)
    if (parts > 1 && next != split.end())
      parts = *next++;
  return used;
}

/// Those that are used of so many; all where the program cannot be planned, which
/// is said when it is.
static SmallVector<int64_t> tryParts(ModuleOp module, ArrayRef<int64_t> parts,
                                     const PipelineOptions &options) {
  OwningOpRef<ModuleOp> trial(module.clone());
  import::splitKeys(import::pagedAttentions(*trial), parts);
  OpBuilder builder(trial->getBodyRegion());
  dist::MeshOp::create(builder, trial->getLoc(), "mesh",
                       dist::MeshAttr::get(module.getContext(), options.mesh));
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(createShardings(options));
  ScopedDiagnosticHandler silent(module.getContext(),
                                 [](Diagnostic &) { return success(); });
  return succeeded(passes.run(*trial)) ? usedParts(*trial, parts)
                                       : SmallVector<int64_t>(parts);
}

import::FitKeyParts fitKeyParts(const PipelineOptions &options) {
  return [options](ModuleOp module, ArrayRef<int64_t> most) {
    if (!options.plan.empty())
      return partsOfPlan(options.plan, module, most);
    PipelineOptions planning = options;
    planning.keepsPlan = false;
    llvm::StringMap<int64_t> sizes;
    if (resolveSizes(module, options.planDims, sizes).empty())
      planning.planSizes = sizeTexts(sizes);
    // With fewer parts another plan may be better; there are fewer each time.
    SmallVector<int64_t> parts(most);
    while (true) {
      SmallVector<int64_t> used = tryParts(module, parts, planning);
      if (used == parts)
        return used;
      parts = std::move(used);
    }
  };
}

import::SplitKeysOptions keyRanks(const dist::Mesh &mesh,
                                  StringRef expertMode) {
  import::SplitKeysOptions ranks;
  const dist::Mesh stage = dist::stageMesh(mesh);
  for (const dist::Axis &axis : stage.axes)
    if (axis.name == dist::kContextAxis)
      ranks.contextWays *= axis.size;
    else if (axis.name != dist::kStorageAxis &&
             (axis.name != dist::kExpertAxis || expertMode != "batch"))
      ranks.headWays *= axis.size;
  return ranks;
}

} // namespace shardc
