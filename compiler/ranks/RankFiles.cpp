//===- RankFiles.cpp - A plan as one ONNX model for each rank -------------===//

#include "compiler/ranks/RankFiles.h"

#include "compiler/files/OutputFile.h"
#include "compiler/files/StagingFolder.h"
#include "compiler/package/MeshJson.h"
#include "compiler/quantize/QuantizedFile.h"
#include "compiler/ranks/RankProgram.h"
#include "dialects/dist/algebra/DeviceWays.h"
#include "dialects/onnx/FunctionInfo.h"

using namespace mlir;
using Json = nlohmann::json;

namespace shardc::ranks {

static constexpr char kFormat[] = "shardc rank files 1";
/// The version of ONNX's files that kOpset came with.
static constexpr int64_t kIrVersion = 11;

namespace {

Json sizeText(dist::DimExpr size) {
  if (std::optional<int64_t> constant = size.asConstant())
    return *constant;
  return size.str();
}

/// By dim: null where it is whole, else segments, each a list of factors, major
/// first, of which the rank has `count` elements from `start`.
Json partText(const dist::Sharding &sharding, const StageRank &rank) {
  Json dims = Json::array();
  for (const dist::DimSharding &dim : sharding.dims) {
    Json segments = Json::array();
    for (const dist::Segment &segment : dim.segments) {
      Json factors = Json::array();
      for (const dist::Factor &factor : segment.factors)
        factors.push_back(
            {{"size", sizeText(rank.size(factor.size))},
             {"start", sizeText(rank.size(factor.lowerBound(rank.mesh)))},
             {"count", sizeText(rank.size(factor.localSize(rank.mesh)))}});
      segments.push_back(std::move(factors));
    }
    dims.push_back(dim.isSplit() ? std::move(segments) : Json());
  }
  return dims;
}

class RankFilesWriter {
public:
  RankFilesWriter(ModuleOp module, std::string folder, Collectives style)
      : module(module), folder(std::move(folder)), style(style),
        mesh(*dist::getMesh(module).getMesh().getMesh()),
        replica(dist::replicaMesh(mesh)), stage(dist::stageMesh(mesh)),
        quantizedFile(this->folder + "/quantized.partial"),
        weights(onnx::modelInfo(module).folder, this->folder, quantizedFile) {
    rankOf.resize(replica.numRanks() / stage.numRanks(),
                  std::vector<int64_t>(stage.numRanks()));
    for (int64_t rank = 0; rank < replica.numRanks(); ++rank)
      rankOf[stageOf(rank)][stageRankOf(rank)] = rank;
  }

  bool isModels = false; ///< what is wrong

