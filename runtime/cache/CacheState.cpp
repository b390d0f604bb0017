#include "runtime/cache/CacheState.h"

#include "runtime/base/Message.h"
#include "runtime/program/ScalarEvaluator.h"
#include "runtime/program/ViewResolver.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace shardc::runtime {
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

/// Of a cache that keeps the last positions: the window of its attention, which a
/// guard asks for; -1 where none does.
int64_t leastRoom(const artifact::Program &program, uint32_t scalar) {
  const artifact::Scalar *size = program.scalars()->Get(scalar);
  if (size->op() != artifact::ScalarOp_Symbol)
    return -1;
  const int64_t least =
      leastAllowed(program, static_cast<uint32_t>(size->value()));
  return least > 0 ? least : -1;
}

} // namespace

CacheState::CacheState(const artifact::Program &program,
                       std::vector<Device *> devices, int64_t capacity)
    : capacity(capacity), devices(std::move(devices)),
      parts(this->devices.size()) {
  for (const artifact::CachePair *pair : *program.caches()) {
    const size_t rank = program.inputs()->Get(pair->input())->dims()->size();
    entries.push_back(
        {pair->input(), pair->dim(), {}, std::vector<int64_t>(rank)});
  }
  for (auto &ofRank : parts)
    ofRank.resize(entries.size());
}

int64_t CacheState::length() const {
  int64_t length = 0;
  for (const Entry &entry : entries)
    length = std::max(length, entry.dim < 0 || entry.dims.empty()
                                  ? entry.positions
                                  : entry.dims[static_cast<size_t>(entry.dim)]);
  return length;
}

void CacheState::reset() {
  // The next sequence may come in another batch.
  for (Entry &entry : entries) {
    entry.dims.clear();
    entry.positions = 0;
  }
  overwrittenBy = 0;
  // Its memory stays, for a sequence that is as large.
  for (auto &ofRank : parts)
    for (Part &part : ofRank) {
      part.held = {};
      part.comingWith = 0;
    }
}

/// Graphs that a device captured know where both memories are: there it is copied.
Status CacheState::settle(Part &part, size_t rank, DeviceStream *stream) const {
  if (std::exchange(part.comingWith, 0) != runs || runs == 0)
    return Status::ok();
  std::swap(part.held, part.coming);
  if (!part.next || part.held.bytes == 0)
    return Status::ok();
  if (devices[rank]->isHost()) {
    std::swap(part.memory, part.next);
    return Status::ok();
  }
  return stream->copy(part.memory->data(), part.next->data(),
                      {.rowBytes = part.held.bytes},
                      CopyDirection::DeviceToDevice);
}

StateMemory CacheState::memoryTaken(int rank) const {
  StateMemory sum{rank};
  for (const Part &part : parts[static_cast<size_t>(rank)])
    for (const auto *memory : {part.memory.get(), part.next.get()})
      if (memory) {
        sum.committedBytes += memory->committed();
        sum.reservedBytes += memory->size();
      }
  return sum;
}

uint64_t CacheState::nextPlacement() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

Status CacheState::copyTo(CacheState &other) {
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    std::unique_ptr<DeviceStream> stream; // a run has the rank's own
    if (devices[rank])
      SHARDC_RETURN_IF_ERROR(devices[rank]->createStream(stream));
    for (size_t cache = 0; cache < entries.size(); ++cache) {
      Part &from = parts[rank][cache];
      Part &to = other.parts[rank][cache];
      SHARDC_RETURN_IF_ERROR(settle(from, rank, stream.get()));
      to.held = from.held;
      to.bytes = from.bytes;
      if (from.memory)
        SHARDC_RETURN_IF_ERROR(copyPart(from, rank, *stream, to));
    }
    if (stream)
      SHARDC_RETURN_IF_ERROR(stream->synchronize());
  }
  other.placed = nextPlacement();
  other.entries = entries;
  return Status::ok();
}

Status CacheState::copyPart(const Part &from, size_t rank, DeviceStream &stream,
                            Part &to) const {
  to.memory = devices[rank]->reserve(from.memory->size());
  if (!to.memory || !to.memory->commit(from.held.bytes))
    return artifactError("out of memory: rank ", rank, " needs ",
                         from.held.bytes,
                         " bytes for a copied cache; drop "
                         "states that are done");
  return stream.copy(to.memory->data(), from.memory->data(),
                     {.rowBytes = from.held.bytes},
                     CopyDirection::DeviceToDevice);
}

