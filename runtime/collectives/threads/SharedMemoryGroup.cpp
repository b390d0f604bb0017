#include "runtime/collectives/threads/SharedMemoryGroup.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/collectives/Reduction.h"
#include "runtime/tensor/BlockOverlap.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace shardc::runtime {

class SharedMemoryCommunicator final : public Communicator {
public:
  SharedMemoryCommunicator(SharedMemoryGroup &group, int index)
      : group(group), self(index), inputs(static_cast<size_t>(size())) {}

  int index() const override { return self; }
  int size() const override { return group.meeting.size(); }
  Status allReduce(const TensorView &input, const TensorView &output,
                   ReduceKind kind, const CollectiveSite &site) override;
  Status allGather(const TensorView &input, const TensorView &output, int dim,
                   std::span<const OwnedRuns> blocks,
                   const CollectiveSite &site) override;
  Status reduceScatter(const TensorView &input, const TensorView &output,
                       int dim, std::span<const OwnedRuns> blocks,
                       ReduceKind kind, const CollectiveSite &site) override;
  Status dispatch(const TensorView &input, const TensorView &output,
                  std::span<const OwnedRuns> blocks,
                  const ExpertRouting &routing,
                  const CollectiveSite &site) override;
  Status combine(const TensorView &input, const TensorView &output,
                 std::span<const OwnedRuns> blocks,
                 const ExpertRouting &routing,
                 const CollectiveSite &site) override;
  Status allToAll(const TensorView &input, const TensorView &output,
                  const DimBlocks &from, const DimBlocks &to,
                  const CollectiveSite &site) override;
  Status shift(const TensorView &input, const TensorView &output, int distance,
               const CollectiveSite &site) override;
  Status exchange(const void *mine, size_t bytes, void *all,
                  const CollectiveSite &site) override;

private:
  Status reduceShared(const TensorView &output, ReduceKind kind,
                      const CollectiveSite &site);
  Status reduceLarge(const TensorView &input, const TensorView &output,
                     ReduceKind kind, const CollectiveSite &site);
  Status reduceByGroups(const TensorView &input, const TensorView &output,
                        ReduceKind kind, const CollectiveSite &site);
  Status meet(const CollectiveSite &site) {
    return group.meeting.arrive(self, site);
  }
  void publish(const TensorView &input, const TensorView &output) {
    group.published[static_cast<size_t>(self)].input = input;
    group.published[static_cast<size_t>(self)].output = output;
  }
  const SharedMemoryGroup::Published &peer(int index) const {
    return group.published[static_cast<size_t>(index)];
  }
  /// The part of so many elements that one of so many reduces.
  static std::pair<int64_t, int64_t> chunkOf(int64_t elements, int ways,
                                             int index) {
    // Whole cache lines, so that no two ranks write into one.
    const int64_t lines = (elements + 63) / 64;
    return {std::min(elements, wayBegin(lines, ways, index) * 64),
            std::min(elements, wayBegin(lines, ways, index + 1) * 64)};
  }
  std::pair<int64_t, int64_t> chunkOf(int64_t elements, int index) const {
    return chunkOf(elements, size(), index);
  }
  void count(int64_t meetings, int64_t bytesRead, int64_t bytesWritten,
             int64_t bytesBetween = 0) {
    ReduceTraffic &all = group.published[static_cast<size_t>(self)].traffic;
    all.meetings += meetings;
    all.bytesRead += bytesRead;
    all.bytesWritten += bytesWritten;
    all.bytesBetween += bytesBetween;
  }
  /// Packs `input` into this rank's slot of the next set and meets.
  Status shareSmall(const TensorView &input, const CollectiveSite &site) {
    set = group.nextSet();
    copyView(slotView(self, input), input);
    return meet(site);
  }
  /// Rank index's slot, as packed memory of the dims of `like`.
  TensorView slotView(int index, const TensorView &like) const {
    return packedLike(group.slot(set, index), like);
  }

  SharedMemoryGroup &group;
  const int self;
  int set = 0; ///< of slots that it reads, or wrote last
  std::vector<TensorView> inputs;
};

