//===- ServerFaultsTest.cpp - What fails ends alone -----------------------===//
#include "tests/unit/runtime/ProcessSessions.h"
#include "tests/unit/runtime/RankProcess.h"
#include "tests/unit/runtime/ServedTexts.h"

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// Long enough for a rank that other programs hold up.
constexpr auto kTimeout = 200ms;
constexpr int64_t kSleepMs = 1000;

bool mentions(const Status &status, const char *part) {
  return status.message().find(part) != std::string::npos;
}

/// Texts of which each third one has `token` in its prompt: these end with an
/// error that says `why`, and all others as if they were alone.
void expectOthersGoOn(Served &s, int64_t token, const char *why) {
  std::vector<std::shared_ptr<Generation>> texts;
  const auto promptAt = [&](int64_t i) { return promptOf(i, 2 + i * 3 % 17); };
  for (int64_t i = 0; i < 9; ++i) {
    std::vector<int64_t> prompt = promptAt(i);
    if (i % 3 == 1)
      prompt[prompt.size() / 2] = token;
    // Long enough not to end before that is found out.
    texts.push_back(s.submit(prompt, i % 3 == 1 ? 200 : 3 + i));
  }
  for (int64_t i = 0; i < 9; ++i) {
    const Status status = texts[size_t(i)]->wait();
    if (i % 3 == 1) {
      EXPECT_FALSE(status.isOk()) << "text " << i;
      EXPECT_TRUE(mentions(status, why)) << status.message();
      continue;
    }
    EXPECT_TRUE(status.isOk()) << "text " << i << ": " << status.message();
    EXPECT_EQ(texts[size_t(i)]->tokens(), expectedOf(promptAt(i), 3 + i));
  }
}

TEST(ServerFaults, aStageThatFails) {
  for (int64_t replicas : {1, 2}) {
    Served s({400, 24, 16}, meanOfTokensInStages(replicas));
    expectOthersGoOn(s, kFailing, "failed on purpose");
    EXPECT_EQ(s.server->counts().recovered, 0);
    expectTexts(s, 12);
  }
}

/// Each of them has one text in each stage: one fails, and takes a step with it
/// that has nothing to do with that.
TEST(ServerFaults, aStepOfOneTextBesideOneThatFails) {
  ServerOptions options{400, 24, 2};
  options.part = 1;
  Served s(options, meanOfTokensInStages());
  for (int round = 0; round < 10; ++round) {
    auto good = s.submit(promptOf(round, 3), 30),
         bad = s.submit({1, 2, kFailing}, 4);
    EXPECT_FALSE(bad->wait().isOk());
    EXPECT_TRUE(good->wait().isOk()) << good->wait().message();
    EXPECT_EQ(good->tokens(), expectedOf(promptOf(round, 3), 30));
  }
}

/// A rank is given up; the session is opened again, twice for each of the texts.
TEST(ServerFaults, aRankThatHangs) {
  SessionOptions session;
  session.timeout = kTimeout;
  Served s({400, 24, 16},
           std::make_unique<TestArtifact>(meanOfTokens(2, kSleepMs)), session);
  expectOthersGoOn(s, kSlow, "no longer answers");
  EXPECT_GE(s.server->counts().recovered, 3);
  expectTexts(s, 12);
}

/// Replicas that had nothing to do with it go on, too.
TEST(ServerFaults, aRankOfOneReplicaThatHangs) {
  SessionOptions session;
  session.timeout = kTimeout;
  auto artifact = std::make_unique<TestArtifact>(meanOfTokens(2, kSleepMs));
  artifact->manifest["mesh"] = {{{"name", "dp"}, {"size", 2}},
                                {{"name", "tp"}, {"size", 2}}};
  Served s({400, 24, 16}, std::move(artifact), session);
  expectOthersGoOn(s, kSlow, "no longer answers");
  expectTexts(s, 12);
}

/// What cannot be opened again ends all.
TEST(ServerFaults, whereNobodyOpensTheSessionAgain) {
  SessionOptions session;
  session.timeout = kTimeout;
  ServerOptions options{400, 24, 16};
  int asked = 0;
  options.reopen = [&](Session &, const Status &why) {
    EXPECT_TRUE(mentions(why, "no longer answers")) << why.message();
    ++asked;
    return Status::error(StatusCode::Artifact, "not here");
  };
  Served s(options, std::make_unique<TestArtifact>(meanOfTokens(2, kSleepMs)),
           session);
  auto slow = s.submit({1, kSlow}, 4), other = s.submit({1, 2}, 300);
  for (const auto &text : {slow, other}) {
    const Status status = text->wait();
    EXPECT_TRUE(mentions(status, "no longer answers")) << status.message();
  }
  EXPECT_EQ(asked, 1);
  std::shared_ptr<Generation> late;
  EXPECT_FALSE(s.server->submit({{1}, 1}, late).isOk());
  s.server.reset();
  std::this_thread::sleep_for(kSleepMs *
                              1ms); // what it still uses is the artifact's
}

