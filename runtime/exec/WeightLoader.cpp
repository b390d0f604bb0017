#include "runtime/exec/WeightLoader.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Message.h"
#include "runtime/exec/StridedCopy.h"
#include "runtime/exec/SubByte.h"

#include <cstring>

namespace shardc::runtime {
namespace {

alignas(kBufferAlignment) const std::byte kNothing[kBufferAlignment] = {};

bool isAligned(const std::byte *data, int64_t bytes) {
  return bytes == 0 ||
         reinterpret_cast<uintptr_t>(data) % static_cast<size_t>(bytes) == 0;
}

class Loader {
public:
  Loader(const Artifact &artifact, std::span<const int64_t> scalars,
         SlicePacking packing, WeightSlices &slices)
      : artifact(artifact), scalars(scalars), packing(packing), slices(slices) {
  }

  /// The slice is one of `slices.known`.
  Status load(const artifact::Weight &weight, bool isCopied,
              const WeightSlice *&slice);

private:
  Status resolve(const artifact::Weight &weight);
  std::string keyOf(const artifact::Weight &weight) const;
  Status read(const artifact::Weight &weight, bool isCopied);
  Status loadCopied(const artifact::Weight &weight,
                    const SafetensorsEntry &entry);
  Status pack(const TensorView &source);
  Status allocate(std::byte *&memory);
  void setData(const std::byte *start) { slice = {start, localBytes, {}, {}}; }
  /// Where ranks that are not there for it have zeros.
  bool isAbsent(const artifact::Weight &weight) const {
    return weight.present() >= 0 &&
           scalars[static_cast<size_t>(weight.present())] == 0;
  }

