"""What the language had in which version of CUDA, and which device has it: for claims of what device code can or cannot do.

Only what NVIDIA's own documents state. CUDA Programming Guide 1.0 (2007), section 4.2: neither recursion nor static variables
nor variable numbers of arguments in device code, kernels called by the host alone, only the C subset of C++, grids of
Dg.x * Dg.y blocks, memory allocated by the host. CUDA C Programming Guide 3.2 (2010), 4.0 (2011) and 5.0 (2012): recursion,
allocation by device code, grids of three dimensions and virtual functions from compute capability 2.0 on, dynamic
parallelism from 3.5 on. CUDA C++ Programming Guide 12.0 (2022): distributed shared memory from 9.0 on. CUDA C Best
Practices Guide: zero copy was added in version 2.2. Release notes of CUDA 3.1 (2010): recursion; the device emulation is
removed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from report.claims.expression import Call, nearest
from report.claims.model import Device, Model, Unknown
from report.claims.said_of import version
from report.claims.values import Fault


@dataclass(frozen=True)
class Feature:
    """`capability`: the least compute capability that has it. `since`: the first version of CUDA. `without`: where that is not
    known for certain, a version whose guide excludes it. `gone`: the first version without it again. Empty: not known."""

    capability: str = ""
    since: str = ""
    without: str = ""
    gone: str = ""


FEATURES = {
    "recursion": Feature(capability="2.0", since="3.1"),
    "virtual_functions": Feature(capability="2.0", since="4.0"),
    "device_malloc": Feature(capability="2.0", since="3.2"),
    "kernels_launch_kernels": Feature(capability="3.5", since="5.0"),
    "grid_of_three_dimensions": Feature(capability="2.0", without="1.0"),
    "shared_memory_of_other_blocks": Feature(capability="9.0"),
    "static_variables": Feature(without="1.0"),
    "variable_arguments": Feature(without="1.0"),
    "mapped_host_memory": Feature(since="2.2"),
    "device_emulation": Feature(since="1.0", gone="3.1"),
}


def value(call: Call, model: Model) -> bool:
    """Whether the subject of supports(SUBJECT).FEATURE has it: 'CUDA 1.0', or a device of the catalogue. Fault for an unknown
    feature or subject, Unknown where the table does not decide."""
    feature = FEATURES.get(call.field)
    if feature is None:
        raise Fault(f"supports() has no feature '{call.field}'{nearest(call.field, FEATURES)}")
    if found := re.fullmatch(r"CUDA (\d[\d.]*)", call.subject):
        return _in_cuda(feature, version(found.group(1)), call)
    device = model.device(call.subject)
    if not device:
        raise Fault(f"{call.subject} is neither a version of CUDA nor in the catalogue of devices{nearest(call.subject, model.devices)}")
    return _on_device(feature, model.devices[device], call)


def _in_cuda(feature: Feature, asked: tuple[int, ...], call: Call) -> bool:
    if feature.since:
        return version(feature.since) <= asked and not (feature.gone and version(feature.gone) <= asked)
    if feature.without and asked <= version(feature.without):
        return False
    raise Unknown(f"which version of CUDA first has {call.field} is not in the table of features")


def _on_device(feature: Feature, device: Device, call: Call) -> bool:
    if not feature.capability:
        raise Unknown(f"no compute capability decides {call.field}")
    return version(str(device["compute_capability"])) >= version(feature.capability)