Status SharedMemoryCommunicator::allReduce(const TensorView &input,
                                           const TensorView &output,
                                           ReduceKind kind,
                                           const CollectiveSite &site) {
  const int64_t elements = input.numElements();
  if (elements == 0)
    return Status::ok(); // on every rank alike
  if (size() == 1) {
    copyView(output, input);
    return Status::ok();
  }
  if (group.tree)
    return reduceByGroups(input, output, kind, site);
  if (viewBytes(input) > SharedMemoryGroup::kSlotBytes)
    return reduceLarge(input, output, kind, site);
  const int64_t bytes = viewBytes(input);
  SHARDC_RETURN_IF_ERROR(shareSmall(input, site));
  count(1, bytes, bytes);
  for (int i = 0; i < size(); ++i)
    inputs[static_cast<size_t>(i)] = slotView(i, input);
  if (bytes * (size() - 2) > SharedMemoryGroup::kOneMeetingBytes)
    return reduceShared(output, kind, site);
  count(0, bytes * size(), bytes);
  return reduceRange(kind, inputs, output, 0, elements);
}

/// Of what all have in `inputs`, after they have met: each rank reads its chunk
/// of every input and the result of all, however many they are. The result is
/// in the next set, which is read until the meeting after this one.
Status SharedMemoryCommunicator::reduceShared(const TensorView &output,
                                              ReduceKind kind,
                                              const CollectiveSite &site) {
  set = group.nextSet();
  const TensorView result = slotView(0, output);
  const int64_t elements = output.numElements(), bytes = viewBytes(output);
  const auto [begin, end] = chunkOf(elements, self);
  SHARDC_RETURN_IF_ERROR(reduceRange(kind, inputs, result, begin, end));
  SHARDC_RETURN_IF_ERROR(meet(site));
  copyView(output, result);
  const int64_t chunkBytes = (end - begin) * (bytes / elements);
  count(1, chunkBytes * size() + bytes, chunkBytes + bytes);
  return Status::ok();
}

Status SharedMemoryCommunicator::reduceLarge(const TensorView &input,
                                             const TensorView &output,
                                             ReduceKind kind,
                                             const CollectiveSite &site) {
  const int64_t elements = input.numElements(), bytes = viewBytes(input);
  publish(input, output);
  SHARDC_RETURN_IF_ERROR(meet(site));
  for (int i = 0; i < size(); ++i)
    inputs[static_cast<size_t>(i)] = peer(i).input;
  count(1, 0, 0);
  if (bytes <= group.setBytes())
    return reduceShared(output, kind, site);
  const auto [begin, end] = chunkOf(elements, self);
  SHARDC_RETURN_IF_ERROR(reduceRange(kind, inputs, output, begin, end));
  SHARDC_RETURN_IF_ERROR(meet(site));
  for (int step = 1; step < size(); ++step) {
    const int i = (self + step) % size();
    const auto [first, last] = chunkOf(elements, i);
    copyRange(output, peer(i).output, first, last);
  }
  const int64_t chunkBytes = (end - begin) * (bytes / elements);
  count(2, chunkBytes * size() + bytes - chunkBytes, bytes);
  return meet(site);
}

/// Elements [first, ..) of `like` lie at `data`, packed.
static TensorView partAt(std::byte *data, const TensorView &like,
                         artifact::ElementType element, int64_t first) {
  TensorView view = like;
  view.element = element;
  return packedLike(data - first * artifact::elementBytes(element), view);
}

