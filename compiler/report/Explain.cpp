//===- Explain.cpp - What a plan costs, and why ---------------------------===//

#include "compiler/report/Explain.h"

#include "compiler/report/RankClasses.h"
#include "compiler/report/Sums.h"
#include "dialects/dist/NodeName.h"
#include "dialects/dist/Together.h"
#include "dialects/dist/algebra/Collectives.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Profiles.h"
#include "dialects/onnx/ops/ControlFlow.h"
#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/Source.h"
#include "dialects/rt/Rt.h"
#include "passes/shard/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <nlohmann/json.hpp>

#include <map>
#include <set>

using namespace mlir;
using Json = nlohmann::json;

namespace shardc::report {

using dist::DimExpr;

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

namespace {

/// A number where all symbols are given, else the expression.
Json sizeOf(DimExpr expr, const SymbolValues &dims, const dist::Mesh &mesh) {
  if (std::optional<int64_t> value = evaluate(expr, dims, mesh, 0))
    return *value;
  return expr.str();
}

DimExpr globalBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return rt::storageBytes(tensor.getElementType(),
                          dist::product(dist::getDims(type)));
}

class PlanReport {
public:
  PlanReport(ModuleOp module, const SymbolValues &dims,
             const plan::Machine *machine, const LayerNumbers *layers)
      : mesh(*dist::getMesh(module).getMesh().getMesh()), given(dims),
        machine(machine), layers(layers) {
    auto axes = module->getAttrOfType<dist::AxesAttr>(shard::kMatrixAxesAttr);
    splitsMatrices = !axes || !axes.getAxes().empty();
    report["collectives"] = Json::array();
    report["transfers"] = Json::array();
    report["waits"] = Json::array();
    report["whole_weights"] = Json::array();
    report["copied_weights"] = Json::array();
    report["structures"] = Json::object();
    report["profiles"] = Json::array();
  }

  void add(func::FuncOp program) {
    profile = onnx::profileText(program);
    stage = onnx::FunctionInfo(program).stage();
    // Of the first stage: later ones may not have the input.
    auto known = sizes.find(profile);
    dims = known == sizes.end() ? sizesOf(program) : known->second;
    sizes.try_emplace(profile, dims);
    if (stage == 0 && !profile.empty())
      addProfile(program);
    dependsOnInputs.clear();
    for (Operation &op : program.front()) {
      if (isa<dist::ReceiveOp>(op) ||
          llvm::any_of(op.getOperands(), [&](Value operand) {
            return !operand.getDefiningOp() ||
                   dependsOnInputs.contains(operand.getDefiningOp());
          }))
        dependsOnInputs.insert(&op);
      if (auto reduce = dyn_cast<dist::AllReduceOp>(op);
          reduce && dist::isDoneBefore(reduce))
        continue;
      if (auto collective = dyn_cast<dist::Collective>(op))
        addCollective(collective);
      else if (auto weight = dyn_cast<onnx::WeightOp>(op))
        addWeight(weight);
      else if (auto send = dyn_cast<dist::SendOp>(op))
        addTransfer(send);
    }
    program.walk([&](Operation *op) {
      if (isa<onnx::ReadSizesOp, onnx::IfOp, onnx::LoopOp>(op))
        addWait(nodeName(op, op->getName().getStringRef()).str());
      auto node = dyn_cast<onnx::OnnxOp>(op);
      auto structure = node ? node.structure() : std::nullopt;
      if (structure && structure->isRecovered)
        ++structures[profile][op->getName().stripDialect().str()];
    });
  }

