# Two commands need nothing but Python 3.11, make and the package index: `make demo` and `make test`.
.DEFAULT_GOAL := help
PYTHON ?= python3.11
UV := .uv/bin/uv
RUN := $(UV) run --frozen --python $(PYTHON)
export PYTHON
export UV_PYTHON_DOWNLOADS := never

help: ## Show this list
	@grep -hE '^[a-z][a-z0-9 -]*:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 28
.PHONY: help

$(UV):
	$(PYTHON) -m venv .uv && .uv/bin/pip install --quiet uv==0.13.9

.venv/.synced: uv.lock pyproject.toml $(wildcard packages/*/pyproject.toml) | $(UV)
	$(UV) sync --frozen --python $(PYTHON) && touch $@

sync: .venv/.synced ## Install the workspace into .venv
.PHONY: sync

demo: $(UV) ## Run the whole loop on chargebacks and survive a SIGKILL; EVENTS=my.jsonl for yours
	$(RUN) --no-dev python docs/examples/chargebacks/demo.py $(if $(EVENTS),--events "$(EVENTS)")
.PHONY: demo

# --- without servers. REPORTS=DIR also writes each tier's JUnit report there -----------------
tier = $(RUN) pytest $(if $(REPORTS),--junitxml=$(REPORTS)/$(strip $1).xml)

# Two tiers at a time: each is a process that keeps one core busy.
test: .venv/.synced ## All that needs no server
	$(MAKE) --jobs=2 --output-sync=line test-unit test-contract test-semantics-offline test-docs test-packaging
test-unit: .venv/.synced ## One module at a time; no network
	$(call tier,unit) tests/unit tests/typing
test-contract: .venv/.synced ## Every backend under its port's contract, save those that need a server
	$(call tier,contract) tests/contract -rfE
test-semantics-offline: .venv/.synced ## Kills at every phase boundary, on the in-memory log and store
	$(call tier,semantics) tests/semantics
test-docs: .venv/.synced ## Every example and every page
	$(call tier,docs) tests/docs
test-packaging: .venv/.synced ## The built wheels in fresh environments
	$(call tier,packaging) tests/packaging
.PHONY: test test-unit test-contract test-semantics-offline test-docs test-packaging

# --- on real servers: from packages (services-up) or in containers (compose-up) --------------
SERVERS := kafka redis pubsub bigtable prism
SERVICES := $(or $(filter $(SERVERS),$(MAKECMDGOALS)),$(filter-out prism,$(SERVERS)))
# Names behind `services-up` are goals to make, with nothing to do of their own.
$(SERVERS):
	@:
.PHONY: $(SERVERS)

services-up: ## Start Kafka, Redis and the Pub/Sub and Bigtable emulators; or those named: `services-up prism`
	compose/local/up $(SERVICES)
services-down: ## Stop what services-up started; data stays in .services
	compose/local/down
compose-up: ## Start the same servers in containers
	docker compose --file compose/compose.yaml up --detach --wait
compose-down: ## Stop the containers
	docker compose --file compose/compose.yaml down
.PHONY: services-up services-down compose-up compose-down

test-integration test-prism: export BEAM_AGENTS_REQUIRE_SERVERS := 1
test-integration test-prism: export BEAM_AGENTS_TEST_KAFKA ?= 127.0.0.1:$(or $(BEAM_AGENTS_KAFKA_PORT),19092)
test-integration test-prism: export BEAM_AGENTS_TEST_REDIS ?= redis://127.0.0.1:$(or $(BEAM_AGENTS_REDIS_PORT),16379)/0
test-integration: export BEAM_AGENTS_TEST_PUBSUB ?= 127.0.0.1:$(or $(BEAM_AGENTS_PUBSUB_PORT),18085)
test-integration: export BEAM_AGENTS_TEST_BIGTABLE ?= 127.0.0.1:$(or $(BEAM_AGENTS_BIGTABLE_PORT),18086)
test-integration: .venv/.synced ## The contracts and the whole loop on the servers that are up
	$(call tier,contract-on-servers) tests/contract
	$(call tier,integration) tests/integration $(addprefix --ignore=,$(ON_PRISM))
test-prism: export BEAM_AGENTS_REQUIRE_SERVERS := 1
test-prism: export BEAM_AGENTS_TEST_PRISM ?= 127.0.0.1:$(or $(BEAM_AGENTS_PRISM_PORT),18073)
test-prism: .venv/.synced ## Scenarios and the loop on Prism, after `make services-up kafka redis prism`
	$(call tier,prism) $(ON_PRISM)
ON_PRISM = $(wildcard tests/integration/test_*on_prism.py)
chaos: export BEAM_AGENTS_REQUIRE_SERVERS := 1
chaos: export BEAM_AGENTS_CHAOS_SEEDS ?= $(or $(SEEDS),1)
chaos: .venv/.synced ## Workers and servers hurt in SEEDS=n ways, on servers of its own, and audited
	$(RUN) pytest -s tests/integration/test_chaos.py
.PHONY: test-integration test-prism chaos

# --- the code itself -------------------------------------------------------------------------
SOURCES := packages/*/src tests scripts docs/examples benchmarks compose .ci

lint: .venv/.synced ## Style, format and types
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy $(SOURCES)
.PHONY: lint

check: lint test ## What to run before a commit
.PHONY: check

# pyenv's interpreters come first: its shims on PATH are there for versions that do not run.
other = $(or $(lastword $(sort $(wildcard $(HOME)/.pyenv/versions/$1.*/bin/python$1))),$(shell $(UV) python find $1 2>/dev/null))
on_other = $(if $(call other,$1),$(subst --python $(PYTHON),--isolated --python $(call other,$1),$(call tier,python$1)) tests/unit,@echo "Python $1 is not installed")

py310: $(UV) ## The unit tests on Python 3.10, where it is installed
	$(call on_other,3.10)
py313: $(UV) ## The unit tests on Python 3.13, where it is installed
	$(call on_other,3.13)
.PHONY: py310 py313

model-test: .venv/.synced ## The engine against its reference, over many thousands of histories (EXAMPLES=20000)
	BEAM_AGENTS_MODEL_EXAMPLES=$(or $(EXAMPLES),20000) $(RUN) pytest --timeout 0 tests/unit/core/test_engine_model.py
fuzz: .venv/.synced ## Feed tools and wire what nobody would write, a minute each
	$(RUN) python scripts/fuzz_tools.py --seconds 60
bench-tools: .venv/.synced ## Canonical JSON and a tool's invocation, against their floors; JSON=PREFIX writes figures
	$(RUN) python benchmarks/tools_canonical_json.py $(if $(JSON),--json $(JSON)-canonical-json.json)
	$(RUN) python benchmarks/tools_invocation.py $(if $(JSON),--json $(JSON)-invocation.json)
bench-effector bench-smoke: export BEAM_AGENTS_TEST_KAFKA ?= 127.0.0.1:$(or $(BEAM_AGENTS_KAFKA_PORT),19092)
bench-effector bench-smoke: export BEAM_AGENTS_TEST_REDIS ?= redis://127.0.0.1:$(or $(BEAM_AGENTS_REDIS_PORT),16379)/0
bench-effector: .venv/.synced ## The engine's rate, lanes, memory and takeover against their gates, once Kafka and Redis are up
	failed=0; for case in rate redis lanes asleep latency takeover; do $(RUN) python benchmarks/effector_$$case.py $(if $(JSON),--json $(JSON)-$$case.json) || failed=1; done; exit $$failed
bench-core: .venv/.synced ## The engine's cost over Beam's own, memory and latency, all though one misses; JSON=PREFIX writes figures
	failed=0; for case in memory latency elements; do $(RUN) python benchmarks/core_$$case.py $(if $(JSON),--json $(JSON)-$$case.json) || failed=1; done; exit $$failed
bench-smoke: .venv/.synced ## Every benchmark at a small size, with loose gates, on the servers that are up
	$(RUN) python benchmarks/smoke.py
bench-footprint: .venv/.synced ## Size and start of an effector host, beside a pipeline's
	$(RUN) python benchmarks/effector_footprint.py $(if $(JSON),--json $(JSON)-footprint.json)
.PHONY: model-test fuzz bench-tools bench-core bench-effector bench-smoke bench-footprint

protos: $(UV) ## Regenerate the wire's Python modules
	$(GENCODE)
protos-check: $(UV) ## Fail if the committed generated code is stale
	$(GENCODE) --check
GENCODE = $(UV) run --no-project --python $(PYTHON) --with grpcio-tools==1.71.2 --with 'setuptools<81' python scripts/gencode.py
.PHONY: protos protos-check

clean: services-down ## Remove all that these commands made
	rm -rf .venv .uv .services .demo build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
.PHONY: clean