Status SharedMemoryCommunicator::reduceByGroups(const TensorView &input,
                                                const TensorView &output,
                                                ReduceKind kind,
                                                const CollectiveSite &site) {
  ReduceTree &tree = *group.tree;
  const artifact::ElementType element = input.element,
                              wide = accumulatorOf(element);
  const int own = self / ReduceTree::kOfGroup,
            first = own * ReduceTree::kOfGroup,
            members = std::min(ReduceTree::kOfGroup, size() - first);
  const int64_t elements = input.numElements(),
                bytes = artifact::elementBytes(element),
                wideBytes = artifact::elementBytes(wide),
                most = ReduceTree::kPartBytes / wideBytes;
  const auto meetGroup = [&] {
    return tree.meeting(own).arrive(self - first, site);
  };
  publish(input, output);
  SHARDC_RETURN_IF_ERROR(meetGroup());
  count(1, 0, 0);
  // The next part's sums are written behind the meeting that was after these
  // were read, and so are its result and the groups' copies.
  for (int64_t begin = 0; begin < elements; begin += most) {
    const int64_t size = std::min(most, elements - begin);
    const auto [from, to] = chunkOf(size, members, self - first);
    for (int i = 0; i < members; ++i)
      inputs[static_cast<size_t>(i)] = peer(first + i).input;
    SHARDC_RETURN_IF_ERROR(reduceRange(
        kind, std::span(inputs).first(static_cast<size_t>(members)),
        partAt(tree.sums(own), input, wide, begin), begin + from, begin + to));
    SHARDC_RETURN_IF_ERROR(meet(site));
    const auto [low, high] = chunkOf(size, self);
    for (int g = 0; g < tree.numGroups(); ++g)
      inputs[static_cast<size_t>(g)] = partAt(tree.sums(g), input, wide, begin);
    SHARDC_RETURN_IF_ERROR(reduceRange(
        kind, std::span(inputs).first(static_cast<size_t>(tree.numGroups())),
        partAt(tree.result(), input, element, begin), begin + low,
        begin + high));
    SHARDC_RETURN_IF_ERROR(meet(site));
    std::memcpy(tree.copy(own) + from * bytes, tree.result() + from * bytes,
                static_cast<size_t>((to - from) * bytes));
    SHARDC_RETURN_IF_ERROR(meetGroup());
    copyRange(output, partAt(tree.copy(own), input, element, begin), begin,
              begin + size);
    // Of the result its group has written what its own members did.
    const int64_t groupBegin = chunkOf(size, first).first,
                  groupEnd = chunkOf(size, first + members - 1).second,
                  near = std::max<int64_t>(0, std::min(to, groupEnd) -
                                                  std::max(from, groupBegin));
    count(3,
          (to - from) * members * bytes +
              (high - low) * tree.numGroups() * wideBytes +
              (to - from) * bytes + size * bytes,
          (to - from) * (wideBytes + bytes) + (high - low) * bytes +
              size * bytes,
          (high - low) * (tree.numGroups() - 1) * wideBytes +
              (to - from - near) * bytes);
  }
  return Status::ok();
}

static int64_t largestOf(std::span<const OwnedRuns> blocks) {
  int64_t largest = 0;
  for (const OwnedRuns &block : blocks)
    largest = std::max(largest, block.localSize);
  return largest;
}

Status SharedMemoryCommunicator::allGather(const TensorView &input,
                                           const TensorView &output, int dim,
                                           std::span<const OwnedRuns> blocks,
                                           const CollectiveSite &site) {
  if (output.numElements() == 0)
    return Status::ok();
  TensorView like = input; // of the largest input, the same on every rank
  like.dims[dim] = largestOf(blocks);
  const bool small = viewBytes(like) <= SharedMemoryGroup::kSlotBytes;
  if (!small)
    publish(input, output);
  SHARDC_RETURN_IF_ERROR(small ? shareSmall(input, site) : meet(site));
  for (int step = 0; step < size(); ++step) {
    int i = (self + step) % size();
    const OwnedRuns &block = blocks[static_cast<size_t>(i)];
    like.dims[dim] = block.localSize;
    const TensorView source = small ? slotView(i, like) : peer(i).input;
    int64_t at = 0;
    for (const OwnedRun &run : block.runs) {
      copyView(narrowed(output, dim, run.start, run.length),
               narrowed(source, dim, at, run.length));
      at += run.length;
    }
  }
  return small ? Status::ok() : meet(site);
}

Status SharedMemoryCommunicator::reduceScatter(
    const TensorView &input, const TensorView &output, int dim,
    std::span<const OwnedRuns> blocks, ReduceKind kind,
    const CollectiveSite &site) {
  if (input.numElements() == 0)
    return Status::ok();
  publish(input, output);
  SHARDC_RETURN_IF_ERROR(meet(site));
  int64_t at = 0;
  for (const OwnedRun &run : blocks[static_cast<size_t>(self)].runs) {
    for (int i = 0; i < size(); ++i)
      inputs[static_cast<size_t>(i)] =
          narrowed(peer(i).input, dim, run.start, run.length);
    TensorView part = narrowed(output, dim, at, run.length);
    SHARDC_RETURN_IF_ERROR(
        reduceRange(kind, inputs, part, 0, part.numElements()));
    at += run.length;
  }
  return meet(site);
}

Status SharedMemoryCommunicator::dispatch(const TensorView &input,
                                          const TensorView &output,
                                          std::span<const OwnedRuns> blocks,
                                          const ExpertRouting &routing,
                                          const CollectiveSite &site) {
  if (output.numElements() == 0)
    return Status::ok();
  publish(input, output);
  SHARDC_RETURN_IF_ERROR(meet(site));
  for (int step = 0; step < size(); ++step) {
    const int i = (self + step) % size();
    int64_t at = 0;
    for (const OwnedRun &run : blocks[static_cast<size_t>(i)].runs)
      for (int64_t row = run.start; row < run.start + run.length; ++row, ++at)
        if (routing.takes(self, row))
          copyView(narrowed(output, 0, row, 1),
                   narrowed(peer(i).input, 0, at, 1));
  }
  return meet(site);
}

