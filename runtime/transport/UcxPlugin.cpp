//===- UcxPlugin.cpp - libshardrt_ucx.so: messages over UCX ---------------===//
//
// Active messages of UCX (openucx.org, UCP): a header and a body, which comes
// with it where it is small, and is fetched by the receiver where it is large.
// One worker, under one lock.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Message.h"
#include "runtime/transport/MessageEngine.h"

#include <ucp/api/ucp.h>

#include <cstring>
#include <map>
#include <mutex>

namespace shardc::runtime {
namespace {

constexpr unsigned kMessageId = 1;

Status failed(const char *what, ucs_status_t status) {
  return artifactError("UCX: ", what, ": ", ucs_status_string(status));
}

class UcxEngine final : public MessageEngine {
public:
  explicit UcxEngine(MessageSink &sink) : sink(sink) {}
  ~UcxEngine() override;
  Status open();

  const std::string &address() const override { return ownAddress; }
  Status connect(int peer, const std::string &address, uint64_t theirs,
                 uint64_t ours) override;
  void send(int peer, const std::shared_ptr<EngineMessage> &message) override;
  bool progress() override;
  int descriptor() const override { return events; }
  bool arm() override;
  void close(Deadline deadline) override;

private:
  struct End {
    UcxEngine &engine;
    const int peer;
    const uint64_t token; ///< of what is sent there
    ucp_ep_h endpoint = nullptr;
    bool isLost = false;
  };
  /// A body that is being fetched.
  struct Fetch {
    End &from;
    const EngineHeader header;
    const std::shared_ptr<AlignedBuffer> to;
  };

  // Called by UCX, under the lock.
  static ucs_status_t onMessage(void *engine, const void *header,
                                size_t headerBytes, void *data, size_t bytes,
                                const ucp_am_recv_param_t *param);
  static void onFetched(void *request, ucs_status_t status, size_t bytes,
                        void *fetch);
  static void onSent(void *request, ucs_status_t status, void *message);
  static void onError(void *end, ucp_ep_h, ucs_status_t status);

  ucs_status_t take(End &from, const EngineHeader &header, void *data,
                    size_t bytes, const ucp_am_recv_param_t *param);
  void finish(Fetch *fetch, ucs_status_t status);
  void lose(End &end, ucs_status_t status);
  /// Closes one end; the request, null if that is done.
  void *closeEnd(End &end, unsigned flags);

  MessageSink &sink;
  std::mutex mutex;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  int events = -1;
  std::string ownAddress;
  std::map<int, End> ends;           ///< by rank
  std::map<uint64_t, End *> senders; ///< by the token of what they send
};

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

Status UcxEngine::open() {
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  if (ucs_status_t status = ucp_init(&params, nullptr, &context);
      status != UCS_OK)
    return failed("cannot start", status);
  ucp_worker_params_t ofWorker = {};
  ofWorker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  ofWorker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  if (ucs_status_t status = ucp_worker_create(context, &ofWorker, &worker);
      status != UCS_OK)
    return failed("cannot make a worker", status);
  ucp_am_handler_param_t handler = {};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                       UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.cb = onMessage;
  handler.arg = this;
  if (ucs_status_t status = ucp_worker_set_am_recv_handler(worker, &handler);
      status != UCS_OK)
    return failed("cannot receive", status);
  if (ucs_status_t status = ucp_worker_get_efd(worker, &events);
      status != UCS_OK)
    return failed("cannot wait for messages", status);
  ucp_address_t *found = nullptr;
  size_t bytes = 0;
  if (ucs_status_t status = ucp_worker_get_address(worker, &found, &bytes);
      status != UCS_OK)
    return failed("has no address", status);
  ownAddress.assign(reinterpret_cast<const char *>(found), bytes);
  ucp_worker_release_address(worker, found);
  return Status::ok();
}

Status UcxEngine::connect(int peer, const std::string &address, uint64_t theirs,
                          uint64_t ours) {
  std::lock_guard lock(mutex);
  End &end = ends.try_emplace(peer, End{*this, peer, theirs}).first->second;
  senders[ours] = &end;
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address = reinterpret_cast<const ucp_address_t *>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {onError, &end};
  const ucs_status_t status = ucp_ep_create(worker, &params, &end.endpoint);
  return status == UCS_OK
             ? Status::ok()
             : failed(message("cannot reach rank ", peer).c_str(), status);
}

//===----------------------------------------------------------------------===//
// Sending
//===----------------------------------------------------------------------===//

void UcxEngine::send(int peer, const std::shared_ptr<EngineMessage> &message) {
  std::lock_guard lock(mutex);
  End &end = ends.at(peer);
  if (end.isLost)
    return; // to nobody
  const uint64_t bytes = message->header.frame.bytes;
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = onSent;
  param.user_data = message.get();
  message->header.token = end.token;
  message->isSending.store(true, std::memory_order_release);
  message->self = message;
  const ucs_status_ptr_t sent = ucp_am_send_nbx(
      end.endpoint, kMessageId, &message->header, sizeof message->header,
      bytes > 0 ? message->body->data() : nullptr, bytes, &param);
  if (UCS_PTR_IS_PTR(sent))
    return; // onSent comes, or has come
  if (UCS_PTR_IS_ERR(sent))
    lose(end, UCS_PTR_STATUS(sent));
  message->isSending.store(false, std::memory_order_release);
  message->self = nullptr;
}

void UcxEngine::onSent(void *request, ucs_status_t, void *data) {
  auto &message = *static_cast<EngineMessage *>(data);
  ucp_request_free(request);
  // The last to have it may be itself.
  const std::shared_ptr<EngineMessage> self = std::move(message.self);
  message.isSending.store(false, std::memory_order_release);
}

//===----------------------------------------------------------------------===//
// Receiving
//===----------------------------------------------------------------------===//

bool UcxEngine::progress() {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock)
    return false;
  bool isAny = false;
  while (ucp_worker_progress(worker) != 0)
    isAny = true;
  return isAny;
}

bool UcxEngine::arm() {
  std::lock_guard lock(mutex);
  return ucp_worker_arm(worker) == UCS_OK;
}

ucs_status_t UcxEngine::onMessage(void *data, const void *headerData,
                                  size_t headerBytes, void *body, size_t bytes,
                                  const ucp_am_recv_param_t *param) {
  auto &engine = *static_cast<UcxEngine *>(data);
  EngineHeader header;
  if (headerBytes != sizeof header)
    return UCS_ERR_INVALID_PARAM;
  std::memcpy(&header, headerData, sizeof header);
  const auto sender = engine.senders.find(header.token);
  if (sender == engine.senders.end() || header.frame.bytes != bytes)
    return UCS_ERR_INVALID_PARAM;
  return engine.take(*sender->second, header, body, bytes, param);
}

ucs_status_t UcxEngine::take(End &from, const EngineHeader &header, void *data,
                             size_t bytes, const ucp_am_recv_param_t *param) {
  std::shared_ptr<AlignedBuffer> to;
  if (header.frame.kind == FrameKind::Data) {
    to = sink.begin(from.peer, header);
    if (!to)
      return UCS_ERR_NO_RESOURCE;
  } else if (bytes > 0) {
    return UCS_ERR_INVALID_PARAM;
  }
  if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
    if (bytes > 0)
      std::memcpy(to->data(), data, bytes);
    sink.end(from.peer, header);
    return UCS_OK;
  }
  auto *fetch = new Fetch{from, header, to};
  ucp_request_param_t how = {};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                     UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  how.cb.recv_am = onFetched;
  how.user_data = fetch;
  const ucs_status_ptr_t fetching =
      ucp_am_recv_data_nbx(worker, data, to->data(), bytes, &how);
  if (UCS_PTR_IS_ERR(fetching))
    finish(fetch, UCS_PTR_STATUS(fetching));
  return UCS_OK;
}

