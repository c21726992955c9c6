"""One real Apache Kafka broker in KRaft mode, with a listener for each way to log in.

From its port on: plain, the controller's, SASL, TLS (client certificates welcome),
SASL over TLS, and a plain one that tells clients to come to the port after it, where a
test puts a proxy that misbehaves. The certificates are in `.services/kafka/tls`, the users below.
"""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from compose.local.certificates import make_certificates
from compose.local.maven import jars
from compose.local.places import HOST, Port
from compose.local.programs import need, run
from compose.local.server import Server

PORT = Port("BEAM_AGENTS_KAFKA_PORT", 19092)

# Test data: the broker listens on the loopback address only, and holds nothing of worth.
USERS = {"alice": "alice-secret", "bob": "bob-secret"}
CLUSTER_ID = "YmVhbS1hZ2VudHMtdGVzdA"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")

POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>beam-agents</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>4.4.0</version>
    </dependency>
    <dependency><!-- Kafka brings slf4j-api 1.7 -->
      <groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
"""

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAIN
listeners=PLAIN://{host}:{plain},CONTROLLER://{host}:{controller},{secured},PROXIED://{host}:{proxied}
advertised.listeners=PLAIN://{host}:{plain},{secured},PROXIED://{host}:{proxy}
listener.security.protocol.map=\
PLAIN:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,STLS:SASL_SSL
ssl.keystore.type=PEM
ssl.keystore.location={folder}/tls/server.pem
ssl.truststore.type=PEM
ssl.truststore.location={folder}/tls/ca.crt
listener.name.tls.ssl.client.auth=requested
log.dirs={folder}/data
auto.create.topics.enable=false
num.partitions=1
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=5
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
# Tests that kill a member or the broker do not want to wait out production's patience.
group.min.session.timeout.ms=500
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
num.network.threads=2
num.io.threads=4
"""


def prepare(folder: Path) -> list[str]:
    need("java", "a Java runtime, 17 or later")
    classpath = f"{jars('kafka', POM)}/*"
    make_certificates(folder / "tls")
    properties = folder / "server.properties"
    properties.write_text(_properties(folder))
    if not (folder / "data" / "meta.properties").exists():
        _format(classpath, properties)
    jvm = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    log_level = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return ["java", *jvm, log_level, "-cp", classpath, "kafka.Kafka", str(properties)]


def ask(port: int) -> None:
    """Ask for the cluster's metadata: an open port alone may belong to a broker not yet there."""
    no_topics = struct.pack(">hhihi", 3, 1, 1, -1, 0)  # Metadata, version 1
    with socket.create_connection((HOST, port), timeout=5) as connection:
        connection.sendall(struct.pack(">i", len(no_topics)) + no_topics)
        with connection.makefile("rb") as reply:
            answer = reply.read(12)
    if len(answer) < 12:
        raise OSError("it hung up on a Metadata request")
    if struct.unpack(">iii", answer)[2] < 1:
        raise OSError("no broker has joined the cluster yet")


def _properties(folder: Path) -> str:
    plain, controller, sasl, tls, stls, proxied, proxy = range(PORT.number, PORT.number + 7)
    text = PROPERTIES.format(
        host=HOST,
        folder=folder,
        plain=plain,
        controller=controller,
        proxied=proxied,
        proxy=proxy,
        secured=f"SASL://{HOST}:{sasl},TLS://{HOST}:{tls},STLS://{HOST}:{stls}",
    )
    return text + _logins("sasl") + _logins("stls")


def _logins(listener: str) -> str:
    security = "org.apache.kafka.common.security"
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    logins = {
        "PLAIN": f"{security}.plain.PlainLoginModule required {users};",
        **dict.fromkeys(SCRAM, f"{security}.scram.ScramLoginModule required;"),
    }
    prefix = f"listener.name.{listener}"
    lines = [f"{prefix}.sasl.enabled.mechanisms={','.join(logins)}"]
    lines += [f"{prefix}.{how.lower()}.sasl.jaas.config={login}" for how, login in logins.items()]
    return "\n".join([*lines, ""])


def _format(classpath: str, properties: Path) -> None:
    scram = [
        f"--add-scram={how}=[name={name},password={password}]"
        for how in SCRAM
        for name, password in USERS.items()
    ]
    tool = ["java", "-Xmx256m", "-cp", classpath, "kafka.tools.StorageTool", "format"]
    run([*tool, "--ignore-formatted", "-t", CLUSTER_ID, "-c", str(properties), *scram])


SERVER = Server(port=PORT, prepare=prepare, ask=ask, patience_s=90)
