"""Hooks of pytest: with CI=true in the environment, a test that is skipped has failed.

A skip says that a browser, data or a package is missing. On a laptop that is fine; in CI the test
would not run and nobody would notice. A reason that starts with "does not apply:" stays a skip.
"""

import os
from collections.abc import Generator

import pytest


def _failed_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.outcome != "skipped" or hasattr(report, "wasxfail") or os.environ.get("CI") != "true":
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not reason.removeprefix("Skipped: ").startswith("does not apply:"):
        report.outcome = "failed"
        report.longrepr = f"CI=true, where a skip is a failure. {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _failed_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _failed_in_ci(report)
    return report