Status CacheState::addPast(std::span<const TensorInfo> infos,
                           std::span<const InputTensor> given,
                           std::vector<InputTensor> &all) {
  all.assign(given.begin(), given.end());
  for (Entry &entry : entries) {
    const TensorInfo &info = infos[entry.input];
    for (const InputTensor &tensor : given)
      if (tensor.name == info.name)
        return argumentError("input '", info.name,
                             "' is kept by the state; leave it out");
    std::fill(entry.past.begin(), entry.past.end(), 0);
    all.push_back({info.name, info.element, entry.past, nullptr});
  }
  return Status::ok();
}

Status CacheState::sizePast(const artifact::Program &program,
                            std::span<const TensorInfo> infos,
                            std::span<const InputTensor> given) {
  for (uint32_t c = 0; c < entries.size(); ++c) {
    const Use use{program, *program.caches()->Get(c), c};
    const bool isSet = use.pair.kind() == artifact::CacheKind_Set;
    if (!entries[c].dims.empty() && !isSet)
      entries[c].past = entries[c].dims;
    else if (use.pair.kind() == artifact::CacheKind_Keep && entries[c].dim < 0)
      return argumentError("the state has nothing yet for input '", use.name(),
                           "'; run the branch of the model that computes it "
                           "first");
    else
      SHARDC_RETURN_IF_ERROR(sizeOfPast(use, infos, given));
  }
  return Status::ok();
}

/// Of past that is empty, or that nobody reads.
Status CacheState::sizeOfPast(const Use &use, std::span<const TensorInfo> infos,
                              std::span<const InputTensor> given) {
  Entry &entry = entries[use.cache];
  const auto *dims = use.program.inputs()->Get(use.pair.input())->dims();
  for (uint32_t d = 0; d < dims->size(); ++d) {
    // A pool has all its pages from the start.
    const bool isPool = use.pair.kind() == artifact::CacheKind_Write;
    int64_t size = d == entry.dim
                       ? (isPool ? capacity : 0)
                       : sizeInRequest(use.program, infos, given, dims->Get(d));
    if (size < 0 && use.pair.kind() == artifact::CacheKind_Set)
      size = 0;
    if (size < 0 && use.isReplaced())
      size = leastRoom(use.program, dims->Get(d));
    if (size < 0)
      return argumentError("input '", use.name(), "': no other input says how ",
                           "large its dim ", d, " (",
                           infos[entry.input].dims[d],
                           ") is; run without a state");
    entry.past[d] = size;
  }
  return Status::ok();
}

Status CacheState::prepare(const artifact::Program &program,
                           StageScalars &scalars) {
  for (uint32_t c = 0; c < entries.size(); ++c)
    SHARDC_RETURN_IF_ERROR(
        checkRoom({program, *program.caches()->Get(c), c}, scalars.mine()));
  SHARDC_RETURN_IF_ERROR(sizeParts(program, scalars));
  const CacheViews &reach = views.try_emplace(&program, program).first->second;
  for (uint32_t c = 0; c < entries.size(); ++c) {
    const Use use{program, *program.caches()->Get(c), c};
    if (use.isReplaced() && reach.added(c, scalars.mine()) < 0)
      return argumentError("how many positions a run adds to the cache of '",
                           use.name(), "' is not known; run without a state");
  }
  for (uint32_t c = 0; c < entries.size(); ++c)
    if (program.caches()->Get(c)->kind() == artifact::CacheKind_Set) {
      entries[c].dims.clear();
      overwrittenBy = runs + 1;
    }
  return Status::ok();
}

