//===- Repeats.h - Entries of a list that come again and again ------------===//
//
//   a b c b c b c d    a, then 3 times b c, then d
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_REPORT_REPEATS_H
#define SHARDC_COMPILER_REPORT_REPEATS_H

#include <string>
#include <vector>

namespace shardc::report {

struct Repeat {
  size_t start = 0, period = 1, times = 1;
};

/// All of the list, in order. Fewer than `least` times are told one by one.
std::vector<Repeat> repeatsOf(const std::vector<std::string> &list,
                              size_t least = 3);

/// Without its digits: what layers have in common.
std::string withoutNumbers(const std::string &text);

} // namespace shardc::report

#endif // SHARDC_COMPILER_REPORT_REPEATS_H
