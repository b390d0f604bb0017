#include "tools/shardrun/Texts.h"

#include "runtime/base/Message.h"
#include "runtime/io/Npz.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace shardc::runtime;

namespace shardrun {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Text {
  shardrt::TextRequest request;
  std::vector<NamedTensor> arrays; ///< that the request's inputs are
  shardrt::Text made;
  std::vector<double> times; ///< seconds
};

Status readInputs(const std::string &texts, const std::string &name,
                  Text &text) {
  SHARDC_RETURN_IF_ERROR(
      readNpz((std::filesystem::path(texts).parent_path() / name).string(),
              text.arrays));
  text.request.inputs = inputsOf(text.arrays);
  return Status::ok();
}

/// One that is misspelt would be left alone.
Status checkKeys(const std::string &file, const Json &entry) {
  for (const auto &[key, value] : entry.items())
    if (key != "prompt" && key != "tokens" && key != "deadline_ms" &&
        key != "inputs")
      return argumentError(
          "--texts ", file, ": a text has \"", key,
          "\": expected prompt, tokens, deadline_ms or inputs");
  return Status::ok();
}

Status readTexts(const std::string &file, std::vector<Text> &texts) {
  std::ifstream input(file);
  if (!input)
    return argumentError("--texts ", file, ": cannot be read");
  const Json json = Json::parse(input, nullptr, /*allow_exceptions=*/false);
  const auto isInteger = [](const Json &value) {
    return value.is_number_integer();
  };
  const auto isDeadline = [&](const Json &value) {
    return isInteger(value) && value.get<int64_t>() >= 0;
  };
  bool fits = json.is_array() && !json.empty();
  for (size_t i = 0; fits && i < json.size(); ++i) {
    const Json &entry = json[i];
    fits =
        entry.is_object() && entry.contains("prompt") &&
        entry["prompt"].is_array() &&
        std::all_of(entry["prompt"].begin(), entry["prompt"].end(),
                    isInteger) &&
        entry.contains("tokens") && isInteger(entry["tokens"]) &&
        (!entry.contains("deadline_ms") || isDeadline(entry["deadline_ms"])) &&
        (!entry.contains("inputs") || entry["inputs"].is_string());
    if (!fits)
      break;
    SHARDC_RETURN_IF_ERROR(checkKeys(file, entry));
    Text &text = texts.emplace_back();
    text.request.prompt = entry["prompt"].get<std::vector<int64_t>>();
    text.request.maxTokens = entry["tokens"].get<int64_t>();
    text.request.deadlineMs = entry.value("deadline_ms", int64_t(0));
    if (entry.contains("inputs"))
      SHARDC_RETURN_IF_ERROR(
          readInputs(file, entry["inputs"].get<std::string>(), text));
  }
  return fits ? Status::ok()
              : argumentError("--texts ", file,
                              ": expected [{\"prompt\": [numbers], \"tokens\": "
                              "a number}, ...], and as one likes "
                              "\"deadline_ms\", 0 or more, and \"inputs\", a "
                              "file");
}

Status writeTexts(const std::string &file, const std::vector<Text> &texts) {
  Json json = Json::array();
  for (const Text &text : texts) {
    json.push_back({{"prompt", text.request.prompt},
                    {"tokens", text.made.tokens()},
                    {"times", text.times}});
    if (const shardrt::Status status = text.made.wait(); !status.isOk())
      json.back()["error"] = status.message();
  }
  std::ofstream output(file);
  output << json.dump() << "\n";
  output.close();
  return output ? Status::ok()
                : artifactError("--outputs ", file, ": cannot be written");
}

/// At that part of what is there, 0 to 1.
double quantile(std::vector<double> values, double part) {
  if (values.empty())
    return 0;
  const auto at = static_cast<size_t>(part * double(values.size() - 1) + 0.5);
  std::nth_element(values.begin(),
                   values.begin() + static_cast<std::ptrdiff_t>(at),
                   values.end());
  return values[at];
}

void print(const std::vector<Text> &texts, double seconds,
           const shardrt_counts &counts) {
  std::vector<double> first, between;
  size_t tokens = 0;
  for (const Text &text : texts) {
    tokens += text.times.size();
    for (size_t i = 0; i < text.times.size(); ++i)
      (i == 0 ? first : between)
          .push_back(text.times[i] - (i == 0 ? 0 : text.times[i - 1]));
  }
  std::printf("%zu texts, %zu tokens in %.3f s: %.1f tokens/s\n", texts.size(),
              tokens, seconds, double(tokens) / seconds);
  std::printf("first token: median %.1f ms, 99 %% %.1f ms; between tokens: "
              "median %.2f ms, 99 %% %.2f ms\n",
              1e3 * quantile(first, 0.5), 1e3 * quantile(first, 0.99),
              1e3 * quantile(between, 0.5), 1e3 * quantile(between, 0.99));
  std::printf("%lld steps, %lld positions computed, %lld shared, %lld texts "
              "gave up their pages, %lld times all was computed again\n",
              static_cast<long long>(counts.steps),
              static_cast<long long>(counts.tokens),
              static_cast<long long>(counts.shared),
              static_cast<long long>(counts.evicted),
              static_cast<long long>(counts.recovered));
}

} // namespace

Status runTexts(shardrt::Session &session, const std::string &file,
                shardrt_server_options options, const std::string &output) {
  std::vector<Text> texts;
  SHARDC_RETURN_IF_ERROR(readTexts(file, texts));
  options.most_waiting = static_cast<int64_t>(texts.size());
  shardrt::Server server;
  SHARDC_RETURN_IF_ERROR(
      statusOf(shardrt::Server::create(session, server, &options)));
  const auto begin = Clock::now();
  const auto since = [begin] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  for (Text &text : texts) {
    text.request.onToken = [&text, since](int64_t) {
      text.times.push_back(since());
    };
    SHARDC_RETURN_IF_ERROR(statusOf(server.submit(text.request, text.made)));
  }
  // An error is that of one text; what the others have is written all the same.
  Status status;
  for (size_t i = 0; i < texts.size(); ++i)
    if (const Status own = statusOf(texts[i].made.wait());
        !own.isOk() && status.isOk())
      status = own.code() == StatusCode::InvalidArgument
                   ? argumentError("text ", i, ": ", own.message())
                   : artifactError("text ", i, ": ", own.message());
  const double seconds = since();
  shardrt_counts counts;
  SHARDC_RETURN_IF_ERROR(statusOf(server.counts(counts)));
  server = {};
  print(texts, seconds, counts);
  if (!output.empty())
    SHARDC_RETURN_IF_ERROR(writeTexts(output, texts));
  return status;
}

} // namespace shardrun
