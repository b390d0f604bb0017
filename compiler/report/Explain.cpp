//===- Explain.cpp - What a plan costs, and why ---------------------------===//

#include "compiler/report/Explain.h"

#include "dialects/dist/Together.h"
#include "dialects/dist/algebra/Collectives.h"
#include "dialects/onnx/Profiles.h"
#include "dialects/onnx/Structures.h"
#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Source.h"
#include "dialects/rt/Rt.h"
#include "passes/shard/AxisRoles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <nlohmann/json.hpp>

#include <set>

using namespace mlir;
using Json = nlohmann::json;

namespace shardc::report {

using dist::DimExpr;

namespace {

std::optional<int64_t> evaluate(DimExpr expr, const SymbolValues &dims,
                                const dist::Mesh &mesh, int64_t rank) {
  return expr.evaluate(
      [&](StringRef name, bool isCoordinate) -> std::optional<int64_t> {
        if (!isCoordinate) {
          auto it = dims.find(name);
          return it == dims.end() ? std::nullopt
                                  : std::optional<int64_t>(it->second);
        }
        for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
          if (mesh.axes[axis].name == name)
            return mesh.coordinate(rank, axis);
        return std::nullopt;
      });
}

/// A number where all symbols are given, else the expression.
Json sizeOf(DimExpr expr, const SymbolValues &dims, const dist::Mesh &mesh) {
  if (std::optional<int64_t> value = evaluate(expr, dims, mesh, 0))
    return *value;
  return expr.str();
}

std::string nodeName(Operation *op) {
  auto name = dyn_cast<NameLoc>(op->getLoc());
  return name ? name.getName().str() : op->getName().getStringRef().str();
}

DimExpr globalBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return rt::storageBytes(tensor.getElementType(),
                          dist::product(dist::getDims(type)));
}

class PlanReport {
public:
  PlanReport(ModuleOp module, const SymbolValues &dims,
             const dist::Topology *topology)
      : mesh(*dist::getMesh(module).getMesh().getMesh()), dims(dims),
        topology(topology), weightBytes(mesh.numRanks()) {
    auto axes = module->getAttrOfType<dist::AxesAttr>(shard::kMatrixAxesAttr);
    splitsMatrices = !axes || !axes.getAxes().empty();
    report["collectives"] = Json::array();
    report["transfers"] = Json::array();
    report["waits"] = Json::array();
    report["whole_weights"] = Json::array();
    report["structures"] = Json::object();
    report["profiles"] = Json::array();
  }

  void add(func::FuncOp program) {
    profile = onnx::profileText(program);
    stage = dist::stageOf(program);
    if (stage == 0 && !profile.empty())
      addProfile(program);
    for (Operation &op : program.front()) {
      if (auto reduce = dyn_cast<dist::AllReduceOp>(op);
          reduce && dist::isDoneBefore(reduce))
        continue;
      if (isa<dist::AllReduceOp, dist::AllGatherOp, dist::ReduceScatterOp,
              dist::AllToAllOp, dist::RingOp, dist::DispatchOp,
              dist::CombineOp>(op))
        addCollective(&op);
      else if (auto weight = dyn_cast<onnx::WeightOp>(op))
        addWeight(weight);
      else if (auto send = dyn_cast<dist::SendOp>(op))
        addTransfer(send);
    }
    program.walk([&](Operation *op) {
      if (isa<onnx::ReadSizesOp, onnx::IfOp, onnx::LoopOp>(op))
        report["waits"].push_back(nodeName(op));
      else if (auto *structure = onnx::structureOf(op);
               structure && structure->isRecovered)
        addStructure(op->getName().stripDialect().str());
    });
  }

  Json finish() {
    report["mesh"] = Json::object();
    for (const dist::Axis &axis : mesh.axes)
      report["mesh"][axis.name] = axis.size;
    report["dims"] = Json::object();
    for (const auto &entry : dims)
      report["dims"][entry.getKey().str()] = entry.getValue();
    report["ranks"] = Json::array();
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      Json coords = Json::object();
      for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
        coords[mesh.axes[axis].name] = mesh.coordinate(rank, axis);
      report["ranks"].push_back({{"rank", rank},
                                 {"coords", coords},
                                 {"weight_bytes", weightBytes[rank]},
                                 {"activation_bytes", nullptr},
                                 {"kv_bytes", 0}});
    }
    return std::move(report);
  }

private:
  /// Which requests it is for; those of the profiles before are not.
  void addProfile(func::FuncOp program) {
    Json when = Json::array();
    for (const onnx::Condition &condition : onnx::conditionsOf(
             program->getAttrOfType<DictionaryAttr>(onnx::kWhenAttr))) {
      when.push_back({{"input", condition.input.str()}});
      if (condition.value)
        when.back()["value"] = *condition.value;
      else
        when.back().update({{"dim", condition.dim}, {"size", condition.size}});
    }
    report["profiles"].push_back({{"name", profile}, {"when", when}});
  }