/// How large parts are follows from the sizes of the caches, but for the dim
/// that grows: only where these, or the program, are new are all ranks asked.
Status CacheState::sizeParts(const artifact::Program &program,
                             StageScalars &scalars) {
  size_t known = 0;
  bool isSame = true;
  for (uint32_t c = 0; c < entries.size(); ++c) {
    const artifact::CachePair *pair = program.caches()->Get(c);
    for (const auto *dims : {program.inputs()->Get(pair->input())->dims(),
                             program.outputs()->Get(pair->output())->dims()})
      for (uint32_t d = 0; d < dims->size(); ++d)
        if (d != entries[c].dim) {
          const int64_t size = scalars.mine()[dims->Get(d)];
          if (known == cacheSizes.size())
            cacheSizes.push_back(kUnbound); // the first run
          isSame &= std::exchange(cacheSizes[known++], size) == size;
        }
  }
  if (!isSame)
    sizedFor.clear();
  if (sizedFor.count(&program))
    return Status::ok();
  bool isMoved = false;
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    std::span<const int64_t> of;
    SHARDC_RETURN_IF_ERROR(scalars.of(static_cast<int>(rank), of));
    for (uint32_t c = 0; c < entries.size(); ++c) {
      const uint32_t buffer = program.caches()->Get(c)->buffer();
      const int64_t bytes = of[program.buffers()->Get(buffer)->bytes()];
      isMoved |= std::exchange(parts[rank][c].bytes, bytes) != bytes;
    }
  }
  if (isMoved) {
    placed = nextPlacement();
    sizedFor.clear();
  }
  sizedFor.insert(&program);
  return Status::ok();
}

Status CacheState::reserve(const artifact::Program &program, int rank,
                           std::span<const int64_t> scalars,
                           DeviceStream &stream) {
  const auto r = static_cast<size_t>(rank);
  for (Part &part : parts[r])
    SHARDC_RETURN_IF_ERROR(settle(part, r, &stream));
  for (uint32_t c = 0; c < entries.size(); ++c)
    SHARDC_RETURN_IF_ERROR(
        checkPart({program, *program.caches()->Get(c), c}, r, scalars));
  for (uint32_t c = 0; c < entries.size(); ++c)
    SHARDC_RETURN_IF_ERROR(
        growPart({program, *program.caches()->Get(c), c}, r, scalars));
  return Status::ok();
}

Status CacheState::checkRoom(const Use &use,
                             std::span<const int64_t> scalars) const {
  const Entry &entry = entries[use.cache];
  if (use.pair.kind() == artifact::CacheKind_Keep || entry.dim < 0)
    return Status::ok();
  const auto dim = static_cast<uint32_t>(entry.dim);
  const int64_t needed =
      scalars[use.program.outputs()->Get(use.pair.output())->dims()->Get(dim)];
  if (needed == kUnbound)
    return argumentError("how much the cache of '", use.name(),
                         "' grows is known only while the program runs; run "
                         "without a state");
  if (needed >= 0 && needed <= capacity)
    return Status::ok();
  const int64_t taken = entry.past[dim];
  return argumentError("the cache of '", use.name(), "' is full: it holds ",
                       capacity, " positions, ", taken, " are taken and ",
                       needed - taken,
                       " more do not fit; use a larger capacity, or reset the "
                       "state");
}

Status CacheState::checkPast(const artifact::Program &program, int rank,
                             std::span<const int64_t> scalars) {
  std::vector<int64_t> room(program.inputs()->size(), -1); // -1: no past
  for (const artifact::CachePair *pair : *program.caches())
    if (pair->kind() != artifact::CacheKind_Set)
      SHARDC_RETURN_IF_ERROR(
          bufferBytes(program, pair->buffer(), scalars, room[pair->input()]));
  for (const artifact::Buffer *buffer : *program.buffers()) {
    if (buffer->kind() != artifact::BufferKind_Input)
      continue;
    const int64_t bytes = scalars[buffer->bytes()];
    if (room[buffer->source()] >= 0 && bytes > room[buffer->source()])
      return artifactError(
          "'", program.inputs()->Get(buffer->source())->name()->c_str(),
          "' is said to have ", bytes, " bytes on rank ", rank,
          ", the cache has ", room[buffer->source()],
          "; the artifact is damaged, compile it again");
  }
  return Status::ok();
}

/// What the rank holds is what the program takes it for.
Status CacheState::checkPart(const Use &use, size_t rank,
                             std::span<const int64_t> scalars) const {
  const artifact::Program &program = use.program;
  const uint32_t input = use.pair.input();
  int64_t bytes = 0;
  SHARDC_RETURN_IF_ERROR(
      bufferBytes(program, use.pair.buffer(), scalars, bytes));
  if (use.pair.kind() == artifact::CacheKind_Set)
    return Status::ok();
  const Part &part = parts[rank][use.cache];
  if (entries[use.cache].dims.empty() ||
      (part.isPoolOf(use) && part.roomBytes() == bytes))
    return Status::ok();
  std::vector<OwnedRuns> dims;
  SHARDC_RETURN_IF_ERROR(
      resolveLayouts(*program.inputs()->Get(input)->layout(), scalars, dims));
  const bool fits = part.roomBytes() == bytes;
  if (!fits || part.held.dims != dims)
    return artifactError("the cache of '", use.name(), "' has ",
                         part.roomBytes(), " bytes on rank ", rank,
                         ", this program takes it for ", bytes,
                         " or for another part; compile the model again");
  return Status::ok();
}

