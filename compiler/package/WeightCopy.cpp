//===- WeightCopy.cpp - Each rank's weights in one safetensors file -------===//

#include "compiler/package/WeightCopy.h"

#include "compiler/files/OutputFile.h"
#include "compiler/package/ElementTypes.h"
#include "compiler/package/FileHash.h"
#include "compiler/package/ProgramWriter.h"
#include "compiler/package/WeightNames.h"
#include "compiler/quantize/QuantizedFile.h"
#include "dialects/onnx/FunctionInfo.h"
#include "runtime/artifact/ElementNames.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

#include <filesystem>

using namespace mlir;
using Json = nlohmann::json;

namespace shardc::package {

namespace {

/// Global indices along one dim that a rank owns, in local order.
std::vector<int64_t> ownedIndices(const dist::DimSharding &dim,
                                  const dist::Mesh &mesh, int64_t rank) {
  auto valueOf = [&](StringRef name, bool) -> std::optional<int64_t> {
    for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
      if (mesh.axes[axis].name == name)
        return mesh.coordinate(rank, axis);
    return std::nullopt;
  };
  std::vector<int64_t> owned;
  int64_t base = 0;
  for (const dist::Segment &segment : dim.segments) {
    std::vector<int64_t> indices{0};
    for (const dist::Factor &factor : segment.factors) {
      int64_t size = *factor.size.asConstant();
      int64_t lower = *factor.lowerBound(mesh).evaluate(valueOf);
      int64_t count = *factor.localSize(mesh).evaluate(valueOf);
      std::vector<int64_t> next;
      for (int64_t major : indices)
        for (int64_t i = lower; i < lower + count; ++i)
          next.push_back(major * size + i);
      indices = std::move(next);
    }
    for (int64_t index : indices)
      owned.push_back(base + index);
    base += *segment.size().asConstant();
  }
  return owned;
}

} // namespace

std::vector<ElementRange> ownedRanges(const dist::Sharding &sharding,
                                      const dist::Mesh &mesh, int64_t rank) {
  std::vector<ElementRange> ranges{{0, 1}};
  int64_t stride = 1;
  // From the innermost dim outwards, each owned index repeats what is inside.
  for (size_t d = sharding.dims.size(); d-- > 0;) {
    std::vector<ElementRange> next;
    for (int64_t index : ownedIndices(sharding.dims[d], mesh, rank))
      for (const ElementRange &range : ranges) {
        uint64_t start = range.start + index * stride;
        if (!next.empty() && next.back().start + next.back().count == start)
          next.back().count += range.count;
        else
          next.push_back({start, range.count});
      }
    ranges = std::move(next);
    stride *= *sharding.dims[d].size().asConstant();
  }
  return ranges;
}

void writeElements(StringRef bytes, ArrayRef<ElementRange> ranges, Type element,
                   llvm::raw_ostream &out) {
  const unsigned bits = element.getIntOrFloatBitWidth();
  if (bits != 2 && bits != 4) {
    uint64_t size = rt::elementBytes(element);
    for (const ElementRange &range : ranges)
      out.write(bytes.data() + range.start * size, range.count * size);
    return;
  }
  const uint64_t ofByte = 8 / bits;
  uint64_t count = 0;
  char byte = 0;
  for (const ElementRange &range : ranges)
    for (uint64_t i = range.start; i < range.start + range.count; ++i) {
      const int field =
          bytes[i / ofByte] >> (i % ofByte * bits) & ((1 << bits) - 1);
      byte = char((count % ofByte == 0 ? 0 : byte) |
                  field << (count % ofByte * bits));
      if (++count % ofByte == 0)
        out << byte;
    }
  if (count % ofByte != 0)
    out << byte;
}

namespace {

using NamedWeight = std::pair<std::string, rt::WeightOp>;

class RankFile {
public:
  /// `weights`: each with the name that it has in the file.
  RankFile(ArrayRef<NamedWeight> weights, const dist::Mesh &mesh, int64_t rank,
           const std::string &modelFolder, const std::string &quantizedFile)
      : weights(weights), mesh(mesh), rank(rank), modelFolder(modelFolder),
        quantizedFile(quantizedFile) {}

