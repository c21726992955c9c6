"""Another try for what failed: error records that were not looked at yet, back to their agents.

Run it when the reason is mended. What cannot be tried again is printed, and is yours.

python shop_redrive.py --topics kafka://broker:9092/shop-
"""

from __future__ import annotations

import argparse
import asyncio
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from beam_agents._protos import ActivationErrorRecord
from beam_agents.intents.topics import TopicUri, type_header
from beam_agents.io import NotRedrivable, redrive

WAIT_MS = 5_000


async def redrive_all(topics: str) -> None:
    errors = TopicUri.parse(f"{topics}errors")
    consumer = AIOKafkaConsumer(
        errors.topic,
        bootstrap_servers=list(errors.hosts),
        group_id="shop-redrive",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    producer = AIOKafkaProducer(bootstrap_servers=list(errors.hosts), enable_idempotence=True)
    async with consumer, producer:
        while batches := await consumer.getmany(timeout_ms=WAIT_MS):
            for records in batches.values():
                for record in records:
                    error = ActivationErrorRecord.FromString(record.value)
                    retries = TopicUri.parse(f"{topics}retries-{error.namespace}").topic
                    await redrive_one(producer, retries, error)
            await consumer.commit()


async def redrive_one(
    producer: AIOKafkaProducer, retries: str, error: ActivationErrorRecord
) -> None:
    try:
        envelope = redrive(error, time.time_ns() // 1_000_000)
    except NotRedrivable as reason:
        print(f"left alone: {error.namespace} {error.entity_key.decode()}: {reason}")
        return
    await producer.send_and_wait(
        retries,
        envelope.SerializeToString(),
        key=envelope.entity_key,
        headers=[type_header(type(envelope))],
    )
    print(f"tried again: {error.namespace} {error.entity_key.decode()}: {error.reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", required=True)
    asyncio.run(redrive_all(parser.parse_args().topics))


if __name__ == "__main__":
    main()
