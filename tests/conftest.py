"""Hooks and fixtures that several folders of tests share; modules next to this one define them.

Fixtures have the scope of the session unless they say otherwise, and keep nothing from one test to
the next.
"""

import os
import signal

import pytest
from hypothesis import settings

from certificates import agree, certify, slack
from chromium import browser
from ci_skips import pytest_make_collect_report, pytest_runtest_makereport
from flow_peers import exact, fast, peer
from pronoun_models import small_bert, small_gpt, varied_bert, varied_gpt
from random_graphs import any_family, family
from sentiment_models import small_base, small_distilbert, small_sentiment, small_sst2

__all__ = [
    "agree", "any_family", "browser", "certify", "exact", "family", "fast", "peer",
    "pytest_make_collect_report", "pytest_runtest_makereport", "slack", "small_base", "small_bert",
    "small_distilbert", "small_gpt", "small_sentiment", "small_sst2", "varied_bert", "varied_gpt",
]  # fmt: skip

# Models of tests are small: threads of torch would wait for one another most of the time, above all
# where other programs run. Here before anything loads torch, and for commands that tests run.
_ = os.environ.setdefault("OMP_NUM_THREADS", "1")

# Scripts in the background ignore Ctrl-C, and so would the tests that press it and their commands.
_ = signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, however long one takes: a failure is found by whoever causes it.
# `--hypothesis-profile default` tries new ones.
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same")

# Folders whose tests compare no numbers, or only what the same process has computed: another
# processor rounds both in the same way. A test there that does carries the mark itself.
NO_FLOATS = {"app", "benchmarks", "browser", "cli", "project", "view", "words"}
# Folders whose tests start programs, servers and browsers, train models or read real ones. Tests
# elsewhere that take a second or more carry the mark themselves.
SLOW = {"app", "benchmarks", "browser", "cli", "paper", "project", "real"}
# Fixtures that read the data and the paper, which are no part of the repository.
DATA = {"data", "paper_text"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folders = item.path.relative_to(item.config.rootpath).parts[:-1]
        if NO_FLOATS.isdisjoint(folders):
            item.add_marker("floats")
        if not SLOW.isdisjoint(folders) and "tests" in folders:
            item.add_marker("slow")
        if DATA.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("data")
