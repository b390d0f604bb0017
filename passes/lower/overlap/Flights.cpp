//===- Flights.cpp - Collectives as early, waits as late as can be --------===//

#include "passes/lower/overlap/Flights.h"

#include "dialects/dist/algebra/StorageAxis.h"
#include "passes/lower/overlap/Movement.h"
#include "runtime/artifact/Format.h"

using namespace mlir;

namespace shardc::lower {

namespace {

class FlightStarter {
public:
  explicit FlightStarter(rt::ProgramOp program)
      : body(program.getBody().front()), builder(program.getContext()) {}

  unsigned run() {
    bool isLoading = true;
    SmallVector<rt::CollectiveOp> collectives;
    for (Operation &op : body) {
      isLoading &= !isa<rt::ReadyOp>(op);
      if (auto collective = dyn_cast<rt::CollectiveOp>(op);
          collective && !isLoading && !collective.getFlight())
        collectives.push_back(collective);
    }
    // A weight could be gathered before all else, and would have to be kept.
    for (rt::CollectiveOp collective : collectives)
      if (!collective->hasAttr(dist::kStoredAttr))
        advance(collective);
    // From the last one on: a wait may pass those that come behind it.
    for (rt::CollectiveOp collective : llvm::reverse(collectives))
      postpone(collective);
    return number();
  }

private:
  /// Up to behind what it has to wait for.
  void advance(rt::CollectiveOp collective) {
    Operation *to = earliestPlace(collective);
    for (Operation *op = to->getNextNode(); op != collective;
         op = op->getNextNode())
      if (isa<rt::CallOp>(op)) {
        moveBehind(collective, to);
        return;
      }
  }

  /// Whether work beside the collective has to wait for it.
  static bool needs(Operation *op, rt::CollectiveOp collective) {
    if (isBarrier(op))
      return true;
    if (isa<rt::CollectiveOp, rt::WaitOp>(op)) // they keep their order
      return false;
    const Accesses mine = accessesOf(collective), theirs = accessesOf(op);
    auto touches = [](ArrayRef<Value> a, ArrayRef<Value> b) {
      return llvm::any_of(a, [&](Value v) { return llvm::is_contained(b, v); });
    };
    return touches(theirs.reads, mine.writes) ||
           touches(theirs.writes, mine.writes) ||
           touches(theirs.writes, mine.reads);
  }

  void postpone(rt::CollectiveOp collective) {
    Operation *last = collective; // of what runs beside it
    bool hasWork = false;
    for (Operation *op = collective->getNextNode();
         op && !needs(op, collective); op = op->getNextNode()) {
      if (isa<rt::OutputOp>(op))
        break; // they stand at the end
      hasWork |= isa<rt::CallOp>(op);
      last = op;
    }
    if (!hasWork)
      return;
    builder.setInsertionPointAfter(last);
    SmallVector<Value, 2> inputs{collective.getInput()};
    if (collective.getChoices())
      inputs.push_back(collective.getChoices());
    rt::WaitOp wait = rt::WaitOp::create(builder, collective.getLoc(), 0,
                                         inputs, collective.getOutput());
    waits[collective] = wait;
    delayFrees(wait);
  }

  /// The lowest numbers that are free; what finds none is not started.
  unsigned number() {
    llvm::SmallBitVector taken(artifact::kMaxFlights);
    llvm::DenseMap<Operation *, int64_t> landing;
    unsigned started = 0;
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (auto found = landing.find(&op); found != landing.end())
        taken.reset(found->second);
      auto it = waits.find(&op);
      if (it == waits.end())
        continue;
      auto collective = cast<rt::CollectiveOp>(op);
      rt::WaitOp wait = it->second;
      const int flight = taken.find_first_unset();
      if (flight < 0) {
        wait.erase();
        continue;
      }
      taken.set(flight);
      collective.setFlight(flight);
      wait.setFlight(flight);
      landing[wait] = flight;
      ++started;
    }
    return started;
  }

  Block &body;
  OpBuilder builder;
  llvm::DenseMap<Operation *, rt::WaitOp> waits; ///< by collective
};

} // namespace

unsigned startCollectives(rt::ProgramOp program) {
  return FlightStarter(program).run();
}

} // namespace shardc::lower
