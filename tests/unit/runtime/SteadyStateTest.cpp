//===- SteadyStateTest.cpp - Nothing is allocated from the third run ------===//
//
// A program of its own, since it replaces global operator new and malloc's
// aligned relatives are counted through it.
//
//===----------------------------------------------------------------------===//
#include "tests/unit/runtime/RowPrograms.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<long> allocations = 0;
static std::atomic<bool> counting = false;

static void *allocate(size_t bytes, size_t alignment) {
  if (counting.load(std::memory_order_relaxed))
    allocations.fetch_add(1, std::memory_order_relaxed);
  size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void *memory = std::aligned_alloc(alignment, rounded ? rounded : alignment);
  if (!memory)
    std::abort();
  return memory;
}

/// Not inlined, where compilers take it for a `free` of what `new` gave.
[[gnu::noinline]] static void release(void *memory) { std::free(memory); }

void *operator new(size_t bytes) { return allocate(bytes, 16); }
void *operator new[](size_t bytes) { return allocate(bytes, 16); }
void *operator new(size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment));
}
/// std::stable_sort's.
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes, 16);
}
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept {
  return allocate(bytes, 16);
}
void operator delete(void *memory) noexcept { release(memory); }
void operator delete[](void *memory) noexcept { release(memory); }
void operator delete(void *memory, size_t) noexcept { release(memory); }
void operator delete[](void *memory, size_t) noexcept { release(memory); }
void operator delete(void *memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  release(memory);
}

