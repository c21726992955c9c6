"""A server that speaks Redis's protocol and answers as a test tells it to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

Command: TypeAlias = list[bytes]

# An answer in wire format; None closes the connection instead; "" says nothing yet.
Answer: TypeAlias = Callable[[Command], "str | None"]


@dataclass
class FakeRedis:
    """What the server was sent.

    Attributes:
        answer: Decides the reply to EVALSHA; everything else is answered `+OK`.
        commands: Every command that arrived, in order.
        connections: How many connections were made.
    """

    answer: Answer
    commands: list[Command] = field(default_factory=list)
    connections: int = 0
    url: str = ""

    def named(self, name: bytes) -> list[Command]:
        """The commands of one name."""
        return [command for command in self.commands if command[0].upper() == name]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection until either side closes it."""
        self.connections += 1
        try:
            while True:
                command = await _read_command(reader)
                self.commands.append(command)
                reply = self.answer(command) if command[0] == b"EVALSHA" else "+OK\r\n"
                if reply is None:
                    break
                writer.write(reply.encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client left
        finally:
            writer.close()


async def _read_command(reader: asyncio.StreamReader) -> Command:
    count = int((await reader.readuntil(b"\r\n"))[1:])
    command = []
    for _ in range(count):
        size = int((await reader.readuntil(b"\r\n"))[1:])
        command.append((await reader.readexactly(size + 2))[:-2])
    return command


@asynccontextmanager
async def fake_redis(answer: Answer) -> AsyncIterator[FakeRedis]:
    """Serve on a free port of this host."""
    fake = FakeRedis(answer)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
    try:
        yield fake
    finally:
        server.close()
