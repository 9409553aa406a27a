"""ingress_test.py SERVER_LIBRARY INGOT ENGINE [unittest options]: tests the ingress and the
replicas of ingot.ray without a cluster.

Replicas are in this process and are lost when the test says so. Needs tests/ray/requirements.txt, like run.py.
"""
import asyncio
import json
import pathlib
import sys
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "src"))
sys.path.insert(0, str(ROOT / "tests" / "ray"))
from cluster import Direct, request  # noqa: E402

LIBRARY, INGOT, ENGINE = sys.argv[1:4]
rest = sys.argv[4:]
sys.argv[1:] = ["--ingot", INGOT, "--engine", ENGINE, "--work", "/nonexistent"]
import run  # noqa: E402: its table of requests
import ray  # noqa: E402

from ingot import _inside  # noqa: E402
from ingot.ray import _scaling  # noqa: E402
from ingot.ray._ingress import Ingress  # noqa: E402
from ingot.ray._replica import EngineReplica  # noqa: E402

# Normally Ray calls it, once.
END, EngineReplica.__del__ = EngineReplica.__del__, lambda self: None
SETTINGS = {"api_key_file": None, "retries": 3, "wait_for_replica": 1}


def died():
    return ray.exceptions.ActorUnavailableError("it is gone", None)


class Response:
    """The result of a handle's call: items of answer(), until the replica is lost."""

    def __init__(self, handle, call, blocks):
        self.handle, self.cancelled, self.left = handle, False, handle.losses.pop(0) if handle.losses else None
        self.items = handle.replica.answer(*call, blocks)
        self._replica_result_future = asyncio.get_running_loop().create_future()
        if self.left != "nobody takes it":
            self._replica_result_future.set_result(None)

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.left is not None:
            if self.left == 0:
                raise died()
            self.left -= 1
        return await self.items.__anext__()

    def cancel(self):
        self.cancelled = True


class Handle:
    def __init__(self, replica):
        self.replica, self.losses, self.made = replica, [], []

    def options(self, **_):
        return self

    def remote(self, *call, blocks):
        self.made.append(Response(self, call, blocks))
        return self.made[-1]