/// Rank 0 has all of the outputs, and goes on; rank 1 fails later.
TEST(ServerFaults, aProcessThatFailsTooLate) {
  const auto artifact =
      forServers(std::make_unique<TestArtifact>(meanOfTokens(2)));
  onProcessSessions(*artifact, 2, [](OpenSession &open) {
    Served s({400, 24, 16}, *open.session);
    expectOthersGoOn(s, kFailing, "failed on purpose");
    EXPECT_GE(s.server->counts().recovered, 3);
    EXPECT_FALSE(open.session->isLost());
    expectTexts(s, 12);
  });
}

/// What has ended by then takes the pool along: whoever runs alone when that is
/// found out has nothing to do with it.
TEST(ServerFaults, processesWhereAStepFollowsOneThatFailedTooLate) {
  for (int64_t replicas : {1, 2}) {
    const auto artifact =
        forServers(std::make_unique<TestArtifact>(meanOfTokens(2)));
    artifact->manifest["mesh"] = {{{"name", "dp"}, {"size", replicas}},
                                  {{"name", "tp"}, {"size", 2}}};
    artifact->writeManifest();
    onProcessSessions(*artifact, int(2 * replicas), [](OpenSession &open) {
      ServerOptions options{400, 24, /*rows=*/1};
      options.part = 1;
      Served s(options, *open.session);
      for (int64_t round = 0; round < 5; ++round) {
        auto before = s.submit(promptOf(round, 9), 12),
             bad = s.submit({1, kFailing}, 1),
             after = s.submit(promptOf(round, 5), 8);
        (void)bad->wait(); // it may have its only token by then
        for (const auto &[text, length, count] :
             {std::tuple(before, 9, 12), {after, 5, 8}}) {
          const Status status = text->wait();
          EXPECT_TRUE(status.isOk()) << status.message();
          EXPECT_EQ(text->tokens(), expectedOf(promptOf(round, length), count));
        }
      }
      // The step that fails is not one that is asked for a token.
      std::vector<int64_t> inParts = promptOf(1, 30);
      inParts[0] = kFailing;
      auto bad = s.submit(inParts, 300);
      EXPECT_FALSE(bad->wait().isOk());
      expectTexts(s, 12);
    });
  }
}

TEST(ServerFaults, processesOfAPipelineOneOfWhichFails) {
  const auto artifact = forServers(meanOfTokensInStages());
  onProcessSessions(*artifact, 2, [](OpenSession &open) {
    Served s({400, 24, 16}, *open.session);
    expectOthersGoOn(s, kFailing, "failed on purpose");
    expectTexts(s, 12);
  });
}

/// Each process is a replica, or a rank of one; all of them run at once.
TEST(ServerFaults, processesThatAreReplicas) {
  const auto plain = forServers(std::make_unique<TestArtifact>(meanOfTokens()));
  plain->manifest["mesh"] = {{{"name", "dp"}, {"size", 2}},
                             {{"name", "tp"}, {"size", 1}}};
  plain->writeManifest();
  onProcessSessions(*plain, 2, [](OpenSession &open) {
    Served s({400, 24, 16}, *open.session);
    expectTexts(s, 30);
    expectOthersGoOn(s, kWords + 5, "there is no row");
  });
  const auto late = forServers(std::make_unique<TestArtifact>(meanOfTokens(2)));
  late->manifest["mesh"] = {{{"name", "dp"}, {"size", 2}},
                            {{"name", "tp"}, {"size", 2}}};
  late->writeManifest();
  onProcessSessions(*late, 4, [](OpenSession &open) {
    Served s({400, 24, 16}, *open.session);
    expectOthersGoOn(s, kFailing, "failed on purpose");
    expectTexts(s, 30);
  });
  const auto staged = forServers(meanOfTokensInStages(2));
  onProcessSessions(*staged, 4, [](OpenSession &open) {
    Served s({400, 24, 16}, *open.session);
    expectOthersGoOn(s, kFailing, "failed on purpose");
    expectTexts(s, 30);
  });
}