void UcxEngine::onFetched(void *request, ucs_status_t status, size_t,
                          void *data) {
  auto *fetch = static_cast<Fetch *>(data);
  ucp_request_free(request);
  fetch->from.engine.finish(fetch, status);
}

void UcxEngine::finish(Fetch *fetch, ucs_status_t status) {
  if (status == UCS_OK)
    sink.end(fetch->from.peer, fetch->header);
  else
    lose(fetch->from, status);
  delete fetch;
}

//===----------------------------------------------------------------------===//
// Ending
//===----------------------------------------------------------------------===//

void UcxEngine::onError(void *data, ucp_ep_h, ucs_status_t status) {
  auto &end = *static_cast<End *>(data);
  end.engine.lose(end, status);
}

void UcxEngine::lose(End &end, ucs_status_t status) {
  if (std::exchange(end.isLost, true))
    return;
  sink.lose(end.peer, message("UCX: ", ucs_status_string(status)));
}

void *UcxEngine::closeEnd(End &end, unsigned flags) {
  if (!end.endpoint)
    return nullptr;
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = flags;
  const ucs_status_ptr_t closing =
      ucp_ep_close_nbx(std::exchange(end.endpoint, nullptr), &param);
  return UCS_PTR_IS_PTR(closing) ? closing : nullptr;
}

void UcxEngine::close(Deadline deadline) {
  std::lock_guard lock(mutex);
  for (auto &[peer, end] : ends) {
    const bool isForced =
        end.isLost || std::chrono::steady_clock::now() >= deadline;
    const unsigned flags = isForced ? unsigned(UCP_EP_CLOSE_FLAG_FORCE) : 0;
    end.isLost = true; // what happens to it from now on is nobody's business
    void *closing = closeEnd(end, flags);
    while (closing && ucp_request_check_status(closing) == UCS_INPROGRESS &&
           std::chrono::steady_clock::now() < deadline)
      ucp_worker_progress(worker);
    if (closing)
      ucp_request_free(closing);
  }
}

UcxEngine::~UcxEngine() {
  close(std::chrono::steady_clock::now());
  if (worker)
    ucp_worker_destroy(worker);
  if (context)
    ucp_cleanup(context);
}

} // namespace
} // namespace shardc::runtime

extern "C"
    __attribute__((visibility("default"))) shardc::runtime::MessageEngine *
    shardrt_open_ucx(shardc::runtime::MessageSink &sink, std::string &problem) {
  auto engine = std::make_unique<shardc::runtime::UcxEngine>(sink);
  const shardc::runtime::Status status = engine->open();
  if (status.isOk())
    return engine.release();
  problem = status.message();
  return nullptr;
}