  void addStructure(const std::string &name) {
    Json &count = report["structures"][name];
    count = count.is_null() ? 1 : count.get<int64_t>() + 1;
  }

  /// Each rank of a stage sends its part.
  void addTransfer(dist::SendOp send) {
    auto type = cast<RankedTensorType>(send.getOperand().getType());
    report["transfers"].push_back(
        {{"from", stage},
         {"to", send.getStage()},
         {"bytes", sizeOf(rt::storageBytes(type.getElementType(),
                                           dist::product(localDims(type))),
                          dims, mesh)},
         {"node", nodeName(send)}});
    Json &entry = report["transfers"].back();
    if (topology)
      addLinks(entry,
               dist::routeOfTransfer(*topology, mesh, stage, send.getStage()),
               [&](const dist::Route &route, double bytes) {
                 return dist::linkOf(*topology, route).seconds(bytes);
               });
    if (!profile.empty())
      entry["profile"] = profile;
  }

  /// Which links it takes; how long, where the bytes are known.
  void addLinks(Json &entry, const dist::Route &route,
                llvm::function_ref<double(const dist::Route &, double)> time) {
    entry["nodes"] = route.nodes;
    if (entry["bytes"].is_number())
      entry["seconds"] = time(route, entry["bytes"].get<double>());
  }

  SmallVector<DimExpr, 4> localDims(Type type) const {
    return dist::getSharding(type).localDims(mesh);
  }

  /// What a group holds together, as each of its ranks would if it were whole.
  DimExpr bytesOfGroup(Operation *op) const {
    auto from = cast<RankedTensorType>(op->getOperand(0).getType());
    dist::Sharding whole =
        dist::getSharding(isa<dist::ReduceScatterOp, dist::CombineOp>(op)
                              ? from
                              : op->getResult(0).getType());
    if (auto swap = dyn_cast<dist::AllToAllOp>(op))
      whole = *dist::allGather(dist::getSharding(from), swap.getDim(),
                               swap.getAxes().getAxes());
    return rt::storageBytes(from.getElementType(),
                            dist::product(whole.localDims(mesh)));
  }

  /// What all ranks of one group send together.
  static DimExpr wireBytes(Operation *op, DimExpr bytes, int64_t ways) {
    if (isa<dist::AllToAllOp>(op)) // each keeps its part of its own
      return DimExpr::floorDiv(bytes * (ways - 1), ways);
    if (isa<dist::DispatchOp, dist::CombineOp>(op)) {
      // At most: a token goes to no more ranks than it chose experts.
      DimExpr choices = dist::getDims(op->getOperand(1).getType())[1];
      return bytes * DimExpr::min(choices, ways - 1);
    }
    return bytes * (passesOf(op) * (ways - 1));
  }

  static int64_t passesOf(Operation *op) {
    return isa<dist::AllReduceOp>(op) ? 2 : 1;
  }

  void addCollective(Operation *op) {
    auto axes = op->getAttrOfType<dist::AxesAttr>("axes");
    auto why = op->getAttrOfType<StringAttr>("why");
    DimExpr bytes = bytesOfGroup(op);
    auto reduce = dyn_cast<dist::AllReduceOp>(op);
    int64_t together = 1;
    while (reduce && (reduce = dist::nextTogether(reduce))) {
      bytes = bytes + bytesOfGroup(reduce);
      ++together;
    }
    int64_t ways = dist::numWays(axes.getAxes());
    std::string axisNames;
    for (const dist::AxisRef &axis : axes.getAxes())
      axisNames += (axisNames.empty() ? "" : ",") + axis.name;
    report["collectives"].push_back(
        {{"kind", op->getName().stripDialect().str()},
         {"axis", axisNames},
         {"bytes", sizeOf(bytes, dims, mesh)},
         {"wire_bytes", sizeOf(wireBytes(op, bytes, ways), dims, mesh)},
         {"node", nodeName(op)},
         {"why", why ? why.str() : ""}});
    Json &entry = report["collectives"].back();
    if (together > 1)
      entry["together"] = together;
    if (topology)
      addLinks(entry, dist::routeOf(*topology, mesh, axes.getAxes()),
               [&](const dist::Route &route, double bytes) {
                 return dist::collectiveSeconds(*topology, route, passesOf(op),
                                                ways, bytes);
               });
    if (mesh.find(dist::kPipelineAxis))
      entry["stage"] = stage;
    if (!profile.empty())
      entry["profile"] = profile;
  }

