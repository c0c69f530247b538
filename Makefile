# Every target makes what it needs: a `.venv` from the hashed locks, for which python3 and a package index are enough.
# A second run is quick, since each step leaves a stamp. `make` alone lists the targets.

VENV = .venv/bin

# The quick tests wait for a third of their time, so there is one process more than there are cores.
WORKERS = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# If PYTHONDONTWRITEBYTECODE were set, each worker would compile all tests again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo test slow-tests strangers bench lint format types validate check soak fuzz lock sbom clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

demo: .venv/runtime  ## a real upload to the embedded emulator, with faults injected; no account needed
	$(VENV)/python examples/demo.py

test: .venv/dev  ## what to run before each commit
	$(VENV)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

slow-tests: .venv/dev build/runtime  ## the other tests: containers, other programs, kills, fuzzing
	$(VENV)/python -m pytest -n auto --dist worksteal -rs -m slow

strangers: .venv/dev  ## other clients against the emulator
	@for tool in node wheels gsutil go; do sh tests/strangers/tool $$tool & done; wait
	$(VENV)/python -m pytest tests/strangers -n auto --dist worksteal -rs

bench: .venv/dev build/runtime  ## measure against curl and other clients: docs/development/MEASUREMENTS.md
	$(VENV)/python -m benchmarks

lint: .venv/dev  ## style and common mistakes
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .

format: .venv/dev  ## format the code
	$(VENV)/ruff check --fix .
	$(VENV)/ruff format .

types: .venv/dev  ## static types, strictly
	$(VENV)/mypy

validate: .venv/dev  ## workflows, action, Dockerfile and scripts, each by its own checker
	PATH="$(CURDIR)/$(VENV):$$PATH" sh scripts/validate

check: lint types validate test slow-tests strangers  ## everything, as CI does it

soak: .venv/dev  ## a thousand releases with random faults and kills; writes build/soak.md in some ten minutes
	$(VENV)/python -m tests.soak --releases $(or $(RELEASES),1000) --seed $(or $(SEED),1) --write build/soak.md

fuzz: .venv/fuzz  ## fuzz every parser of untrusted bytes, a minute each (SECONDS=60)
	$(VENV)/python -m tests.fuzz --seconds $(or $(SECONDS),60)

lock: .venv/dev  ## resolve the dependencies anew; `make lock UPGRADE=--upgrade` takes the newest
	sh scripts/lock $(UPGRADE)

sbom: build/cyclonedx  ## what the program is made of, as CycloneDX, in build/
	build/cyclonedx/bin/cyclonedx-py requirements --output-reproducible --pyproject pyproject.toml --output-file build/sbom.cdx.json requirements.lock

clean:  ## delete everything that make has built
	rm -rf .venv build dist .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis

.venv/runtime: requirements.lock scripts/venv
	sh scripts/venv requirements.lock
	@touch $@

# The program as users run it: some libraries load others if they are installed, such as those of the tests.
build/runtime: requirements.lock scripts/venv
	sh scripts/venv requirements.lock $@
	@touch $@

build/cyclonedx: requirements-sbom.lock scripts/venv
	sh scripts/venv requirements-sbom.lock $@
	@touch $@

.venv/fuzz: .venv/dev requirements-fuzz.lock
	sh scripts/venv requirements-fuzz.lock
	@touch $@

.venv/dev: requirements-dev.lock pyproject.toml scripts/venv
	sh scripts/venv requirements-dev.lock --editable
	@touch $@ .venv/runtime
