"""A TCP proxy that misbehaves on command: what a network does to a client on a bad day."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from enum import Enum, auto
from types import TracebackType

_CHUNK = 65_536


class Fault(Enum):
    """What is wrong with the connections that go through."""

    NONE = auto()
    # Bytes are taken and never delivered, in both directions: a partition without a reset.
    BLACKHOLE = auto()
    # Requests arrive, answers do not: nobody knows what became of a call.
    LOST_REPLIES = auto()
    # New connections are accepted and then left alone, as by a host that hangs.
    HALF_OPEN = auto()


class FaultProxy:
    """Listens on the loopback address, and passes bytes on to one server.

    Args:
        host: Of the server.
        port: Of the server.
        listen_port: Where to listen; by default on any free port.

    Attributes:
        fault: What is wrong now; may be set at any time.
        latency_s: How long each chunk is held back, in each direction.
        dropped: How many bytes of answers were lost to a fault.
    """

    def __init__(self, host: str, port: int, *, listen_port: int = 0) -> None:
        self._server_address = (host, port)
        self._listen_port = listen_port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.fault = Fault.NONE
        self.latency_s = 0.0
        self.dropped = 0

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    def reset(self) -> None:
        """Reset every connection: the peers see it at once."""
        for writer in self._writers:
            writer.transport.abort()

    async def __aenter__(self) -> FaultProxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._listen_port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.ensure_future(self._connect(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        upstream: asyncio.StreamWriter | None = None
        try:
            if self.fault is Fault.HALF_OPEN:
                await asyncio.Event().wait()
            answers, upstream = await asyncio.open_connection(*self._server_address)
            self._writers.add(upstream)
            requests = asyncio.ensure_future(self._pass_on(reader, upstream, is_answer=False))
            try:
                await self._pass_on(answers, writer, is_answer=True)
            finally:
                requests.cancel()
        except OSError:
            pass  # the server is away, or a peer hung up: so does the other side
        finally:
            for each in (writer, upstream):
                if each is not None:
                    self._writers.discard(each)
                    each.transport.abort()

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        with suppress(ConnectionError):
            while chunk := await reader.read(_CHUNK):
                if self.latency_s:
                    await asyncio.sleep(self.latency_s)
                if self.fault is Fault.BLACKHOLE or (
                    self.fault is Fault.LOST_REPLIES and is_answer
                ):
                    self.dropped += len(chunk) * is_answer
                    continue
                writer.write(chunk)
                await writer.drain()
        writer.transport.abort()
