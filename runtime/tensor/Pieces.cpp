#include "runtime/tensor/Pieces.h"

#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime {

TensorView pieceOf(const TensorView &view, const Piece &piece) {
  TensorView part = view;
  for (int d = 0; d < view.rank; ++d)
    part = narrowed(part, d, piece.start[d], piece.dims[d]);
  return part;
}

int64_t pieceBytes(const TensorView &view, const Piece &piece) {
  int64_t elements = 1;
  for (int d = 0; d < view.rank; ++d)
    elements *= piece.dims[d];
  return artifact::storageBytes(view.element, elements);
}

Pieces::Pieces(const TensorView &view, int64_t mostBytes) : rank(view.rank) {
  std::copy_n(view.dims, rank, dims);
  if (view.numElements() == 0)
    return;
  count = perIndex = 1;
  if (rank == 0)
    return;
  const int64_t most =
      std::max<int64_t>(1, mostBytes * 8 / artifact::elementBits(view.element));
  // The last dim that makes more than one piece of what comes before it.
  int64_t inner = 1;
  for (cut = rank - 1; cut > 0 && inner * dims[cut] <= most; --cut)
    inner *= dims[cut];
  step = std::clamp<int64_t>(most / inner, 1, dims[cut]);
  perIndex = (dims[cut] + step - 1) / step;
  count = perIndex;
  for (int d = 0; d < cut; ++d)
    count *= dims[d];
}

Piece Pieces::operator[](int64_t number) const {
  Piece piece;
  std::copy_n(dims, rank, piece.dims);
  if (rank == 0)
    return piece;
  piece.start[cut] = number % perIndex * step;
  piece.dims[cut] = std::min(step, dims[cut] - piece.start[cut]);
  int64_t index = number / perIndex;
  for (int d = cut - 1; d >= 0; --d) {
    piece.start[d] = index % dims[d];
    piece.dims[d] = 1;
    index /= dims[d];
  }
  return piece;
}

BlockWalk::BlockWalk(const TensorView &whole, int dim, const OwnedRuns &block,
                     int64_t mostBytes)
    : like(whole), dim(dim), runs(block.runs), mostBytes(mostBytes) {
  enter();
}

int64_t BlockWalk::next(std::vector<BlockPiece> &message) {
  message.clear();
  int64_t bytes = 0;
  for (; !isDone(); advance()) {
    BlockPiece piece{pieces[number], pieces[number], bytes};
    const int64_t more = pieceBytes(like, piece.whole);
    if (bytes > 0 && bytes + more > mostBytes)
      break;
    piece.whole.start[dim] += runs[run].start;
    piece.part.start[dim] += at;
    message.push_back(piece);
    bytes += more;
  }
  return bytes;
}

void BlockWalk::enter() {
  for (; run < runs.size(); ++run) {
    like.dims[dim] = runs[run].length;
    pieces = Pieces(like, mostBytes);
    number = 0;
    if (pieces.size() > 0)
      return;
  }
}

void BlockWalk::advance() {
  if (++number < pieces.size())
    return;
  at += runs[run].length;
  ++run;
  enter();
}

} // namespace shardc::runtime