Status CacheState::growPart(const Use &use, size_t rank,
                            std::span<const int64_t> scalars) {
  Part &part = parts[rank][use.cache];
  const int64_t bytes =
      scalars[use.program.buffers()->Get(use.pair.buffer())->bytes()];
  // Graphs that were captured believe it.
  if (part.bytes != bytes)
    return artifactError("the cache of '", use.name(), "' has ", bytes,
                         " bytes on rank ", rank, ", expected ", part.bytes,
                         " for its sizes; compile the model again");
  if (!part.memory || part.memory->size() != bytes) {
    part.memory.reset(); // first: there may be no room for both
    part.next.reset();   // also where this program does not replace it
    part.memory = devices[rank]->reserve(bytes);
    // The first pages of a pool are taken first.
    if (part.memory && use.pair.dim() == 0)
      part.memory->fillsFromFront();
  }
  const int64_t needed =
      views.at(&use.program).neededBytes(use.cache, scalars, bytes);
  if (part.memory && part.memory->commit(needed))
    return use.isReplaced() ? reserveNext(use, rank) : Status::ok();
  return artifactError(
      "out of memory: rank ", rank, " needs ", needed,
      " bytes for the cache of '", use.name(), "', has ",
      part.memory ? part.memory->committed() : 0, " of them, and would need ",
      bytes, " where it is full; drop states that are done, or use a shorter ",
      "sequence or a smaller capacity");
}

Status CacheState::reserveNext(const Use &use, size_t rank) {
  Part &part = parts[rank][use.cache];
  const int64_t bytes = part.memory->size();
  if (!part.next || part.next->size() != bytes) {
    part.next.reset();
    part.next = devices[rank]->reserve(bytes);
  }
  return part.next && part.next->commit(bytes)
             ? Status::ok()
             : artifactError("out of memory: rank ", rank, " needs ", bytes,
                             " bytes for what comes after the cache of '",
                             use.name(), "'; drop states that are done");
}

Status CacheState::finish(const artifact::Program &program, int rank,
                          std::span<const int64_t> scalars) {
  for (uint32_t c = 0; c < entries.size(); ++c) {
    const artifact::CachePair *pair = program.caches()->Get(c);
    if (pair->kind() == artifact::CacheKind_Keep)
      continue;
    const artifact::Output *output = program.outputs()->Get(pair->output());
    Part &part = parts[static_cast<size_t>(rank)][c];
    if (part.isPoolOf({program, *pair, c}))
      continue;
    part.poolOf = &program;
    SHARDC_RETURN_IF_ERROR(
        resolveLayouts(*output->layout(), scalars, part.coming.dims));
    const int64_t end = viewEnd(program, output->view(), scalars);
    part.coming.bytes = end < 0 ? part.roomBytes() : end;
    part.comingWith = runs + 1;
  }
  return Status::ok();
}

void CacheState::advance(const artifact::Program &program,
                         std::span<const int64_t> scalars) {
  ++runs;
  for (uint32_t c = 0; c < entries.size(); ++c) {
    const artifact::CachePair *pair = program.caches()->Get(c);
    entries[c].before = entries[c].dims;
    entries[c].positionsBefore = entries[c].positions;
    if (pair->kind() == artifact::CacheKind_Keep)
      continue;
    if (Use{program, *pair, c}.isReplaced())
      entries[c].positions += views.at(&program).added(c, scalars);
    entries[c].dims.clear();
    for (uint32_t dim : *program.outputs()->Get(pair->output())->dims())
      entries[c].dims.push_back(scalars[dim]);
  }
}

/// What ranks have of it is coming with a run that never counts.
void CacheState::undo() {
  --runs;
  for (Entry &entry : entries) {
    entry.dims = entry.before;
    entry.positions = entry.positionsBefore;
  }
}

} // namespace shardc::runtime
