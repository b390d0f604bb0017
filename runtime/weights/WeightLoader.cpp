#include "runtime/weights/WeightLoader.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/Message.h"
#include "runtime/kernels/CopyBlock.h"
#include "runtime/tensor/CopyView.h"
#include "runtime/tensor/SubByte.h"
#include "runtime/tensor/ViewExtent.h"

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
  Loader(const Artifact &artifact, const artifact::Program &program,
         std::span<const int64_t> scalars, const ConstantReads *reads,
         WeightSlices &slices)
      : artifact(artifact), program(program), scalars(scalars), reads(reads),
        slices(slices) {}

  /// The slice of weight `number` is one of `slices.known`.
  Status load(uint32_t number, bool isCopied, bool isPart,
              const WeightSlice *&loaded);
  /// Likewise, of slices that are known.
  Status join(const artifact::Join &join,
              std::span<const WeightSlice *const> known,
              const WeightSlice *&joined);

private:
  Status resolve(const artifact::Weight &weight);
  std::string keyOf(const artifact::Weight &weight) const;
  bool endsWithinByte(const artifact::Weight &weight, uint32_t dim) const;
  Status read(const artifact::Weight &weight, bool isCopied);
  Status loadCopied(const artifact::Weight &weight,
                    const SafetensorsEntry &entry);
  Status pack(const TensorView &source);
  Status allocate(std::byte *&memory);
  void setData(const std::byte *start) {
    slice = {};
    slice.data = start;
    slice.bytes = slice.extent = localBytes;
  }
  /// Where its rows lie, if that will do.
  bool takeBlock(const TensorView &whole);
  /// Where ranks that are not there for it have zeros.
  bool isAbsent(const artifact::Weight &weight) const {
    return weight.present() >= 0 &&
           scalars[static_cast<size_t>(weight.present())] == 0;
  }

  const Artifact &artifact;
  const artifact::Program &program;
  std::span<const int64_t> scalars;
  const ConstantReads *reads;
  WeightSlices &slices;
  // The slice of the weight at hand, and how that lies in the weight where rows
  // of it will do.
  std::optional<BlockLayout> block;
  bool isTransient = false; ///< a copy of it will do while it is packed
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
  if (std::optional<std::vector<OwnedRuns>> bytes =
          inWholeBytes(source.element, dims)) {
    std::vector<int64_t> sizes;
    for (const OwnedRuns &dim : *bytes)
      sizes.push_back(dim.globalSize);
    slice = {};
    slice.bytes = localBytes;
    slice.whole = packedView(
        source.data,
        elementSize > 0 ? source.element : artifact::ElementType_UInt8, sizes);
    slice.dims = std::move(*bytes);
    slice.isTransient = isTransient;
    (isTransient ? slices.mappedBytes : slices.packedBytes) += localBytes;
    return Status::ok();
  }
  std::byte *memory = nullptr;
  SHARDC_RETURN_IF_ERROR(allocate(memory));
  copyBlock(dims, source, packedView(memory, source.element, localDims),
            BlockCopy::ToLocal);
  releaseMapped(source.data, extentOf(source).size());
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

