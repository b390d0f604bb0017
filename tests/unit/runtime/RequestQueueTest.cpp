//===- RequestQueueTest.cpp - In which order, and until when --------------===//
#include "runtime/api/RequestQueue.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardc::runtime {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<QueuedRequest>
submit(RequestQueue &queue, std::function<Status(const RunOptions &)> body,
       const void *key = nullptr, std::chrono::milliseconds deadline = 0ms) {
  auto request = std::make_shared<QueuedRequest>();
  request->body = std::move(body);
  request->key = key;
  request->deadline = deadline;
  EXPECT_TRUE(queue.submit(request).isOk());
  return request;
}

TEST(RequestQueue, runsThoseWithOneKeyInOrder) {
  RequestQueue queue(4);
  int keys[2];
  std::atomic<int> inside[2] = {};
  std::vector<int> order[2];
  std::vector<std::shared_ptr<QueuedRequest>> all;
  for (int i = 0; i < 200; ++i) {
    const int k = i % 2;
    all.push_back(submit(
        queue,
        [&, i, k](const RunOptions &) {
          EXPECT_EQ(++inside[k], 1);
          order[k].push_back(i);
          std::this_thread::yield();
          --inside[k];
          return Status::ok();
        },
        &keys[k]));
  }
  for (const auto &each : all)
    EXPECT_TRUE(each->wait().isOk());
  for (const auto &each : order) {
    EXPECT_EQ(each.size(), 100u);
    EXPECT_TRUE(std::is_sorted(each.begin(), each.end()));
  }
}

TEST(RequestQueue, runsOthersSideBySide) {
  RequestQueue queue(2);
  std::atomic<int> inside = 0;
  auto meet = [&](const RunOptions &) {
    ++inside;
    while (inside < 2) // each waits for the other
      std::this_thread::yield();
    return Status::ok();
  };
  const auto a = submit(queue, meet), b = submit(queue, meet);
  EXPECT_TRUE(a->wait().isOk());
  EXPECT_TRUE(b->wait().isOk());
}

TEST(RequestQueue, endsThoseThatWaitAtOnce) {
  RequestQueue queue(1);
  std::atomic<bool> goesOn = true;
  const auto first = submit(queue, [&](const RunOptions &) {
    while (goesOn)
      std::this_thread::sleep_for(1ms);
    return Status::ok();
  });
  auto never = [](const RunOptions &) {
    ADD_FAILURE() << "it ran";
    return Status::ok();
  };
  const auto cancelled = submit(queue, never);
  const auto late = submit(queue, never, nullptr, 20ms);
  queue.cancel(*cancelled);
  EXPECT_EQ(cancelled->wait().code(), StatusCode::Cancelled);
  const Status status = late->wait();
  EXPECT_EQ(status.code(), StatusCode::Deadline);
  EXPECT_NE(status.message().find("20 ms"), std::string::npos);
  EXPECT_FALSE(first->isDone());
  goesOn = false;
  EXPECT_TRUE(first->wait().isOk());
  queue.cancel(*first); // has ended
  EXPECT_TRUE(first->wait().isOk());
}

} // namespace
} // namespace shardc::runtime
