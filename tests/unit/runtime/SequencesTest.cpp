//===- SequencesTest.cpp - Rows of any sequences in one step --------------===//
#include "runtime/serve/Sequences.h"
#include "tests/unit/runtime/RowPrograms.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <numeric>
#include <thread>

namespace shardc::runtime {
namespace {

using namespace test;

struct Pool {
  explicit Pool(int64_t ways = 1, int64_t positions = 48)
      : artifact(meanOfAll(ways)) {
    artifact.manifest["page"] = kPage;
    artifact.writeManifest();
    open = std::make_unique<OpenSession>(artifact);
    const Status status = SequencePool::create(*open->session, positions, pool);
    EXPECT_TRUE(status.isOk()) << status.message();
  }

  /// A step; then the outputs that were asked for, of the first head.
  Status step(const std::vector<Row> &rows) {
    return pool->step(rows, open->outputs);
  }
  std::vector<float> found() const {
    const std::vector<float> all = open->floats(0);
    const size_t half = all.size() / 2;
    for (size_t i = 0; i < half; ++i)
      EXPECT_FLOAT_EQ(all[half + i], -all[i]);
    return {all.begin(), all.begin() + std::ptrdiff_t(half)};
  }
  /// One row alone, of which all is asked for.
  std::vector<float> run(Sequence &sequence, std::vector<float> values) {
    const RowInput input(sequence, std::move(values));
    const Status status = step({{&sequence, input.tensors, Wanted::All}});
    EXPECT_TRUE(status.isOk()) << status.message();
    return status.isOk() ? found() : std::vector<float>();
  }

