//===- ErrorTextTest.cpp - Errors from one process to another -------------===//
#include "runtime/transport/ErrorText.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

Status sent(const Status &status) {
  return errorOf(static_cast<uint64_t>(status.code()), textOf(status));
}

TEST(ErrorText, keepsWhereItArose) {
  const Status status = sent(Status::error(StatusCode::Deadline, "too late",
                                           {3, 1, 17, "MatMul", "/up 'x'"}));
  EXPECT_EQ(status.code(), StatusCode::Deadline);
  EXPECT_EQ(status.message(), "too late");
  EXPECT_EQ(status.place().rank, 3);
  EXPECT_EQ(status.place().stage, 1);
  EXPECT_EQ(status.place().instruction, 17);
  EXPECT_EQ(status.place().kernel, "MatMul");
  EXPECT_EQ(status.place().node, "/up 'x'");
}

TEST(ErrorText, hasABound) {
  const std::string large(1 << 20, 'x');
  const Status status =
      Status::error(StatusCode::Artifact, large, {0, 0, 0, large, large});
  EXPECT_LT(textOf(status).size(), 10'000u);
  EXPECT_EQ(sent(status).place().node, std::string(512, 'x'));
  const Status nowhere = sent(Status::error(StatusCode::Artifact, ""));
  EXPECT_EQ(nowhere.place().rank, -1);
  EXPECT_EQ(nowhere.place().node, "");
}

TEST(ErrorText, namesMayHaveAnyBytes) {
  const std::string name("a\0"
                         "7",
                         3);
  const Status found = sent(
      Status::error(StatusCode::Artifact, name, {.rank = 2, .node = name}));
  EXPECT_EQ(found.message(), "a 7");
  EXPECT_EQ(found.place().rank, 2);
  EXPECT_EQ(found.place().node, "a 7");
}

/// A peer may send anything.
TEST(ErrorText, readsWhateverComes) {
  using namespace std::string_literals;
  EXPECT_EQ(errorOf(999, "text").code(), StatusCode::Artifact);
  EXPECT_EQ(errorOf(0, "text").code(), StatusCode::Artifact);
  EXPECT_EQ(errorOf(4, "text").message(), "text");
  EXPECT_EQ(errorOf(4, "").place().rank, -1);
  EXPECT_EQ(errorOf(4, "text\0-7\0x\0"s).place().rank, -1);
  EXPECT_EQ(errorOf(4, "text\0-7\0x\0"s).place().stage, -1);
  EXPECT_EQ(errorOf(4, "text\0"s
                       "99999999999999999999"s)
                .place()
                .rank,
            -1);
  EXPECT_EQ(errorOf(4, "a\0"s
                       "1\0"s
                       "2\0"s
                       "3\0k\0n\0more"s)
                .place()
                .node,
            "n");
}

/// One of another rank is not told anew.
TEST(Status, isPlacedOnce) {
  const Status status = Status::error(StatusCode::Artifact, "text");
  const Status placed = status.at({.rank = 2, .node = "mine"}).at({2, 1, 5});
  EXPECT_EQ(placed.place().stage, 1);
  EXPECT_EQ(placed.place().instruction, 5);
  EXPECT_EQ(placed.place().node, "mine");
  const Status heard = placed.at({.rank = 3, .kernel = "all_reduce"});
  EXPECT_EQ(heard.place().rank, 2);
  EXPECT_EQ(heard.place().kernel, "");
  EXPECT_EQ(placed.saying("more").place().node, "mine");
  EXPECT_EQ(placed.saying("more").message(), "more");
  EXPECT_TRUE(Status::ok().at({.rank = 1}).isOk());
  EXPECT_TRUE(Status::ok().saying("more").isOk());
}

} // namespace
} // namespace shardc::runtime
