"""The greeting of HTTP/2, which every gRPC server answers."""

from __future__ import annotations

import socket

from compose.local.places import HOST

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
NO_SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))


def greet(port: int) -> None:
    """Raise `OSError` unless a frame of settings answers ours."""
    with socket.create_connection((HOST, port), timeout=2) as connection:
        connection.sendall(PREFACE + NO_SETTINGS)
        answer = connection.recv(9)
    if answer[3:4] != b"\x04":
        raise OSError(f"it answered HTTP/2 by {answer!r}")
