# A pipeline's program with Beam and Kafka. Your program goes on top: see compose/README.md.
#   docker build --file compose/pipeline.Dockerfile --tag beam-agents-pipeline .
FROM python:3.11-slim AS build
WORKDIR /build
COPY packages/beam-agents-tools packages/beam-agents-tools
COPY packages/beam-agents-core packages/beam-agents-core
RUN python -m venv /opt/beam-agents \
    && /opt/beam-agents/bin/pip install --no-cache-dir \
        ./packages/beam-agents-tools "./packages/beam-agents-core[kafka]"

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home --home-dir /app pipeline && install -d -o 10001 /data
COPY --from=build /opt/beam-agents /opt/beam-agents
ENV PATH=/opt/beam-agents/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /app
STOPSIGNAL SIGTERM
ENTRYPOINT ["python"]
