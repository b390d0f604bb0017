//===- CServerTest.cpp - Many texts at once, from C and by its C++ header -===//
#include "runtime/api/client/shardrt.hpp"

#include "tests/unit/runtime/ServedTexts.h"

#include <atomic>
#include <cstddef>
#include <future>
#include <thread>

namespace {

using namespace std::chrono_literals;
using shardc::test::expectedOf;
using shardc::test::kFailing;
using shardc::test::nextOf;
using shardc::test::promptOf;

/// Options and requests grow at their end.
static_assert(offsetof(shardrt_server_options, reopen) == 56 &&
              offsetof(shardrt_server_options, context) == 64);
static_assert(offsetof(shardrt_text_request, choose) == 32 &&
              offsetof(shardrt_text_request, context) == 56 &&
              offsetof(shardrt_text_request, deadline_ms) == 64);

class CServer : public testing::Test {
protected:
  void open(int64_t ways = 1, int64_t sleepMs = 0,
            shardrt_server_options options = {}) {
    artifact =
        shardc::test::forServers(std::make_unique<shardc::test::TestArtifact>(
            shardc::test::meanOfTokens(ways, sleepMs)));
    shardrt_options opening = {};
    opening.size = sizeof opening;
    opening.timeout_seconds = sleepMs ? 0.3 : 0;
    shardrt::Status status =
        shardrt::Session::open(artifact->path(), session, &opening);
    ASSERT_TRUE(status.isOk()) << status.message();
    options.size = sizeof options;
    options.positions = 400;
    options.step_tokens = 24;
    options.step_rows = 16;
    status = shardrt::Server::create(session, server, &options);
    ASSERT_TRUE(status.isOk()) << status.message();
  }
  shardrt::TextRequest request(std::vector<int64_t> prompt, int64_t count) {
    shardrt::TextRequest made{std::move(prompt), count};
    made.choose = [](const float *logits, size_t words) {
      EXPECT_EQ(words, 1u);
      return nextOf(logits[0]);
    };
    return made;
  }

