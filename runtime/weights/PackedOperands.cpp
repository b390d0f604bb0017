#include "runtime/weights/PackedOperands.h"

#include "runtime/base/MappedFile.h"
#include "runtime/base/Message.h"
#include "runtime/kernels/StridedLoop.h"
#include "runtime/tensor/CopyView.h"
#include "runtime/tensor/ViewExtent.h"

namespace shardc::runtime {
namespace {

/// Of all ranks of the process that hold one.
struct Shared {
  std::mutex mutex;
  std::map<PackedOperands::Key, std::weak_ptr<PackedOperands::Entry>> entries;
};

std::shared_ptr<PackedOperands::Entry>
entryFor(const PackedOperands::Key &key) {
  // Never destroyed: a rank that hangs may outlive main.
  static Shared &shared = *new Shared;
  std::lock_guard lock(shared.mutex);
  std::erase_if(shared.entries,
                [](const auto &entry) { return entry.second.expired(); });
  std::weak_ptr<PackedOperands::Entry> &known = shared.entries[key];
  std::shared_ptr<PackedOperands::Entry> entry = known.lock();
  if (!entry)
    known = entry = std::make_shared<PackedOperands::Entry>();
  return entry;
}

/// The last `rank` dims; false if the others have several of them.
bool onlyMatrix(const TensorView &operand, int rank, TensorView &matrix) {
  if (operand.rank < rank)
    return false;
  const int first = operand.rank - rank;
  for (int d = 0; d < first; ++d)
    if (operand.dims[d] != 1 && operand.strides[d] != 0)
      return false;
  matrix = host::dimsOf(operand, first, operand.rank);
  return true;
}

PackedOperands::Key keyOfMatrix(const OperandPacking &packing,
                                const TensorView &matrix) {
  std::vector<int64_t> sizes(matrix.dims, matrix.dims + matrix.rank);
  sizes.insert(sizes.end(), matrix.strides, matrix.strides + matrix.rank);
  return {matrix.data,      matrix.skipped, matrix.element,
          std::move(sizes), packing.bytes,  packing.pack};
}

/// Matrix number `index` of those that are packed one by one.
TensorView matrixAt(const TensorView &operand, int64_t index) {
  return operand.rank > 2
             ? host::dimsOf(narrowed(operand, 0, index, 1), 1, operand.rank)
             : operand;
}

int64_t numMatrices(const TensorView &operand) {
  return operand.rank > 2 ? operand.dims[0] : 1;
}

/// Of each of them, to where the next one begins.
int64_t matrixBytes(const OperandPacking &packing, const TensorView &operand) {
  const int64_t bytes = packing.bytes(matrixAt(operand, 0));
  return operand.rank > 2 ? alignBuffer(bytes) : bytes;
}

} // namespace

int64_t packedBytes(const OperandPacking &packing, const TensorView &matrix) {
  return matrix.numElements() == 0
             ? 0
             : numMatrices(matrix) * matrixBytes(packing, matrix);
}

PackedOperands::Key PackedOperands::keyOf(const PackedRead &read) {
  TensorView matrix = read.matrix.view;
  matrix.skipped +=
      read.matrix.byteOffset * 8 / artifact::elementBits(matrix.element);
  return keyOfMatrix(*read.packing, matrix);
}

Status PackedOperands::find(const OperandPacking &packing,
                            const TensorView &operand,
                            const TransientBytes *transient,
                            const std::byte *&packed,
                            std::vector<Unpacked> &unpacked) {
  packed = nullptr;
  TensorView matrix;
  if (!onlyMatrix(operand, packing.rank, matrix))
    return Status::ok();
  const int64_t bytes = packedBytes(packing, matrix);
  if (bytes == 0)
    return Status::ok();
  const Key key = keyOfMatrix(packing, matrix);
  std::shared_ptr<Entry> &entry = known[key];
  const bool isNew = !entry;
  if (isNew)
    entry = entryFor(key);
  std::lock_guard lock(entry->mutex);
  if (!entry->memory.data() && !entry->memory.allocate(bytes))
    return artifactError("out of memory for ", bytes,
                         " bytes of a packed weight; use more ranks");
  if (isNew)
    total += bytes;
  if (!entry->isPacked)
    unpacked.emplace_back(packing, matrix, transient, entry);
  packed = entry->memory.data();
  return Status::ok();
}

Status PackedOperands::Unpacked::packOne(const TensorView &one,
                                         std::byte *to) const {
  const std::span<const std::byte> bytes = extentOf(one);
  TensorView from = one;
  std::unique_ptr<GrowingMemory> copy;
  if (transient) {
    const int64_t begin = bytes.data() - transient->data();
    const std::byte *there = nullptr;
    SHARDC_RETURN_IF_ERROR(transient->see(
        begin, begin + static_cast<int64_t>(bytes.size()), copy, there));
    from.data = const_cast<std::byte *>(there) + (one.data - bytes.data());
  }
  packing->pack(from, to);
  if (!transient) // what others still read of them comes back when they do
    releaseMapped(bytes.data(), bytes.size());
  return Status::ok();
}

Status PackedOperands::Unpacked::pack() const {
  std::lock_guard lock(entry->mutex);
  if (entry->isPacked)
    return Status::ok();
  // Experts one by one, so that there is a copy of no more.
  std::byte *to = entry->memory.data();
  for (int64_t i = 0; i < numMatrices(matrix); ++i) {
    SHARDC_RETURN_IF_ERROR(packOne(matrixAt(matrix, i), to));
    to += matrixBytes(*packing, matrix);
  }
  entry->isPacked = true;
  return Status::ok();
}

} // namespace shardc::runtime
