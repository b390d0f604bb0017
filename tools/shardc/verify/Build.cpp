#include "tools/shardc/verify/Build.h"

#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Message.h"

#include <filesystem>

namespace fs = std::filesystem;
using namespace shardc::runtime;

namespace shardc::verifier {

/// Takes the first error, and what comes with it, from the end of `said`.
static std::string takeError(std::string &said) {
  constexpr std::string_view kPrefix = "error: ";
  size_t at = said.starts_with(kPrefix) ? 0 : said.find("\nerror: ");
  at = at == std::string::npos ? 0 : at + (at > 0);
  std::string error = said.substr(at);
  said.resize(at);
  if (error.starts_with(kPrefix))
    error.erase(0, kPrefix.size());
  while (!error.empty() && error.back() == '\n')
    error.pop_back();
  return error;
}

Status compileQuietly(const CompileOptions &options, std::string *warnings) {
  std::string said;
  llvm::raw_string_ostream os(said);
  const ExitCode code = compile(options, llvm::nulls(), os);
  if (options.progress)
    options.progress("", std::nullopt);
  const Status status =
      code == ExitCode::Done
          ? Status::ok()
          : Status::error(static_cast<StatusCode>(code), takeError(said));
  if (warnings)
    *warnings = said;
  return status;
}

Status makeFolder(files::ScratchFolder &folder) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  const std::string why =
      error ? error.message()
            : folder.create((parent / "shardc-verify-").string(),
                            /*isPrivate=*/true);
  return why.empty()
             ? Status::ok()
             : artifactError("cannot make a folder for artifacts: ", why,
                             "; set TMPDIR to a folder that can be written to");
}

Status Build::run(CompileOptions options, std::string *warnings) {
  SHARDC_RETURN_IF_ERROR(makeFolder(folder));
  options.output = folder.path() + "/model.shard";
  SHARDC_RETURN_IF_ERROR(compileQuietly(options, warnings));
  SessionOptions checking;
  checking.checkReplicas = !options.trusted;
  return Session::open(options.output, checking, opened);
}

} // namespace shardc::verifier