  std::unique_ptr<shardc::test::TestArtifact> artifact;
  shardrt::Session session;
  shardrt::Server server;
};

TEST_F(CServer, textsAreThoseOfEachAlone) {
  open();
  std::vector<shardrt::Text> texts(30);
  std::vector<std::vector<int64_t>> told(30);
  std::atomic<int> ended = 0;
  for (int64_t i = 0; i < 30; ++i) {
    auto asked = request(promptOf(i, 1 + i * 5 % 23), 1 + i * 3 % 11);
    asked.onToken = [&told, i](int64_t token) {
      told[size_t(i)].push_back(token);
    };
    asked.onEnd = [&ended](const shardrt::Status &status) {
      EXPECT_TRUE(status.isOk()) << status.message();
      ++ended;
    };
    ASSERT_TRUE(server.submit(asked, texts[size_t(i)]).isOk());
  }
  int64_t made = 0;
  for (int64_t i = 0; i < 30; ++i) {
    ASSERT_TRUE(texts[size_t(i)].wait().isOk());
    EXPECT_TRUE(texts[size_t(i)].isDone());
    const auto expected =
        expectedOf(promptOf(i, 1 + i * 5 % 23), 1 + i * 3 % 11);
    EXPECT_EQ(texts[size_t(i)].tokens(), expected);
    EXPECT_EQ(told[size_t(i)], expected);
    made += std::ssize(expected);
  }
  shardrt_counts counts;
  ASSERT_TRUE(server.counts(counts).isOk());
  EXPECT_EQ(counts.made, made);
  EXPECT_EQ(counts.pages, 400 / shardc::test::kPage);
  EXPECT_GE(counts.free_pages, 0);
  EXPECT_EQ(counts.waiting, 0);
  EXPECT_EQ(counts.recovered, 0);
  bool wasActive = false, wasBusy = false;
  for (const shardrt_spent &spent : session.spent()) {
    const std::string kind = spent.kind;
    wasActive |= kind == "active" && spent.count > 0 && spent.seconds > 0 &&
                 spent.adders == 1;
    wasBusy |= kind == "busy" && spent.seconds > 0;
  }
  EXPECT_TRUE(wasActive);
  EXPECT_TRUE(wasBusy);
  server = {};
  EXPECT_EQ(ended, 30);
}

TEST_F(CServer, chooseEndsATextAndNoneIsTheLargest) {
  open();
  shardrt::Text text, greedy;
  auto asked = request({1, 2}, 50);
  int left = 3;
  asked.choose = [&left](const float *logits, size_t) {
    return left-- > 0 ? nextOf(logits[0]) : int64_t(SHARDRT_END);
  };
  ASSERT_TRUE(server.submit(asked, text).isOk());
  ASSERT_TRUE(server.submit({{7, 8}, 2}, greedy).isOk());
  ASSERT_TRUE(text.wait().isOk());
  EXPECT_EQ(text.tokens(), expectedOf({1, 2}, 3));
  ASSERT_TRUE(greedy.wait().isOk());
  EXPECT_EQ(greedy.tokens(), (std::vector<int64_t>{0, 0})) << "one logit";
}

TEST_F(CServer, cancelsAndDeadlines) {
  open();
  shardrt::Text text, late;
  auto asked = request({1, 2}, 390);
  std::promise<void> begun;
  int count = 0;
  asked.onToken = [&](int64_t) {
    if (++count == 2)
      begun.set_value();
    std::this_thread::sleep_for(1ms);
  };
  ASSERT_TRUE(server.submit(asked, text).isOk());
  begun.get_future().wait();
  text.cancel();
  EXPECT_TRUE(text.wait().isOk());
  EXPECT_LT(text.tokens().size(), 390u);
  asked.onToken = [](int64_t) { std::this_thread::sleep_for(1ms); };
  asked.deadlineMs = 20;
  ASSERT_TRUE(server.submit(asked, late).isOk());
  EXPECT_EQ(late.wait().code(), SHARDRT_DEADLINE);
  EXPECT_GT(late.tokens().size(), 0u);
}

TEST_F(CServer, whatFailsEndsAlone) {
  open(2);
  shardrt::Text good, bad;
  std::promise<shardrt::Status> said;
  auto asked = request({1, kFailing}, 5);
  asked.onEnd = [&said](const shardrt::Status &status) {
    said.set_value(status);
  };
  ASSERT_TRUE(server.submit(request({3, 4, 5}, 40), good).isOk());
  ASSERT_TRUE(server.submit(asked, bad).isOk());
  const shardrt::Status status = bad.wait();
  EXPECT_EQ(status.code(), SHARDRT_ARTIFACT);
  EXPECT_NE(status.message().find("failed on purpose"), std::string::npos);
  EXPECT_EQ(said.get_future().get().message(), status.message());
  EXPECT_TRUE(good.wait().isOk());
  EXPECT_EQ(good.tokens(), expectedOf({3, 4, 5}, 40));
}

TEST_F(CServer, whoReopensIsToldWhy) {
  shardrt_server_options options = {};
  std::string why;
  options.context = &why;
  options.reopen = [](shardrt_session *session, const char *message,
                      void *context) {
    *static_cast<std::string *>(context) = message;
    return shardrt_reopen(session);
  };
  open(2, 800, options);
  shardrt::Text slow, good;
  ASSERT_TRUE(server.submit(request({1, shardc::test::kSlow}, 4), slow).isOk());
  ASSERT_TRUE(server.submit(request({3, 4}, 20), good).isOk());
  EXPECT_NE(slow.wait().message().find("no longer answers"), std::string::npos);
  ASSERT_TRUE(good.wait().isOk());
  EXPECT_EQ(good.tokens(), expectedOf({3, 4}, 20));
  EXPECT_NE(why.find("no longer answers"), std::string::npos) << why;
}

/// Below 0 a step takes parts of prompts however long it then is; what lies
/// between 0 and 1 is no slowdown.
TEST_F(CServer, stepsMayBeSlowedDownByAny) {
  shardrt_server_options options = {};
  options.slowdown = -1;
  open(1, 800, options);
  shardrt::Text text;
  ASSERT_TRUE(server.submit(request({3, 4, 5}, 20), text).isOk());
  ASSERT_TRUE(text.wait().isOk());
  EXPECT_EQ(text.tokens(), expectedOf({3, 4, 5}, 20));
  server = {};
  options.size = sizeof options;
  options.slowdown = 0.5;
  EXPECT_EQ(shardrt::Server::create(session, server, &options).code(),
            SHARDRT_INVALID_ARGUMENT);
}

TEST_F(CServer, whoCannotReopenEndsAll) {
  shardrt_server_options options = {};
  options.reopen = [](shardrt_session *, const char *, void *) {
    return shardrt_open(nullptr, nullptr, nullptr);
  };
  open(2, 800, options);
  shardrt::Text slow, other, late;
  ASSERT_TRUE(server.submit(request({1, shardc::test::kSlow}, 4), slow).isOk());
  ASSERT_TRUE(server.submit(request({1, 2}, 300), other).isOk());
  EXPECT_EQ(slow.wait().code(), SHARDRT_ARTIFACT);
  EXPECT_EQ(other.wait().code(), SHARDRT_ARTIFACT); // with the server
  EXPECT_FALSE(server.submit(request({1}, 1), late).isOk());
}

TEST_F(CServer, mistakes) {
  open();
  shardrt::Text text;
  const auto refused = [&](const shardrt::TextRequest &asked, const char *why) {
    const shardrt::Status status = server.submit(asked, text);
    EXPECT_EQ(status.code(), SHARDRT_INVALID_ARGUMENT);
    EXPECT_NE(status.message().find(why), std::string::npos)
        << status.message();
  };
  refused({{}, 4}, "a text of 0 tokens");
  refused({{1}, 0}, "expected at least 1");
  refused({{1, 2}, 399}, "does not fit a pool of 400 positions");
  shardrt::TextRequest late{{1}, 1};
  late.deadlineMs = -1;
  refused(late, "deadline_ms is -1");
  EXPECT_EQ(shardrt_server_create(nullptr, nullptr, nullptr),
            SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_server_submit(nullptr, nullptr, nullptr),
            SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_text_wait(nullptr), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_server_counts(nullptr, nullptr), SHARDRT_INVALID_ARGUMENT);
  EXPECT_EQ(shardrt_text_tokens(nullptr, nullptr, 0), 0u);
  shardrt_text_cancel(nullptr);
  shardrt_text_destroy(nullptr);
  shardrt_server_destroy(nullptr);
  shardrt_counts counts = {};
  EXPECT_EQ(server.counts(counts).code(), SHARDRT_OK);
  shardrt::Server other;
  shardrt_server_options options = {};
  options.size = sizeof options;
  options.step_rows = -1;
  EXPECT_EQ(shardrt::Server::create(session, other, &options).code(),
            SHARDRT_INVALID_ARGUMENT);
  options.step_rows = 0;
  options.logits = "none";
  EXPECT_EQ(shardrt::Server::create(session, other, &options).code(),
            SHARDRT_INVALID_ARGUMENT);
}

/// Their inputs would be those of a pool, which nobody who asks for one has.
TEST_F(CServer, aModelForRowsTakesNoRequests) {
  open();
  const auto refused = [](const shardrt::Status &status) {
    EXPECT_EQ(status.code(), SHARDRT_INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("was compiled with --serve"),
              std::string::npos)
        << status.message();
  };
  shardrt::Result result;
  refused(session.run({}, result));
  std::vector<shardrt::Result> results;
  refused(session.run(std::vector<std::vector<shardrt::Input>>(2), results));
  shardrt::State state;
  refused(session.createState(64, state));
}

} // namespace