/// A step of one token of its own sequence, so often; before the last one it
/// waits until it is let go, as long as nobody stops it.
class WaitingFeed : public StepFeed {
public:
  WaitingFeed(SequencePool &pool, int count, std::atomic<bool> &mayEnd)
      : sequence(pool.add()), left(count), mayEnd(mayEnd) {}
  const RowStep *next(bool waits) override {
    if (left == 0)
      return nullptr;
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (left == 1 && waits && !mayEnd &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(1ms);
    if (left == 1 && !mayEnd)
      return nullptr;
    --left;
    return &step;
  }
  void done(const RowStep &, const Status &status) override {
    EXPECT_TRUE(status.isOk()) << status.message();
    ++numDone;
  }
  void stop() override { mayEnd = true; }

  int numDone = 0;

private:
  const std::unique_ptr<Sequence> sequence;
  const std::array<int64_t, 2> dims = {1, 1};
  const int64_t token = 3;
  const InputTensor input{"input_ids", artifact::ElementType_Int64, dims,
                          &token};
  const Row row{sequence.get(), {&input, 1}};
  std::vector<Tensor> outputs = std::vector<Tensor>(2);
  const RowStep step{{&row, 1}, outputs};
  int left;
  std::atomic<bool> &mayEnd;
};

/// A feed that waits for its next step holds up no other replica.
TEST(ServerFaults, processesOneOfWhoseFeedsWaits) {
  const auto artifact =
      forServers(std::make_unique<TestArtifact>(meanOfTokens()));
  artifact->manifest["mesh"] = {{{"name", "dp"}, {"size", 2}},
                                {{"name", "tp"}, {"size", 1}}};
  artifact->writeManifest();
  onProcessSessions(*artifact, 2, [](OpenSession &open) {
    std::unique_ptr<SequencePool> pools[2];
    for (int r = 0; r < 2; ++r)
      ASSERT_TRUE(SequencePool::create(*open.session, 100, pools[r], r).isOk());
    std::atomic<bool> mayEnd = false, always = true;
    WaitingFeed first(*pools[0], 3, mayEnd), second(*pools[1], 20, always);
    std::thread waiting([&] { EXPECT_TRUE(pools[0]->run(first).isOk()); });
    EXPECT_TRUE(pools[1]->run(second).isOk());
    EXPECT_EQ(second.numDone, 20);
    EXPECT_FALSE(mayEnd.exchange(true));
    waiting.join();
    EXPECT_EQ(first.numDone, 3);
  });
}

/// Another one takes its place, twice, and texts go on where they were.
TEST(ServerFaults, aProcessThatIsKilled) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer knows no threads that a child of "
                  "several starts (die_after_fork)";
#endif
  const auto artifact =
      forServers(std::make_unique<TestArtifact>(meanOfTokens(2, 1)));
  std::unique_ptr<RankProcess> other;
  std::unique_ptr<Processes> processes;
  const auto meet = [&](std::unique_ptr<Processes> &joined) {
    const auto places = placesOnThisMachine(2);
    other = std::make_unique<RankProcess>(*artifact, places[1]);
    return Processes::join({places[0], 10s}, joined);
  };
  ASSERT_TRUE(meet(processes).isOk());
  SessionOptions session;
  session.processes = processes.get();
  auto open = std::make_unique<OpenSession>(*artifact, session);
  ServerOptions options{400, 24, 16};
  options.reopen = [&](Session &lost, const Status &) {
    std::unique_ptr<Processes> again;
    SHARDC_RETURN_IF_ERROR(meet(again));
    SHARDC_RETURN_IF_ERROR(lost.reopen(again.get()));
    processes = std::move(again);
    return Status::ok();
  };
  Served s(options, *open->session);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::shared_ptr<Generation>> texts;
    for (int64_t i = 0; i < 3; ++i)
      texts.push_back(s.submit(promptOf(i, 3 + i), 40));
    TextRequest request;
    request.prompt = promptOf(3, 6);
    request.mostTokens = 40;
    request.choose = [](std::span<const float> logits) {
      return std::optional(nextOf(logits[0]));
    };
    int count = 0;
    request.onToken = [&](int64_t) {
      if (++count == 5)
        other->kill();
    };
    ASSERT_TRUE(s.server->submit(request, texts.emplace_back()).isOk());
    for (int64_t i = 0; i < 4; ++i) {
      const Status status = texts[size_t(i)]->wait();
      EXPECT_TRUE(status.isOk()) << status.message();
      EXPECT_EQ(texts[size_t(i)]->tokens(), expectedOf(promptOf(i, 3 + i), 40));
    }
  }
  EXPECT_EQ(s.server->counts().recovered, 2);
  s.server.reset();
  open.reset();
  EXPECT_TRUE(processes->conclude(Status::ok()).isOk());
  processes.reset();
  EXPECT_EQ(other->wait(), 0);
}

} // namespace
} // namespace shardc::runtime
