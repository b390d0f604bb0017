//===- Reservation.h - Pages for the new positions of rows ----------------===//
//
// Taken before a run, and the sequences' once it went well:
//
//   reservation.add({5, 2}, 7, 3)       pages of 4; 7 positions and 3 more:
//                                       2 is another's, too, so its copy, 8,
//                                       and one more are taken: 5 8 9
//   reservation.keep(0, pages)
//   reservation.end()                   gives back what is not kept
//
//   reservation.replace({3}, 6)         6 positions that have nothing to do with
//                                       those before: 4 6, and 3 goes when kept
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_RESERVATION_H
#define SHARDC_RUNTIME_SERVE_RESERVATION_H

#include "runtime/serve/PagePool.h"

#include <array>
#include <memory>
#include <mutex>
#include <set>
#include <span>

namespace shardc::runtime {

class Sequence;

/// Pages with the lock that guards who has them.
struct SharedPages {
  explicit SharedPages(int64_t pages) : pool(pages) {}
  std::mutex mutex;
  PagePool pool;                    ///< held by `mutex`
  std::set<Sequence *> sequences{}; ///< likewise: all that there are
};

/// Used for one run after the other, so that it needs no memory of its own from
/// the second on.
class Reservation {
public:
  Reservation(std::shared_ptr<SharedPages> shared, int64_t ofPage)
      : shared(std::move(shared)), ofPage(ofPage) {}

  /// So that a sequence with these pages and positions has room for `count`
  /// more. False if there are too few.
  bool add(std::span<const int64_t> pages, int64_t positions, int64_t count);
  /// Room for `count` in place of all that these pages hold.
  bool replace(std::span<const int64_t> pages, int64_t count);
  /// Of the row that was added as that one.
  std::span<const int64_t> pages(size_t row) const { return rows[row].pages; }
  /// From a page that others have as well to the one that becomes the same.
  std::span<const std::array<int64_t, 2>> copies() const { return pairs; }
  /// They are the sequence's.
  void keep(size_t number, std::vector<int64_t> &pages);
  /// Gives back what was taken and not kept; the next run begins.
  void end();

private:
  struct Row {
    std::vector<int64_t> pages, taken;
    std::vector<int64_t> replaced; ///< what others stand for
  };
  Row &next();
  bool take(Row &row);

  const std::shared_ptr<SharedPages> shared;
  const int64_t ofPage; ///< positions
  std::vector<Row> rows;
  size_t count = 0; ///< of them, in use
  std::vector<std::array<int64_t, 2>> pairs;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_RESERVATION_H