Status Loader::load(uint32_t number, bool isCopied, bool isPart,
                    const WeightSlice *&loaded) {
  const artifact::Weight &weight = *program.weights()->Get(number);
  SHARDC_RETURN_IF_ERROR(resolve(weight));
  block = reads ? BlockLayout::of(dims) : std::nullopt;
  if (block && !reads->takeRows(number, *block))
    block.reset();
  isTransient = reads && reads->onlyPack(number);
  const int64_t mapped = slices.mappedBytes, packed = slices.packedBytes;
  // What one program joins, or has to have dense, another one may read as it is.
  std::string kind;
  if (isPart)
    kind = "part ";
  else
    kind = message(block ? "block " : "", isTransient ? "transient " : "");
  auto [known, isNew] = slices.known.try_emplace(kind + keyOf(weight));
  if (isNew) {
    if (Status status = read(weight, isCopied); !status.isOk()) {
      slices.known.erase(known);
      return status;
    }
    known->second = std::move(slice);
    if (isPart) // what it becomes a part of is counted
      slices.mappedBytes = mapped, slices.packedBytes = packed;
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
  return takeBlock(whole) ? Status::ok() : pack(whole);
}

bool Loader::takeBlock(const TensorView &whole) {
  if (!block)
    return false;
  TensorView start = whole;
  advance(start, block->first());
  if (start.skipped != 0 || !isAligned(start.data, elementSize))
    return false;
  setData(start.data);
  slice.extent = artifact::storageBytes(whole.element, block->extent());
  slice.whole = whole;
  slice.dims = dims;
  slice.block = block;
  slices.mappedBytes += localBytes;
  return true;
}

/// Whether rows of the slice at hand, of dims from `dim` on, are no whole
/// numbers of bytes.
bool Loader::endsWithinByte(const artifact::Weight &weight,
                            uint32_t dim) const {
  int64_t bits = artifact::elementBits(weight.element());
  for (size_t d = dim; d < localDims.size(); ++d)
    bits *= localDims[d];
  return bits % 8 != 0;
}

/// The sizes of all but its dim are alike on this rank, too.
Status Loader::join(const artifact::Join &join,
                    std::span<const WeightSlice *const> known,
                    const WeightSlice *&joined) {
  WeightSlice made;
  made.rows = 1;
  std::string key = "join " + std::to_string(join.dim());
  std::vector<int64_t> alike;
  for (uint32_t w : *join.weights()) {
    SHARDC_RETURN_IF_ERROR(resolve(*program.weights()->Get(w)));
    key += ' ' + keyOf(*program.weights()->Get(w));
    std::vector<int64_t> sizes = localDims;
    sizes[join.dim()] = 0;
    if (!made.parts.empty() && sizes != alike)
      return artifactError("it is joined with slices of other dims");
    if (endsWithinByte(*program.weights()->Get(w), join.dim()))
      return artifactError("it is joined by rows that end within a byte");
    alike = std::move(sizes);
    made.parts.push_back(known[w]);
    made.bytes += known[w]->bytes;
  }
  for (uint32_t d = 0; d < join.dim(); ++d)
    made.rows *= alike[d];
  auto [entry, isNew] = slices.known.try_emplace(key);
  joined = &entry->second;
  if (isNew) {
    slices.packedBytes += made.bytes;
    entry->second = std::move(made);
  }
  return Status::ok();
}

/// By weight: whether no view shows it, so that it is only joined with others.
std::vector<char> findParts(const artifact::Program &program) {
  std::vector<char> isPart(program.weights()->size(), 0);
  if (program.joins())
    for (const artifact::Join *join : *program.joins())
      for (uint32_t w : *join->weights())
        isPart[w] = 1;
  for (const artifact::View *view : *program.views()) {
    const artifact::Buffer *buffer = program.buffers()->Get(view->buffer());
    if (buffer->kind() == artifact::BufferKind_Weight)
      isPart[buffer->source()] = 0;
  }
  return isPart;
}

} // namespace

Status loadWeights(const Artifact &artifact, size_t number, int rank,
                   std::span<const int64_t> scalars, const ConstantReads *reads,
                   WeightSlices &slices, RankWeights &weights) {
  const bool copies = artifact.manifest().copiesWeights;
  if (copies && slices.copied.empty())
    SHARDC_RETURN_IF_ERROR(
        artifact.openCopiedWeights(rank, slices.copiedFile, slices.copied));
  const artifact::Program &program = artifact.program(number);
  Loader loader(artifact, program, scalars, reads, slices);
  const std::vector<char> isPart = findParts(program);
  auto fail = [](const artifact::Weight &weight, const Status &status) {
    return status.saying(
        message("weight ", weight.name()->c_str(), ": ", status.message()));
  };
  std::vector<const WeightSlice *> all;
  for (uint32_t w = 0; w < program.weights()->size(); ++w) {
    if (Status status = loader.load(w, copies, isPart[w], all.emplace_back());
        !status.isOk())
      return fail(*program.weights()->Get(w), status);
  }
  for (uint32_t j = 0; program.joins() && j < program.joins()->size(); ++j) {
    const artifact::Join &join = *program.joins()->Get(j);
    const WeightSlice *slice = nullptr;
    if (Status status = loader.join(join, all, slice); !status.isOk())
      return fail(*program.weights()->Get(join.weights()->Get(0)), status);
    all.push_back(slice);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const bool isRead = i >= isPart.size() || !isPart[i];
    weights.slices.push_back(isRead ? all[i] : nullptr);
    weights.data.push_back(all[i]->data);
    weights.bytes.push_back(all[i]->bytes);
    weights.blocks.push_back(all[i]->block ? &*all[i]->block : nullptr);
  }
  return Status::ok();
}

} // namespace shardc::runtime
