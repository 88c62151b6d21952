# Two commands are all a newcomer needs: `make demo` and `make test`. Both install what is missing and say so.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench

help: ## Lists the targets.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Builds, starts a service, plays an ETL job on a real health table, checks the release (KEEP=1: leaves it running).
	@KEEP="$(KEEP)" scripts/demo.sh

test: ## Format, lints, all tests against a private Postgres, documentation.
	@scripts/test.sh

lint: ## Format and lints only.
	@. scripts/setup.sh && need_rust && need_rust_components && \
	cargo fmt --check && cargo clippy --locked --all-targets -- -D warnings

bench: ## Benchmarks of the engine, ingest and rendering; names the whole-service scripts.
	@. scripts/setup.sh && need_rust && cargo bench --locked --profile fast --bench engine --bench ingest --bench render --bench peer
	@echo "whole service: python3 benches/service_golden.py | benches/service_upload.py | benches/service_polls.py | benches/service_crash.py | benches/service_series.py | benches/service_coded.py | benches/service_compare.py"
