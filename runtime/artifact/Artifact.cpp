#include "runtime/artifact/Artifact.h"

#include "runtime/artifact/check/TransferChecks.h"
#include "runtime/base/Hash.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

namespace shardc::runtime {
namespace {

constexpr uint64_t kMaxManifestBytes = uint64_t{1} << 28;
constexpr uint64_t kMaxProgramBytes = uint64_t{1} << 31; // FlatBuffers' own

bool knowsAll(std::string_view) { return true; }

std::string joinPath(const std::string &folder, const std::string &path) {
  if (folder.empty() || (!path.empty() && path[0] == '/'))
    return path;
  return folder.back() == '/' ? folder + path : folder + "/" + path;
}

Status checkSize(const std::string &path, uint64_t size, uint64_t bytes) {
  return size == bytes
             ? Status::ok()
             : artifactError(path, " is damaged: ", size, " bytes, expected ",
                             bytes,
                             "; copy the artifact again or compile it again");
}

Status damaged(const std::string &path) {
  return artifactError(path, " is damaged: its hash does not match; copy the "
                             "artifact again or compile it again");
}

Status checkHash(const std::string &path, std::span<const std::byte> contents,
                 uint64_t bytes, const std::string &hash) {
  SHARDC_RETURN_IF_ERROR(checkSize(path, contents.size(), bytes));
  return hashHex(contents.data(), contents.size()) == hash ? Status::ok()
                                                           : damaged(path);
}

/// The same of a large file: its pages leave the process when they were hashed.
Status checkMappedHash(const std::string &path, const MappedFile &file,
                       const ManifestFile &entry) {
  constexpr size_t kPiece = size_t{4} << 20; // each rank has one
  SHARDC_RETURN_IF_ERROR(checkSize(path, file.size(), entry.bytes));
  PieceHash hash;
  for (size_t at = 0; at < file.size(); at += kPiece) {
    const std::byte *piece = file.data() + at;
    const size_t bytes = std::min<size_t>(kPiece, file.size() - at);
    if (Status status = readMapped(piece, bytes); !status.isOk())
      return artifactError(path, " ", status.message());
    hash.add(piece, bytes);
    releaseMapped(piece, bytes);
  }
  return hash.hex() == entry.hash ? Status::ok() : damaged(path);
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

/// The product of a program's mesh axes.
int ranksOf(const artifact::Program &program) {
  int64_t ranks = 1;
  for (const artifact::Axis *axis : *program.axes())
    ranks *= axis->size();
  return static_cast<int>(ranks);
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
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  opened.manifestHash = {hash.low64, hash.high64};
  if (options.choose)
    SHARDC_RETURN_IF_ERROR(options.choose(opened.parsed));
  SHARDC_RETURN_IF_ERROR(opened.openPrograms(
      options.knowsKernel ? options.knowsKernel : knowsAll));
  SHARDC_RETURN_IF_ERROR(opened.openFiles(options.weightsRoot));
  SHARDC_RETURN_IF_ERROR(opened.checkWeights());
  SHARDC_RETURN_IF_ERROR(opened.checkGenerated());
  artifact = std::move(opened);
  return Status::ok();
}

std::string Artifact::pathOf(const std::string &file) const {
  return joinPath(folder, file);
}

Status Artifact::openPrograms(KnowsKernel knowsKernel) {
  for (const ManifestStage &stage : parsed.stages) {
    std::string path = joinPath(folder, stage.program);
    // A private copy: what was checked cannot change any more.
    std::string text;
    if (Status read = readSmallFile(path, kMaxProgramBytes, text); !read.isOk())
      return artifactError(read.message(), "; copy the artifact again");
    SHARDC_RETURN_IF_ERROR(checkHash(path, std::as_bytes(std::span(text)),
                                     stage.bytes, stage.hash));
    AlignedBuffer copy;
    if (!copy.allocate(static_cast<int64_t>(text.size())))
      return artifactError(path, ": out of memory for ", text.size(), " bytes");
    if (!text.empty())
      std::memcpy(copy.data(), text.data(), text.size());
    SHARDC_RETURN_IF_ERROR(
        verifyProgram(path, copy.data(), text.size(), knowsKernel));
    programs.push_back(std::move(copy));
  }
  return checkStages();
}

int64_t Artifact::meshSize() const {
  int64_t ranks = 1;
  for (const ManifestAxis &axis : parsed.mesh)
    if (axis.size < 1 || __builtin_mul_overflow(ranks, axis.size, &ranks))
      return -1;
  return ranks;
}

/// Axes of the mesh that no value is split over.
static constexpr std::string_view kReplicaAxis = "dp", kPipelineAxis = "pp";

int Artifact::worldRank(int replica, int stage, int rank) const {
  int64_t world = 0, stride = 1, rest = rank;
  for (size_t a = parsed.mesh.size(); a-- > 0;) {
    const ManifestAxis &axis = parsed.mesh[a];
    int64_t coordinate = rest % axis.size;
    if (axis.name == kReplicaAxis)
      coordinate = replica;
    else if (axis.name == kPipelineAxis)
      coordinate = stage;
    else
      rest /= axis.size;
    world += coordinate * stride;
    stride *= axis.size;
  }
  return static_cast<int>(world);
}

/// Each axis once, as many stages as there are, and the ranks of a stage.
bool Artifact::holdsStages() const {
  int64_t ranks = 1, pipeline = 1;
  for (const ManifestAxis &axis : parsed.mesh) {
    const auto named = [&](const ManifestAxis &o) {
      return o.name == axis.name;
    };
    if (std::count_if(parsed.mesh.begin(), parsed.mesh.end(), named) != 1)
      return false;
    if (axis.name == kPipelineAxis)
      pipeline = axis.size;
    else if (axis.name != kReplicaAxis)
      ranks *= axis.size;
  }
  return pipeline == stages && ranks == stageSize();
}

/// All stages have the same ranks and the same profiles, and find each other's
/// values.
Status Artifact::checkStages() {
  for (const ManifestStage &stage : parsed.stages)
    stages = std::max(stages, stage.stage + 1);
  const int64_t ranks = meshSize();
  if (ranks < 1 || ranks > INT32_MAX || !holdsStages())
    return artifactError("manifest.json: a mesh of ", ranks,
                         " ranks does not hold ", stages, " stages of ",
                         stageSize());
  std::vector<std::vector<const artifact::Program *>> profiles(
      programsOf(0).size());
  for (int stage = 0; stage < stages; ++stage) {
    const std::vector<size_t> numbers = programsOf(stage);
    if (numbers.size() != profiles.size())
      return artifactError("manifest.json: stage ", stage, " has ",
                           numbers.size(), " programs, stage 0 has ",
                           profiles.size());
    for (size_t profile = 0; profile < numbers.size(); ++profile) {
      profiles[profile].push_back(&program(numbers[profile]));
      if (ranksOf(*profiles[profile].back()) != stageSize())
        return artifactError(parsed.stages[numbers[profile]].program,
                             " is for another number of ranks");
    }
  }
  for (const auto &profile : profiles)
    SHARDC_RETURN_IF_ERROR(checkTransfers(profile));
  return Status::ok();
}

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
      SHARDC_RETURN_IF_ERROR(entry.inArtifact
                                 ? checkMappedHash(path, file, entry)
                                 : checkFingerprint(path, file, entry));
    }
    files.push_back(std::move(file));
  }
  closeUnread();
  return Status::ok();
}

