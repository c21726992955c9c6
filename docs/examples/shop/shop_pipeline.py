"""The shop's pipeline: orders from Kafka, two agents, every topic that such a pipeline has.

On one machine:  python shop_pipeline.py --topics kafka://broker:9092/shop- --files out --state s.db
On Flink or Prism:  the same without `--state`, and with that runner's own options.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from uuid import uuid4

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from beam_agents import AgentConfig, RunAgent
from beam_agents._protos import Completion
from beam_agents.intents import Keyring, Signer
from beam_agents.io import (
    InboundRecord,
    KafkaSecurity,
    LocalLoopRunner,
    ReadDecisions,
    ReadEnvelopes,
    ReadEvents,
    ReadResults,
    WriteErrors,
    WriteIntents,
)
from shop_agents import AGENTS
from shop_tools import TOOLS

GROUP = "shop"


def kafka() -> KafkaSecurity:
    """How to log in: asked on each worker, so the password is in no pipeline."""
    return KafkaSecurity(
        protocol=os.environ.get("KAFKA_PROTOCOL", "PLAINTEXT"),
        mechanism="SCRAM-SHA-512",
        username=os.environ.get("KAFKA_USERNAME"),
        password=os.environ.get("KAFKA_PASSWORD"),
    )


def field(name: str) -> Callable[[InboundRecord], Any]:
    """Read one field of an order, which is JSON."""
    return lambda record: json.loads(record.value or b"")[name]


def customer(record: InboundRecord) -> bytes:
    return str(field("customer")(record)).encode()


class WriteFiles(beam.DoFn):
    """One file of JSON lines a bundle. A bundle that is replayed leaves its lines twice,
    with the same customer and seq: whoever loads the files keeps one of each."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def start_bundle(self) -> None:
        self.lines: list[dict[str, object]] = []

    def process(self, done: Completion) -> None:
        self.lines.append(
            {
                "customer": done.entity_key.decode(),
                "seq": done.seq,
                "output": json.loads(done.output),
            }
        )

    def finish_bundle(self) -> None:
        if not self.lines:
            return
        name = uuid4().hex
        unfinished = FileSystems.join(self.folder, f"{name}.part")
        with FileSystems.create(unfinished) as file:
            file.write("".join(json.dumps(line) + "\n" for line in self.lines).encode())
        FileSystems.rename([unfinished], [FileSystems.join(self.folder, f"{name}.jsonl")])


def build(pipeline: beam.Pipeline, topics: str, files: str, signer: Signer | None) -> None:
    """Wire it all. `AgentLoop` does this for one agent; two share their topics here."""

    def read(name: str) -> str:
        return f"{topics}{name}?group={GROUP}&idle_after_ms=1000"

    orders = pipeline | "Orders" >> ReadEvents(
        read("orders"),
        key=customer,
        event_id=field("id"),
        event_time_ms=field("at_ms"),
        kafka=kafka,
    )
    results = pipeline | "Results" >> ReadResults(read("results"), kafka=kafka)
    decisions = pipeline | "Decisions" >> ReadDecisions(read("approvals"), kafka=kafka)
    errors = [orders.errors, results.errors, decisions.errors]
    intents = []

    for namespace, agent in AGENTS.items():
        retries = pipeline | f"Retries of {namespace}" >> ReadEnvelopes(
            read(f"retries-{namespace}"), kafka=kafka
        )
        keyed = (
            orders.envelopes,
            results.envelopes,
            decisions.envelopes,
            retries.envelopes,
        ) | f"All for {namespace}" >> beam.Flatten()
        ran = keyed | namespace >> RunAgent(agent, AgentConfig(namespace=namespace, tools=TOOLS))
        intents.append(ran.intents)
        errors += [ran.errors, retries.errors]
        if namespace == "shipping":
            _ = ran.completions | "Files" >> beam.ParDo(WriteFiles(files))

    _ = (
        intents
        | "All intents" >> beam.Flatten()
        | "Intents" >> WriteIntents(f"{topics}intents", signer, kafka=kafka)
    )
    _ = (
        errors
        | "All errors" >> beam.Flatten()
        | "Errors" >> WriteErrors(f"{topics}errors", kafka=kafka)
    )


def main(argv: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", required=True, help="kafka://host:9092/ and a prefix, if any")
    parser.add_argument("--files", required=True, help="the folder for completions")
    parser.add_argument("--state", type=Path, help="run on this machine, on this state file")
    parser.add_argument("--sign-with", help="a key id of the keyring env:INTENT_KEYS")
    args, beam_args = parser.parse_known_args(argv)

    signer = None
    if args.sign_with:
        signer = Signer(Keyring.load("env:INTENT_KEYS"), args.sign_with)
    runner = LocalLoopRunner(state=args.state) if args.state else None
    pipeline = beam.Pipeline(runner=runner, options=PipelineOptions(beam_args))
    build(pipeline, args.topics, args.files, signer)
    pipeline.run().wait_until_finish()


if __name__ == "__main__":
    main()
