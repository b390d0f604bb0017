#include "tools/shardc/verify/Requests.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Message.h"
#include "tools/tensors/Compare.h"
#include "tools/tensors/InputFiles.h"

#include <algorithm>
#include <filesystem>

namespace fs = std::filesystem;
using namespace shardc::runtime;

namespace shardc::verifier {

/// Attempts at made-up inputs that one rank takes: what must hold of sizes may
/// show in the data only, a mask that covers past and present, say.
static constexpr unsigned kAttempts = 12;

Status runRequest(Session &session, const Request &request,
                  std::vector<Tensor> &outputs) {
  std::vector<InputTensor> inputs;
  for (const NamedTensor &named : request.inputs)
    inputs.push_back({named.name, named.tensor.element(), named.tensor.dims(),
                      named.tensor.data()});
  outputs.resize(session.outputs().size());
  return session.run(inputs, outputs);
}

static bool isFloat(ElementType type) {
  return type == artifact::ElementType_Float16 ||
         type == artifact::ElementType_BFloat16 ||
         type == artifact::ElementType_Float32;
}

Status runInDoubles(Session &session, const Request &request,
                    std::vector<Tensor> &outputs) {
  Request wide;
  for (const NamedTensor &named : request.inputs) {
    NamedTensor &to = wide.inputs.emplace_back();
    to.name = named.name;
    SHARDC_RETURN_IF_ERROR(tensors::convert(named.tensor,
                                            isFloat(named.tensor.element())
                                                ? artifact::ElementType_Float64
                                                : named.tensor.element(),
                                            to.tensor));
  }
  return runRequest(session, wide, outputs);
}

namespace {

class Collector {
public:
  Collector(const RequestOptions &options, Session &one,
            std::vector<Request> &requests, std::vector<std::string> &notes)
      : options(options), one(one), requests(requests), notes(notes) {}

  Status readAll(const std::vector<std::string> &paths) {
    for (const std::string &path : paths)
      SHARDC_RETURN_IF_ERROR(read(path));
    return Status::ok();
  }

  std::vector<std::string> foldersBesideModel() const {
    std::vector<std::string> folders;
    std::error_code error;
    const fs::path folder = fs::path(options.model).parent_path();
    for (const auto &entry :
         fs::directory_iterator(folder.empty() ? fs::path(".") : folder, error))
      if (entry.path().filename().string().starts_with("test_data_set_"))
        folders.push_back(entry.path().string());
    std::sort(folders.begin(), folders.end());
    return folders;
  }

  Status makeUp(const std::vector<probe::ModelInputs> &profiles) {
    for (const probe::ModelInputs &profile : profiles) {
      std::string refused;
      unsigned made = 0;
      for (unsigned round = 0; round < kAttempts && made < options.madeUp;
           ++round) {
        const auto sizes = probe::chooseSizes(profile, options.sizes, round);
        if (!sizes) {
          refused = "found no sizes that the model's guards allow";
          break;
        }
        Status status = makeUp(profile, *sizes, round);
        made += status.isOk();
        if (!status.isOk() && refused.empty())
          refused = status.message();
        if (sizes->size() == options.sizes.size())
          break; // nothing left to vary
      }
      if (made == 0)
        notes.push_back("inputs could not be made up: " + refused +
                        "; choose sizes with --dims, or give --inputs");
    }
    return Status::ok();
  }

private:
  Status read(const std::string &path) {
    Request request;
    request.name = fs::path(path).filename().string();
    const std::vector<char> kept(one.inputs().size());
    SHARDC_RETURN_IF_ERROR(
        tensors::readInputs(path, one.inputs(), kept, request.inputs));
    for (NamedTensor &named : request.inputs)
      SHARDC_RETURN_IF_ERROR(widen(named));
    SHARDC_RETURN_IF_ERROR(runRequest(one, request, request.expected));
    requests.push_back(std::move(request));
    return Status::ok();
  }

  /// To what the program computes in, with --precision f64.
  Status widen(NamedTensor &named) const {
    for (const TensorInfo &info : one.inputs())
      if (info.name == named.name && isFloat(named.tensor.element()) &&
          info.element == artifact::ElementType_Float64) {
        const Tensor narrow = std::move(named.tensor);
        named.tensor = Tensor();
        return tensors::convert(narrow, info.element, named.tensor);
      }
    return Status::ok();
  }

  Status makeUp(const probe::ModelInputs &profile, const probe::Sizes &sizes,
                unsigned round) {
    Request request;
    request.name = "made up";
    request.isMadeUp = true;
    const char *separator = ": ";
    for (const auto &[name, value] : profile.when) {
      request.name += separator + name + (value ? " = true" : " = false");
      separator = ", ";
    }
    for (const auto &[name, size] : sizes) {
      request.name += separator + name + " = " + std::to_string(size);
      separator = ", ";
    }
    SHARDC_RETURN_IF_ERROR(makeInputs(profile, sizes, one.inputs(),
                                      options.seed + round, request.inputs));
    if (Status status = runRequest(one, request, request.expected);
        !status.isOk())
      return argumentError(request.name,
                           ": one rank refuses it: ", status.message());
    requests.push_back(std::move(request));
    return Status::ok();
  }

  const RequestOptions &options;
  Session &one;
  std::vector<Request> &requests;
  std::vector<std::string> &notes;
};

} // namespace

Status collectRequests(const RequestOptions &options,
                       const std::vector<probe::ModelInputs> &profiles,
                       Session &one, std::vector<Request> &requests,
                       std::vector<std::string> &notes) {
  Collector collector(options, one, requests, notes);
  if (!options.inputs.empty())
    return collector.readAll(options.inputs);
  if (options.sizes.empty())
    SHARDC_RETURN_IF_ERROR(collector.readAll(collector.foldersBesideModel()));
  SHARDC_RETURN_IF_ERROR(collector.makeUp(profiles));
  if (!requests.empty())
    return Status::ok();
  std::string why;
  for (const std::string &note : notes)
    why += "\n  note: " + note;
  return argumentError("there is nothing to run the model on; give --inputs, a "
                       "folder with input_0.pb, ...",
                       why);
}

} // namespace shardc::verifier
