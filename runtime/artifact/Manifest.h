//===- Manifest.h - manifest.json, parsed and checked ---------------------===//
//
// What the artifact says about itself (the format is described in Format.h).
// Parsing believes nothing: version first, then the checksum over everything,
// then each entry that the runtime uses.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_MANIFEST_H
#define SHARDC_RUNTIME_ARTIFACT_MANIFEST_H

#include "runtime/artifact/Generated.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::runtime {

struct ManifestAxis {
  std::string name;
  int64_t size = 0;
};

/// A program: one stage of one profile. Profiles are in the same order in each
/// stage.
struct ManifestStage {
  std::string program; ///< path relative to the artifact
  int stage = 0;
  uint64_t bytes = 0;
  std::string hash;
};

struct ManifestFile {
  std::string path;
  bool inArtifact = false; ///< else relative to the model's root
  uint64_t bytes = 0;
  std::string fingerprint; ///< of the model's files
  std::string hash;        ///< of the artifact's files
};

struct Manifest {
  std::string tool;
  std::string tolerance; ///< "f32", "low" or "quant"
  std::string modelRoot;
  std::string target = "host"; ///< backend whose kernels it needs
  bool copiesWeights = false;
  int microBatches = 1; ///< parts in which a request runs
  /// Each row of a batch gets what it gets alone: requests may be cut along dim 0 of
  /// `batchInputs`. Not known of the programs of other artifacts.
  bool hasIndependentRows = false;
  std::vector<uint32_t> batchInputs;
  /// Positions of a page of its caches, of a step of rows (serve/): 0 where its
  /// programs are for requests.
  int64_t page = 0;
  /// What a position has follows from it and those before it, however they are
  /// spread over steps.
  bool isCausal = false;
  std::vector<ManifestAxis> mesh;
  std::vector<ManifestStage> stages;
  std::vector<ManifestFile> files;
  artifact::GeneratedForms kernels; ///< that were generated for it

  /// Index into files of the artifact's own file `path`, -1 if there is none.
  int findArtifactFile(std::string_view path) const;
};

/// Parses the text of a manifest; errors have code Artifact and start with
/// "manifest.json".
Status parseManifest(std::string_view text, Manifest &manifest);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_ARTIFACT_MANIFEST_H
