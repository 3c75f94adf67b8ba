"""Marks of all tests in Python."""


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes several seconds; tests/run.sh leaves it out without --all")
