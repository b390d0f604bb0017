//===- HeaderExampleTest.cpp - What shardrt.hpp shows is C++ --------------===//
#include "runtime/api/shardrt.hpp"

#include "tests/unit/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

using namespace shardc::runtime;

namespace {

/// The header's example, but for the path.
Status runExample(const std::string &path, float &first) {
  std::unique_ptr<Session> session;
  SHARDC_RETURN_IF_ERROR(Session::open(path, {}, session));
  int64_t ids[8] = {1, 2, 3, 4, 5, 6, 7, 8}, dims[] = {1, 8};
  InputTensor input{"input_ids", ElementType_Int64, dims, ids};
  std::vector<Tensor> outputs(session->outputs().size());
  SHARDC_RETURN_IF_ERROR(session->run({&input, 1}, outputs));
  first = outputs[0].as<float>()[0];
  return Status::ok();
}

TEST(HeaderExample, compilesAndRuns) {
  using namespace shardc::test;
  ProgramBuilder p({{"tp", 1}});
  auto n = p.symbol("batch", 0, 0), s = p.symbol("seq", 0, 1);
  auto x = p.input("input_ids", shardc::artifact::ElementType_Int64,
                   {p.whole(n), p.whole(s)});
  auto y = p.value(shardc::artifact::ElementType_Float32, {n, s});
  p.run("TestFill", {}, {int32_t(y)}, {p.ints("value", {3})});
  p.output("y", y, {p.whole(n), p.whole(s)});
  (void)x;
  TestArtifact folder(p);
  float first = 0;
  const Status status = runExample(folder.path(), first);
  EXPECT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(first, 3);
}

} // namespace
