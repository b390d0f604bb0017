//===- RepeatsTest.cpp - What comes again and again -----------------------===//

#include "compiler/report/Repeats.h"

#include <gtest/gtest.h>

using namespace shardc;
using report::Repeat;

namespace {

std::string told(const std::string &letters, size_t least = 3) {
  std::vector<std::string> list;
  for (char letter : letters)
    list.emplace_back(1, letter);
  std::string text;
  for (const Repeat &repeat : report::repeatsOf(list, least))
    text += (text.empty() ? "" : " ") +
            letters.substr(repeat.start, repeat.period) +
            (repeat.times > 1 ? std::to_string(repeat.times) : "");
  return text;
}

TEST(Repeats, LayersBetweenOthers) {
  EXPECT_EQ(told(""), "");
  EXPECT_EQ(told("abcbcbcd"), "a bc3 d");
  EXPECT_EQ(told("aaaa"), "a4");
  EXPECT_EQ(told("abab"), "a b a b") << "twice is told";
  EXPECT_EQ(told("abab", 2), "ab2");
  EXPECT_EQ(told("xaabaabaabaay"), "x aab3 a a y");
}

TEST(Repeats, TheLongestStretchIsOneRepeat) {
  // Not 3 times a, and then what is left of the layers.
  EXPECT_EQ(told("aaabaaabaaab"), "aaab3");
}

TEST(Repeats, NumbersAreLeftOut) {
  EXPECT_EQ(report::withoutNumbers("/layers.12/MatMul_3"),
            report::withoutNumbers("/layers.9/MatMul_301"));
}

} // namespace