  Json finish() {
    report["mesh"] = Json::object();
    for (const dist::Axis &axis : mesh.axes)
      report["mesh"][axis.name] = axis.size;
    for (const dist::Axis &axis : mesh.axes)
      if (!axis.shares.empty())
        report["shares"][axis.name] = axis.shares;
    report["dims"] = jsonOf(given);
    if (layers)
      report["layers"] = countLayers(*layers);
    addTotals();
    report["ranks"] = Json::array();
    const std::vector<int64_t> weightBytes = sumWeights();
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      Json coords = Json::object();
      for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
        coords[mesh.axes[axis].name] = mesh.coordinate(rank, axis);
      report["ranks"].push_back({{"rank", rank},
                                 {"coords", coords},
                                 {"weight_bytes", weightBytes[rank]},
                                 {"activation_bytes", nullptr},
                                 {"kv_bytes", nullptr}});
    }
    return std::move(report);
  }

private:
  /// By rank.
  std::vector<int64_t> sumWeights() const {
    std::vector<int64_t> sums(mesh.numRanks());
    for (const auto &[key, alike] : weights) {
      RankClasses<int64_t> classes(mesh);
      classes.use(alike.bytes);
      for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
        if (mesh.coordinateAlong(rank, dist::kPipelineAxis) == key.first)
          sums[rank] += alike.count * classes.of(rank, [&] {
            return evaluate(alike.bytes, dims, mesh, rank).value_or(0);
          });
    }
    return sums;
  }

  /// Which requests it is for; those of the profiles before are not.
  void addProfile(func::FuncOp program) {
    Json when = Json::array();
    for (const onnx::Condition &condition :
         onnx::conditionsOf(onnx::FunctionInfo(program).when())) {
      when.push_back({{"input", condition.input.str()}});
      if (condition.value)
        when.back()["value"] = *condition.value;
      else
        when.back().update({{"dim", condition.dim}, {"size", condition.size}});
    }
    report["profiles"].push_back({{"name", profile}, {"when", when}});
  }

  /// The given sizes, and those that the profile's condition says. A size with
  /// which a profile before it runs, for the same branches, is none of its own.
  SymbolValues sizesOf(func::FuncOp program) {
    SymbolValues own = given;
    const auto bound = onnx::boundSymbols(program);
    std::string branches;
    for (const onnx::Condition &condition :
         onnx::conditionsOf(onnx::FunctionInfo(program).when()))
      if (condition.value)
        branches +=
            (condition.input + (*condition.value ? "=1," : "=0,")).str();
    for (const auto &[others, symbols] : boundBefore)
      for (const auto &entry : symbols)
        if (auto same = own.find(entry.getKey());
            others == branches && !bound.count(entry.getKey()) &&
            same != own.end() && same->second == entry.getValue())
          own.erase(same);
    for (const auto &entry : bound)
      own[entry.getKey()] = entry.getValue();
    boundBefore.emplace_back(branches, bound);
    return own;
  }

  static Json jsonOf(const SymbolValues &values) {
    Json json = Json::object();
    for (const auto &entry : values)
      json[entry.getKey().str()] = entry.getValue();
    return json;
  }

  /// Profiles have much the same ones; a stage's are its own.
  void addWait(const std::string &node) {
    const std::string &first = waits.try_emplace(node, profile).first->second;
    if (first == profile)
      report["waits"].push_back(node);
  }

