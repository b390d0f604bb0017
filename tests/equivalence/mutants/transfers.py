"""Wrong transfers between stages: each is (kind, what, change), a change of a module.

A transfer is a send in one program and a receive in a later one, in the plans too. Kinds: send or receive deleted,
duplicated, reordered; peer (another stage); count (its number); value; type.
"""

import re
from dataclasses import dataclass, replace

from tests.equivalence.mutants.text import Op, Tensor


@dataclass
class Transfer:
    number: str
    sender: int  # body
    receiver: int


def numbers(op):
    """(stage, transfer) of a send or receive."""
    return re.fullmatch(r"(?:to|from) (\d+) as (\d+)", op.middle).groups()


def indices(body, name, transfer=None):
    """Where sends or receives stand, all of them or those of one transfer."""
    return [
        i for i, op in enumerate(body.ops)
        if op.name == f"dist.{name}" and (transfer is None or numbers(op)[1] == transfer)
    ]  # fmt: skip


def transfers_of(module):
    receivers = {}
    for index in module.programs:
        for i in indices(module.bodies[index], "receive"):
            receivers[module.stage(index)[1], numbers(module.bodies[index].ops[i])[1]] = index
    for index in module.programs:
        for i in indices(module.bodies[index], "send"):
            number = numbers(module.bodies[index].ops[i])[1]
            yield Transfer(number, index, receivers[module.stage(index)[1], number])


def transfer_changes(module, locals_):
    """Of programs alone, or of programs and plans alike."""
    transfers = list(transfers_of(module))
    for transfer in transfers:
        for plan_too in (False, True):
            suffix = ", plan too" if plan_too else ""
            for kind, what, change in changes_of_one(module, transfer, transfers):
                yield f"transfer {kind}{suffix}", f"transfer {transfer.number} {what}", both(transfer, change, plan_too)
        for kind, what, change in value_changes(module, transfer, locals_):
            yield f"transfer {kind}", f"transfer {transfer.number} {what}", both(transfer, change, False)


def both(transfer, change, plan_too):
    """change(sender, receiver) of bodies as a change of a module."""

    def apply(module):
        for side in range(2 if plan_too else 1):
            change(module.edit(transfer.sender + side), module.edit(transfer.receiver + side))

    return apply


def changes_of_one(module, transfer, transfers):
    """change(sender, receiver), on the programs or on the plans."""
    number = transfer.number
    own, peer = module.stage(transfer.sender)[0], module.stage(transfer.receiver)[0]

    def delete_send(sender, receiver):
        del sender.ops[indices(sender, "send", number)[0]]

    def delete_receive(sender, receiver):
        i = indices(receiver, "receive", number)[0]
        value, type = receiver.ops[i].results, receiver.ops[i].outputs[0]
        others = [v for op in receiver.ops for v, t in zip(op.values, op.outputs) if t == type and v != value]
        del receiver.ops[i]
        if others:
            receiver.use_instead(value, others[0])

    def twice(sender, receiver):
        i = indices(sender, "send", number)[0]
        sender.ops.insert(i, sender.ops[i].copy())

    def receive_twice(sender, receiver):
        i = indices(receiver, "receive", number)[0]
        receiver.ops.insert(i + 1, replace(receiver.ops[i].copy(), results="%twin"))
        for op, index in receiver.uses(receiver.ops[i].results)[-1:]:
            op.operands[index] = "%twin"

    def send_more(sender, receiver):
        i = indices(sender, "send", number)[0]
        sender.ops.insert(i, replace(sender.ops[i].copy(), middle=f"to {peer} as 99"))

    def rewrite(name, middle):
        def change(sender, receiver):
            body = sender if name == "send" else receiver
            body.ops[indices(body, name, number)[0]].middle = middle

        return change

    def renumber(sender, receiver):
        rewrite("send", f"to {peer} as 98")(sender, receiver)
        rewrite("receive", f"from {own} as 98")(sender, receiver)

    yield "delete", "is not sent", delete_send
    yield "delete", "is not received", delete_receive
    yield "duplicate", "is sent twice", twice
    yield "duplicate", "is received twice", receive_twice
    yield "duplicate", "is sent under another number too", send_more
    yield "count", "has another number", renumber
    for other in {"0", "1", "2", "7"} - {peer}:
        yield "peer", f"is sent to {other}", rewrite("send", f"to {other} as {number}")
    for other in {"0", "1", "2", "7"} - {own}:
        yield "peer", f"is received from {other}", rewrite("receive", f"from {other} as {number}")
    yield "count", "is sent as 97", rewrite("send", f"to {peer} as 97")
    yield "count", "is received as 97", rewrite("receive", f"from {own} as 97")
    for other in transfers:
        if other.number != number and (other.sender, other.receiver) == (transfer.sender, transfer.receiver):
            yield from changes_of_two(module, transfer, other)


