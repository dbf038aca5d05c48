# Two commands do everything on a fresh machine: `make demo` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TARGET := $(or $(CARGO_TARGET_DIR),target)
# The machine's own target, as in deploy/static-binaries.
STATIC = $(shell rustc -vV | sed -n 's/^host: //p')
ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo --preserve-env=PATH,IPLEDGER_LOG,NO_COLOR)

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## The main job in under a minute: a pod gets its address, a second one is refused, and why.
	@scripts/need postgres macvlan ip cargo
	@echo "building ipledger, ipledger-api and the demo ..."
	@cargo build --quiet -p ipledger -p ipledger-api -p e2e --bin ipledger --bin ipledger-api --bin demo
	@$(ROOT) $(TARGET)/debug/demo

.PHONY: demo-outage
demo-outage: ## The two reports that started this project, on a real API server, in about a minute.
	@scripts/need postgres macvlan ip cargo go kubectl
	@echo "building ipledger, ipledger-api, ipledger-sync and the demo ..."
	@cargo build --quiet -p ipledger -p ipledger-api -p ipledger-sync -p e2e \
		--bin ipledger --bin ipledger-api --bin ipledger-sync --bin demo-outage
	@$(ROOT) $(TARGET)/debug/demo-outage

.PHONY: test
test: ## Format, lints, unit, integration and end-to-end tests; installs what they need.
	@scripts/test

.PHONY: fuzz
fuzz: ## The parser of definitions under a fuzzer for a minute (cargo-fuzz and a nightly toolchain).
	@cd cni-plugin && mkdir -p fuzz/corpus/definition && cargo +nightly fuzz run definition \
		fuzz/corpus/definition fuzz/seeds -- -max_total_time=60

.PHONY: lint
lint: ## Format and clippy, warnings denied.
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets --quiet -- -D warnings

.PHONY: build
build: ## Everything, unoptimised.
	@cargo build --workspace

.PHONY: static
static: ## The release binaries, static: target/HOST/release, HOST as rustc -vV names it.
	@RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --target $(STATIC) \
		-p ipledger -p ipledger-api -p ipledgerctl

.PHONY: bench
bench: ## Speed as ratios in one run on one PostgreSQL; writes docs/performance.md's table.
	@scripts/need postgres pgbench cargo
	@scripts/bench

.PHONY: dev
dev: ## A service with a PostgreSQL of its own, until Ctrl-C.
	@scripts/need postgres cargo
	@cargo run --quiet -p ipledger-api -- dev

.PHONY: image
image: static ## The container image of docker-compose.yml.
	@deploy/build-image

.PHONY: openapi
openapi: ## Write docs/openapi.json from the handlers.
	@cargo run --quiet -p ipledger-api -- openapi > docs/openapi.json

.PHONY: crds
crds: ## Write deploy/crds from the types in sync/src/crd.
	@cargo run --quiet -p ipledger-sync --example write-crds -- deploy/crds
