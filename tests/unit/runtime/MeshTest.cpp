#include "runtime/program/Mesh.h"

#include "tests/unit/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

using test::Part;
using Groups = std::vector<std::vector<int>>;

GroupPartition partition(std::vector<std::pair<std::string, int64_t>> axes,
                         std::vector<Part> parts) {
  test::ProgramBuilder p(std::move(axes));
  p.group(std::move(parts));
  std::string bytes = p.finish();
  const artifact::Program &program = *artifact::GetProgram(bytes.data());
  return partitionRanks(program, *program.groups()->Get(0));
}

TEST(Mesh, theLastAxisIsFastest) {
  test::ProgramBuilder p({{"dp", 2}, {"tp", 4}});
  std::string bytes = p.finish();
  const artifact::Program &program = *artifact::GetProgram(bytes.data());
  EXPECT_EQ(coordinatesOf(program, 5), (std::vector<int64_t>{1, 1}));
}

TEST(Mesh, groupsByAxis) {
  std::vector<std::pair<std::string, int64_t>> axes = {{"dp", 2}, {"tp", 3}};
  EXPECT_EQ(partition(axes, {{1, 1, 3}}).groups,
            (Groups{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(partition(axes, {{0, 1, 2}}).groups,
            (Groups{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(partition(axes, {}).groups.size(), 6u);
}

TEST(Mesh, groupsBySubAxes) {
  std::vector<std::pair<std::string, int64_t>> axes = {{"tp", 8}};
  // 4 ways major, 2 ways minor: ranks that share a KV head, and their peers.
  EXPECT_EQ(partition(axes, {{0, 1, 4}}).groups,
            (Groups{{0, 2, 4, 6}, {1, 3, 5, 7}}));
  EXPECT_EQ(partition(axes, {{0, 4, 2}}).groups,
            (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(partition(axes, {{0, 2, 2}}).groups,
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
}

TEST(Mesh, orderFollowsTheParts) {
  std::vector<std::pair<std::string, int64_t>> axes = {{"dp", 2}, {"tp", 2}};
  EXPECT_EQ(partition(axes, {{0, 1, 2}, {1, 1, 2}}).groups,
            (Groups{{0, 1, 2, 3}}));
  GroupPartition minorFirst = partition(axes, {{1, 1, 2}, {0, 1, 2}});
  EXPECT_EQ(minorFirst.groups, (Groups{{0, 2, 1, 3}}));
  EXPECT_EQ(minorFirst.indexOf, (std::vector<int>{0, 2, 1, 3}));
}

} // namespace
} // namespace shardc::runtime