  /// Header first: offsets are known from the ranges alone.
  std::string write(const std::filesystem::path &path) {
    Json header = Json::object();
    uint64_t offset = 0;
    for (auto [name, weight] : weights) {
      int64_t count = 1;
      for (int64_t size : localShape(weight))
        count *= size;
      uint64_t bytes =
          *rt::storageBytes(weight.getElement(), count).asConstant();
      header[name] = {{"dtype", artifact::safetensorsName(
                                    static_cast<artifact::ElementType>(
                                        *elementType(weight.getElement())))},
                      {"shape", localShape(weight)},
                      {"data_offsets", {offset, offset + bytes}}};
      offset += bytes;
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    std::string problem;
    const std::error_code error =
        files::writeFile(path.string(), [&](llvm::raw_ostream &file) {
          uint64_t length = text.size();
          file.write(reinterpret_cast<const char *>(&length), sizeof(length));
          file << text;
          for (size_t i = 0; i < weights.size() && problem.empty(); ++i)
            problem = append(weights[i].second, file);
        });
    return error ? "cannot write " + path.string() + ": " + error.message()
                 : problem;
  }

private:
  std::vector<int64_t> localShape(rt::WeightOp weight) {
    std::vector<int64_t> shape;
    for (const dist::DimSharding &dim : weight.getValue().getSharding()->dims)
      shape.push_back(ownedIndices(dim, mesh, rank).size());
    return shape;
  }

  /// Only its own bytes are mapped: what was read of a file stays in memory as
  /// long as it is.
  std::string append(rt::WeightOp weight, llvm::raw_ostream &file) {
    auto opened = llvm::MemoryBuffer::getFileSlice(
        quantize::pathOf(weight.getFile(), modelFolder, quantizedFile),
        weight.getLength(), weight.getOffset());
    if (!opened)
      return "cannot read " + weight.getFile().str() + ": " +
             opened.getError().message();
    writeElements((*opened)->getBuffer(),
                  ownedRanges(*weight.getValue().getSharding(), mesh, rank),
                  weight.getElement(), file);
    return "";
  }

  ArrayRef<NamedWeight> weights;
  const dist::Mesh &mesh;
  int64_t rank;
  const std::string &modelFolder, &quantizedFile;
};

} // namespace

/// Of one stage. What several profiles call the same is stored once.
static std::vector<NamedWeight>
storedWeights(ModuleOp module, const WeightNames &names, int64_t stage) {
  std::vector<NamedWeight> stored;
  llvm::StringSet<> taken;
  for (auto program : module.getOps<rt::ProgramOp>())
    if (onnx::FunctionInfo(program).stage() == stage)
      program.walk([&](rt::WeightOp weight) {
        std::string name = names.lookup(weight);
        if (taken.insert(name).second)
          stored.emplace_back(name, weight);
      });
  return stored;
}

std::string copyWeights(ModuleOp module, const dist::Mesh &mesh,
                        const std::string &modelFolder,
                        const std::string &quantizedFile,
                        const std::string &artifactFolder, Json &files,
                        const std::function<void(double)> &progress) {
  std::filesystem::path folder =
      std::filesystem::path(artifactFolder) / "weights";
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  const WeightNames names = weightNames(module);
  // All replicas read the files of the first one.
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    if (mesh.coordinateAlong(rank, dist::kReplicaAxis) != 0)
      continue;
    const std::vector<NamedWeight> weights = storedWeights(
        module, names, mesh.coordinateAlong(rank, dist::kPipelineAxis));
    char name[32];
    std::snprintf(name, sizeof(name), "rank-%05d.safetensors",
                  static_cast<int>(rank));
    std::filesystem::path path = folder / name;
    if (std::string why =
            RankFile(weights, mesh, rank, modelFolder, quantizedFile)
                .write(path);
        !why.empty())
      return why;
    std::string hash;
    uint64_t bytes = 0;
    if (!hashFile(path.string(), hash, bytes))
      return "cannot read back " + path.string();
    if (progress)
      progress(double(rank + 1) / double(mesh.numRanks()));
    files.push_back({{"path", std::string("weights/") + name},
                     {"root", "artifact"},
                     {"bytes", bytes},
                     {"hash", hash}});
  }
  return "";
}

} // namespace shardc::package