  /// By profile: its sizes and structures, and sums over all that it sends.
  /// Structures of the whole report are those of the profile with the most.
  void addTotals() {
    report["totals"] = Json::array();
    for (const auto &[name, values] : sizes) {
      Json total = {{"profile", name},
                    {"dims", jsonOf(values)},
                    {"structures", structures[name]}};
      addSums(report, total);
      report["totals"].push_back(std::move(total));
      for (const auto &[structure, count] : structures[name]) {
        Json &most = report["structures"][structure];
        most =
            std::max(most.is_null() ? int64_t{0} : most.get<int64_t>(), count);
      }
    }
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
         {"node", nodeName(send).str()}});
    Json &entry = report["transfers"].back();
    if (machine)
      addLinks(entry,
               plan::routeOfTransfer(*machine, mesh, stage, send.getStage()),
               [&](const plan::Route &route, double bytes) {
                 return plan::sendSeconds(*machine, route, bytes);
               });
    if (!profile.empty())
      entry["profile"] = profile;
  }

  /// Which links it takes; how long, where the bytes are known.
  void addLinks(Json &entry, const plan::Route &route,
                llvm::function_ref<double(const plan::Route &, double)> time) {
    entry["nodes"] = route.nodes;
    if (entry["bytes"].is_number())
      entry["seconds"] = time(route, entry["bytes"].get<double>());
  }

  SmallVector<DimExpr, 4> localDims(Type type) const {
    return dist::getSharding(type).localDims(mesh);
  }

  /// What a group holds together, as each of its ranks would if it were whole.
  DimExpr bytesOfGroup(dist::Collective op) const {
    auto from = cast<RankedTensorType>(op->getOperand(0).getType());
    dist::Sharding whole =
        dist::getSharding(op.form().whole == artifact::WholeSide::Input
                              ? from
                              : op->getResult(0).getType());
    if (op.form().whole == artifact::WholeSide::Neither)
      whole = *dist::allGather(dist::getSharding(from),
                               op->getAttrOfType<IntegerAttr>("dim").getInt(),
                               op.getAxes().getAxes());
    return rt::storageBytes(from.getElementType(),
                            dist::product(whole.localDims(mesh)));
  }

  /// What all ranks of one group send together.
  static DimExpr wireBytes(dist::Collective op, DimExpr bytes, int64_t ways) {
    if (op.form().whole == artifact::WholeSide::Neither)
      // Each keeps its part of its own.
      return DimExpr::floorDiv(bytes * (ways - 1), ways);
    if (op.form().isRouted) {
      // At most: a token goes to no more ranks than it chose experts.
      DimExpr choices = dist::getDims(op->getOperand(1).getType())[1];
      return bytes * DimExpr::min(choices, ways - 1);
    }
    return bytes * (op.form().passes * (ways - 1));
  }

  std::optional<unsigned> layerOf(Operation *op) const {
    if (!layers)
      return std::nullopt;
    auto layer = layers->find(nodeName(op));
    return layer == layers->end() ? std::nullopt : std::optional(layer->second);
  }

  void addCollective(dist::Collective op) {
    dist::AxesAttr axes = op.getAxes();
    auto why = op->getAttrOfType<StringAttr>("why");
    DimExpr bytes = bytesOfGroup(op);
    auto reduce = dyn_cast<dist::AllReduceOp>(op.getOperation());
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
         {"node", nodeName(op).str()},
         {"why", why ? why.str() : ""}});
    Json &entry = report["collectives"].back();
    if (together > 1)
      entry["together"] = together;
    if (std::optional<unsigned> layer = layerOf(op))
      entry["layer"] = *layer;
    if (!dependsOnInputs.contains(op))
      entry["of"] = "weights";
    if (machine) {
      auto [route, isNew] = routes.try_emplace(axes);
      if (isNew)
        route->second = plan::routeOf(*machine, mesh, axes.getAxes());
      addLinks(entry, route->second,
               [&](const plan::Route &route, double bytes) {
                 return plan::collectiveSeconds(*machine, op.form().kind, route,
                                                bytes);
               });
    }
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

  /// Ranks that hold the same part, since axes that split the weight have more
  /// ways than it has parts: keys of 4 heads over "tp" = 8 have two.
  int64_t copiesOf(const dist::Sharding &sharding) const {
    std::map<std::string, int64_t> ways;
    for (const dist::DimSharding &dim : sharding.dims)
      for (const dist::AxisRef &axis : dim.axes())
        ways.try_emplace(axis.name, 1).first->second *= axis.size;
    int64_t copies = 1;
    for (const dist::Axis &axis : mesh.axes)
      if (auto used = ways.find(axis.name); used != ways.end())
        copies *= axis.size / used->second;
    return copies;
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
    Alike &alike = weights[{stage, bytes.opaque()}];
    alike.bytes = bytes;
    ++alike.count;
    if (const int64_t copies = copiesOf(sharding); copies > 1)
      report["copied_weights"].push_back(
          {{"name", weight.getName().str()},
           {"bytes", *evaluate(globalBytes(type), dims, mesh, 0)},
           {"copies", copies}});
    if (sharding.isSplit() || mesh.numRanks() == 1)
      return;
    report["whole_weights"].push_back(
        {{"name", weight.getName().str()},
         {"bytes", *evaluate(globalBytes(type), dims, mesh, 0)},
         {"why", whyWhole(type)}});
  }

  const dist::Mesh &mesh;
  const SymbolValues &given;
  const plan::Machine *machine; ///< or null
  const LayerNumbers *layers;
  llvm::DenseSet<Operation *> dependsOnInputs; ///< of the program at hand
  bool splitsMatrices;                         ///< outside of experts
  /// So many weights take so many bytes of a rank.
  struct Alike {
    DimExpr bytes;
    int64_t count = 0;
  };
  std::map<std::pair<int64_t, const void *>, Alike>
      weights;                                   ///< by stage, bytes
  llvm::DenseMap<Attribute, plan::Route> routes; ///< by axes
  std::set<std::tuple<int64_t, StringRef, uint64_t, const void *>> held;
  std::string profile; ///< of the program at hand
  int64_t stage = 0;   ///< of it, too
  SymbolValues dims;   ///< of requests that it runs
  /// Of profiles before it: branches, and the sizes that they are for.
  std::vector<std::pair<std::string, SymbolValues>> boundBefore;
  // By profile.
  std::map<std::string, SymbolValues> sizes;
  std::map<std::string, std::map<std::string, int64_t>> structures;
  std::map<std::string, std::string> waits; ///< profile by node
  Json report;
};

} // namespace