  std::string write() {
    if (quantize::hasQuantizedWeights(module))
      if (std::string problem = quantize::writeQuantizedFile(
              module, onnx::modelInfo(module).folder, quantizedFile);
          !problem.empty())
        return problem;
    Json ranks = Json::array();
    for (int64_t rank = 0; rank < replica.numRanks(); ++rank) {
      Json entry = rankEntry(rank);
      if (std::string problem = writeRank(rank, entry); !problem.empty())
        return problem;
      ranks.push_back(std::move(entry));
    }
    if (std::string problem = weights.finish(); !problem.empty())
      return problem;
    std::error_code ignored;
    std::filesystem::remove(quantizedFile, ignored); // it is in the ranks' own
    for (const std::string &name : weights.names)
      written.push_back({{"path", name}});
    const Json manifest = {{"format", kFormat},
                           {"collectives", style == Collectives::Microsoft
                                               ? "microsoft"
                                               : "tensorrt"},
                           {"mesh", package::meshJson(replica)},
                           {"replicas", mesh.numRanks() / replica.numRanks()},
                           {"files", written},
                           {"ranks", ranks}};
    return writeText(
        "manifest.json",
        manifest.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

private:
  int64_t stageOf(int64_t rank) const {
    return replica.coordinateAlong(rank, dist::kPipelineAxis);
  }

  /// Its number within its stage.
  int64_t stageRankOf(int64_t rank) const {
    return dist::wayOf(rank, dist::wholeMesh(stage), replica);
  }

  Json rankEntry(int64_t rank) const {
    Json coordinates = Json::object();
    for (size_t axis = 0; axis < replica.axes.size(); ++axis)
      coordinates[replica.axes[axis].name] = replica.coordinate(rank, axis);
    return {{"rank", rank},
            {"stage", stageOf(rank)},
            {"coordinates", coordinates},
            {"communicator", rankOf[stageOf(rank)]},
            {"programs", Json::array()}};
  }

  std::string writeRank(int64_t rank, Json &entry) {
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (onnx::FunctionInfo info(function);
          info.isProgram() && info.stage() == stageOf(rank))
        functions.push_back(function);
    for (auto [number, function] : llvm::enumerate(functions)) {
      const onnx::FunctionInfo info(function);
      const std::string profile =
          info.profile() ? info.profile().str() : std::to_string(number);
      const std::string file = "rank-" + std::to_string(rank) +
                               (functions.size() > 1 ? "." + profile : "") +
                               ".onnx";
      Json program = {{"file", file}};
      if (functions.size() > 1)
        program["profile"] = profile;
      if (DictionaryAttr when = info.when()) {
        std::string text;
        llvm::raw_string_ostream os(text);
        when.print(os);
        program["when"] = text;
      }
      if (std::string problem = writeProgram(function, rank, file, program);
          !problem.empty())
        return problem;
      entry["programs"].push_back(std::move(program));
    }
    return "";
  }

  std::string writeProgram(func::FuncOp function, int64_t rank,
                           const std::string &file, Json &entry) {
    ::onnx::ModelProto model;
    model.set_ir_version(kIrVersion);
    model.set_producer_name("shardc");
    auto *opset = model.add_opset_import();
    opset->set_domain("");
    opset->set_version(kOpset);
    model.mutable_graph()->set_name("rank-" + std::to_string(rank));
    const StageRank stageRank{stage, stageRankOf(rank)};
    RankProgram program(function, stageRank, rank, style, weights,
                        *model.mutable_graph());
    if (std::string problem = program.write(); !problem.empty()) {
      isModels = weights.problem.empty();
      return problem;
    }
    if (!program.groups.empty()) {
      auto *domain = model.add_opset_import();
      domain->set_domain(domainOf(style).str());
      domain->set_version(1);
    }
    describe(program, stageRank, rank, entry);
    return writeText(file, model.SerializeAsString());
  }

  void describe(const RankProgram &program, const StageRank &stageRank,
                int64_t rank, Json &entry) const {
    auto portsOf = [&](const std::vector<Port> &ports) {
      Json list = Json::array();
      for (const Port &port : ports) {
        Json made = {{"name", port.name}, {"kind", port.kind}};
        if (port.part)
          made["part"] = partText(*port.part, stageRank);
        if (port.transfer) {
          made["transfer"] = *port.transfer;
          made["rank"] = rankOf[*port.stage][stageRank.rank];
        }
        list.push_back(std::move(made));
      }
      return list;
    };
    entry["inputs"] = portsOf(program.inputs);
    entry["outputs"] = portsOf(program.outputs);
    entry["collectives"] = Json::array();
    for (const auto &[node, group] : program.groups) {
      Json members = Json::array();
      for (int64_t member : group)
        members.push_back(rankOf[stageOf(rank)][member]);
      entry["collectives"].push_back({{"node", node}, {"ranks", members}});
    }
    entry["assumes"] = program.guards;
  }

  std::string writeText(const std::string &name, const std::string &text) {
    const std::string path = folder + "/" + name;
    written.push_back({{"path", name}});
    const std::error_code error =
        files::writeFile(path, [&](llvm::raw_ostream &os) { os << text; });
    return error ? "cannot write " + path + ": " + error.message() : "";
  }

  ModuleOp module;
  const std::string folder;
  const Collectives style;
  const dist::Mesh mesh, replica, stage;
  /// By stage and number within it.
  std::vector<std::vector<int64_t>> rankOf;
  const std::string quantizedFile;
  WeightStore weights;
  Json written = Json::array(); ///< files, for who replaces them
};

} // namespace

std::string writeRankFiles(ModuleOp module, const std::string &folder,
                           Collectives style, bool &isModels) {
  files::StagingFolder staging(folder);
  if (std::string why = staging.create(); !why.empty())
    return "cannot create " + folder + ": " + why;
  RankFilesWriter writer(module, staging.path().string(), style);
  const std::string problem = writer.write();
  isModels = writer.isModels;
  if (!problem.empty())
    return problem;
  const std::string why = staging.publish();
  return why.empty() ? "" : "cannot write " + folder + ": " + why;
}

} // namespace shardc::ranks