  const char *whyWhole(RankedTensorType weight) const {
    if (weight.getRank() < 2)
      return "a vector that whole values use";
    return splitsMatrices ? "splitting it would add a collective"
                          : "the axes of the mesh split other things";
  }

  void addWeight(onnx::WeightOp weight) {
    auto type = cast<RankedTensorType>(weight.getResult().getType());
    // Profiles share the parts that they hold alike.
    bool isNew = held.insert({stage, weight.getFile(), weight.getOffset(),
                              type.getAsOpaquePointer()})
                     .second;
    if (!isNew)
      return;
    dist::Sharding sharding = dist::getSharding(type);
    DimExpr bytes = rt::storageBytes(type.getElementType(),
                                     dist::product(sharding.localDims(mesh)));
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      if (mesh.coordinateAlong(rank, dist::kPipelineAxis) == stage)
        weightBytes[rank] += evaluate(bytes, dims, mesh, rank).value_or(0);
    if (sharding.isSplit() || mesh.numRanks() == 1)
      return;
    report["whole_weights"].push_back(
        {{"name", weight.getName().str()},
         {"bytes", *evaluate(globalBytes(type), dims, mesh, 0)},
         {"why", whyWhole(type)}});
  }

  const dist::Mesh &mesh;
  const SymbolValues &dims;
  const dist::Topology *topology; ///< or null
  bool splitsMatrices;            ///< outside of experts
  std::vector<int64_t> weightBytes;
  std::set<std::tuple<int64_t, StringRef, uint64_t, const void *>> held;
  std::string profile; ///< of the program at hand
  int64_t stage = 0;   ///< of it, too
  Json report;
};

} // namespace

Json explainPlan(ModuleOp module, const SymbolValues &dims,
                 const dist::Topology *topology) {
  PlanReport report(module, dims, topology);
  for (func::FuncOp program : module.getOps<func::FuncOp>())
    if (program->hasAttr("dist.sharded"))
      report.add(program);
  return report.finish();
}

/// The most bytes of arena buffers that are live at once on a rank.
static std::optional<int64_t> peakBytes(rt::ProgramOp program,
                                        const SymbolValues &dims,
                                        const dist::Mesh &mesh, int64_t rank) {
  int64_t live = 0, peak = 0;
  llvm::DenseMap<Value, int64_t> sizes;
  for (Operation &op : program.getBody().front()) {
    if (auto alloc = dyn_cast<rt::AllocOp>(op)) {
      std::optional<int64_t> bytes =
          evaluate(alloc.getBytes().getValues()[0], dims, mesh, rank);
      if (!bytes)
        return std::nullopt;
      sizes[alloc] = *bytes;
      live += *bytes;
      peak = std::max(peak, live);
    } else if (auto free = dyn_cast<rt::FreeOp>(op)) {
      live -= sizes.lookup(free.getBuffer());
    }
  }
  return peak;
}

void explainMemory(ModuleOp module, const SymbolValues &given, Json &report) {
  SymbolValues dims = given; // of a run without a state
  dims[*rt::cacheCapacity().asSymbol()] = 0;
  const dist::Mesh &mesh = *dist::getMesh(module).getMesh().getMesh();
  for (Json &entry : report["ranks"]) {
    int64_t largest = 0; // profiles run in the same memory
    for (rt::ProgramOp program : module.getOps<rt::ProgramOp>()) {
      const int64_t rank = entry["rank"].get<int64_t>();
      if (mesh.coordinateAlong(rank, dist::kPipelineAxis) !=
          dist::stageOf(program))
        continue;
      std::optional<int64_t> peak = peakBytes(program, dims, mesh, rank);
      if (!peak)
        return;
      largest = std::max(largest, *peak);
    }
    entry["activation_bytes"] = largest;
  }
}

} // namespace shardc::report