  TestArtifact artifact;
  std::unique_ptr<OpenSession> open;
  std::unique_ptr<SequencePool> pool;
};

void expectNear(const std::vector<float> &found, std::vector<float> expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(Sequences, rowsOfDifferentLengthsShareAStep) {
  for (int64_t ways : {1, 2}) {
    Pool p(ways);
    auto a = p.pool->add(), b = p.pool->add(), c = p.pool->add();
    expectNear(p.run(*a, {1, 3, 5, 7, 9}), {1, 2, 3, 4, 5});
    const RowInput ofA(*a, {11}), ofB(*b, {2, 4}), ofC(*c, {8});
    ASSERT_TRUE(p.step({{b.get(), ofB.tensors, Wanted::All},
                        {a.get(), ofA.tensors},
                        {c.get(), ofC.tensors, Wanted::None}})
                    .isOk());
    expectNear(p.found(), {2, 3, 6});
    EXPECT_EQ(a->length(), 6);
    EXPECT_EQ(b->length(), 2);
    EXPECT_EQ(c->length(), 1);
    expectNear(p.run(*c, {2}), {5});
  }
}

TEST(Reservation, replacesPagesOnceTheyAreKept) {
  auto shared = std::make_shared<SharedPages>(5);
  Reservation reservation(shared, 4);
  std::vector<int64_t> pages;
  const auto replace = [&](int64_t positions, bool isKept) {
    const bool isThere = reservation.replace(pages, positions);
    if (isThere && isKept)
      reservation.keep(0, pages);
    reservation.end();
    return isThere;
  };
  EXPECT_TRUE(replace(6, true));
  EXPECT_EQ(pages.size(), 2u);
  const std::vector<int64_t> before = pages;
  EXPECT_TRUE(replace(9, false));
  EXPECT_EQ(pages, before);
  EXPECT_EQ(shared->pool.numFree(), 3);
  EXPECT_FALSE(replace(13, true)); // beside those that go
  EXPECT_EQ(shared->pool.numFree(), 3);
  EXPECT_TRUE(replace(3, true));
  EXPECT_EQ(pages.size(), 1u);
  EXPECT_EQ(shared->pool.numFree(), 4);
}

TEST(Sequences, memoryIsWhatPositionsNeed) {
  Pool p;
  EXPECT_EQ(p.pool->numPages(), 12);
  auto a = p.pool->add();
  p.run(*a, {1, 2, 3, 4});
  EXPECT_EQ(p.pool->numFreePages(), 11);
  p.run(*a, {5});
  EXPECT_EQ(p.pool->numFreePages(), 10);
  EXPECT_EQ(a->numPages(), 2);
  ASSERT_TRUE(a->truncate(4).isOk());
  EXPECT_EQ(p.pool->numFreePages(), 11);
  EXPECT_EQ(a->truncate(5).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(a->truncate(-1).code(), StatusCode::InvalidArgument);
  a.reset();
  EXPECT_EQ(p.pool->numFreePages(), 12);
}

TEST(Sequences, truncatedOnesGoOnFromThere) {
  Pool p;
  auto a = p.pool->add();
  p.run(*a, {1, 3, 100, 100, 100, 100});
  ASSERT_TRUE(a->truncate(2).isOk());
  expectNear(p.run(*a, {5, 7, 9, 11}), {3, 4, 5, 6});
}

TEST(Sequences, forksShareWhatTheyHave) {
  Pool p;
  auto a = p.pool->add();
  p.run(*a, {1, 3, 5, 7, 9});
  auto b = a->fork();
  EXPECT_EQ(b->length(), 5);
  EXPECT_EQ(p.pool->numFreePages(), 10) << "nothing was copied";
  expectNear(p.run(*b, {17}), {7});
  EXPECT_EQ(p.pool->numFreePages(), 9) << "the last page was";
  expectNear(p.run(*a, {11}), {6});
  EXPECT_EQ(p.pool->numFreePages(), 9) << "it has its own again";
  // Both at once, and one that goes while the other stays.
  auto c = a->fork();
  const RowInput ofA(*a, {13}), ofC(*c, {-29});
  ASSERT_TRUE(p.step({{a.get(), ofA.tensors}, {c.get(), ofC.tensors}}).isOk());
  expectNear(p.found(), {7, 1});
  a.reset();
  expectNear(p.run(*c, {1}), {1});
  expectNear(p.run(*b, {0}), {6});
  b.reset();
  c.reset();
  EXPECT_EQ(p.pool->numFreePages(), 12);
}

TEST(Sequences, severalStepsAtATime) {
  for (int64_t ways : {1, 2}) {
    Pool p(ways);
    auto a = p.pool->add(), c = p.pool->add();
    p.run(*a, {1, 3, 5, 7, 9});
    auto b = a->fork(); // both write into the page that they share
    const RowInput ofA(*a, {11}), ofB(*b, {17}), ofC(*c, {4, 6});
    std::vector<Tensor> second(p.open->outputs.size());
    const Row one[] = {{a.get(), ofA.tensors}};
    const Row two[] = {{b.get(), ofB.tensors}, {c.get(), ofC.tensors}};
    const RowStep steps[] = {{one, p.open->outputs}, {two, second}};
    ASSERT_TRUE(p.pool->run(steps).isOk());
    expectNear(p.found(), {6});
    EXPECT_FLOAT_EQ(second[0].as<float>()[0], 7);
    EXPECT_FLOAT_EQ(second[0].as<float>()[1], 5);
    expectNear(p.run(*a, {-36}), {0});
    expectNear(p.run(*b, {-42}), {0});
    expectNear(p.run(*c, {-10}), {0});
    const RowInput again(*a, {1}), alike(*a, {2});
    const Row three[] = {{a.get(), again.tensors}},
              four[] = {{a.get(), alike.tensors}};
    const RowStep same[] = {{three, p.open->outputs}, {four, second}};
    EXPECT_EQ(p.pool->run(same).message(),
              "row 0 is of a sequence that another row goes on with");
    EXPECT_EQ(a->length(), 7);
  }
}

TEST(Sequences, forksOfAWholePageShareItForGood) {
  Pool p;
  auto a = p.pool->add();
  p.run(*a, {1, 3, 5, 7});
  auto b = a->fork();
  expectNear(p.run(*b, {14}), {6});
  expectNear(p.run(*a, {-16}), {0});
  EXPECT_EQ(p.pool->numFreePages(), 9);
}

TEST(Sequences, tooFewPagesIsAnErrorOfTheStep) {
  Pool p(1, 8);
  auto a = p.pool->add(), b = p.pool->add();
  p.run(*a, {1, 3, 5});
  const RowInput ofA(*a, {7}), ofB(*b, {1, 2, 3, 4, 5});
  const Status status =
      p.step({{a.get(), ofA.tensors}, {b.get(), ofB.tensors}});
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find("row 1 needs pages for 5 positions more"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(a->length(), 3);
  EXPECT_EQ(p.pool->numFreePages(), 1) << "what it took is given back";
  expectNear(p.run(*a, {7}), {4});
  expectNear(p.run(*b, {2, 4}), {2, 3});
}

TEST(Sequences, whatDoesNotFitIsAnErrorOfTheStep) {
  Pool p, other;
  auto a = p.pool->add(), stranger = other.pool->add();
  const RowInput input(*a, {1, 2});
  const auto errorOf = [&](const std::vector<Row> &rows) {
    const Status status = p.step(rows);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    return status.message();
  };
  EXPECT_EQ(errorOf({}), "a step without rows");
  EXPECT_EQ(errorOf({{stranger.get(), input.tensors}}),
            "row 0 is of no sequence of this pool");
  EXPECT_EQ(errorOf({{a.get(), input.tensors}, {a.get(), input.tensors}}),
            "row 1 is of a sequence that another row goes on with");
  std::vector<InputTensor> inputs = input.tensors;
  inputs.pop_back();
  EXPECT_EQ(errorOf({{a.get(), inputs}}), "input 'm' is missing");
  const std::vector<int64_t> shorter = {1, 1};
  inputs.push_back({"m", artifact::ElementType_Bool, shorter, input.m.data()});
  EXPECT_EQ(errorOf({{a.get(), inputs}}),
            "input 'm' of a row behind 0 positions with 2 new ones has dims "
            "[1, 1]");
  inputs = input.tensors;
  inputs.push_back(input.tensors[0]);
  EXPECT_EQ(errorOf({{a.get(), inputs}}), "input 'x' is given twice");
  inputs.back().name = "z";
  EXPECT_EQ(errorOf({{a.get(), inputs}}),
            "input 'z' is none that the model takes of a row");
  const std::vector<int64_t> none = {1, kHeads, 0, 1};
  inputs = input.tensors;
  inputs[0].dims = none;
  EXPECT_EQ(errorOf({{a.get(), inputs}}), "a row has no new positions");
  inputs = input.tensors;
  inputs[0].element = Int64;
  EXPECT_NE(errorOf({{a.get(), inputs}}).find("elements of another type"),
            std::string::npos);
  EXPECT_EQ(p.pool->numFreePages(), 12);
  expectNear(p.run(*a, {1, 3}), {1, 2});
}

TEST(Sequences, aModelForRequestsHasNone) {
  TestArtifact artifact(meanOfAll(1));
  OpenSession s(artifact);
  std::unique_ptr<SequencePool> pool;
  EXPECT_EQ(SequencePool::create(*s.session, 8, pool).code(),
            StatusCode::InvalidArgument);
}

/// A row's numbers are those that it has alone, to the bit.
TEST(Sequences, aRowIsTheSameInAnyCompany) {
  Pool p(2, 400), alone(2, 400);
  std::vector<std::unique_ptr<Sequence>> together, apart;
  std::vector<float> values;
  for (int i = 0; i < 6; ++i) {
    together.push_back(p.pool->add());
    apart.push_back(alone.pool->add());
  }
  for (int step = 0; step < 12; ++step) {
    std::vector<RowInput> inputs;
    std::vector<Row> rows;
    std::vector<size_t> order(6);
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin(), order.begin() + step % 6, order.end());
    order.resize(1 + size_t(step * 5) % 6);
    for (size_t i : order) {
      std::vector<float> own;
      for (int n = 0; n < 1 + (step * 3 + int(i)) % 5; ++n)
        own.push_back(0.1f * float((step * 7 + n * 3 + int(i)) % 11));
      inputs.emplace_back(*together[i], own);
    }
    for (size_t r = 0; r < order.size(); ++r)
      rows.push_back(
          {together[order[r]].get(), inputs[r].tensors, Wanted::All});
    ASSERT_TRUE(p.step(rows).isOk());
    const std::vector<float> found = p.found();
    std::vector<float> expected;
    for (size_t r = 0; r < order.size(); ++r) {
      const std::vector<float> &x = inputs[r].x;
      const std::vector<float> of =
          alone.run(*apart[order[r]],
                    {x.begin(), x.begin() + std::ptrdiff_t(x.size() / 2)});
      expected.insert(expected.end(), of.begin(), of.end());
    }
    EXPECT_EQ(found, expected) << "step " << step;
  }
}

/// No number of positions is taken for a small one.
TEST(Reservation, ofAnyNumberOfPositions) {
  Reservation reservation(std::make_shared<SharedPages>(4), kPage);
  for (int64_t more : {INT64_MAX, INT64_MAX - 7, int64_t(5 * kPage)}) {
    EXPECT_FALSE(reservation.add(std::vector<int64_t>{0, 1}, 6, more));
    reservation.end();
  }
}

TEST(PagePool, countsWhoHasAPage) {
  PagePool pool(2);
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.take(), 1);
  EXPECT_FALSE(pool.take());
  pool.share(0);
  EXPECT_TRUE(pool.isShared(0));
  pool.release(0);
  EXPECT_FALSE(pool.isShared(0));
  EXPECT_EQ(pool.numFree(), 0);
  pool.release(0);
  EXPECT_EQ(pool.numFree(), 1);
  EXPECT_EQ(pool.take(), 0);
}

} // namespace
} // namespace shardc::runtime