/// What no weight is read from need not stay open, nor as it is.
void Artifact::closeUnread() {
  std::vector<char> isRead(files.size(), 0);
  for (size_t number = 0; number < programs.size(); ++number)
    for (const artifact::Weight *weight : *program(number).weights())
      if (weight->file() < isRead.size() && weight->length() > 0)
        isRead[weight->file()] = 1;
  for (size_t i = 0; i < files.size(); ++i)
    if (!isRead[i])
      files[i] = MappedFile();
}

Status Artifact::checkUnchanged() const {
  for (const MappedFile &file : files)
    SHARDC_RETURN_IF_ERROR(file.checkUnchanged());
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

/// Whether the instruction's operands are those of the kernel.
static bool fits(const artifact::Program &program,
                 const artifact::Instruction &instruction,
                 const artifact::GeneratedForm &form) {
  const auto inputs = static_cast<uint32_t>(form.numInputs);
  if (instruction.inputs()->size() != inputs ||
      instruction.outputs()->size() != form.operands.size() - inputs)
    return false;
  for (uint32_t i = 0; i < form.operands.size(); ++i) {
    const int32_t view = i < inputs ? instruction.inputs()->Get(i)
                                    : instruction.outputs()->Get(i - inputs);
    if (view < 0 ||
        program.views()->Get(static_cast<uint32_t>(view))->element() !=
            form.operands[i].element)
      return false;
  }
  return true;
}

/// Calls of generated kernels against what manifest.json says of these.
Status Artifact::checkGenerated() const {
  for (size_t number = 0; number < programs.size(); ++number)
    for (auto *list : {program(number).load(), program(number).run()})
      for (const artifact::Instruction *instruction : *list) {
        const std::string_view name = instruction->kernel()->string_view();
        if (!artifact::isGeneratedKernel(name))
          continue;
        auto form = parsed.kernels.find(name);
        if (form == parsed.kernels.end() ||
            !fits(program(number), *instruction, form->second))
          return artifactError(parsed.stages[number].program, ": ",
                               describe(*instruction), " does not fit kernel ",
                               name, " of ", artifact::kManifestFile,
                               "; compile the model again");
      }
  return Status::ok();
}

std::vector<size_t> Artifact::programsOf(int stage) const {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < parsed.stages.size(); ++i)
    if (parsed.stages[i].stage == stage)
      numbers.push_back(i);
  return numbers;
}

