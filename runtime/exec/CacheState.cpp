#include "runtime/exec/CacheState.h"

#include "runtime/base/Message.h"
#include "runtime/exec/ViewResolver.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {

CacheState::CacheState(const artifact::Program &program, int numRanks,
                       int64_t capacity)
    : capacity(capacity), memory(static_cast<size_t>(numRanks)) {
  for (const artifact::CachePair *pair : *program.caches())
    entries.push_back({{}, pair->dim()});
  for (auto &ofRank : memory)
    ofRank.resize(entries.size());
}

int64_t CacheState::length() const {
  int64_t length = 0;
  for (const Entry &entry : entries)
    if (!entry.dims.empty())
      length = std::max(length, entry.dims[entry.dim]);
  return length;
}

void CacheState::reset() {
  // The next sequence may come in another batch.
  for (Entry &entry : entries)
    entry.dims.clear();
  for (auto &ofRank : memory)
    for (AlignedBuffer &buffer : ofRank)
      buffer = AlignedBuffer();
}

Status CacheState::copyTo(CacheState &other) const {
  for (size_t rank = 0; rank < memory.size(); ++rank)
    for (size_t cache = 0; cache < entries.size(); ++cache) {
      const AlignedBuffer &from = memory[rank][cache];
      if (!from.data())
        continue;
      AlignedBuffer &to = other.memory[rank][cache];
      if (!to.allocate(from.size()))
        return artifactError("out of memory for ", from.size(),
                             " bytes of a copied cache");
      std::memcpy(to.data(), from.data(), static_cast<size_t>(from.size()));
    }
  other.entries = entries;
  return Status::ok();
}

namespace {

/// The size of that dim as some tensor of the request says, -1 if none does.
int64_t sizeInRequest(const artifact::Program &program,
                      std::span<const TensorInfo> infos,
                      std::span<const InputTensor> given, uint32_t scalar) {
  const artifact::Scalar *size = program.scalars()->Get(scalar);
  if (size->op() == artifact::ScalarOp_Constant)
    return size->value();
  for (uint32_t i = 0; i < program.inputs()->size(); ++i)
    for (const InputTensor &tensor : given) {
      const auto *dims = program.inputs()->Get(i)->dims();
      if (tensor.name != infos[i].name || tensor.dims.size() != dims->size())
        continue;
      for (uint32_t d = 0; d < dims->size(); ++d)
        if (dims->Get(d) == scalar)
          return tensor.dims[d];
    }
  return -1;
}

} // namespace

Status CacheState::sizeOfPast(const artifact::Program &program,
                              std::span<const TensorInfo> infos,
                              std::span<const InputTensor> given,
                              size_t cache) {
  const uint32_t number =
      program.caches()->Get(static_cast<uint32_t>(cache))->input();
  const artifact::Input *input = program.inputs()->Get(number);
  std::vector<int64_t> dims;
  for (uint32_t d = 0; d < input->dims()->size(); ++d) {
    int64_t size =
        d == entries[cache].dim
            ? 0
            : sizeInRequest(program, infos, given, input->dims()->Get(d));
    if (size < 0)
      return argumentError("input '", infos[number].name, "': no other input ",
                           "says how large its dim ", d, " (",
                           infos[number].dims[d], ") is; run without a state");
    dims.push_back(size);
  }
  entries[cache].dims = std::move(dims);
  return Status::ok();
}

Status CacheState::addPast(const artifact::Program &program,
                           std::span<const TensorInfo> infos,
                           std::span<const InputTensor> given,
                           std::vector<InputTensor> &all) {
  all.assign(given.begin(), given.end());
  for (size_t cache = 0; cache < entries.size(); ++cache) {
    const TensorInfo &info =
        infos[program.caches()->Get(static_cast<uint32_t>(cache))->input()];
    for (const InputTensor &tensor : given)
      if (tensor.name == info.name)
        return argumentError("input '", info.name,
                             "' is kept by the state; "
                             "leave it out");
    Entry &entry = entries[cache];
    if (entry.dims.empty())
      SHARDC_RETURN_IF_ERROR(sizeOfPast(program, infos, given, cache));
    all.push_back({info.name, info.element, entry.dims, memoryOf(0, cache)});
  }
  return Status::ok();
}

Status CacheState::reserve(const artifact::Program &program,
                           std::span<const std::vector<int64_t>> scalars) {
  for (uint32_t c = 0; c < entries.size(); ++c) {
    const artifact::CachePair *pair = program.caches()->Get(c);
    const int64_t needed = scalars
        [0][program.outputs()->Get(pair->output())->dims()->Get(pair->dim())];
    if (needed < 0 || needed > capacity) {
      const int64_t taken = entries[c].dims[entries[c].dim];
      return argumentError(
          "the cache of '",
          program.inputs()->Get(pair->input())->name()->c_str(),
          "' is full: it holds ", capacity, " positions, ", taken,
          " are taken and ", needed - taken,
          " more do not fit; use a larger capacity, or reset "
          "the state");
    }
    for (size_t rank = 0; rank < memory.size(); ++rank)
      SHARDC_RETURN_IF_ERROR(
          reserveOnRank(program, *pair, rank, scalars[rank], memory[rank][c]));
  }
  return Status::ok();
}

Status CacheState::reserveOnRank(const artifact::Program &program,
                                 const artifact::CachePair &pair, size_t rank,
                                 std::span<const int64_t> scalars,
                                 AlignedBuffer &buffer) const {
  int64_t bytes = 0;
  SHARDC_RETURN_IF_ERROR(bufferBytes(program, pair.buffer(), scalars, bytes));
  const char *past = program.inputs()->Get(pair.input())->name()->c_str();
  if (buffer.data() && buffer.size() != bytes)
    return argumentError("the state holds sequences of another batch: the "
                         "cache of '",
                         past, "' has ", buffer.size(),
                         " bytes, this request needs ", bytes,
                         "; reset the state");
  for (const artifact::Buffer *input : *program.buffers())
    if (input->kind() == artifact::BufferKind_Input &&
        input->source() == pair.input() && scalars[input->bytes()] > bytes)
      return artifactError("'", past, "' is said to have ",
                           scalars[input->bytes()], " bytes on rank ", rank,
                           ", the cache has ", bytes,
                           "; the artifact is damaged, compile it again");
  if (!buffer.data() && !buffer.allocate(bytes))
    return artifactError("out of memory: rank ", rank, " needs ", bytes,
                         " bytes for a cache of ", capacity,
                         " positions; use a smaller capacity");
  return Status::ok();
}

void CacheState::advance(const artifact::Program &program,
                         std::span<const int64_t> scalars) {
  for (uint32_t c = 0; c < entries.size(); ++c) {
    const artifact::CachePair *pair = program.caches()->Get(c);
    const artifact::Output *output = program.outputs()->Get(pair->output());
    entries[c].dims[entries[c].dim] = scalars[output->dims()->Get(pair->dim())];
  }
}

} // namespace shardc::runtime
