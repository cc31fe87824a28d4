# `make` lists the commands. Options are variables, which reach the programs through the environment:
#   PROFILE (smoke, quick, full)   TIERS (a file of data/tiers)   SEED   FRESH=1   RUN (latest, reference or a run id)   TO (publish's folder)   ONE (its one file)
#   RETRY=1 (adds whole replicates, once, for what was rejected; the earlier rows stay)
#   CENSUS (synthetic, download, file:PATH)   SKY (the same, or download:RA_MIN,RA_MAX,DEC_MIN,DEC_MAX in degrees, or download:psc_aaa,...)
#   VERBOSE=1 (names each trial and notebook)   ENGINE (auto, quarto, plain)   PG_BIN (a PostgreSQL of your own)   PYTHON (the interpreter that .venv is made with)

MAKEFLAGS += --no-print-directory
.SILENT:
.DEFAULT_GOAL := help
.PHONY: report plan publish reference test check lab bench soak quarto clean help

PROFILE ?= $(if $(filter reference,$(MAKECMDGOALS)),smoke,quick)
export PROFILE TIERS SEED CENSUS SKY FRESH RETRY RUN ENGINE TO ONE PG_BIN PYTHON VERBOSE
# Tests start hundreds of processes: each would compile every module again where the shell forbids Python to write bytecode.
test soak: export PYTHONDONTWRITEBYTECODE :=

# Use the conda environment `tierwise` where it is active, else `.venv` in the checkout.
ENV := $(if $(filter tierwise,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX),.venv)
BIN := $(ENV)/bin

# Measure what is not measured yet, then build report/_site/latest (site, paper and data annex)
report: $(ENV)/.ready
	$(BIN)/tierwise report --yes

# Show what a report would measure, how long it takes and how much disk it needs
plan: $(ENV)/.ready
	$(BIN)/tierwise plan

# Write the newest report, its rows, manifest and checksums into a new folder: make publish TO=dir; or its page alone: make publish ONE=report.html
publish: $(ENV)/.ready
	$(BIN)/tierwise publish

# Put a run into data/reference, for a commit of its own: that of PROFILE (else smoke), measured unless it is complete, or RUN
reference: $(ENV)/.ready
	$(BIN)/tierwise reference --yes

# Run the tests, those that measure by themselves (README.md says how long)
test: $(ENV)/.ready
	failed=0; $(BIN)/python -m pytest -m "not alone and not soak" --numprocesses=3 --dist=loadfile --durations=40 --durations-min=5 || failed=1; \
	$(BIN)/python -m pytest -m "alone and not soak" $(shell grep -l mark.alone tests/*.py) && exit $$failed

# Check format, lint, words, sentence lengths, types, imports between packages, stripped notebooks, and that no code outside the studies names one
check: $(ENV)/.ready
	$(BIN)/ruff format --quiet --check .
	$(BIN)/ruff check --quiet .
	$(BIN)/python scripts/check_words.py
	report=$$($(BIN)/python scripts/check_sentences.py 2>&1) || { echo "$$report"; exit 1; }
	$(BIN)/mypy --strict --no-error-summary $(wildcard src tests benchmarks scripts)
	report=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$report"; exit 1; }
	report=$$($(BIN)/python -m pytest --quiet tests/test_instrument.py tests/test_commands.py::test_the_lines_that_ship_with_the_reference_run_are_those_that_the_code_makes_of_it) || { echo "$$report"; exit 1; }
	$(BIN)/nbstripout --keep-id --verify $(wildcard notebooks/*.ipynb)

# Open the notebooks in JupyterLab, first explore.ipynb, which starts from the newest run
lab: $(ENV)/.ready
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/explore.ipynb

# Run every benchmark of benchmarks/, one after the other; those of benchmarks/by_name take over ten minutes, and are run by name
bench: $(ENV)/.ready
	$(BIN)/python -m pip install --quiet --no-deps --only-binary :all: --require-hashes -r benchmarks/requirements.txt || echo "bench: without libCacheSim"
	for file in benchmarks/*.py; do echo "$$file"; $(BIN)/python "$$file" || exit; done

# Run the long tests
soak: $(ENV)/.ready
	$(BIN)/python -m pytest -m soak

# Try again to install Quarto, the report's other engine (optional)
quarto: $(ENV)/.ready
	PYTHONPATH=src $(BIN)/python scripts/setup_quarto.py $(ENV)

# Remove the environment, caches and work files; measured rows, downloads and reports stay
clean:
	[ ! -x $(BIN)/tierwise ] || $(BIN)/tierwise clean
	rm -rf --one-file-system .venv data/work report/_build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find src tests scripts -name __pycache__ -prune -exec rm -rf {} +

# Show this list
help:
	awk '/^#   /    { options = options substr($$0, 2) "\n"; next } \
	     /^# /      { text = substr($$0, 3); next } \
	     /^[a-z]+:/ { if (text) printf "  make %-9s %s\n", substr($$1, 1, index($$1, ":") - 1), text } \
	                { text = "" } \
	     END        { printf "options, as in make report PROFILE=smoke\n%s", options }' Makefile

# Make the environment again where the checkout was moved or the environment's Python is gone.
ifneq ($(shell cat $(ENV)/.ready 2>/dev/null && test -x $(BIN)/python && echo runs),$(CURDIR) runs)
$(ENV)/.ready: stale
.PHONY: stale
stale: ;
endif

$(ENV)/.ready: requirements.txt pyproject.toml
	sh scripts/setup.sh $(ENV)
