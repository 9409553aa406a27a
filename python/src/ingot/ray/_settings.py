"""The settings of build_app, read and checked before anything starts."""
from __future__ import annotations

import dataclasses
import difflib
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Union

from .._library import IngotError
from .._prefixes import BLOCK

KINDS = ("process", "inside")
ROUTERS = ("prefix", "least")


@dataclasses.dataclass
class ModelSettings:
    """One model. `options` are those of `ingot serve`."""

    name: str
    engine: str
    sha256: Optional[str] = None
    cache: Optional[str] = None  # folder of engines; default: the cache of `ingot run`
    kind: str = "process"
    program: Optional[str] = None  # the `ingot` program for kind "process"
    options: Dict[str, Any] = dataclasses.field(default_factory=dict)
    replicas: Union[int, Dict[str, Any]] = 1
    num_cpus: float = 1
    num_gpus: float = 0
    resources: Dict[str, float] = dataclasses.field(default_factory=dict)
    max_ongoing_requests: int = 0  # 0: concurrent requests plus the queue
    router: str = "prefix"
    slack_share: float = 1.25
    slack: float = 4
    block: int = BLOCK
    blocks: int = 32768
    drain: float = 30
    health_period: float = 2
    surge: int = 0  # percentage of additional replicas during an upgrade


@dataclasses.dataclass
class Scaling:
    """`replicas` as a mapping: Ray's own names, and the targets of autoscaling."""

    min: int = 1
    max: int = 1
    initial: Optional[int] = None
    target_requests: float = 24  # requests in progress per replica, including waiting ones
    target_kv: float = 0.8  # fraction of KV pages in use
    upscale_delay: float = 10
    downscale_delay: float = 300
    look_back: float = 10


@dataclasses.dataclass
class AppSettings:
    engines: Any
    ingress_replicas: int = 1
    ingress_cpus: float = 1
    api_key_file: Optional[str] = None
    retries: int = 5  # number of other replicas that are tried when one is lost
    wait_for_replica: float = 60  # seconds after which a request gets a 503


def _wrong(what: str, why: str, fix: str) -> IngotError:
    return IngotError(2, "E0597", what, why, fix)


def _made(kind: Any, where: str, given: Mapping[str, Any]) -> Any:
    known = [field.name for field in dataclasses.fields(kind)]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            raise _wrong(f"{where} has no setting {name}", f"there are {', '.join(known)}", f"did you mean {near[0]}?" if near else "leave it out")
    out = kind(**given)
    for field in dataclasses.fields(kind):
        value = getattr(out, field.name)
        numeric = field.type in ("int", "float")
        if numeric and (isinstance(value, bool) or not isinstance(value, (int, float)) or (field.type == "int" and value != int(value)) or value < 0):
            raise _wrong(f"{where}: {field.name} is {value!r}", "it is a number, 0 or more" + (" and whole" if field.type == "int" else ""), "give one")
        if field.type == "Dict[str, Any]" and not isinstance(value, Mapping):
            raise _wrong(f"{where}: {field.name} is {value!r}", "it is a mapping", "write NAME: VALUE")
    return out


def alias_of(engine: str) -> str:
    """Returns a model's alternative name, which is its file's name without the extension."""
    return pathlib.PurePosixPath(engine.split("://", 1)[-1].rstrip("/")).stem.replace(":", "-")


def _model(name: Optional[str], given: Any) -> ModelSettings:
    if isinstance(given, str):
        given = {"engine": given}
    if not isinstance(given, Mapping):
        raise _wrong(f"the engine {name or ''} is {given!r}", "a path, an address or a mapping is expected", "write engine: PATH")
    fields = dict(given)
    if not isinstance(fields.get("engine"), str) or not fields["engine"]:
        raise _wrong(f"the model {name or fields.get('name', '')} has no engine", "", "write engine: PATH")
    fields.setdefault("name", name or alias_of(fields["engine"]))
    model: ModelSettings = _made(ModelSettings, f"the model {fields['name']}", fields)
    for value, allowed, what in ((model.kind, KINDS, "kind"), (model.router, ROUTERS, "router")):
        if value not in allowed:
            raise _wrong(f"the model {model.name}: {what} is {value}", f"there are {', '.join(allowed)}", "take one of them")
    if model.slack_share < 1 or model.block < 1 or model.blocks < 1:
        raise _wrong(f"the model {model.name}: the router's figures cannot be", "slack_share, block and blocks are 1 at least", "raise them")
    if isinstance(model.replicas, Mapping):
        scaling(model)
    elif isinstance(model.replicas, bool) or not isinstance(model.replicas, int) or model.replicas < 1:
        raise _wrong(f"the model {model.name}: replicas is {model.replicas!r}", "a number from 1, or min and max are expected", "write replicas: 1")
    from .._upstream import command_options

    command_options(model.options)
    return model


def scaling(model: ModelSettings) -> Scaling:
    assert isinstance(model.replicas, Mapping)
    out: Scaling = _made(Scaling, f"replicas of {model.name}", model.replicas)
    if not 0 < out.target_kv <= 1 or out.target_requests <= 0 or out.max < max(out.min, 1):
        raise _wrong(
            f"replicas of {model.name} cannot be", f"min {out.min}, max {out.max}, target_requests {out.target_requests}, target_kv {out.target_kv}",
            "max is min or more, targets are above 0, target_kv at most 1",
        )  # fmt: skip
    return out


def read_settings(given: Any) -> "tuple[AppSettings, List[ModelSettings]]":
    """Reads a path, a mapping of names to engines, or all settings with the engines under `engines`."""
    if isinstance(given, Mapping) and "engines" in given:
        app: AppSettings = _made(AppSettings, "the application", dict(given))
    else:
        app = AppSettings(engines=given)
    if isinstance(app.engines, str):
        models = [_model(None, app.engines)]
    elif isinstance(app.engines, Mapping):
        models = [_model(str(name), engine) for name, engine in app.engines.items()]
    elif isinstance(app.engines, (list, tuple)):
        models = [_model(None, engine) for engine in app.engines]
    else:
        raise _wrong(f"engines is {app.engines!r}", "a path, a list, or names and engines are expected", "write engines: {NAME: PATH}")
    if not models:
        raise _wrong("there are no engines", "", "write engines: {NAME: PATH}")
    names = [model.name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise _wrong(f"two models have the name {name}", "", "give another name")
    return app, models
