#include "tools/shardc/verify/Build.h"

#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Message.h"

#include <filesystem>

namespace fs = std::filesystem;
using namespace shardc::runtime;

namespace shardc::verifier {

Status compileQuietly(const CompileOptions &options, std::string *warnings) {
  std::string errors;
  llvm::raw_string_ostream os(errors);
  const ExitCode code = compile(options, llvm::nulls(), os);
  if (options.progress)
    options.progress("");
  if (code != ExitCode::Done) {
    const std::string_view prefix = "error: ";
    if (errors.starts_with(prefix))
      errors.erase(0, prefix.size());
    while (!errors.empty() && errors.back() == '\n')
      errors.pop_back();
    return Status::error(static_cast<StatusCode>(code), errors);
  }
  if (warnings)
    *warnings = errors;
  return Status::ok();
}

static Status makeFolder(std::string &folder) {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "shardc-verify-XXXXXX");
  if (error || !mkdtemp(name.data()))
    return artifactError("cannot make a folder for artifacts: ", name,
                         "; set TMPDIR to a folder that can be written to");
  folder = name;
  return Status::ok();
}

Build::~Build() {
  opened.reset();
  std::error_code ignored;
  if (!folder.empty())
    fs::remove_all(folder, ignored);
}

Status Build::run(CompileOptions options, std::string *warnings) {
  SHARDC_RETURN_IF_ERROR(makeFolder(folder));
  options.output = folder + "/model.shard";
  SHARDC_RETURN_IF_ERROR(compileQuietly(options, warnings));
  SessionOptions checking;
  checking.checkReplicas = !options.trusted;
  return Session::open(options.output, checking, opened);
}

} // namespace shardc::verifier