class InsideTest(unittest.IsolatedAsyncioTestCase):
    kind = "inside"

    async def asyncSetUp(self):
        real = _inside.open_library
        with unittest.mock.patch.object(_inside, "open_library", lambda path=None: real(LIBRARY)):
            self.replica = EngineReplica.__new__(EngineReplica)
            await self.replica.__init__({"name": "m", "engine": ENGINE, "kind": self.kind, "program": INGOT, "options": run.SERVE})
        self.handle = Handle(self.replica)
        self.ingress = Ingress([{"name": "m", "alias": pathlib.Path(ENGINE).stem, "block": 64}], SETTINGS, {"m": self.handle})

    async def asyncTearDown(self):
        await END(self.replica)

    async def ask(self, method, path, body):
        data = body if isinstance(body, bytes) else (json.dumps(body) if isinstance(body, (dict, list)) else body or "").encode()
        status, headers, content = await self.ingress.answer(method, path, "", [("content-type", "application/json")], data)
        if not isinstance(content, bytes):
            content = b"".join([piece async for piece in content])
        return status, dict(headers).get("content-type"), content

    async def test_answers_are_those_of_ingot_serve(self):
        with Direct(INGOT, ENGINE, *run.flags(run.SERVE)) as direct:
            for method, path, body in run.ASKED:
                with self.subTest(method=method, path=path, body=str(body)[:100]):
                    wanted = request(direct.port, method, path, body)
                    status, kind, data = await self.ask(method, path, body)
                    self.assertEqual((status, kind, run.masked(data)), (wanted[0], wanted[1].get("content-type"), run.masked(wanted[2])))

    def one_by_one(self):
        pieces = self.replica._upstream.answer

        async def by_event(*call):
            async for item in pieces(*call):
                if isinstance(item, bytes) and b"\n\n" in item:
                    for event in item.split(b"\n\n")[:-1]:
                        yield event + b"\n\n"
                else:
                    yield item

        self.replica._upstream.answer = by_event

    async def test_what_has_not_begun_is_asked_again(self):
        self.one_by_one()
        for body, losses in ((run.chat("hello"), [0]), (run.chat("hello"), [0, 0, 0]), (run.chat("hello", stream=True), [0]), (run.chat("hello", stream=True), [1, 0])):
            self.handle.losses = []
            wanted = await self.ask("POST", "/v1/chat/completions", body)
            self.handle.losses, self.handle.made = list(losses), []
            got = await self.ask("POST", "/v1/chat/completions", body)
            self.assertEqual((got[0], run.masked(got[2])), (200, run.masked(wanted[2])))
            self.assertEqual([one.cancelled for one in self.handle.made], [True] * len(losses) + [False])

    def all_at_once(self):
        pieces = self.replica._upstream.answer

        async def joined(*call):
            items = [item async for item in pieces(*call)]
            yield items[0]
            yield b"".join(items[1:])

        self.replica._upstream.answer = joined

    async def test_nothing_is_missing_behind_the_last_event(self):
        self.all_at_once()
        for path, body in (("/v1/completions", {"prompt": "abc", "max_tokens": 5}), ("/v1/messages", {"max_tokens": 5, "messages": [{"role": "user", "content": "a"}]}),
                           ("/v1/responses", {"input": "hello", "max_output_tokens": 5})):
            body = {**body, "stream": True, "temperature": 0}
            wanted = await self.ask("POST", path, body)
            self.handle.losses = [1]  # everything is in the first piece
            self.assertEqual(run.masked((await self.ask("POST", path, body))[2]), run.masked(wanted[2]))

    async def test_none_is_left(self):
        self.handle.losses = [0] * 4
        status, _, data = await self.ask("POST", "/v1/chat/completions", run.chat("hello"))
        error = json.loads(data)["error"]
        self.assertEqual((status, error["type"], error["code"], error["param"]), (503, "engine_error", "E0727", None))
        self.handle.losses = [0] * 4
        status, _, data = await self.ask("POST", "/v1/messages", {"model": "m", "max_tokens": 3, "messages": [{"role": "user", "content": "a"}]})
        self.assertEqual((status, json.loads(data)["error"]["type"]), (503, "api_error"))

    async def test_no_replica_takes_it(self):
        self.handle.losses = ["nobody takes it"]
        status, _, data = await self.ask("POST", "/v1/chat/completions", run.chat("hello"))
        self.assertEqual((status, json.loads(data)["error"]["code"]), (503, "E0539"))
        self.assertTrue(self.handle.made[0].cancelled)

    async def test_a_stream_that_had_begun_ends_with_an_error(self):
        """The server's pieces arrive one event at a time, so that the replica can be lost in the middle."""
        self.one_by_one()
        long = {"temperature": 0, "stream": True, "ignore_eos": True}
        for path, body, left in (("/v1/completions", {"prompt": "abc", "max_tokens": 40, **long}, 5), ("/v1/chat/completions", run.chat("hello", **long), 5),
                                 ("/v1/messages", {"max_tokens": 40, "messages": [{"role": "user", "content": "a"}], **long}, 5),
                                 ("/v1/responses", {"input": "hello", **long}, 7)):
            self.handle.losses = [left]
            status, _, data = await self.ask("POST", path, body)
            self.assertEqual(status, 200)
            events = [event for event in data.decode().split("\n\n") if event]
            last = json.loads(events[-1].split("data: ", 1)[1])
            with self.subTest(path=path):
                if path == "/v1/messages":
                    self.assertEqual((events[-1].split("\n")[0], last["error"]["type"]), ("event: error", "api_error"))
                elif path == "/v1/responses":
                    self.assertEqual((last["type"], last["code"], last["sequence_number"]), ("error", "E0727", left))
                else:
                    self.assertEqual((last["error"]["type"], last["error"]["code"]), ("engine_error", "E0727"))
                self.assertEqual(len(events), left + 1)
                self.assertNotIn("[DONE]", data.decode())

    async def test_a_client_that_leaves(self):
        status, _, content = await self.ingress.answer("POST", "/v1/completions", "", [], json.dumps({"prompt": "a", "max_tokens": 2000, "n": 60, "stream": True, "ignore_eos": True}).encode())
        self.assertEqual(status, 200)
        await content.__anext__()
        await content.aclose()
        self.assertTrue(self.handle.made[-1].cancelled)

    async def test_figures_for_scaling(self):
        self.assertEqual(set(await self.replica.record_autoscaling_stats()), {"running", "waiting", "kv"})
        self.assertEqual(_scaling.desired_replicas(2, 96, 24, [0.1, 0.3], 0.8), 4)
        self.assertAlmostEqual(_scaling.desired_replicas(2, 10, 24, [0.9, 0.7], 0.4), 4)
        self.assertEqual(_scaling.desired_replicas(1, 0, 24, [], 0.8), 0)


