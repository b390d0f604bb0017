//===- SessionFixture.h - Opening and running test artifacts --------------===//
#ifndef SHARDC_TESTS_UNIT_RUNTIME_SESSIONFIXTURE_H
#define SHARDC_TESTS_UNIT_RUNTIME_SESSIONFIXTURE_H

#include "runtime/api/shardrt.hpp"
#include "tests/unit/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

#include <memory>

namespace shardc::test {

inline constexpr auto Float32 = artifact::ElementType_Float32;
inline constexpr auto Int64 = artifact::ElementType_Int64;

/// An open session; the test ends if it cannot be opened.
struct OpenSession {
  std::unique_ptr<runtime::Session> session;
  std::vector<runtime::Tensor> outputs;

  explicit OpenSession(const TestArtifact &artifact,
                       const runtime::SessionOptions &options = {}) {
    runtime::Status status =
        runtime::Session::open(artifact.path(), options, session);
    EXPECT_TRUE(status.isOk()) << status.message();
    if (session)
      outputs.resize(session->outputs().size());
  }

  runtime::Status run(const std::vector<runtime::InputTensor> &inputs) {
    return session->run(inputs, outputs);
  }

  std::vector<float> floats(size_t output) const {
    const float *data = outputs[output].as<float>();
    return {data, data + outputs[output].numElements()};
  }
};

/// A float32 tensor with its memory.
struct Floats {
  std::vector<float> values;
  std::vector<int64_t> dims;

  Floats(std::vector<float> values, std::vector<int64_t> dims)
      : values(std::move(values)), dims(std::move(dims)) {}
  runtime::InputTensor as(std::string_view name) const {
    return {name, Float32, dims, values.data()};
  }
};

} // namespace shardc::test

#endif // SHARDC_TESTS_UNIT_RUNTIME_SESSIONFIXTURE_H
