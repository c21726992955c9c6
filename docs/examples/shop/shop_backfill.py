"""Old orders, from files into the topic that the pipeline reads: it knows no other way in.

They are as old as they say (`ctx.event_time_ms`), but nothing of them expires before it
is read: deadlines count from then. An order that was there already is dropped by its id.

python shop_backfill.py --topics kafka://broker:9092/shop- --files 'orders-2019/*.jsonl'
"""

from __future__ import annotations

import argparse
import json

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from beam_agents.io import OutboundRecord, WriteRecords
from shop_pipeline import kafka


def record(line: str) -> OutboundRecord:
    """Key an order by its customer, as whoever writes new ones does."""
    return OutboundRecord(str(json.loads(line)["customer"]).encode(), line.encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", required=True)
    parser.add_argument("--files", required=True, help="JSON lines, in the order of their events")
    args, beam_args = parser.parse_known_args()

    with beam.Pipeline("FnApiRunner", options=PipelineOptions(beam_args)) as pipeline:
        _ = (
            pipeline
            | "Old orders" >> beam.io.ReadFromText(args.files)
            | "Records" >> beam.Map(record).with_output_types(OutboundRecord)
            | "Write" >> WriteRecords(f"{args.topics}orders", kafka=kafka)
        )


if __name__ == "__main__":
    main()
