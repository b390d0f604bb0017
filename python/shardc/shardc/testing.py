"""For tests of plans, in pytest or unittest.

    from shardc.testing import assert_plan

    def test_two_all_reduces_a_layer():
        plan = shardc.explain("model.onnx", tp=8, dims={"batch": 1, "seq": 1024})
        assert_plan(plan, "max all_reduce per layer 2", "no all_gather of weights", collectives={"all_reduce": 8})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Optional

from .plans import Plan

__all__ = ["assert_plan"]


def assert_plan(
    plan: Plan,
    *rules: str,
    mesh: Optional[Mapping[str, int]] = None,
    collectives: Optional[Mapping[str, int]] = None,
    max_weight_bytes: Optional[int] = None,
    structures: Optional[Mapping[str, int]] = None,
    no_warnings: bool = False,
) -> None:
    """Raises AssertionError, with what was found, unless the plan keeps all that is given; ValueError where that is nothing.

    rules: of `shardc lint`: "max all_reduce per layer 2", "no all_gather of weights",
        "no collective between nodes except dp, pp", "memory per rank <= 40 GiB".
    mesh: ways by axis, all of them.
    collectives: how many a run of each kind, all of them; of a plan with profiles, of all together.
    max_weight_bytes: that any rank may hold.
    structures: how many of each were recognised; others may be there, too.
    no_warnings: the compiler had none.
    """
    __tracebackhide__ = True  # pytest shows the caller
    if not isinstance(plan, Plan):
        raise TypeError(f"plan is {plan!r}, expected a Plan, as shardc.compile and shardc.explain return it")
    if any(not rule.strip() for rule in rules):
        raise ValueError("a rule is empty: expected one such as 'max all_reduce per layer 2'")
    if not rules and not no_warnings and all(each is None for each in (mesh, collectives, max_weight_bytes, structures)):
        raise ValueError("there is nothing to check: give rules, mesh, collectives, max_weight_bytes, structures or no_warnings")
    wrong = []
    if mesh is not None and dict(mesh) != dict(plan.mesh):
        wrong.append(f"mesh: expected {dict(mesh)}, found {dict(plan.mesh)}")
    found = Counter(each.kind for each in plan.collectives)
    if collectives is not None and {k: n for k, n in collectives.items() if n} != dict(found):
        wrong.append(f"collectives: expected {dict(collectives)}, found {dict(found)}")
    if max_weight_bytes is not None:
        wrong += [
            f"rank {rank.rank}: expected at most {max_weight_bytes} bytes of weights, found {rank.weights}"
            for rank in plan.memory
            if rank.weights > max_weight_bytes
        ]
    for name, count in (structures or {}).items():
        if plan.structures.get(name, 0) != count:
            wrong.append(f"{name}: expected {count}, found {plan.structures.get(name, 0)}")
    if no_warnings and plan.warnings:
        wrong.append(f"expected no warnings, found: {'; '.join(plan.warnings)}")
    if rules:
        try:
            plan.lint(rules)
        except AssertionError as error:
            wrong.append(str(error))
    if wrong:
        raise AssertionError("\n".join(wrong))