namespace shardc::runtime {
namespace {

using namespace test;

/// Replicated and sharded inputs, scratch, all collectives, sharded outputs.
ProgramBuilder everything(int64_t ways) {
  ProgramBuilder p({{"tp", ways}});
  auto n = p.symbol("n", 0, 0), k = p.constant(6), c = p.coordinate(0);
  auto local = p.localSize(k, ways, c);
  auto x = p.input("x", Float32, {p.whole(n), p.split(k, ways, c)});
  auto copied = p.value(Float32, {n, local});
  p.run("TestCopy", {int32_t(x)}, {int32_t(copied)});
  auto all = p.value(Float32, {n, k}, true);
  auto group = p.group({{0, 1, ways}});
  p.run("all_gather", {int32_t(copied)}, {int32_t(all)},
        {p.ints("dim", {1}), p.layout("layout", p.split(k, ways, c))}, group);
  auto sum = p.value(Float32, {n, k}, true);
  p.run("all_reduce", {int32_t(all)}, {int32_t(sum)},
        {p.text("kind", "sum"), p.ints("flight", {0})}, group);
  p.run("wait", {int32_t(all)}, {int32_t(sum)}, {p.ints("flight", {0})});
  auto part = p.value(Float32, {n, local});
  p.run("reduce_scatter", {int32_t(sum)}, {int32_t(part)},
        {p.text("kind", "sum"), p.ints("dim", {1}),
         p.layout("layout", p.split(k, ways, c))},
        group);
  auto rows = p.value(Float32, {p.localSize(n, ways, c), k});
  p.run("all_to_all", {int32_t(part)}, {int32_t(rows)},
        {p.ints("dim", {1, 0}),
         p.layouts("layout", {p.split(k, ways, c), p.split(n, ways, c)})},
        group);
  auto back = p.value(Float32, {n, local});
  p.run("all_to_all", {int32_t(rows)}, {int32_t(back)},
        {p.ints("dim", {0, 1}),
         p.layouts("layout", {p.split(n, ways, c), p.split(k, ways, c)})},
        group);
  auto shifted = p.value(Float32, {n, local}); // round to where it was
  p.run("shift", {int32_t(back)}, {int32_t(shifted)},
        {p.ints("distance", {ways})}, group);
  part = shifted;
  p.output("sum", sum, {p.whole(n), p.whole(k)});
  p.output("part", part, {p.whole(n), p.split(k, ways, c)});
  return p;
}

TEST(SteadyState, allocatesNothingFromTheThirdRun) {
  for (bool measured : {false, true})
    for (int64_t n : {3, 4000}) {
      TestArtifact artifact(everything(3));
      SessionOptions options;
      options.measure = measured;
      options.checkReplicas = measured;
      OpenSession s(artifact, options);
      Floats x(std::vector<float>(static_cast<size_t>(n * 6), 1), {n, 6});
      std::vector<InputTensor> inputs = {x.as("x")};
      for (int run = 0; run < 6; ++run) {
        allocations = 0;
        counting = run >= 2;
        Status status = s.session->run(inputs, s.outputs);
        counting = false;
        ASSERT_TRUE(status.isOk()) << status.message();
        EXPECT_EQ(allocations.load(), 0) << "run " << run;
        EXPECT_EQ(s.outputs[0].as<float>()[5], 3.0f);
        EXPECT_EQ(s.outputs[1].as<float>()[5], 9.0f);
      }
    }
}

/// How long weights take to be there is nobody's to say; then nothing more is
/// allocated either.
TEST(SteadyState, weightsThatComeBesideRunsCostNothingOnceTheyAreThere) {
  ProgramBuilder p({{"tp", 2}});
  auto n = p.constant(64);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto w = p.weight("w", Float32, {64}, {p.whole(n)},
                    bytesOf(std::vector<float>(64, 2)));
  auto y = p.value(Float32, {n}), z = p.value(Float32, {n});
  p.run("TestAdd", {int32_t(x), int32_t(w)}, {int32_t(y)});
  p.run("all_reduce", {int32_t(y)}, {int32_t(z)}, {p.text("kind", "sum")},
        p.group({{0, 1, 2}}));
  p.output("z", z, {p.whole(n)});
  TestArtifact artifact(p);
  SessionOptions options;
  options.loadsBeside = true;
  OpenSession s(artifact, options);
  Floats values(std::vector<float>(64, 1), {64});
  std::vector<InputTensor> inputs = {values.as("x")};
  long last = -1;
  for (int run = 0; run < 10'000 && last != 0; ++run) {
    allocations = 0;
    counting = true;
    Status status = s.session->run(inputs, s.outputs);
    counting = false;
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(s.outputs[0].as<float>()[5], 6.0f);
    last = allocations;
  }
  EXPECT_EQ(last, 0);
}

TEST(SteadyState, alternatingShapesAllocateNothing) {
  TestArtifact artifact(everything(2));
  OpenSession s(artifact, {});
  Floats small(std::vector<float>(6, 1), {1, 6}),
      large(std::vector<float>(6000, 1), {1000, 6});
  std::vector<InputTensor> one = {small.as("x")}, two = {large.as("x")};
  for (int run = 0; run < 8; ++run) {
    allocations = 0;
    counting = run >= 4;
    Status status = s.session->run(run % 2 ? one : two, s.outputs);
    counting = false;
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(allocations.load(), 0) << "run " << run;
  }
}

/// No step of a sequence is a new shape until it has a page more.
TEST(SteadyState, decodingStepsAllocateNothing) {
  TestArtifact artifact(meanOfAll(2));
  artifact.manifest["page"] = kPage;
  artifact.writeManifest();
  OpenSession s(artifact, {});
  std::unique_ptr<SequencePool> pool;
  ASSERT_TRUE(SequencePool::create(*s.session, 256, pool).isOk());
  auto a = pool->add(), b = pool->add();
  for (int step = 0; step < 8; ++step) {
    // Each of another length, on the pages that it has.
    const RowInput ofA(*a, {float(step)}), ofB(*b, {1});
    const Row rows[] = {{a.get(), ofA.tensors}, {b.get(), ofB.tensors}};
    allocations = 0;
    counting = step % kPage >= 2;
    const Status status = pool->step(rows, s.outputs);
    counting = false;
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(allocations.load(), 0) << "step " << step;
    EXPECT_FLOAT_EQ(s.outputs[0].as<float>()[0], float(step) / 2);
  }
}

} // namespace
} // namespace shardc::runtime
