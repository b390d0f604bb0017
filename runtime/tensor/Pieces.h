//===- Pieces.h - A tensor cut for messages -------------------------------===//
//
// A collective over a network moves a value in messages of limited size, so
// that its memory is limited too. Pieces are boxes: both ends cut the same dims
// in the same way, whatever their strides are.
//
//   dims [2, 3, 8] of 4 bytes, at most 64 bytes a piece: whole rows of 8
//   pieces [0, 0..2, *], [0, 2..3, *], [1, 0..2, *], [1, 2..3, *]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TENSOR_PIECES_H
#define SHARDC_RUNTIME_TENSOR_PIECES_H

#include "runtime/tensor/Ownership.h"
#include "runtime/tensor/TensorView.h"

#include <span>
#include <vector>

namespace shardc::runtime {

struct Piece {
  int64_t start[kMaxRank] = {};
  int64_t dims[kMaxRank] = {};
};

/// The part of `view` that a piece covers.
TensorView pieceOf(const TensorView &view, const Piece &piece);
/// Its bytes in a message.
int64_t pieceBytes(const TensorView &view, const Piece &piece);

/// The pieces of all views with the dims of `view`, by number.
class Pieces {
public:
  Pieces() = default;
  /// `mostBytes`: of a piece, but each has one element at least.
  Pieces(const TensorView &view, int64_t mostBytes);
  int64_t size() const { return count; }
  Piece operator[](int64_t number) const;

private:
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int cut = 0;          ///< the dim that is cut; those before go one by one
  int64_t step = 1;     ///< indices of it in a piece
  int64_t perIndex = 0; ///< pieces of one index of the dims before it
  int64_t count = 0;
};

/// A piece of a rank's block of a dim: where it is in the whole value, in the
/// block alone ("part"), and in the message.
struct BlockPiece {
  Piece whole;
  Piece part;
  int64_t offset; ///< bytes
};

/// Walks through a rank's block, a message at a time: as many pieces as fit.
///
///   block {[2, 4), [6, 8)} of a dim of 8: pieces [2..4) and [6..8) of the
///   whole, which are [0..2) and [2..4) of the part
class BlockWalk {
public:
  /// `whole`: dims of the global value; the runs live longer.
  BlockWalk(const TensorView &whole, int dim, const OwnedRuns &block,
            int64_t mostBytes);

  bool isDone() const { return run == runs.size(); }
  /// The pieces of the next message, and their bytes; none at the end.
  int64_t next(std::vector<BlockPiece> &message);

private:
  void enter(); ///< the run at hand, or a later one that is not empty
  void advance();

  TensorView like;
  int dim;
  std::span<const OwnedRun> runs;
  int64_t mostBytes;
  size_t run = 0;
  int64_t at = 0;     ///< of the run, in the part
  int64_t number = 0; ///< of the next piece of the run
  Pieces pieces;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_PIECES_H
