"""Sends requests to the replica that has their prefix: Ray's request router interface over ingot._prefixes' policy.

Each process that sends requests (each replica of the ingress) has its own router, which knows only the requests that
it has sent. Ray pickles this module with an application's configuration, so it is small and imports the rest.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica

from ingot._prefixes import PrefixPolicy


class PrefixRouter(RequestRouter):
    """`request_router_kwargs` are slack_share, slack, blocks and prefix (see PrefixPolicy)."""

    def initialize_state(self, **settings: Any) -> None:
        self._policy: PrefixPolicy[ReplicaID] = PrefixPolicy(**settings)
        self._choices: Dict[str, PendingRequest] = {}  # requests that no replica has accepted yet

    async def choose_replicas(
        self, candidate_replicas: List[RunningReplica], pending_request: Optional[PendingRequest] = None
    ) -> List[List[RunningReplica]]:
        by_id = {replica.replica_id: replica for replica in candidate_replicas}
        ordered = self._policy.order(list(by_id), self._blocks(pending_request))
        if pending_request is not None:
            # If the replica has no capacity, Ray retries after a growing pause.
            pending_request.routing_context.should_backoff = True
            if ordered:
                # More requests are routed before a replica reports that it has accepted this one, so this one
                # counts at once.
                self._give_up_cancelled()
                request = pending_request.metadata.internal_request_id
                self._policy.chosen(request, ordered[0])
                self._choices[request] = pending_request
        return [[by_id[replica]] for replica in ordered]

    @staticmethod
    def _blocks(pending_request: Optional[PendingRequest]) -> bytes:
        """Returns the last argument of EngineReplica.answer."""
        blocks = pending_request.kwargs.get("blocks", b"") if pending_request is not None else b""
        return blocks if isinstance(blocks, bytes) else b""

    def _give_up_cancelled(self) -> None:
        """Drops requests whose client left before they were sent, because Ray does not report their end."""
        for request, pending in list(self._choices.items()):
            if pending.future.cancelled():
                del self._choices[request]
                self._policy.drop(request)

    def on_request_routed(self, pending_request: PendingRequest, replica_id: ReplicaID, result: Any) -> None:
        request = pending_request.metadata.internal_request_id
        self._choices.pop(request, None)
        self._policy.sent(request, replica_id, self._blocks(pending_request))

    def on_request_completed(self, replica_id: ReplicaID, internal_request_id: str) -> None:
        self._policy.ended(internal_request_id, replica_id)

    def on_replica_actor_died(self, replica_id: ReplicaID) -> None:
        super().on_replica_actor_died(replica_id)
        self._policy.keep(list(self.curr_replicas))

    def update_replicas(self, replicas: List[RunningReplica]) -> None:
        super().update_replicas(replicas)
        self._policy.keep([replica.replica_id for replica in replicas])
