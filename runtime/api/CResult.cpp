//===- CResult.cpp - Outputs in memory of their own, from C ---------------===//

#include "runtime/api/CSession.h"
#include "runtime/tensor/CopyView.h"

using namespace shardc::runtime;

Status shardrt_result::beginRun(const shardrt_session &session,
                                bool keepsCaches) {
  hasRun = false;
  if (ports != session.ports && !(boundInputs.empty() && boundOutputs.empty()))
    return argumentError("the result is bound for another session");
  ports = session.ports;
  outputs.resize(ports->outputs.size());
  isBound.resize(outputs.size());
  kept = keptOutputs(*session.session, keepsCaches);
  // The caller's memory is not this result's any more.
  for (size_t i = 0; i < outputs.size(); ++i)
    if (std::exchange(isBound[i], 0))
      outputs[i] = Tensor();
  for (const Binding &bound : boundOutputs) {
    const TensorInfo &info = ports->outputs[bound.index];
    if (kept[bound.index])
      return argumentError("output '", info.name,
                           "' is bound, but kept by the state or the pool");
    Tensor &output = outputs[bound.index];
    isBound[bound.index] = 1;
    if (bound.onDevice)
      output = Tensor::onDevice(*bound.onDevice);
    else if (bound.isDense)
      output = Tensor::borrow(bound.view.data, viewBytes(bound.view));
    SHARDC_RETURN_IF_ERROR(output.reshape(info.element, bound.dims()));
    output.fix();
  }
  return Status::ok();
}

void shardrt_result::endRun() {
  for (const Binding &bound : boundOutputs)
    if (!bound.isDense && !bound.onDevice)
      copyView(bound.view, packedLike(outputs[bound.index].data(), bound.view));
  hasRun = true;
}

namespace {

Status createResult(const shardrt_session *session, shardrt_result **into) {
  if (!session || !into)
    return argumentError("shardrt_result_create: arguments must not be NULL");
  auto made = std::make_unique<shardrt_result>();
  made->ports = session->ports;
  *into = made.release();
  return Status::ok();
}

Status bind(const char *function, shardrt_result *result,
            const shardrt_view *view, bool isOutput) {
  if (!result)
    return argumentError(function, ": result must not be NULL");
  if (result->isTaken)
    return argumentError(function, ": a request with this result is under way");
  const SessionPorts &ports = *result->ports;
  Binding binding;
  SHARDC_RETURN_IF_ERROR(readView(function, view, ports, isOutput, binding));
  setBinding(isOutput ? result->boundOutputs : result->boundInputs,
             std::move(binding));
  return Status::ok();
}

Status unbind(shardrt_result *result) {
  if (!result)
    return argumentError("shardrt_result_unbind: result must not be NULL");
  if (result->isTaken)
    return argumentError(
        "shardrt_result_unbind: a request with this result is under way");
  result->boundInputs.clear();
  result->boundOutputs.clear();
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
  const std::string &name = result->ports->outputs[index].name;
  if (result->kept[index])
    return argumentError(kFunction, ": the state keeps output ", index, " '",
                         name, "'; run without a state to get it");
  const Tensor &tensor = result->outputs[index];
  if (const DeviceView *there = tensor.deviceView())
    return argumentError(kFunction, ": output ", index, " '", name,
                         "' is in memory of ", result->ports->devices.backend,
                         ":", there->device,
                         ", to which it was bound: read it there");
  *output = {name.c_str(), tensor.element(),
             static_cast<int32_t>(tensor.dims().size()), tensor.dims().data(),
             tensor.data()};
  return Status::ok();
}

} // namespace

Status shardc::runtime::runInto(const char *function, shardrt_session &session,
                                shardrt_state *state, const RunOptions &options,
                                std::vector<InputTensor> &inputs,
                                shardrt_result &result) {
  // Nothing of the session's is written to: other threads may run, too.
  Session &on = *session.session;
  SHARDC_RETURN_IF_ERROR(on.takesRequests());
  if (Status status = result.beginRun(session, state != nullptr);
      !status.isOk())
    return status.saying(message(function, ": ", status.message()));
  SHARDC_RETURN_IF_ERROR(readBound(*result.ports, result.boundInputs, inputs));
  SHARDC_RETURN_IF_ERROR(
      state ? on.run(*state->state, inputs, result.outputs, options)
            : on.run(inputs, result.outputs, options));
  result.endRun();
  return Status::ok();
}

