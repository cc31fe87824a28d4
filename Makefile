# `make` lists the commands. Options are variables, which programs get as environment variables:
#   PROFILE=quick     size of the run: smoke, quick or full
#   TIERS=NAME        measure also on your own pair of tiers, data/tiers/NAME.toml
#   STUDY=NAME        study that make sensitivity examines; default: all studies
#   SEED=1            seed of data, trial order and device models
#   CENSUS=synthetic  rows of the 1990 census: synthetic, download or file:PATH
#   SKY=synthetic     sky catalog: synthetic, download or file:PATH, or download:RA_MIN,RA_MAX,DEC_MIN,DEC_MAX (degrees), or download:psc_aaa,... (files)
#   RUN=latest        use this complete run instead of measuring: latest, reference or a run id
#   RUNS=1            number of runs that make reference merges, each with another seed
#   FRESH=1           measure again, even if a complete run with the same inputs exists
#   RETRY=1           add replicates, once, to studies with rejected rows; the earlier rows stay
#   ENGINE=auto       program that builds the report: quarto, plain or auto
#   TO=FOLDER         folder that make publish writes
#   ONE=FILE.html     single HTML file that make publish writes instead
#   SCHEDULER=ADDRESS Dask scheduler whose workers measure (tls://HOST:PORT), or local for this machine
#   STORE=PLACE       store for the rows that workers measure: s3://BUCKET/PREFIX or a folder
#   MACHINES=1,10     numbers of machines for which make plan estimates a campaign
#   PRICE_PER_HOUR=X  price of a machine for an hour, for make plan
#   BUDGET=60m        time for measuring and report, which buys whole replicates; make plan lists them
#   VERBOSE=1         print the name of each trial and notebook
#   PG_BIN=FOLDER     programs of your own PostgreSQL
#   PYTHON=PROGRAM    Python interpreter with which .venv is made

MAKEFLAGS += --no-print-directory
.SILENT:
.DEFAULT_GOAL := help
.PHONY: report plan publish reference sensitivity test check lab bench soak demo quarto cluster campaign-demo clean help

PROFILE ?= $(if $(filter reference,$(MAKECMDGOALS)),smoke,quick)
export PROFILE STUDY TIERS SEED CENSUS SKY FRESH RETRY RUN RUNS ENGINE TO ONE PG_BIN PYTHON SCHEDULER STORE MACHINES PRICE_PER_HOUR BUDGET VERBOSE
# Tests start hundreds of processes: each would compile every module again where the shell forbids Python to write bytecode.
test soak: export PYTHONDONTWRITEBYTECODE :=

# Use the conda environment `tierwise` where it is active, else `.venv` in the checkout.
ENV := $(if $(filter tierwise,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX),.venv)
BIN := $(ENV)/bin

# Measure every study that has no current rows, then build report/_site/latest (site, paper and data annex)
report: $(ENV)/.ready
	$(BIN)/tierwise report --yes

# Show what a report would measure, how long it takes and how much disk space it needs
plan: $(ENV)/.ready
	$(BIN)/tierwise plan

# Copy the newest report with its rows to a new folder (make publish TO=dir), or write it as one HTML file (make publish ONE=report.html)
publish: $(ENV)/.ready
	$(BIN)/tierwise publish

# Replace the run in data/reference by RUN, or by a complete run of PROFILE (default smoke), which is measured if there is none
reference: $(ENV)/.ready
	$(BIN)/tierwise reference --yes
	PYTHONPATH=src $(BIN)/python scripts/record_intervals.py

# Compute how far verdicts depend on device parameters that no source states (hours; make sensitivity STUDY=wal_placement takes half an hour)
sensitivity: $(ENV)/.ready
	$(BIN)/tierwise sensitivity --yes

