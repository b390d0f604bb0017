#include "runtime/serve/Reservation.h"

#include <algorithm>

namespace shardc::runtime {

/// Room for one more: what throws has taken nothing yet.
template <typename T> static void makeRoom(std::vector<T> &list) {
  if (list.size() == list.capacity())
    list.reserve(std::max<size_t>(2 * list.size(), 8));
}

bool Reservation::take(Row &row) {
  makeRoom(row.pages);
  makeRoom(row.taken);
  const std::optional<int64_t> page = shared->pool.take();
  if (!page)
    return false;
  row.pages.push_back(*page);
  row.taken.push_back(*page);
  return true;
}

Reservation::Row &Reservation::next() {
  if (count == rows.size())
    rows.emplace_back();
  return rows[count++];
}

bool Reservation::replace(std::span<const int64_t> pages, int64_t positions) {
  Row &row = next();
  row.pages.clear();
  row.replaced.assign(pages.begin(), pages.end());
  std::lock_guard lock(shared->mutex);
  while (static_cast<int64_t>(row.pages.size()) * ofPage < positions)
    if (!take(row))
      return false;
  return true;
}

bool Reservation::add(std::span<const int64_t> pages, int64_t positions,
                      int64_t more) {
  Row &row = next();
  row.pages.assign(pages.begin(), pages.end());
  makeRoom(pairs);
  makeRoom(row.replaced);
  std::lock_guard lock(shared->mutex);
  // The first position goes into a page that others read as well.
  if (positions % ofPage != 0 && shared->pool.isShared(row.pages.back())) {
    const int64_t from = row.pages.back();
    if (!take(row))
      return false;
    row.replaced.push_back(from);
    row.pages.pop_back();
    row.pages.back() = row.taken.back();
    pairs.push_back({from, row.taken.back()});
  }
  // Whatever `more` is: no number of pages is that large.
  const auto room = [&] {
    return static_cast<int64_t>(row.pages.size()) * ofPage - positions;
  };
  while (room() < more)
    if (!take(row))
      return false;
  return true;
}

void Reservation::keep(size_t number, std::vector<int64_t> &pages) {
  Row &row = rows[number];
  std::swap(pages, row.pages);
  row.taken.swap(row.replaced); // which go instead
}

void Reservation::end() {
  std::lock_guard lock(shared->mutex);
  for (Row &row : std::span(rows).first(count)) {
    for (int64_t page : row.taken)
      shared->pool.release(page);
    row.taken.clear();
    row.replaced.clear();
  }
  count = 0;
  pairs.clear();
}

} // namespace shardc::runtime