class PartsTest(unittest.IsolatedAsyncioTestCase):
    """The objects that Ray is given, used as Ray uses them."""

    def router(self, **settings):
        from ray.serve._private.common import DeploymentHandleSource, DeploymentID

        from ingot.ray import PrefixRouter

        router = PrefixRouter(DeploymentID("model-m", "ingot"), DeploymentHandleSource.REPLICA, use_replica_queue_len_cache=True, self_node_id="n",
                              prefer_local_node_routing=True)
        router.initialize_state(**settings)
        return router

    @staticmethod
    def pending(number, blocks):
        from ray.serve._private.common import RequestMetadata
        from ray.serve._private.request_router.common import PendingRequest

        return PendingRequest(args=[], kwargs={"blocks": blocks}, metadata=RequestMetadata(str(number), f"internal {number}"))

    async def test_the_router(self):
        from ingot._prefixes import prefix_blocks

        router = self.router(slack=4, slack_share=1.25, blocks=100, prefix=True)
        replicas = [unittest.mock.Mock(replica_id=name) for name in "ab"]
        router._replicas = {one.replica_id: one for one in replicas}
        mine, other = (prefix_blocks(("m",), letter * 640) for letter in "xy")

        async def first(pending):
            ranks = await router.choose_replicas(replicas, pending)
            self.assertEqual([len(rank) for rank in ranks], [1, 1])  # the others, for when it has no capacity
            return ranks[0][0].replica_id

        one = self.pending(1, mine)
        home = await first(one)
        router.on_request_routed(one, home, None)
        two = self.pending(2, other)
        self.assertNotEqual(await first(two), home)  # requests on their way count towards the load
        self.assertEqual(await first(self.pending(3, mine)), home)
        two.future.cancel()  # a client that left before its request was sent
        self.assertNotEqual(await first(self.pending(4, other)), home)
        self.assertEqual(router._policy.load(home), 2)
        router.on_request_completed(home, "internal 1")
        self.assertEqual(router._policy.load(home), 1)
        self.assertEqual([len(await router.choose_replicas(replicas, None)), await router.choose_replicas([], one)], [2, []])
        router.on_replica_actor_died(home)
        self.assertEqual(router._policy.load(home), 0)

    async def test_the_policy_of_scaling(self):
        from ray.serve._private.autoscaling_state import _resolve_policy_callable
        from ray.serve.config import AutoscalingContext

        from ingot.ray._app import _deployment
        from ingot.ray._settings import ModelSettings

        model = ModelSettings("m", "m.ingot", replicas={"min": 1, "max": 8, "target_requests": 10, "target_kv": 0.5})
        config = _deployment(model)._deployment_config.autoscaling_config
        policy = _resolve_policy_callable(config.policy)

        def wanted(requests, kv):
            context = AutoscalingContext(None, "m", "ingot", 2, 2, [], requests, 0, {"kv": dict(enumerate(kv))}, None, 1, 8, {}, None, None, 0, config)
            return policy(context)[0]

        self.assertEqual(wanted(50, [0.1, 0.1]), 5)
        self.assertEqual(wanted(5, [0.9, 0.6]), 3)

    async def test_the_yaml_of_the_docs_builds(self):
        import re

        import yaml
        from ray.serve._private.api import call_user_app_builder_with_args_if_necessary
        from ray.serve.schema import ServeDeploySchema

        from ingot.ray import build_app

        text = re.search(r"```yaml\n(.*?)```", (ROOT / "docs" / "ray.md").read_text(), re.S)[1]
        config = ServeDeploySchema.model_validate(yaml.safe_load(text))
        self.assertEqual(config.applications[0].import_path, "ingot.ray:build_app")
        call_user_app_builder_with_args_if_necessary(build_app, config.applications[0].args)

    async def test_what_cannot_be(self):
        run.DeployTest("test_what_cannot_be").test_what_cannot_be()


class BesideTest(InsideTest):
    kind = "process"


if __name__ == "__main__":
    unittest.main(argv=["ingress_test.py", *rest], warnings="ignore")
