# Two commands are all that a newcomer needs: `make demo` and `make test`. Each sets up .venv from requirements.lock.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check dev bench drill drill-alarms drill-delivery drill-full-disk drill-fuzz drill-intervals drill-io drill-kill drill-knee \
  drill-landing drill-oracle drill-power lock relations wheel clean

# Their runs show in the UI of `make dev`; those of the tests do not.
demo check dev: export DAGSTER_HOME := $(CURDIR)/dagster_home

demo: $(VENV)/ready ## Two hours of demo telemetry through the whole pipeline
	$(BIN)/goodput demo demo

test: $(VENV)/ready ## The whole test suite
	$(BIN)/pytest

check: $(VENV)/ready ## Lint, types, definitions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/dagster definitions validate

dev: $(VENV)/ready ## The Dagster UI on goodput.toml, or on the demo where there is none
	test -e goodput.toml || test -e demo/goodput.toml || $(MAKE) demo
	cd $$(test -e goodput.toml && echo . || echo demo) && \
	  $(CURDIR)/$(BIN)/dagster dev --module-name goodput.definitions --host 127.0.0.1

bench: $(VENV)/ready ## Speed, each figure as a ratio to its baseline in the same run
	$(BIN)/python -m benchmarks

drill-alarms: $(VENV)/ready ## How often trend alarms are wrong, and how soon they are right
	PYTHONPATH=tests $(BIN)/python -m monitor.drill

drill-knee: $(VENV)/ready ## How far fitted knees are from true ones, and how often their intervals hold them
	PYTHONPATH=tests $(BIN)/python -m measure.drill_knee

drill-intervals: $(VENV)/ready ## How often each published interval holds the truth, over thousands of simulated windows
	PYTHONPATH=tests $(BIN)/python -m measure.interval_drill

drill-landing: $(VENV)/ready ## Whether a row is lost when writers rotate, truncate or compress their files while runs loop
	PYTHONPATH=tests $(BIN)/python -m conform.rotation_drill

drill-delivery: $(VENV)/ready ## Whether each alarm is delivered, in order, by receivers that fail and processes that die
	PYTHONPATH=tests $(BIN)/python -m notify.delivery_drill

drill-oracle: $(VENV)/ready ## Every published number of random fleets beside its computation in plain Python
	PYTHONPATH=tests $(BIN)/python -m oracle.drill

drill-full-disk: $(VENV)/ready ## What runs leave that find no room, and what the next one makes of it; needs root
	PYTHONPATH=tests $(BIN)/python -m end_to_end.full_disk_drill

drill-io: $(VENV)/ready ## What runs leave of which any write fails, and what the next one makes of it; needs a C compiler
	PYTHONPATH=tests $(BIN)/python -m end_to_end.io_drill

drill-kill: $(VENV)/ready ## What runs leave that are killed at random instants, and what the next one makes of it
	PYTHONPATH=tests $(BIN)/python -m end_to_end.kill_drill

drill-power: $(VENV)/ready ## What a loss of power leaves of a lake, and what the next run makes of it; needs root
	PYTHONPATH=tests $(BIN)/python -m plumbing.power_drill

drill-fuzz: $(VENV)/ready ## What hostile telemetry and settings do to a run and to the telemetry beside them, by the million
	PYTHONPATH=tests $(BIN)/python -m fuzz.drill

drill: drill-landing drill-kill drill-full-disk drill-io drill-power drill-delivery drill-oracle drill-fuzz ## What a run, a disk and a receiver do to it, hundreds of times

lock: $(VENV)/ready ## Resolve pyproject.toml anew into requirements.lock
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/python -m uv pip compile pyproject.toml --all-extras --group dev --group build --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-annotate --no-header --no-strip-extras --quiet --output-file requirements.lock
	$(BIN)/python -m uv pip compile pyproject.toml --constraint requirements.lock --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-annotate --no-header --no-strip-extras --quiet --output-file deploy/requirements.txt
	$(BIN)/python -m uv pip compile pyproject.toml --extra cluster --constraint requirements.lock --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-annotate --no-header --no-strip-extras --quiet --output-file deploy/requirements-cluster.txt

relations: $(VENV)/ready ## docs/relations.md, from contracts and headers of sql/
	PYTHONPATH=tests $(BIN)/python -m relations

wheel: $(VENV)/ready ## The wheel in dist/, built offline; deploy/requirements.txt has what it runs with
	rm -f dist/goodput-*.whl
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .

clean: ## Everything that these commands made
	rm -rf $(VENV) demo dist

$(VENV)/ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Goodput needs Python 3.11 or newer; name one with PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@
