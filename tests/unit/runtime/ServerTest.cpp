//===- ServerTest.cpp - Many texts at once --------------------------------===//
#include "tests/unit/runtime/ServedTexts.h"

#include <atomic>

namespace shardc::runtime {
namespace {

using namespace test;
using namespace std::chrono_literals;

/// Whatever the limits are.
void expectTexts(const ServerOptions &options, int64_t numTexts) {
  Served s(options);
  test::expectTexts(s, numTexts);
}

TEST(Server, textsOfAllLengthsAtOnce) { expectTexts({400, 64, 16}, 30); }
TEST(Server, promptsComeInParts) { expectTexts({400, 5, 16}, 20); }
TEST(Server, fewRowsAtATime) { expectTexts({400, 64, 2}, 12); }
/// Texts give up their pages to each other, and are computed again.
TEST(Server, fewPages) { expectTexts({40, 16, 16}, 24); }

/// Steps of other texts are under way in each stage.
TEST(Server, stagesAndReplicas) {
  for (int64_t replicas : {1, 2})
    for (const ServerOptions &options :
         {ServerOptions{400, 64, 16}, ServerOptions{400, 5, 16},
          ServerOptions{400, 64, 2}, ServerOptions{40, 16, 16}}) {
      Served s(options, meanOfTokensInStages(replicas));
      test::expectTexts(s, 30);
    }
}

TEST(Server, evictsAndComesBack) {
  Served s(ServerOptions{24, 16, 8});
  auto a = s.submit(promptOf(1, 7), 16), b = s.submit(promptOf(2, 7), 16);
  ASSERT_TRUE(a->wait().isOk());
  ASSERT_TRUE(b->wait().isOk());
  EXPECT_EQ(a->tokens(), expectedOf(promptOf(1, 7), 16));
  EXPECT_EQ(b->tokens(), expectedOf(promptOf(2, 7), 16));
  EXPECT_GT(s.server->counts().evicted, 0);
}

TEST(Server, promptsShareWhatTheyBeginWith) {
  Served s(ServerOptions{400, 64, 16});
  const std::vector<int64_t> common = promptOf(3, 21);
  ASSERT_TRUE(s.submit(common, 4)->wait().isOk());
  EXPECT_EQ(s.server->counts().shared, 0);
  std::vector<int64_t> longer = common;
  longer.push_back(77);
  auto text = s.submit(longer, 5);
  ASSERT_TRUE(text->wait().isOk());
  EXPECT_EQ(text->tokens(), expectedOf(longer, 5));
  EXPECT_EQ(s.server->counts().shared, 20);
  text = s.submit(common, 4);
  ASSERT_TRUE(text->wait().isOk());
  EXPECT_EQ(text->tokens(), expectedOf(common, 4));
  EXPECT_EQ(s.server->counts().shared, 40);
}

TEST(Server, aTextEndsWhereItIsToldTo) {
  Served s(ServerOptions{400, 64, 16});
  TextRequest request;
  request.prompt = {1, 2, 3};
  request.mostTokens = 100;
  std::vector<int64_t> told;
  request.choose = [&](std::span<const float>) {
    return told.size() < 3 ? std::optional<int64_t>(5) : std::nullopt;
  };
  request.onToken = [&](int64_t token) { told.push_back(token); };
  std::shared_ptr<Generation> text;
  ASSERT_TRUE(s.server->submit(request, text).isOk());
  ASSERT_TRUE(text->wait().isOk());
  EXPECT_EQ(told, std::vector<int64_t>(3, 5));
  EXPECT_EQ(text->tokens(), told);
}

TEST(Server, cancelledTextsEndBetweenSteps) {
  Served s(ServerOptions{400, 64, 16});
  std::shared_ptr<Generation> text;
  TextRequest request;
  request.prompt = {1};
  request.mostTokens = 390;
  request.onToken = [&](int64_t) {
    if (text->tokens().size() == 5)
      text->cancel();
  };
  // The text is told before it is there: it waits for that.
  std::atomic<bool> isThere = false;
  request.choose = [&](std::span<const float>) {
    while (!isThere)
      std::this_thread::yield();
    return std::optional<int64_t>(1);
  };
  ASSERT_TRUE(s.server->submit(request, text).isOk());
  isThere = true;
  ASSERT_TRUE(text->wait().isOk());
  EXPECT_EQ(text->tokens().size(), 5u);
  EXPECT_EQ(s.submit({4, 6}, 1)->wait().isOk(), true) << "others go on";
}

/// Its step is that of others, too; they go on.
TEST(Server, aTokenThatTheModelHasNotEndsItsTextAlone) {
  Served s(ServerOptions{400, 64, 16});
  std::vector<std::shared_ptr<Generation>> texts;
  for (int64_t i = 0; i < 12; ++i) {
    std::vector<int64_t> prompt = promptOf(i, 1 + i);
    if (i % 5 == 3)
      prompt.back() = kWords + i;
    texts.push_back(s.submit(prompt, 6));
  }
  for (int64_t i = 0; i < 12; ++i) {
    const Status status = texts[size_t(i)]->wait();
    EXPECT_EQ(status.isOk(), i % 5 != 3) << status.message();
    if (status.isOk())
      EXPECT_EQ(texts[size_t(i)]->tokens(), expectedOf(promptOf(i, 1 + i), 6));
    else
      EXPECT_NE(status.message().find("there is no row"), std::string::npos)
          << status.message();
  }
  EXPECT_TRUE(s.submit({4, 6}, 1)->wait().isOk());
}

TEST(Server, aTextEndsAtItsDeadline) {
  Served s(ServerOptions{400, 64, 16});
  TextRequest request;
  request.prompt = {1};
  request.mostTokens = 390;
  request.deadline = std::chrono::milliseconds(60);
  request.choose = [&](std::span<const float>) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return std::optional<int64_t>(1);
  };
  std::shared_ptr<Generation> text;
  ASSERT_TRUE(s.server->submit(request, text).isOk());
  auto other = s.submit(promptOf(2, 5), 20);
  const Status status = text->wait();
  EXPECT_EQ(status.code(), StatusCode::Deadline) << status.message();
  EXPECT_NE(status.message().find("deadline of 60 ms"), std::string::npos);
  EXPECT_LT(text->tokens().size(), 390u);
  EXPECT_TRUE(other->wait().isOk());
  EXPECT_EQ(other->tokens(), expectedOf(promptOf(2, 5), 20));
}

TEST(Server, whatDoesNotFitIsRefusedAtOnce) {
  Served s(ServerOptions{40, 64, 16, 0});
  std::shared_ptr<Generation> text;
  EXPECT_EQ(s.server->submit({{}, 4}, text).code(),
            StatusCode::InvalidArgument);
  EXPECT_EQ(s.server->submit({{1}, 0}, text).code(),
            StatusCode::InvalidArgument);
  Status status = s.server->submit({{1, 2}, 39}, text);
  EXPECT_NE(status.message().find("does not fit a pool of 40 positions"),
            std::string::npos)
      << status.message();
  status = s.server->submit({{1, 2}, 2}, text);
  EXPECT_NE(status.message().find("0 texts wait already"), std::string::npos)
      << status.message();
}

TEST(Server, whoHasEndedDoesNotWait) {
  Served s(ServerOptions{40, 64, 16, 1});
  for (int i = 0; i < 3; ++i) {
    std::shared_ptr<Generation> text;
    Status status = s.server->submit({{1, 2}, 1}, text);
    // The one before has ended; that it waits no more is known a little later.
    for (int tries = 0; !status.isOk() && tries < 1000; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      status = s.server->submit({{1, 2}, 1}, text);
    }
    ASSERT_TRUE(status.isOk()) << status.message();
    ASSERT_TRUE(text->wait().isOk());
  }
}

TEST(Server, whatFunctionsThrowEndsTheirText) {
  Served s(ServerOptions{400, 64, 16});
  std::shared_ptr<Generation> text;
  TextRequest request;
  request.prompt = {1};
  request.choose = [](std::span<const float>) -> std::optional<int64_t> {
    throw 1;
  };
  ASSERT_TRUE(s.server->submit(request, text).isOk());
  EXPECT_EQ(text->wait().message(), "a function of the request threw");
  request.choose = {};
  request.onToken = [](int64_t) { throw std::runtime_error("full"); };
  ASSERT_TRUE(s.server->submit(request, text).isOk());
  EXPECT_EQ(text->wait().message(), "a function of the request threw: full");
  EXPECT_TRUE(s.submit({4, 6}, 2)->wait().isOk()) << "others go on";
}

/// However a text ends: by its deadline, with the server, or well.
TEST(Server, whoThrowsAtTheEndOfATextEndsNothingElse) {
  auto s = std::make_unique<Served>(ServerOptions{400, 24, 16});
  const auto submit = [&](std::chrono::milliseconds deadline, int64_t count) {
    TextRequest request;
    request.prompt = {1, 2};
    request.mostTokens = count;
    request.deadline = deadline;
    request.choose = [](std::span<const float> logits) {
      std::this_thread::sleep_for(1ms);
      return std::optional(nextOf(logits[0]));
    };
    request.onEnd = [](const Status &) { throw 5; };
    std::shared_ptr<Generation> text;
    EXPECT_TRUE(s->server->submit(request, text).isOk());
    return text;
  };
  const auto late = submit(2ms, 100), well = submit(0ms, 3);
  auto other = s->submit(promptOf(1, 5), 20);
  EXPECT_FALSE(late->wait().isOk());
  EXPECT_TRUE(well->wait().isOk());
  EXPECT_TRUE(other->wait().isOk()) << other->wait().message();
  const auto last = submit(0ms, 200);
  s.reset();
  EXPECT_FALSE(last->wait().isOk());
}

/// What its functions hold may ask the server when it goes.
TEST(Server, aTextThatNobodyHoldsGoesWithoutTheServersLock) {
  Served s(ServerOptions{400, 64, 16});
  struct Asks {
    Server *server;
    std::atomic<bool> *hasGone;
    ~Asks() {
      (void)server->counts();
      *hasGone = true;
    }
  };
  std::atomic<bool> hasGone = false;
  {
    auto asks = std::make_shared<Asks>(Asks{s.server.get(), &hasGone});
    hasGone = false; // of the one that was copied
    std::shared_ptr<Generation> text;
    TextRequest request;
    request.prompt = {1};
    request.mostTokens = 390;
    request.onToken = [asks](int64_t) {};
    ASSERT_TRUE(s.server->submit(std::move(request), text).isOk());
    text->cancel();
  }
  while (!hasGone)
    std::this_thread::yield();
}

TEST(Server, textsUnderWayEndWithIt) {
  Served s(ServerOptions{400, 64, 16});
  std::atomic<bool> mayGo = false;
  TextRequest request;
  request.prompt = {1};
  request.mostTokens = 390;
  request.choose = [&](std::span<const float>) {
    while (!mayGo)
      std::this_thread::yield();
    return std::optional<int64_t>(1);
  };
  std::shared_ptr<Generation> text;
  ASSERT_TRUE(s.server->submit(request, text).isOk());
  std::thread ends([&] { s.server.reset(); });
  mayGo = true;
  const Status status = text->wait();
  ends.join();
  EXPECT_TRUE(status.isOk() ? text->tokens().size() == 390u
                            : status.message() == "the server has ended")
      << status.message();
}

} // namespace
} // namespace shardc::runtime