  const Artifact &artifact;
  std::span<const int64_t> scalars;
  const SlicePacking packing;
  WeightSlices &slices;
  // The slice of the weight at hand.
  std::vector<OwnedRuns> dims;
  std::vector<int64_t> localDims;
  int64_t elementSize = 0; ///< 0 for elements that share a byte
  int64_t localBytes = 0;
  WeightSlice slice;
};

Status Loader::resolve(const artifact::Weight &weight) {
  elementSize = artifact::elementBytes(weight.element());
  dims.assign(weight.dims()->size(), {});
  localDims.clear();
  int64_t elements = 1; // at most those of the weight
  for (uint32_t d = 0; d < dims.size(); ++d) {
    SHARDC_RETURN_IF_ERROR(
        resolveLayout(*weight.layout()->Get(d), scalars, dims[d]));
    if (dims[d].globalSize != weight.dims()->Get(d))
      return artifactError("the layout of its dim ", d, " has ",
                           dims[d].globalSize, " elements, expected ",
                           weight.dims()->Get(d));
    localDims.push_back(dims[d].localSize);
    elements *= dims[d].localSize;
  }
  localBytes = artifact::storageBytes(weight.element(), elements);
  return Status::ok();
}

Status Loader::allocate(std::byte *&memory) {
  AlignedBuffer buffer;
  if (!buffer.allocate(localBytes))
    return artifactError("out of memory for ", localBytes, " bytes");
  memory = buffer.data();
  slices.packed.push_back(std::move(buffer));
  slices.packedBytes += localBytes;
  return Status::ok();
}

Status Loader::pack(const TensorView &source) {
  if (packing == SlicePacking::OnTheWay && elementSize > 0) {
    slice = {nullptr, localBytes, source, dims};
    slices.packedBytes += localBytes;
    return Status::ok();
  }
  std::byte *memory = nullptr;
  SHARDC_RETURN_IF_ERROR(allocate(memory));
  copyBlock(dims, source, packedView(memory, source.element, localDims),
            BlockCopy::ToLocal);
  setData(memory);
  return Status::ok();
}

Status Loader::loadCopied(const artifact::Weight &weight,
                          const SafetensorsEntry &entry) {
  const char *dtype = artifact::safetensorsName(weight.element());
  if (entry.dtype != dtype || entry.dims != localDims ||
      entry.bytes.size() != static_cast<size_t>(localBytes))
    return artifactError("its copy is ", entry.dtype, shapeText(entry.dims),
                         ", expected ", dtype, shapeText(localDims));
  if (isAligned(entry.bytes.data(), elementSize)) {
    setData(entry.bytes.data());
    slices.mappedBytes += localBytes;
    return Status::ok();
  }
  std::byte *memory = nullptr;
  SHARDC_RETURN_IF_ERROR(allocate(memory));
  std::memcpy(memory, entry.bytes.data(), entry.bytes.size());
  setData(memory);
  return Status::ok();
}

/// What the slice's bytes depend on.
std::string Loader::keyOf(const artifact::Weight &weight) const {
  std::string key;
  auto add = [&](int64_t number) { key += std::to_string(number) + ' '; };
  add(weight.file());
  add(static_cast<int64_t>(weight.offset()));
  add(weight.element());
  add(isAbsent(weight));
  for (const OwnedRuns &dim : dims) {
    add(dim.globalSize);
    for (const OwnedRun &run : dim.runs) {
      add(run.start);
      add(run.length);
    }
    key += ';';
  }
  return key;
}

Status Loader::load(const artifact::Weight &weight, bool isCopied,
                    const WeightSlice *&loaded) {
  SHARDC_RETURN_IF_ERROR(resolve(weight));
  auto [known, isNew] = slices.known.try_emplace(keyOf(weight));
  if (isNew) {
    if (Status status = read(weight, isCopied); !status.isOk()) {
      slices.known.erase(known);
      return status;
    }
    known->second = std::move(slice);
  }
  loaded = &known->second;
  return Status::ok();
}

Status Loader::read(const artifact::Weight &weight, bool isCopied) {
  if (localBytes == 0) {
    setData(kNothing);
    return Status::ok();
  }
  if (isAbsent(weight)) {
    std::byte *memory = nullptr;
    SHARDC_RETURN_IF_ERROR(allocate(memory));
    std::memset(memory, 0, static_cast<size_t>(localBytes));
    setData(memory);
    return Status::ok();
  }
  if (isCopied) {
    if (auto it = slices.copied.find(weight.name()->str());
        it != slices.copied.end())
      return loadCopied(weight, it->second);
    if (!artifact.weightIsInArtifact(weight))
      return artifactError("the rank's safetensors file has no such tensor");
  }
  std::span<const std::byte> bytes = artifact.weightBytes(weight);
  if (bytes.size() != weight.length())
    return artifactError("its file is not there");
  std::vector<int64_t> global(weight.dims()->begin(), weight.dims()->end());
  const TensorView whole = packedView(bytes.data(), weight.element(), global);
  int64_t offset = 0;
  if (isContiguousBlock(dims, offset)) {
    TensorView block = whole;
    advance(block, offset);
    if (block.skipped == 0 && isAligned(block.data, elementSize)) {
      setData(block.data);
      slices.mappedBytes += localBytes;
      return Status::ok();
    }
  }
  return pack(whole);
}

} // namespace

Status loadWeights(const Artifact &artifact, size_t number, int rank,
                   std::span<const int64_t> scalars, SlicePacking packing,
                   WeightSlices &slices, RankWeights &weights) {
  const bool copies = artifact.manifest().copiesWeights;
  if (copies && slices.copied.empty())
    SHARDC_RETURN_IF_ERROR(
        artifact.openCopiedWeights(rank, slices.copiedFile, slices.copied));
  Loader loader(artifact, scalars, packing, slices);
  for (const artifact::Weight *weight : *artifact.program(number).weights()) {
    const WeightSlice *slice = nullptr;
    if (Status status = loader.load(*weight, copies, slice); !status.isOk())
      return Status::error(
          status.code(),
          message("weight ", weight->name()->c_str(), ": ", status.message()));
    weights.slices.push_back(slice);
    weights.data.push_back(slice->data);
    weights.bytes.push_back(slice->bytes);
  }
  return Status::ok();
}

} // namespace shardc::runtime
