"""The code of an experiment: experiments/NAME.py, found by its name, else the generic section."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from report.data import declaration
from report.data.view import View
from report.sections import generic, ladders


def of(view: View) -> ModuleType:
    """experiments/NAME.py; without it the section of ladders for a timed ladder, else the generic section."""
    name = view.name
    path = declaration.FOLDER / f"{name}.py"
    if not declaration.is_name(name) or not path.is_file():
        return ladders if view.settings.get("kind") == ladders.LADDER and view.settings.get("family") and ladders.is_timed(view) else generic
    spec = importlib.util.spec_from_file_location(f"experiments.{name}", path)
    assert spec is not None and spec.loader is not None  # a file that ends in .py has them
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look their annotations up
    spec.loader.exec_module(module)
    return module
