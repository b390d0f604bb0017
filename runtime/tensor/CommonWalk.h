//===- CommonWalk.h - What two ranks have in common, message by message ---===//
//
// What `source`, which has the part `theirs` of dim `from`, gives `target`,
// which has the part `mine` of dim `to`, in messages of limited size. Both ends
// walk alike: at the one the views of the source count, at the other those of
// the target.
//
//   rows to columns of a [3, 4], source has row 2, target columns 2 and 3,
//   4 bytes a message: first [2, 2], then [2, 3]
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TENSOR_COMMONWALK_H
#define SHARDC_RUNTIME_TENSOR_COMMONWALK_H

#include "runtime/tensor/Pieces.h"

#include <span>
#include <vector>

namespace shardc::runtime {

/// The same box at both ends.
struct CommonPiece {
  TensorView source, target;
};

class CommonWalk {
public:
  /// Views have the dims of what their ranks have; the runs live longer.
  /// `mostBytes`: of a message, but each has one element at least.
  CommonWalk(const TensorView &source, const TensorView &target, int from,
             const OwnedRuns &theirs, int to, const OwnedRuns &mine,
             int64_t mostBytes);

  bool isDone() const { return has == theirs.size(); }
  /// The pieces of the next message, and their bytes; none at the end.
  int64_t next(std::vector<CommonPiece> &message);

private:
  CommonPiece box() const;
  void enter(); ///< the box at hand, or a later one that is not empty
  void advance();
  void leaveBox();

  TensorView source, target;
  int from, to;
  std::span<const OwnedRun> theirs, mine;
  int64_t mostBytes;
  size_t has = 0, gets = 0;           ///< runs of the box at hand
  int64_t atSource = 0, atTarget = 0; ///< where they begin
  CommonPiece whole;                  ///< that box
  Pieces pieces;                      ///< of it
  int64_t number = 0;                 ///< of the next one
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TENSOR_COMMONWALK_H