static Status runNow(shardrt_session *session, shardrt_state *state,
                     const shardrt_run_options *given,
                     const shardrt_tensor *tensors, size_t numInputs,
                     shardrt_result *result) {
  constexpr const char *kFunction = "shardrt_run_into";
  if (!session || !result)
    return argumentError(kFunction, ": session and result must not be NULL");
  RunOptions options;
  SHARDC_RETURN_IF_ERROR(readRunOptions(kFunction, given, options));
  std::vector<InputTensor> inputs;
  SHARDC_RETURN_IF_ERROR(readTensors(kFunction, tensors, numInputs, inputs));
  const TakenResult taken(*result);
  SHARDC_RETURN_IF_ERROR(taken.check(kFunction));
  return runInto(kFunction, *session, state, options, inputs, *result);
}

static Status runBatch(shardrt_session *session,
                       const shardrt_run_options *given,
                       const shardrt_batch_request *requests, size_t count) {
  constexpr const char *kFunction = "shardrt_run_batch";
  if (!session || (count > 0 && !requests))
    return argumentError(kFunction, ": session and requests must not be NULL");
  SHARDC_RETURN_IF_ERROR(session->session->takesRequests());
  RunOptions options;
  SHARDC_RETURN_IF_ERROR(readRunOptions(kFunction, given, options));
  std::deque<TakenResult> taken;
  std::deque<std::vector<InputTensor>> inputs;
  std::vector<Request> together;
  for (const shardrt_batch_request &each : std::span(requests, count)) {
    if (!each.result)
      return argumentError(kFunction, ": request ", together.size(),
                           " has no result");
    SHARDC_RETURN_IF_ERROR(taken.emplace_back(*each.result).check(kFunction));
    std::vector<InputTensor> &own = inputs.emplace_back();
    SHARDC_RETURN_IF_ERROR(
        readTensors(kFunction, each.inputs, each.num_inputs, own));
    if (Status status = each.result->beginRun(*session, /*keepsCaches=*/false);
        !status.isOk())
      return status.saying(message(kFunction, ": ", status.message()));
    SHARDC_RETURN_IF_ERROR(
        readBound(*each.result->ports, each.result->boundInputs, own));
    together.push_back({own, each.result->outputs});
  }
  if (count > 0)
    SHARDC_RETURN_IF_ERROR(session->session->run(together, options));
  for (const shardrt_batch_request &each : std::span(requests, count))
    each.result->endRun();
  return Status::ok();
}

shardrt_status shardrt_result_create(const shardrt_session *session,
                                     shardrt_result **result) {
  return guarded([&] { return createResult(session, result); });
}

void shardrt_result_destroy(shardrt_result *result) { delete result; }

shardrt_status shardrt_result_bind(shardrt_result *result,
                                   const shardrt_view *output) {
  return guarded([&] {
    return bind("shardrt_result_bind", result, output, /*isOutput=*/true);
  });
}

shardrt_status shardrt_result_bind_input(shardrt_result *result,
                                         const shardrt_view *input) {
  return guarded([&] {
    return bind("shardrt_result_bind_input", result, input,
                /*isOutput=*/false);
  });
}

shardrt_status shardrt_result_unbind(shardrt_result *result) {
  return guarded([&] { return unbind(result); });
}

shardrt_status shardrt_run_into(shardrt_session *session, shardrt_state *state,
                                const shardrt_run_options *options,
                                const shardrt_tensor *inputs, size_t numInputs,
                                shardrt_result *result) {
  return guarded([&] {
    return runNow(session, state, options, inputs, numInputs, result);
  });
}

shardrt_status shardrt_run_batch(shardrt_session *session,
                                 const shardrt_run_options *options,
                                 const shardrt_batch_request *requests,
                                 size_t numRequests) {
  return guarded(
      [&] { return runBatch(session, options, requests, numRequests); });
}

shardrt_status shardrt_result_output(const shardrt_result *result, size_t index,
                                     shardrt_tensor *output) {
  return guarded([&] { return getOutput(result, index, output); });
}
