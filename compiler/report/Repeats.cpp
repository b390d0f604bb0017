//===- Repeats.cpp - Entries of a list that come again and again ----------===//

#include "compiler/report/Repeats.h"

#include <algorithm>
#include <cctype>

namespace shardc::report {

/// A layer has no more entries.
static constexpr size_t kLongestPeriod = 64;

std::vector<Repeat> repeatsOf(const std::vector<std::string> &list,
                              size_t least) {
  std::vector<Repeat> repeats;
  for (size_t start = 0; start < list.size();) {
    Repeat best{start, 1, 1};
    for (size_t period = 1;
         period <= kLongestPeriod && start + least * period <= list.size();
         ++period) {
      size_t end = start + period;
      while (end < list.size() && list[end] == list[end - period])
        ++end;
      const size_t times = (end - start) / period;
      if (times >= least && times * period > best.times * best.period)
        best = {start, period, times};
    }
    repeats.push_back(best);
    start += best.period * best.times;
  }
  return repeats;
}

std::string withoutNumbers(const std::string &text) {
  std::string words;
  std::copy_if(text.begin(), text.end(), std::back_inserter(words),
               [](unsigned char c) { return !std::isdigit(c); });
  return words;
}

} // namespace shardc::report