Status SharedMemoryCommunicator::combine(const TensorView &input,
                                         const TensorView &output,
                                         std::span<const OwnedRuns> blocks,
                                         const ExpertRouting &routing,
                                         const CollectiveSite &site) {
  if (input.numElements() == 0)
    return Status::ok();
  publish(input, output);
  SHARDC_RETURN_IF_ERROR(meet(site));
  int64_t at = 0;
  for (const OwnedRun &run : blocks[static_cast<size_t>(self)].runs)
    for (int64_t row = run.start; row < run.start + run.length; ++row, ++at) {
      size_t parts = 0;
      for (int i = 0; i < size(); ++i)
        if (routing.takes(i, row))
          inputs[parts++] = narrowed(peer(i).input, 0, row, 1);
      if (parts == 0) // a choice that no expert has: everybody holds zeros
        inputs[parts++] = narrowed(input, 0, row, 1);
      const TensorView sum = narrowed(output, 0, at, 1);
      SHARDC_RETURN_IF_ERROR(reduceRange(ReduceKind::Sum,
                                         std::span(inputs).first(parts), sum, 0,
                                         sum.numElements()));
    }
  return meet(site);
}

Status SharedMemoryCommunicator::allToAll(const TensorView &input,
                                          const TensorView &output,
                                          const DimBlocks &from,
                                          const DimBlocks &to,
                                          const CollectiveSite &site) {
  TensorView like = input; // of the largest input, the same on every rank
  like.dims[from.dim] = largestOf(from.blocks);
  if (like.numElements() == 0)
    return Status::ok();
  const bool small = viewBytes(like) <= SharedMemoryGroup::kSlotBytes;
  if (!small)
    publish(input, output);
  SHARDC_RETURN_IF_ERROR(small ? shareSmall(input, site) : meet(site));
  for (int step = 0; step < size(); ++step) {
    const int i = (self + step) % size();
    const OwnedRuns &theirs = from.blocks[static_cast<size_t>(i)];
    like.dims[from.dim] = theirs.localSize;
    forEachCommon(small ? slotView(i, like) : peer(i).input, output, from.dim,
                  theirs, to.dim, to.blocks[static_cast<size_t>(self)],
                  [](const TensorView &source, const TensorView &target) {
                    copyView(target, source);
                  });
  }
  return small ? Status::ok() : meet(site);
}

Status SharedMemoryCommunicator::shift(const TensorView &input,
                                       const TensorView &output, int distance,
                                       const CollectiveSite &site) {
  publish(input, output);
  SHARDC_RETURN_IF_ERROR(meet(site));
  copyView(output, peer((self + distance) % size()).input);
  return meet(site);
}

Status SharedMemoryCommunicator::exchange(const void *mine, size_t bytes,
                                          void *all,
                                          const CollectiveSite &site) {
  set = group.nextSet();
  std::memcpy(group.slot(set, self), mine, bytes);
  SHARDC_RETURN_IF_ERROR(meet(site));
  for (int i = 0; i < size(); ++i)
    std::memcpy(static_cast<char *>(all) + static_cast<size_t>(i) * bytes,
                group.slot(set, i), bytes);
  return Status::ok();
}

SharedMemoryGroup::SharedMemoryGroup(std::vector<int> members,
                                     RunFailure &failure)
    : meeting(members, failure), published(members.size()) {
  if (members.size() > kReduceFan)
    tree = std::make_unique<ReduceTree>(members, failure);
}

ReduceTraffic SharedMemoryGroup::mostTraffic() const {
  ReduceTraffic most;
  for (const Published &member : published) {
    const ReduceTraffic &own = member.traffic;
    most.meetings = std::max(most.meetings, own.meetings);
    most.bytesRead = std::max(most.bytesRead, own.bytesRead);
    most.bytesWritten = std::max(most.bytesWritten, own.bytesWritten);
    most.bytesBetween = std::max(most.bytesBetween, own.bytesBetween);
  }
  return most;
}

bool SharedMemoryGroup::allocate() {
  return slots.allocate(2 * setBytes()) && (!tree || tree->allocate());
}

std::unique_ptr<Communicator> SharedMemoryGroup::join(int index) {
  return std::make_unique<SharedMemoryCommunicator>(*this, index);
}

} // namespace shardc::runtime
