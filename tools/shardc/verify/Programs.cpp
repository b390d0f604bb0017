//===- Programs.cpp - Programs that are tried in place of the plan --------===//

#include "runtime/base/Message.h"
#include "tools/shardc/verify/Verification.h"

#include <fstream>
#include <sstream>

using namespace shardc::runtime;
using Json = nlohmann::json;

namespace shardc::verifier {

static std::vector<std::string> splitPrograms(const std::string &text) {
  std::vector<std::string> programs(1);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line == "// -----")
      programs.emplace_back();
    else
      programs.back() += line + "\n";
  return programs;
}

Status Verification::tryPrograms() {
  std::ifstream file(options.programs, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    return argumentError("--programs: cannot read ", options.programs);
  const std::vector<std::string> programs = splitPrograms(text.str());
  report["programs"] = Json::array();
  Status status;
  for (size_t i = 0; i < programs.size(); ++i)
    if (Status tried = tryProgram(i, programs[i], programs.size() == 1);
        status.isOk() && !tried.isOk())
      status = tried;
  return status;
}

Status Verification::tryProgram(size_t index, const std::string &text,
                                bool isAlone) {
  CompileOptions compiling;
  compiling.model = options.programs + " program " + std::to_string(index);
  compiling.text = text;
  compiling.from = "partitioned";
  compiling.trusted = options.trustPrograms;
  compiling.microBatches = options.plan.microBatches;
  Build build;
  Status status = build.run(compiling);
  if (status.code() == StatusCode::Model) {
    verdict(index, "refused", status.message(), 0);
    return isAlone ? status : Status::ok();
  }
  double ofTolerance = 0;
  for (const Request &request : requests) {
    Result result;
    if (status.isOk())
      status = compare(build.session(), request, tolerance, result);
    if (!status.isOk()) {
      verdict(index, "fails", status.message(), 0);
      return differs(
          message("program ", index, " does not run: ", status.message()));
    }
    ofTolerance = std::max(ofTolerance, result.ofTolerance);
    if (result.agrees)
      continue;
    verdict(index, "differs", request.name + ": " + result.lines.front(),
            ofTolerance);
    return isAlone ? bisect(request, compiling)
                   : differs(message("program ", index, " differs"));
  }
  verdict(index, "agrees", "", ofTolerance);
  return Status::ok();
}

void Verification::verdict(size_t index, const char *what,
                           const std::string &why, double ofTolerance) {
  say(message("program ", index, ": ", what, why.empty() ? "" : ": ", why));
  report["programs"].push_back(
      {{"verdict", what}, {"why", why}, {"of_tolerance", number(ofTolerance)}});
}

} // namespace shardc::verifier
