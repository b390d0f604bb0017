//===- Artifact.h - Opening an artifact folder ----------------------------===//
//
// Reads manifest.json and the programs and checks them to the last byte, maps
// the weight files and checks that they are the ones that were compiled.
//
//   Artifact artifact;
//   SHARDC_RETURN_IF_ERROR(Artifact::open("model.shard", {}, artifact));
//   artifact.program(0).run()->size();
//
// After open() nothing in a program can be out of range (ProgramChecks.h).
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_ARTIFACT_H
#define SHARDC_RUNTIME_ARTIFACT_ARTIFACT_H

#include "runtime/artifact/Format.h"
#include "runtime/artifact/Manifest.h"
#include "runtime/artifact/Safetensors.h"
#include "runtime/artifact/check/ProgramChecks.h"
#include "runtime/base/AlignedBuffer.h"
#include "runtime/base/MappedFile.h"

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace shardc::runtime {

struct ArtifactOptions {
  std::string weightsRoot; ///< replaces the manifest's model_root if not empty
  KnowsKernel knowsKernel = nullptr; ///< null: names are not looked at
  /// Asked before the programs are read.
  std::function<Status(const Manifest &)> choose;
};

/// The copied weights of one rank, by Weight.name.
using CopiedWeights = std::map<std::string, SafetensorsEntry>;

class Artifact {
public:
  static Status open(const std::string &folder, const ArtifactOptions &options,
                     Artifact &artifact);

  const Manifest &manifest() const { return parsed; }
  /// Hash of the manifest, which has those of all else.
  const std::array<uint64_t, 2> &contents() const { return manifestHash; }
  size_t numPrograms() const { return programs.size(); }
  const artifact::Program &program(size_t number) const {
    return *artifact::GetProgram(programs[number].data());
  }
  /// Of one of the artifact's own files.
  std::string pathOf(const std::string &file) const;
  /// Numbers of the programs of a stage, one a profile.
  std::vector<size_t> programsOf(int stage) const;

  /// Ranks of the world count through the manifest's mesh, its last axis
  /// fastest. "dp" and "pp" say replica and stage, wherever they stand; the
  /// other axes, in their order, the rank within a stage. Mesh <"tp"=2,
  /// "pp"=2>: stage 1's ranks are 1 and 3.
  int worldRank(int replica, int stage, int rank) const;
  int numStages() const { return stages; }
  int stageSize() const; ///< ranks of one stage, the same for all
  int numReplicas() const;
  int replicaOf(int worldRank) const;
  int stageOf(int worldRank) const;
  int worldSize() const { return static_cast<int>(meshSize()); }
  /// "rank 5 (pp 1, tp 1)"
  std::string rankText(int worldRank) const;

  /// Bytes of `weight` in its file; its place was checked against the file.
  std::span<const std::byte> weightBytes(const artifact::Weight &weight) const;
  bool weightIsInArtifact(const artifact::Weight &weight) const {
    return parsed.files[weight.file()].inArtifact;
  }

  /// Whether the files that weights are read from are as they were when they
  /// were opened: a system call each.
  Status checkUnchanged() const;

  /// Opens rank's file of an artifact with copied weights. The entries stay
  /// valid as long as `file`, whose contents are yet to be checked.
  Status openCopiedWeights(int rank, MappedFile &file,
                           CopiedWeights &weights) const;
  /// Reads all of the file, for its hash.
  Status checkCopiedWeights(int rank, const MappedFile &file) const;

private:
  Status openPrograms(KnowsKernel knowsKernel);
  Status checkStages();
  int64_t meshSize() const;
  bool holdsStages() const;
  Status openFiles(const std::string &weightsRoot);
  void closeUnread();
  Status checkWeights() const;
  Status checkGenerated() const;

  std::string folder;
  Manifest parsed;
  std::vector<AlignedBuffer> programs;
  std::vector<MappedFile> files; ///< parallel to the manifest's; lazily opened
  int stages = 1;
  std::array<uint64_t, 2> manifestHash = {};
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_ARTIFACT_ARTIFACT_H
