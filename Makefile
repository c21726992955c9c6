# Two commands need nothing but Python 3.11, make and the package index: `make demo` and `make test`.
.DEFAULT_GOAL := help
PYTHON ?= python3.11
UV := .uv/bin/uv
RUN := $(UV) run --frozen --python $(PYTHON)
export UV_PYTHON_DOWNLOADS := never

help: ## Show this list
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 28
.PHONY: help

$(UV):
	$(PYTHON) -m venv .uv && .uv/bin/pip install --quiet uv==0.13.9

.venv/.synced: uv.lock pyproject.toml $(wildcard packages/*/pyproject.toml) | $(UV)
	$(UV) sync --frozen --python $(PYTHON) && touch $@

sync: .venv/.synced ## Install the workspace into .venv
.PHONY: sync

protos: $(UV) ## Regenerate the wire's Python modules
	$(GENCODE)
protos-check: $(UV) ## Fail if the committed generated code is stale
	$(GENCODE) --check
GENCODE = $(UV) run --no-project --python $(PYTHON) --with grpcio-tools==1.71.2 --with 'setuptools<81' python scripts/gencode.py
.PHONY: protos protos-check
