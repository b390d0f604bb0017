//===- InputTablesTest.cpp - Tables whose rows inputs look up -------------===//
#include "runtime/plan/InputTables.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <array>
#include <string>

namespace shardc::runtime {
namespace {

using namespace test;

constexpr auto Int32 = artifact::ElementType_Int32;

/// y = rows of a table by ids [n].
struct LookUp : ProgramBuilder {
  explicit LookUp(int64_t ways = 1)
      : ProgramBuilder({{"tp", ways}}), n(symbol("n", 0, 0)),
        ids(int32_t(input("ids", Int64, {whole(n)}))) {}

  int32_t table(const std::string &name, int64_t rows) {
    return int32_t(weight(name, Float32, {rows}, {whole(constant(rows))},
                          std::string(size_t(rows) * 4, '\0')));
  }
  int32_t gather(int32_t from, int32_t by,
                 std::vector<Attribute> attributes = {}) {
    const auto y = int32_t(value(Float32, {n}));
    attributes.push_back(ints("axis", {0}));
    run("Gather", {from, by}, {y}, attributes);
    return y;
  }
  int64_t rows(int32_t y) {
    output("y", uint32_t(y), {whole(n)});
    const TestArtifact artifact(*this);
    const OpenSession open(artifact);
    return open.session->inputs()[0].numRows;
  }

  const uint32_t n;
  const int32_t ids;
};

TEST(InputTables, hasItsRows) {
  LookUp p;
  EXPECT_EQ(p.rows(p.gather(p.table("e", 6), p.ids)), 6);
}

TEST(InputTables, ofSeveralItIsTheLeast) {
  LookUp p;
  const int32_t first = p.gather(p.table("e", 6), p.ids);
  const int32_t second = p.gather(p.table("f", 4), p.ids);
  const auto sum = int32_t(p.value(Float32, {p.n}));
  p.run("Add", {first, second}, {sum});
  EXPECT_EQ(p.rows(sum), 4);
}

/// What the table has no row for is refused by the input's name, before anything
/// runs; negative ids are rows from the end, as Gather has them.
TEST(InputTables, otherIdsAreRefused) {
  LookUp p;
  p.output("y", uint32_t(p.gather(p.table("e", 6), p.ids)), {p.whole(p.n)});
  const TestArtifact artifact(p);
  OpenSession s(artifact);
  const std::array<int64_t, 1> two{2};
  for (const int64_t id : {-7, -6, 5, 6}) {
    const std::array<int64_t, 2> ids{0, id};
    const Status status = s.run({{"ids", Int64, two, ids.data()}});
    if (id == -6 || id == 5) {
      EXPECT_TRUE(status.isOk()) << status.message();
      continue;
    }
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_EQ(status.message(),
              "input 'ids': there is no row " + std::to_string(id) +
                  " in a table of 6: expected 0 to 5, or from the end -6 to "
                  "-1");
  }
}

/// An index that is computed from inputs is the caller's as well.
TEST(InputTables, idsThatAreComputedAreTheCallers) {
  LookUp p;
  const auto twice = int32_t(p.value(Int64, {p.n}));
  p.run("Add", {p.ids, p.ids}, {twice});
  p.output("y", uint32_t(p.gather(p.table("e", 6), twice)), {p.whole(p.n)});
  const TestArtifact artifact(p);
  OpenSession s(artifact);
  const std::array<int64_t, 1> one{1};
  const int64_t id = 4;
  const Status status = s.run({{"ids", Int64, one, &id}});
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.place().rank, 0);
  EXPECT_EQ(status.place().kernel, "Gather");
  EXPECT_NE(status.message().find("index 8 is outside of a dim of size 6"),
            std::string::npos)
      << status.message();
}

/// A table for some of the ids, of their own kinds, is none for all.
TEST(InputTables, aTableForAPartIsNotTheirs) {
  LookUp p;
  const int32_t all = p.gather(p.table("e", 6), p.ids);
  const uint32_t one = p.constant(1);
  const auto first =
      int32_t(p.view(uint32_t(p.ids), {one}, {one}, p.constant(0)));
  const auto kind = int32_t(p.value(Float32, {one}));
  p.run("Gather", {p.table("kinds", 2), first}, {kind}, {p.ints("axis", {0})});
  const auto sum = int32_t(p.value(Float32, {p.n}));
  p.run("Add", {all, kind}, {sum});
  EXPECT_EQ(p.rows(sum), 6);
}

/// Each of the ranks holds half of it.
TEST(InputTables, aTableInPartsHasTheRowsOfAll) {
  LookUp p(2);
  const uint32_t all = p.constant(6), rank = p.coordinate(0);
  const auto half = p.weight("e", Float32, {6}, {p.split(all, 2, rank)},
                             std::string(24, '\0'));
  const uint32_t base = p.multiply(rank, p.constant(3));
  const int32_t part =
      p.gather(int32_t(half), p.ids, {p.scalars("lookup", {base, all})});
  const auto y = int32_t(p.value(Float32, {p.n}));
  p.run("all_reduce", {part}, {y}, {p.text("kind", "sum")},
        p.group({{0, 1, 2}}));
  EXPECT_EQ(p.rows(y), 6);
}

TEST(InputTables, idsMayBeCast) {
  LookUp p;
  const auto narrow = int32_t(p.value(Int32, {p.n}));
  p.run("Cast", {p.ids}, {narrow});
  EXPECT_EQ(p.rows(p.gather(p.table("e", 6), narrow)), 6);
}

/// 1 for each id that is not 0: the table says nothing of ids.
TEST(InputTables, whatIsComputedOfIdsIsAnotherThing) {
  LookUp p;
  const auto isOne = int32_t(p.value(artifact::ElementType_Bool, {p.n}));
  p.run("Cast", {p.ids}, {isOne});
  const auto type = int32_t(p.value(Int64, {p.n}));
  p.run("Cast", {isOne}, {type});
  EXPECT_EQ(p.rows(p.gather(p.table("types", 2), type)), 0);
}

TEST(InputTables, aTableOfTheRequestsOwnSizeSaysNothing) {
  LookUp p;
  const auto x = int32_t(p.input("x", Float32, {p.whole(p.n)}));
  EXPECT_EQ(p.rows(p.gather(x, p.ids)), 0);
}

} // namespace
} // namespace shardc::runtime
