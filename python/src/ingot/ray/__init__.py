"""Serves engines with Ray Serve: OpenAI's routes, autoscaling replicas, and prefix-aware routing.

    serve run ingot.ray:build_app engines=smollm2.ingot
    ray.serve.run(ingot.ray.build_app({"small": "smollm2.ingot", "large": {"engine": "s3://models/large.ingot", "replicas": 2}}))

docs/ray.md in the repository has the settings, a YAML file, and a list of what is tested.
"""
from .._library import IngotError

try:
    import ray.serve  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"ingot.ray needs Ray Serve, which is not here ({error}): pip install 'ingot[ray]', or 'ray[serve]==2.60.0' fsspec"
    ) from error

from ._app import build_app
from ._router import PrefixRouter
from ._scaling import scaling_policy

__all__ = ["IngotError", "PrefixRouter", "build_app", "scaling_policy"]