# Run all tests but the long ones of make soak; tests that measure run one at a time
test: $(ENV)/.ready
	$(MAKE) cluster || echo "test: without Dask, tests of campaigns skip"
	failed=0; $(BIN)/python -m pytest -m "not alone and not soak" --numprocesses=4 --dist=loadfile --durations=40 --durations-min=5 || failed=1; \
	$(BIN)/python -m pytest -m "alone and not soak" $(shell grep -l mark.alone tests/*.py) && exit $$failed

# Check format, lint, words, sentence lengths, types, imports between packages, that notebooks have no output, and that only studies' code names a study
check: $(ENV)/.ready
	$(BIN)/ruff format --quiet --check .
	$(BIN)/ruff check --quiet .
	$(BIN)/python scripts/check_words.py
	report=$$($(BIN)/python scripts/check_sentences.py 2>&1) || { echo "$$report"; exit 1; }
	$(BIN)/mypy --strict --no-error-summary $(wildcard src tests benchmarks scripts)
	report=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$report"; exit 1; }
	report=$$($(BIN)/python -m pytest --quiet tests/test_instrument.py tests/test_commands.py::test_the_lines_that_ship_with_the_reference_run_are_those_that_the_code_makes_of_it) || { echo "$$report"; exit 1; }
	$(BIN)/nbstripout --keep-id --verify $(wildcard notebooks/*.ipynb)

# Open JupyterLab with explore.ipynb, which starts from the newest run
lab: $(ENV)/.ready
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/explore.ipynb

# Run the benchmarks in benchmarks/, one at a time, but not those in benchmarks/by_name, which take over ten minutes
bench: $(ENV)/.ready
	$(BIN)/python -m pip install --quiet --no-deps --only-binary :all: --require-hashes -r benchmarks/requirements.txt || echo "bench: without libCacheSim"
	for file in benchmarks/*.py; do echo "$$file"; $(BIN)/python "$$file" || exit; done

# Run the long tests, which make test leaves out
soak: $(ENV)/.ready
	$(BIN)/python -m pytest -m soak

# Start a PostgreSQL on an emulated disk with a load, watch it, move what tierwise advises, and check it, in eight minutes after the set-up
demo: $(ENV)/.ready
	PYTHONPATH=src $(BIN)/python scripts/demo.py

# Try again to install Quarto, which can build the report (optional)
quarto: $(ENV)/.ready
	PYTHONPATH=src $(BIN)/python scripts/setup_quarto.py $(ENV)

# Install what campaigns on several machines need (Dask)
cluster: $(ENV)/.ready
	$(BIN)/python -m pip install --quiet --no-deps --only-binary :all: --require-hashes -r requirements-cluster.txt

# Measure what 13 minutes buy of a smoke report, by three workers with a scheduler and an S3 server on this machine
campaign-demo: cluster
	PROFILE=smoke sh scripts/campaign_demo.sh $(ENV)

# Remove the environment, caches and work files, but keep measured rows, downloads and reports
clean:
	[ ! -x $(BIN)/tierwise ] || $(BIN)/tierwise clean
	rm -rf --one-file-system .venv data/work report/_build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find src tests scripts -name __pycache__ -prune -exec rm -rf {} +

# Show this list
help:
	awk '/^#   /    { options = options substr($$0, 2) "\n"; next } \
	     /^# /      { text = substr($$0, 3); next } \
	     /^[a-z-]+:/ { if (text) printf "  make %-13s %s\n", substr($$1, 1, index($$1, ":") - 1), text } \
	                { text = "" } \
	     END        { printf "options, for example make report PROFILE=smoke\n%s", options }' Makefile

# Make the environment again where the checkout was moved or the environment's Python is gone.
ifneq ($(shell cat $(ENV)/.ready 2>/dev/null && test -x $(BIN)/python && echo runs),$(CURDIR) runs)
$(ENV)/.ready: stale
.PHONY: stale
stale: ;
endif

$(ENV)/.ready: requirements.txt pyproject.toml
	sh scripts/setup.sh $(ENV)
