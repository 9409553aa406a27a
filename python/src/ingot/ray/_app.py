"""Turns settings into a Ray Serve application: an ingress, and a deployment for each model."""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, Mapping

from ray import serve
from ray.serve.config import AutoscalingConfig, AutoscalingPolicy, RequestRouterConfig

from ._ingress import make_ingress
from ._replica import HEALTH_SECONDS, EngineReplica
from ._settings import ModelSettings, alias_of, read_settings, scaling

# The defaults of `ingot serve`.
_SEQUENCES, _QUEUE = 32, 256


def build_app(engines: Any) -> serve.Application:
    """Makes an application for serve.run(), and for `import_path: ingot.ray:build_app` with its `args`.

    `engines` is one engine, a mapping of names to engines, or a mapping of all settings with the engines under
    `engines`. An engine is a path, an address ("s3://…"), "sha256:…", or a mapping with `engine` and the model's
    other settings (docs/ray.md). Raises IngotError E0597 for invalid settings.
    """
    app, models = read_settings(engines)
    handles = {}
    for model in models:
        handles[model.name] = _deployment(model).bind({**dataclasses.asdict(model), "replicas": 1})
    described = [{"name": model.name, "alias": alias_of(model.engine), "block": model.block} for model in models]
    ingress = make_ingress().options(
        name="ingress", num_replicas=app.ingress_replicas, ray_actor_options={"num_cpus": app.ingress_cpus},
        max_ongoing_requests=1 << 16, health_check_period_s=2, max_surge_percent=100, graceful_shutdown_timeout_s=max(model.drain for model in models) + 10,
    )  # fmt: skip
    settings = {"api_key_file": app.api_key_file, "retries": app.retries, "wait_for_replica": app.wait_for_replica}
    return ingress.bind(described, settings, handles)


def _deployment(model: ModelSettings) -> serve.Deployment:
    def option(name: str, default: int) -> int:
        return int(model.options.get(name, model.options.get(name.replace("-", "_"), default)))

    options: Dict[str, Any] = {
        "name": f"model-{model.name.replace('/', '-').replace('#', '-')}",
        "ray_actor_options": {"num_cpus": model.num_cpus, "num_gpus": model.num_gpus, "resources": dict(model.resources)},
        # `ingot serve` refuses requests beyond this number, with its own error.
        "max_ongoing_requests": model.max_ongoing_requests or option("max-seqs", _SEQUENCES) + option("queue", _QUEUE) + 16,
        "graceful_shutdown_timeout_s": model.drain,
        "graceful_shutdown_wait_loop_s": 0.5,
        "health_check_period_s": model.health_period,
        "health_check_timeout_s": HEALTH_SECONDS + 2,
        "max_surge_percent": model.surge,
        "request_router_config": RequestRouterConfig(
            request_router_class="ingot.ray._router.PrefixRouter",
            request_router_kwargs={
                "slack_share": model.slack_share, "slack": model.slack, "blocks": model.blocks, "prefix": model.router == "prefix",
            },
        ),
    }  # fmt: skip
    if isinstance(model.replicas, Mapping):
        wanted = scaling(model)
        options["autoscaling_config"] = AutoscalingConfig(
            min_replicas=wanted.min, max_replicas=wanted.max, initial_replicas=wanted.initial,
            target_ongoing_requests=wanted.target_requests, upscale_delay_s=wanted.upscale_delay,
            downscale_delay_s=wanted.downscale_delay, look_back_period_s=wanted.look_back, metrics_interval_s=min(wanted.look_back, 2),
            policy=AutoscalingPolicy(policy_function="ingot.ray._scaling.scaling_policy", policy_kwargs={"target_kv": wanted.target_kv}),
        )  # fmt: skip
    else:
        options["num_replicas"] = model.replicas
    return serve.deployment(EngineReplica).options(**options)