def changes_of_two(module, first, second):
    def exchange(name):
        def change(sender, receiver):
            body = sender if name == "send" else receiver
            i, j = indices(body, name, first.number)[0], indices(body, name, second.number)[0]
            body.ops[i].middle, body.ops[j].middle = body.ops[j].middle, body.ops[i].middle

        return change

    def reorder_sends(sender, receiver):
        i, j = sorted(indices(sender, "send", t.number)[0] for t in (first, second))
        sender.ops.insert(j, sender.ops.pop(i))

    def reorder_receives(sender, receiver):
        i, j = sorted(indices(receiver, "receive", t.number)[0] for t in (first, second))
        receiver.ops.insert(i, receiver.ops.pop(j))

    yield "reorder", f"is sent behind or before {second.number}", reorder_sends
    yield "reorder", f"is received behind or before {second.number}", reorder_receives
    yield "count", f"is sent as {second.number}, and that as it", exchange("send")
    yield "count", f"is received as {second.number}, and that as it", exchange("receive")


def value_changes(module, transfer, locals_):
    """Another value is sent, or it is held otherwise than the receiver thinks."""
    number = transfer.number
    sender = module.bodies[transfer.sender]
    i = indices(sender, "send", number)[0]
    value, type = sender.ops[i].operands[0], sender.ops[i].inputs[0]
    others = [v for op in sender.ops[:i] for v, t in zip(op.values, op.outputs) if t == type and v != value]

    def send_other(other):
        def change(sender, receiver):
            sender.ops[i].operands[0] = other

        return change

    def send_before(sender, receiver):
        """What the last collective was given is sent in place of what it gave."""
        maker = next(op for op in sender.ops if value in op.values)
        sender.ops[i].operands[0], sender.ops[i].inputs[0] = maker.operands[0], maker.inputs[0]

    def receive_before(sender, receiver):
        send_before(sender, receiver)
        j = indices(receiver, "receive", number)[0]
        receiver.claim(receiver.ops[j].results, sender.ops[i].inputs[0])

    for other in others[-3:]:
        yield "value", f"sends {other}", send_other(other)
    if any(value in op.values and op.moves for op in sender.ops):
        yield "value", "is sent before its collective", send_before
        yield "type", "is sent and received before its collective", receive_before

    def send_held_otherwise(new, received):
        def change(sender, receiver):
            sender.ops.insert(i, Op("%held", "dist.slice", [value], "", [type], " -> ", [new], sender.ops[i].loc))
            sender.ops[i + 1].operands[0], sender.ops[i + 1].inputs[0] = "%held", new
            if received:
                j = indices(receiver, "receive", number)[0]
                receiver.claim(receiver.ops[j].results, new)

        return change

    tensor = Tensor.parse(type)
    for d, (size, sharding) in enumerate(zip(tensor.dims, tensor.sharding)):
        for (dim, other), local in locals_.items():
            if dim != size or sharding != "{}" or other == "{}" or ":" in other:
                continue
            axis = re.search(r'"\w+"', other)
            if axis and axis[0] not in "".join(tensor.sharding) + tensor.partial:
                new = str(tensor.with_dim(d, other, local))
                yield "type", f"is sent split, dim {d} {other}", send_held_otherwise(new, False)
                yield "type", f"is sent and received split, dim {d} {other}", send_held_otherwise(new, True)
