#include "runtime/tensor/CommonWalk.h"

#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime {

CommonWalk::CommonWalk(const TensorView &source, const TensorView &target,
                       int from, const OwnedRuns &theirs, int to,
                       const OwnedRuns &mine, int64_t mostBytes)
    : source(source), target(target), from(from), to(to), theirs(theirs.runs),
      mine(mine.runs), mostBytes(mostBytes) {
  enter();
}

CommonPiece CommonWalk::box() const {
  const OwnedRun &is = theirs[has], &wanted = mine[gets];
  if (from != to)
    return {narrowed(narrowed(source, from, atSource, is.length), to,
                     wanted.start, wanted.length),
            narrowed(narrowed(target, from, is.start, is.length), to, atTarget,
                     wanted.length)};
  const int64_t begin = std::max(is.start, wanted.start);
  const int64_t length = std::max<int64_t>(
      0, std::min(is.start + is.length, wanted.start + wanted.length) - begin);
  if (length == 0)
    return {narrowed(source, from, 0, 0), narrowed(target, to, 0, 0)};
  return {narrowed(source, from, atSource + begin - is.start, length),
          narrowed(target, to, atTarget + begin - wanted.start, length)};
}

void CommonWalk::leaveBox() {
  atTarget += mine[gets].length;
  if (++gets < mine.size())
    return;
  gets = 0;
  atTarget = 0;
  atSource += theirs[has++].length;
}

void CommonWalk::enter() {
  if (mine.empty())
    has = theirs.size();
  for (; !isDone(); leaveBox()) {
    whole = box();
    pieces = Pieces(whole.source, mostBytes);
    number = 0;
    if (pieces.size() > 0)
      return;
  }
}

void CommonWalk::advance() {
  if (++number < pieces.size())
    return;
  leaveBox();
  enter();
}

int64_t CommonWalk::next(std::vector<CommonPiece> &message) {
  message.clear();
  int64_t bytes = 0;
  for (; !isDone(); advance()) {
    const Piece piece = pieces[number];
    const int64_t more = pieceBytes(whole.source, piece);
    if (bytes > 0 && bytes + more > mostBytes)
      break;
    message.push_back(
        {pieceOf(whole.source, piece), pieceOf(whole.target, piece)});
    bytes += more;
  }
  return bytes;
}

} // namespace shardc::runtime
