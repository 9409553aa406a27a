"""The number of replicas that a model needs, from its requests in progress and the use of its KV pages."""
from __future__ import annotations

from typing import Any, Dict, Tuple, Union

from ray.serve.config import AutoscalingContext


def desired_replicas(now: int, requests: float, target_requests: float, kv: "list[float]", target_kv: float) -> float:
    """Returns the number of replicas that brings both the requests per replica and the mean use of
    KV pages down to their targets."""
    by_requests = requests / target_requests
    by_kv = now * (sum(kv) / len(kv)) / target_kv if kv else 0.0
    return max(by_requests, by_kv)


class scaling_policy:  # noqa: N801: Ray takes a class if a policy has settings, and calls it as a function
    """For AutoscalingPolicy(policy_function="ingot.ray:scaling_policy", policy_kwargs={"target_kv": 0.8}).

    Replicas report `kv`, `running` and `waiting` of their engines (record_autoscaling_stats). Ray applies the
    delays and bounds of its AutoscalingConfig to the result."""

    def __init__(self, target_kv: float = 0.8) -> None:
        self._target_kv = target_kv

    def __call__(self, context: AutoscalingContext) -> Tuple[Union[int, float], Dict[str, Any]]:
        kv = list((context.aggregated_metrics or {}).get("kv", {}).values())
        target = context.config.get_target_ongoing_requests()
        return desired_replicas(context.current_num_replicas, context.total_num_requests, target, kv, self._target_kv), {}
