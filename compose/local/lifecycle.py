"""Brings one server up, down, or tells how it is."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from pathlib import Path

from compose.local import processes
from compose.local.places import HOST, services_folder
from compose.local.server import Server, Unusable, server_named

TAIL_LINES = 30


@dataclass(frozen=True)
class Service:
    """A server together with the folder that it lives in."""

    name: str
    server: Server
    folder: Path

    @classmethod
    def named(cls, name: str) -> Service:
        return cls(name, server_named(name), services_folder() / name)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def record(self) -> Path:
        return self.folder / "pid.json"

    @property
    def address(self) -> str:
        return f"{HOST}:{self.server.port.number}"

    def up(self) -> str:
        """Start the server, unless it runs; return once it answers."""
        with processes.alone(self.folder):
            process = processes.recorded(self.record)
            how = "already up" if process else "up"
            process = process or self._start()
            self._wait_until_it_answers(process)
        return f"{how} on {self.address}, pid {process.pid}, log {self.log}"

    def down(self) -> str:
        """End the server if it is one that `up` started; its data stays."""
        with processes.alone(self.folder):
            process = processes.recorded(self.record)
            if process is None:
                return "was not up"
            processes.stop(process)
        return f"down, data in {self.folder}"

    def status(self) -> str:
        """Say how it is."""
        process = processes.recorded(self.record)
        if process is None:
            return "down"
        try:
            self.server.ask(self.server.port.number)
        except OSError as error:
            return f"started, pid {process.pid}, but no answer on {self.address}: {error}"
        return f"up on {self.address}, pid {process.pid}, log {self.log}"

    def _start(self) -> processes.Recorded:
        self._refuse_a_taken_port()
        command = self.server.prepare(self.folder)
        return processes.start(command, folder=self.folder, log=self.log, record=self.record)

    def _refuse_a_taken_port(self) -> None:
        # Otherwise the stranger would answer in our server's place, and tests run against it.
        with socket.socket() as probe:
            if probe.connect_ex((HOST, self.server.port.number)) == 0:
                raise Unusable(
                    f"{self.name}: {self.address} is taken by a process that was not started"
                    f" here; set {self.server.port.variable} to another port"
                )

    def _wait_until_it_answers(self, process: processes.Recorded) -> None:
        deadline = time.monotonic() + self.server.patience_s
        while True:
            try:
                return self.server.ask(self.server.port.number)
            except OSError as error:
                reason = str(error)
            if not process.alive:
                raise Unusable(f"{self.name} ended before it answered; {self._log_end()}")
            if time.monotonic() > deadline:
                raise Unusable(
                    f"{self.name} gave no answer on {self.address} in {self.server.patience_s} s"
                    f" ({reason}); {self._log_end()}"
                )
            time.sleep(0.1)

    def _log_end(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        return "\n".join([f"the end of {self.log}:", *lines])
