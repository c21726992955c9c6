# An effector without Beam, of every backend. Your tools go on top: see compose/README.md.
#   docker build --file compose/effector.Dockerfile --tag beam-agents-effector .
FROM python:3.11-slim AS build
WORKDIR /build
COPY packages/beam-agents-tools packages/beam-agents-tools
COPY packages/beam-agents-effector packages/beam-agents-effector
RUN python -m venv /opt/beam-agents \
    && /opt/beam-agents/bin/pip install --no-cache-dir \
        ./packages/beam-agents-tools "./packages/beam-agents-effector[all]"

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home --home-dir /app effector && install -d -o 10001 /data
COPY --from=build /opt/beam-agents /opt/beam-agents
ENV PATH=/opt/beam-agents/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
# Where `--registry` is imported from.
WORKDIR /app
# SIGTERM is a graceful stop: give it more than the 25 s of --shutdown-grace-ms.
STOPSIGNAL SIGTERM
ENTRYPOINT ["beam-agents-effector"]
