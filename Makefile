# Two commands do all the set-up on a fresh machine: `make quickstart` and `make test`.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
QUICK = build/quickstart
# Debian's pip says so with every install; nobody can act on it here.
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Images of containers often set it: each worker, and each command that a test starts, would
# compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help quickstart test check format docs-test site
.DELETE_ON_ERROR:

help:
	@echo "make quickstart   synthesize, train a parser, parse five sentences"
	@echo "make test         install the test extras and run the tests that take minutes together"
	@echo "make check        all tests, ruff, format check and mypy"
	@echo "make format       rewrite the code in the project's format"
	@echo "make docs-test    run the examples in docs/"
	@echo "make site         docs/ as a site in build/site: the pages, the reference, the notebooks run anew"

quickstart: $(VENV)/.quick
	@mkdir -p $(QUICK)
	$(BIN)/genie-dp synthesize --size 15000 --seed 1 --jobs 2 --overwrite --output $(QUICK)/pairs.jsonl
	@$(BIN)/python examples/show_pairs.py $(QUICK)/pairs.jsonl --number 5
	$(BIN)/genie-dp data paraphrase auto $(QUICK)/pairs.jsonl --number 1 --jobs 2 --overwrite \
		--output $(QUICK)/paraphrases.jsonl
	$(BIN)/genie-dp data augment $(QUICK)/pairs.jsonl $(QUICK)/paraphrases.jsonl thingpedia \
		--paraphrase-with-text 1 --paraphrase-other 1 --primitive 2 --jobs 2 --overwrite --output $(QUICK)/train.jsonl
	$(BIN)/genie-dp train $(QUICK)/train.jsonl --steps 400 --validation thingpedia --jobs 2 --overwrite \
		--output $(QUICK)/parser
	@$(BIN)/python examples/show_parses.py $(QUICK)/parser --pairs $(QUICK)/pairs.jsonl

# What a person waits for: a few examples of each law, nothing slow.
test: $(VENV)/.test
	HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest -n auto --dist loadgroup \
		-m "not (slow or browser or docs or benchmarks or statistical)" tests genie_dp

check: $(VENV)/.test
	HYPOTHESIS_PROFILE=ci $(BIN)/python -m pytest -n auto --dist loadgroup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs-test: $(VENV)/.test
	$(BIN)/python -m pytest docs README.md

# Every warning is an error.
site: $(VENV)/.docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/site
	@echo "build/site/index.html"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if v >= (3, 11) else \
		"genie_dp needs Python 3.11 or later, this is %d.%d: make PYTHON=python3.12 .." % v)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.quick: $(VENV)/.made setup.cfg constraints.txt
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[train]'
	@touch $@

$(VENV)/.test: $(VENV)/.made setup.cfg constraints.txt
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[test]'
	@touch $@ $(VENV)/.quick

$(VENV)/.docs: $(VENV)/.made setup.cfg constraints.txt
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[docs]'
	@touch $@ $(VENV)/.quick
