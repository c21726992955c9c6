"""What `--http` serves: metrics, liveness, readiness, and the oldest lanes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from beam_agents.effector.errors import OperatorError
from beam_agents.effector.observation import Observation

_SHOWN_LANES = 20


@asynccontextmanager
async def serving(address: str, observation: Observation) -> AsyncIterator[str]:
    """Serve at `HOST:PORT` while inside; yields the address, with the port that was taken.

    Raises:
        OperatorError: Nothing can be served there.
    """
    host, _, port = address.rpartition(":")
    runner = web.AppRunner(_app(observation), access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host.strip("[]"), int(port)).start()
        except OSError as error:
            raise OperatorError(f"--http {address}: cannot listen there: {error}") from error
        yield f"{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _app(observation: Observation) -> web.Application:
    async def metrics(_: web.Request) -> web.Response:
        await observation.measure_lag()
        body = generate_latest(observation.metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def healthz(_: web.Request) -> web.Response:
        # Whoever reads this knows that the event loop turns, and that is all it says.
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        obstacles = await observation.readiness.obstacles()
        text = "".join(f"{line}\n" for line in obstacles) or "ready\n"
        return web.Response(text=text, status=503 if obstacles else 200)

    async def lanes(_: web.Request) -> web.Response:
        return web.json_response(list(observation.unfinished.oldest_lanes(_SHOWN_LANES)))

    app = web.Application()
    app.add_routes(
        [
            web.get("/metrics", metrics),
            web.get("/healthz", healthz),
            web.get("/readyz", readyz),
            web.get("/lanes", lanes),
        ]
    )
    return app
