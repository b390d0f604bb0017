#include "runtime/artifact/Artifact.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Message.h"
#include "runtime/exec/Kernel.h"

#include <cstdio>
#include <cstring>
#include <set>

namespace shardc::runtime {
namespace {

constexpr uint64_t kMaxManifestBytes = uint64_t{1} << 28;

bool hostHasKernel(std::string_view name) {
  return findHostKernel(name) != nullptr;
}

std::string joinPath(const std::string &folder, const std::string &path) {
  if (folder.empty() || (!path.empty() && path[0] == '/'))
    return path;
  return folder.back() == '/' ? folder + path : folder + "/" + path;
}

Status checkHash(const std::string &path, const MappedFile &file,
                 uint64_t bytes, const std::string &hash) {
  if (file.size() != bytes)
    return artifactError(path, " is damaged: ", file.size(),
                         " bytes, expected ", bytes,
                         "; copy the artifact again or compile it again");
  if (hashHex(file.data(), file.size()) != hash)
    return artifactError(path, " is damaged: its hash does not match; copy the "
                               "artifact again or compile it again");
  return Status::ok();
}

Status checkFingerprint(const std::string &path, const MappedFile &file,
                        const ManifestFile &expected) {
  const char *remedy = "; compile the model again, or point --weights-root at "
                       "the files it was compiled from";
  if (file.size() != expected.bytes)
    return artifactError("weights changed since compile: ", path, " has ",
                         file.size(), " bytes, expected ", expected.bytes,
                         remedy);
  std::string fingerprint;
  if (!fingerprintDescriptor(file.descriptor(), file.size(), fingerprint))
    return artifactError("cannot read ", path, ": ", std::strerror(errno));
  if (fingerprint != expected.fingerprint)
    return artifactError("weights changed since compile: ", path,
                         " has other contents", remedy);
  return Status::ok();
}

std::string rankFileName(int rank) {
  char name[48];
  std::snprintf(name, sizeof name, "weights/rank-%05d.safetensors", rank);
  return name;
}

} // namespace

Status Artifact::open(const std::string &folder, const ArtifactOptions &options,
                      Artifact &artifact) {
  Artifact opened;
  opened.folder = folder;
  std::string path = joinPath(folder, artifact::kManifestFile), text;
  if (Status read = readSmallFile(path, kMaxManifestBytes, text); !read.isOk())
    return artifactError(read.message(),
                         "; expected an artifact folder written by shardc");
  SHARDC_RETURN_IF_ERROR(parseManifest(text, opened.parsed));
  SHARDC_RETURN_IF_ERROR(opened.openPrograms(
      options.knowsKernel ? options.knowsKernel : hostHasKernel));
  SHARDC_RETURN_IF_ERROR(opened.openFiles(options.weightsRoot));
  SHARDC_RETURN_IF_ERROR(opened.checkWeights());
  artifact = std::move(opened);
  return Status::ok();
}

Status Artifact::openPrograms(KnowsKernel knowsKernel) {
  for (const ManifestStage &stage : parsed.stages) {
    std::string path = joinPath(folder, stage.program);
    MappedFile file;
    SHARDC_RETURN_IF_ERROR(MappedFile::open(path, file));
    SHARDC_RETURN_IF_ERROR(checkHash(path, file, stage.bytes, stage.hash));
    // A private copy: what was checked cannot change any more.
    AlignedBuffer copy;
    if (!copy.allocate(static_cast<int64_t>(file.size())))
      return artifactError(path, ": out of memory for ", file.size(), " bytes");
    if (file.size() > 0)
      std::memcpy(copy.data(), file.data(), file.size());
    SHARDC_RETURN_IF_ERROR(
        verifyProgram(path, copy.data(), file.size(), knowsKernel));
    programs.push_back(std::move(copy));
  }
  int64_t ranks = 1;
  for (const ManifestAxis &axis : parsed.mesh)
    if (__builtin_mul_overflow(ranks, axis.size, &ranks))
      return artifactError("manifest.json: the mesh is too large");
  for (size_t stage = 0; stage < programs.size(); ++stage)
    if (worldSize(stage) > ranks)
      return artifactError(parsed.stages[stage].program, " wants ",
                           worldSize(stage), " ranks, the manifest's mesh has ",
                           ranks);
  return Status::ok();
}

/// Weight files are only mapped where this process may read them: with copied
/// weights the model's own files need not exist any more.
Status Artifact::openFiles(const std::string &weightsRoot) {
  std::string root =
      weightsRoot.empty() ? joinPath(folder, parsed.modelRoot) : weightsRoot;
  for (const ManifestFile &entry : parsed.files) {
    MappedFile file;
    bool rankFile = entry.inArtifact && entry.path.starts_with("weights/");
    if (!rankFile && (entry.inArtifact || !parsed.copiesWeights)) {
      std::string path = joinPath(entry.inArtifact ? folder : root, entry.path);
      if (Status status = MappedFile::open(path, file); !status.isOk())
        return artifactError(status.message(),
                             entry.inArtifact
                                 ? "; copy the artifact again"
                                 : "; point --weights-root at the folder of "
                                   "the model's files");
      SHARDC_RETURN_IF_ERROR(
          entry.inArtifact ? checkHash(path, file, entry.bytes, entry.hash)
                           : checkFingerprint(path, file, entry));
    }
    files.push_back(std::move(file));
  }
  return Status::ok();
}

Status Artifact::checkWeights() const {
  for (size_t stage = 0; stage < programs.size(); ++stage) {
    std::set<std::string_view> names;
    for (const artifact::Weight *weight : *program(stage).weights()) {
      std::string_view name = weight->name()->string_view();
      if (weight->file() >= parsed.files.size())
        return artifactError("weight ", name, " is in file ", weight->file(),
                             ", manifest.json lists ", parsed.files.size());
      const ManifestFile &file = parsed.files[weight->file()];
      if (weight->offset() > file.bytes ||
          weight->length() > file.bytes - weight->offset())
        return artifactError("weight ", name, " lies outside ", file.path);
      if (parsed.copiesWeights && !names.insert(name).second)
        return artifactError("weight ", name, " occurs twice");
    }
  }
  return Status::ok();
}

int Artifact::worldSize(size_t stage) const {
  int64_t ranks = 1;
  for (const artifact::Axis *axis : *program(stage).axes())
    ranks *= axis->size();
  return static_cast<int>(ranks);
}

std::span<const std::byte>
Artifact::weightBytes(const artifact::Weight &weight) const {
  std::span<const std::byte> file = files[weight.file()].bytes();
  if (weight.length() == 0 || weight.offset() + weight.length() > file.size())
    return {}; // a file that is not mapped
  return file.subspan(weight.offset(), weight.length());
}

Status Artifact::openCopiedWeights(int rank, MappedFile &file,
                                   CopiedWeights &weights) const {
  std::string name = rankFileName(rank);
  int index = parsed.findArtifactFile(name);
  if (index < 0)
    return artifactError("manifest.json lists no ", name);
  std::string path = joinPath(folder, name);
  SHARDC_RETURN_IF_ERROR(MappedFile::open(path, file));
  const ManifestFile &entry = parsed.files[static_cast<size_t>(index)];
  SHARDC_RETURN_IF_ERROR(checkHash(path, file, entry.bytes, entry.hash));
  return parseSafetensors(path, file.bytes(), weights);
}

} // namespace shardc::runtime