Json explainPlan(ModuleOp module, const SymbolValues &dims,
                 const plan::Machine *machine, const LayerNumbers *layers) {
  PlanReport report(module, dims, machine, layers);
  for (func::FuncOp program : module.getOps<func::FuncOp>())
    if (onnx::FunctionInfo(program).isProgram())
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

/// The symbols of the inputs that a run's memory depends on and that have no
/// value: more --dims.
static Json missingSizes(ModuleOp module, const SymbolValues &dims) {
  std::set<std::string> ofInputs, missing;
  module.walk([&](rt::InputOp input) {
    for (DimExpr size : input.getValue().getDims())
      size.forEachSymbol(
          [&](StringRef name, bool) { ofInputs.insert(name.str()); });
  });
  module.walk([&](rt::AllocOp alloc) {
    alloc.getBytes().getValues()[0].forEachSymbol(
        [&](StringRef name, bool isCoordinate) {
          if (!isCoordinate && !dims.count(name) && ofInputs.count(name.str()))
            missing.insert(name.str());
        });
  });
  return missing;
}

void explainMemory(ModuleOp module, const SymbolValues &given, Json &report) {
  SymbolValues dims = given; // of a run without a state
  dims[*rt::cacheCapacity().asSymbol()] = 0;
  report["missing_dims"] = missingSizes(module, dims);
  const dist::Mesh &mesh = *dist::getMesh(module).getMesh().getMesh();
  // By rank; profiles run in the same memory.
  std::vector<std::optional<int64_t>> peaks(mesh.numRanks(), 0);
  for (rt::ProgramOp program : module.getOps<rt::ProgramOp>()) {
    RankClasses<std::optional<int64_t>> classes(mesh);
    for (auto alloc : program.getBody().getOps<rt::AllocOp>())
      classes.use(alloc.getBytes().getValues()[0]);
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      if (mesh.coordinateAlong(rank, dist::kPipelineAxis) !=
          onnx::FunctionInfo(program).stage())
        continue;
      std::optional<int64_t> peak = classes.of(
          rank, [&] { return peakBytes(program, dims, mesh, rank); });
      std::optional<int64_t> &largest = peaks[rank];
      largest = peak && largest ? std::optional(std::max(*peak, *largest))
                                : std::nullopt;
    }
  }
  for (Json &entry : report["ranks"]) {
    const std::optional<int64_t> &peak = peaks[entry["rank"].get<int64_t>()];
    if (!peak)
      return;
    entry["activation_bytes"] = *peak;
  }
}

} // namespace shardc::report