int Artifact::stageSize() const { return ranksOf(program(0)); }

int Artifact::numReplicas() const {
  return static_cast<int>(meshSize()) / (stages * stageSize());
}

static int coordinateOf(int worldRank, std::span<const ManifestAxis> mesh,
                        std::string_view name) {
  int64_t rest = worldRank;
  for (size_t a = mesh.size(); a-- > 0;) {
    if (mesh[a].name == name)
      return static_cast<int>(rest % mesh[a].size);
    rest /= mesh[a].size;
  }
  return 0;
}

int Artifact::replicaOf(int worldRank) const {
  return coordinateOf(worldRank, parsed.mesh, kReplicaAxis);
}

int Artifact::stageOf(int worldRank) const {
  return coordinateOf(worldRank, parsed.mesh, kPipelineAxis);
}

std::string Artifact::rankText(int worldRank) const {
  std::string coordinates;
  int64_t rest = worldRank;
  for (size_t a = parsed.mesh.size(); a-- > 0;) {
    const ManifestAxis &axis = parsed.mesh[a];
    coordinates = message(a == 0 ? "" : ", ", axis.name, " ", rest % axis.size,
                          coordinates);
    rest /= axis.size;
  }
  return message("rank ", worldRank,
                 coordinates.empty() ? "" : " (" + coordinates + ")");
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
  SHARDC_RETURN_IF_ERROR(checkSize(
      path, file.size(), parsed.files[static_cast<size_t>(index)].bytes));
  return parseSafetensors(path, file.bytes(), weights);
}

Status Artifact::checkCopiedWeights(int rank, const MappedFile &file) const {
  const std::string name = rankFileName(rank);
  const ManifestFile &entry =
      parsed.files[static_cast<size_t>(parsed.findArtifactFile(name))];
  return checkMappedHash(joinPath(folder, name), file, entry);
}

} // namespace shardc::runtime
