//===- ServedTexts.h - Texts whose tokens are known -----------------------===//
#ifndef SHARDC_TESTS_UNIT_RUNTIME_SERVEDTEXTS_H
#define SHARDC_TESTS_UNIT_RUNTIME_SERVEDTEXTS_H

#include "runtime/serve/Server.h"
#include "tests/unit/runtime/RowPrograms.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <cmath>

namespace shardc::test {

/// Twice the mean, rounded, and one more.
inline int64_t nextOf(double mean) { return std::lround(2 * mean) % 97 + 1; }

inline std::vector<int64_t> expectedOf(std::vector<int64_t> all,
                                       int64_t count) {
  std::vector<int64_t> made;
  while (count-- > 0) {
    double sum = 0;
    for (int64_t token : all)
      sum += double(token);
    made.push_back(nextOf(sum / double(all.size())));
    all.push_back(made.back());
  }
  return made;
}

/// That of a model which a server takes.
inline std::unique_ptr<TestArtifact>
forServers(std::unique_ptr<TestArtifact> artifact) {
  artifact->manifest["page"] = kPage;
  artifact->manifest["causal"] = true;
  artifact->writeManifest();
  return artifact;
}

/// Texts of meanOfTokens.
struct Served {
  explicit Served(const runtime::ServerOptions &options,
                  std::unique_ptr<TestArtifact> of =
                      std::make_unique<TestArtifact>(meanOfTokens()),
                  const runtime::SessionOptions &session = {})
      : artifact(forServers(std::move(of))),
        open(std::make_unique<OpenSession>(*artifact, session)) {
    const auto status = runtime::Server::start(*open->session, options, server);
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  /// Of a session that is open already.
  Served(const runtime::ServerOptions &options, runtime::Session &session) {
    const auto status = runtime::Server::start(session, options, server);
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  std::shared_ptr<runtime::Generation> submit(std::vector<int64_t> prompt,
                                              int64_t count) {
    std::shared_ptr<runtime::Generation> text;
    runtime::TextRequest request;
    request.prompt = std::move(prompt);
    request.mostTokens = count;
    request.choose = [](std::span<const float> logits) {
      return std::optional(nextOf(logits[0]));
    };
    const runtime::Status status = server->submit(std::move(request), text);
    EXPECT_TRUE(status.isOk()) << status.message();
    return text;
  }

  std::unique_ptr<TestArtifact> artifact;
  std::unique_ptr<OpenSession> open;
  std::unique_ptr<runtime::Server> server;
};

inline std::vector<int64_t> promptOf(int64_t number, int64_t length) {
  std::vector<int64_t> prompt;
  for (int64_t i = 0; i < length; ++i)
    prompt.push_back((number * 13 + i * 7) % 50);
  return prompt;
}

/// Each gets what it gets alone.
inline void expectTexts(Served &s, int64_t numTexts) {
  std::vector<std::shared_ptr<runtime::Generation>> texts;
  for (int64_t i = 0; i < numTexts; ++i)
    texts.push_back(s.submit(promptOf(i, 1 + i * 5 % 23), 1 + i * 3 % 11));
  for (int64_t i = 0; i < numTexts; ++i) {
    const runtime::Status status = texts[size_t(i)]->wait();
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(texts[size_t(i)]->tokens(),
              expectedOf(promptOf(i, 1 + i * 5 % 23), 1 + i * 3 % 11))
        << "text " << i;
  }
}

} // namespace shardc::test

#endif // SHARDC_TESTS_UNIT_RUNTIME_SERVEDTEXTS_H
