# What a person or CI may ask of this repository. Each target says in one line what it does; `make` alone prints them.
# PROFILE=release|debug chooses how the command line is built; the agent is always a static release build.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

PROFILE ?= release
# --locked in CI: a lock file that does not fit fails instead of changing.
LOCKED ?=
TARGET := x86_64-unknown-linux-gnu
AGENT := target/agent/$(TARGET)/release/ocsweep-agent
CLI := target/$(PROFILE)/ocsweep
GENERATE ?= cargo run -q $(LOCKED) --bin ocsweep-generate
# Arguments for the test runner, for example: make test-fast ARGS='-p ocsweep-proto'
ARGS ?=

.PHONY: bench help setup setup-run build agent fake cli demo test test-fast fuzz-short fuzz lint schema ci clean-containers

help: ## Print these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: setup-run ## Install and start what is missing: C compiler, git, npm, Docker engine, container images, cargo-nextest
	@scripts/setup-tools.sh test

# What a run needs, without the test runner.
setup-run:
	@scripts/setup-tools.sh build
	@scripts/setup-docker.sh
	@scripts/setup-images.sh

build: cli agent ## Build the command line and the static agent (target/$PROFILE/ocsweep and ocsweep-agent beside it)

# The agent goes beside the command line of both profiles, where that looks for it. It is a static binary because it runs in an image of
# which it knows nothing. Its own target directory keeps these flags from rebuilding everything else.
STATIC := RUSTFLAGS='-C target-feature=+crt-static' CARGO_PROFILE_RELEASE_DEBUG=false CARGO_PROFILE_RELEASE_STRIP=debuginfo \
    cargo build --release --target $(TARGET) --target-dir target/agent

agent:
	$(STATIC) $(LOCKED) -p ocsweep-agent
	@scripts/place-agent.sh $(AGENT)

# The stand-in for opencode that tests of the orchestration run in containers.
fake:
	$(STATIC) $(LOCKED) -p fake-opencode
	@install -C target/agent/$(TARGET)/release/fake-opencode target/fake-opencode
	@install -C target/agent/$(TARGET)/release/bench-stub target/bench-stub

cli:
	cargo build $(LOCKED) -p ocsweep $(if $(filter release,$(PROFILE)),--release)

demo: setup-run build ## Run the example plugin through tiers load and scripted on the real opencode and print the table
	@scripts/demo.sh $(CLI)

test: setup agent fake ## Run all tests, with Docker and the real opencode binary
	OCSWEEP_TEST_DOCKER=1 cargo nextest run $(LOCKED) --workspace $(ARGS)

test-fast: ## Run the tests that need no service
	cargo nextest run $(LOCKED) --workspace --profile fast $(ARGS)

fuzz-short: ## Fuzz each target for a few seconds from the recorded seeds, the same everywhere
	LOCKED=$(LOCKED) FUZZ_SEED=1 FUZZ_SECONDS=5 fuzz/run.sh

fuzz: ## Fuzz for FUZZ_SECONDS (default 600) a target on all cores; the corpus is kept in target/fuzz-corpus
	FUZZ_SEED=0 FUZZ_SECONDS=$(or $(FUZZ_SECONDS),600) FUZZ_JOBS=$$(nproc) fuzz/run.sh

bench: setup-run agent fake ## Measure beside a bare loop of docker run, and everything but containers: ARGS='a b c d' chooses parts
	@scripts/place-agent.sh $(AGENT)
	cargo bench $(LOCKED) --bench ocsweep -- $(ARGS)

lint: ## Check formatting, clippy with warnings as errors, and the door rules
	@scripts/setup-tools.sh lint
	cargo fmt --all --check
	cargo clippy $(LOCKED) --workspace --all-targets -- -D warnings
	scripts/lint-doors.sh --self-test
	scripts/lint-doors.sh

schema: ## Generate the JSON schemas and the reference documents again
	$(GENERATE)

ci: LOCKED := --locked
ci: PROFILE := debug
ci: ## What CI runs: setup, lint, test, demo
	@for step in setup lint test demo; do \
	    echo "==> make $$step"; SECONDS=0; \
	    $(MAKE) --no-print-directory $$step PROFILE=$(PROFILE) LOCKED=$(LOCKED); \
	    echo "==> make $$step took $$SECONDS s"; \
	done

clean-containers: ## Remove every container and volume that carries a label of ocsweep
	@scripts/clean-containers.sh
