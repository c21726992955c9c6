"""Tells a gRPC server that a client died: the Pub/Sub emulator does not see it by itself.

The service ends the streams of a connection that is gone. The emulator takes them for
living ones for ever, and keeps their share of the ordering keys for them. So this proxy
ends them in the client's name, and passes on everything else.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

_PREFACE_BYTES = 24
_FRAME_HEADER_BYTES = 9
_DATA, _HEADERS, _RST_STREAM = 0, 1, 3
_END_STREAM = 1


class ObituaryProxy:
    """Listens on a free port of the loopback address, for one server."""

    def __init__(self, server: str) -> None:
        self._host, _, port = server.partition(":")
        self._port = int(port)
        self._listener: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        """Listen, and return where."""
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return f"127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"

    async def aclose(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.ensure_future(self._connect(reader, writer))
        self._connections.add(connection)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, upstream = await asyncio.open_connection(self._host, self._port)
        try:
            await asyncio.gather(_pass_on(answers, writer), _pass_on_frames(reader, upstream))
        finally:
            upstream.close()
            writer.close()


async def _pass_on(answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await answers.read(65_536):  # on and on, though nobody hears it any more
        with suppress(ConnectionError):
            writer.write(chunk)
            await writer.drain()


async def _pass_on_frames(reader: asyncio.StreamReader, upstream: asyncio.StreamWriter) -> None:
    """Pass on HTTP/2 frames until the client is gone; then end the streams that it had open."""
    opened: set[int] = set()
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        upstream.write(await reader.readexactly(_PREFACE_BYTES))
        while True:
            header = await reader.readexactly(_FRAME_HEADER_BYTES)
            payload = await reader.readexactly(int.from_bytes(header[:3], "big"))
            kind, flags, stream = header[3], header[4], int.from_bytes(header[5:], "big")
            if kind == _HEADERS:
                opened.add(stream)
            if kind == _RST_STREAM or (kind in (_DATA, _HEADERS) and flags & _END_STREAM):
                opened.discard(stream)
            upstream.write(header + payload)
            await upstream.drain()
    for stream in opened:
        upstream.write(bytes((0, 0, 0, _DATA, _END_STREAM)) + stream.to_bytes(4, "big"))
