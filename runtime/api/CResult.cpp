//===- CResult.cpp - Outputs in memory of their own, from C ---------------===//

#include "runtime/api/CSession.h"

using namespace shardc::runtime;

void shardrt_result::beginRun(const Session &session, bool keepsCaches) {
  hasRun = false;
  names.clear();
  for (const TensorInfo &info : session.outputs())
    names.push_back(info.name);
  outputs.resize(names.size());
  kept = keptOutputs(session, keepsCaches);
}

namespace {

Status createResult(const shardrt_session *session, shardrt_result **into) {
  if (!session || !into)
    return argumentError("shardrt_result_create: arguments must not be NULL");
  *into = new shardrt_result;
  return Status::ok();
}

Status runInto(shardrt_session *session, shardrt_state *state,
               const shardrt_run_options *given, const shardrt_tensor *tensors,
               size_t numInputs, shardrt_result *result) {
  constexpr const char *kFunction = "shardrt_run_into";
  if (!session || !result)
    return argumentError(kFunction, ": session and result must not be NULL");
  RunOptions options;
  SHARDC_RETURN_IF_ERROR(readRunOptions(kFunction, given, options));
  // Nothing of the session's is written to: other threads may run, too.
  std::vector<InputTensor> inputs;
  SHARDC_RETURN_IF_ERROR(readTensors(kFunction, tensors, numInputs, inputs));
  Session &on = *session->session;
  result->beginRun(on, state != nullptr);
  SHARDC_RETURN_IF_ERROR(
      state ? on.run(*state->state, inputs, result->outputs, options)
            : on.run(inputs, result->outputs, options));
  result->hasRun = true;
  return Status::ok();
}

Status getOutput(const shardrt_result *result, size_t index,
                 shardrt_tensor *output) {
  constexpr const char *kFunction = "shardrt_result_output";
  if (!result || !output)
    return argumentError(kFunction, ": arguments must not be NULL");
  if (!result->hasRun || index >= result->outputs.size())
    return argumentError(kFunction, ": no output ", index,
                         " of a successful run");
  if (result->kept[index])
    return argumentError(kFunction, ": the state keeps output ", index, " '",
                         result->names[index],
                         "'; run without a state to get it");
  const Tensor &tensor = result->outputs[index];
  *output = {result->names[index].c_str(), tensor.element(),
             static_cast<int32_t>(tensor.dims().size()), tensor.dims().data(),
             tensor.data()};
  return Status::ok();
}

} // namespace

shardrt_status shardrt_result_create(const shardrt_session *session,
                                     shardrt_result **result) {
  return guarded([&] { return createResult(session, result); });
}

void shardrt_result_destroy(shardrt_result *result) { delete result; }

shardrt_status shardrt_run_into(shardrt_session *session, shardrt_state *state,
                                const shardrt_run_options *options,
                                const shardrt_tensor *inputs, size_t numInputs,
                                shardrt_result *result) {
  return guarded([&] {
    return runInto(session, state, options, inputs, numInputs, result);
  });
}

shardrt_status shardrt_result_output(const shardrt_result *result, size_t index,
                                     shardrt_tensor *output) {
  return guarded([&] { return getOutput(result, index, output); });
}
