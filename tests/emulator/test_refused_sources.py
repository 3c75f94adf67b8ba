"""Kernels that would hide accesses or operations from the emulator do not compile, and the compiler says what to write."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILER = os.environ.get("CXX", "g++")
COMMAND = [COMPILER, "-std=c++20", "-fsyntax-only", "-fopenmp", "-Wall", "-Wextra", f"-I{ROOT}", "-x", "c++", "-"]
POINTER = "a kernel's pointers point to mem<T>"
PLAIN = "declare the variable as reg<T>"

SOURCE = """#include "gpu/simt/simt.hpp"
namespace rung {{
namespace {{
__global__ void kernel({parameter} x, mem<float>* y) {{ {body} }}
[[maybe_unused]] void run(const Call& call) {{
  launch(call, kernel, call.operand<std::remove_pointer_t<{parameter}>>(0), call.operand<mem<float>>(1));
}}
}}  // namespace
}}  // namespace rung
"""

REFUSED = {
    "a plain pointer": ("const float*", "y[0] = x[0];", POINTER),
    "a plain pointer to store to": ("int*", "x[0] = 1, y[0] = 0;", POINTER),
    "a plain pointer to vectors": ("const float4*", "const float4 v = x[0]; y[0] = v.x;", POINTER),
    "a plain sum of elements": ("const mem<float>*", "float s = 0; s += x[0]; y[0] = s;", PLAIN),
    "a plain sum of products": ("const mem<float>*", "float s = 0; s += x[0] * x[1]; y[0] = s;", PLAIN),
    "a plain product": ("const mem<double>*", "double p = 1; p *= x[0]; y[0] = p;", PLAIN),
    "a plain quotient": ("const mem<float>*", "float q = 1; q /= reg<float>(x[0]); y[0] = q;", PLAIN),
    "a plain result": ("const mem<float>*", "const float v = x[0] + x[1]; y[0] = v;", "CountingValue<float>"),
    "a loaded value": ("const mem<float>*", "const float v = __ldg(x); y[0] = v;", "reg<float>"),
}
RIGHT = {
    "elements": ("const mem<float>*", "reg<float> s = 0; s += x[0] * x[1]; y[0] = s;"),
    "a loaded value": ("const mem<float>*", "const reg<float> v = __ldg(x); const float w = x[1]; y[0] = v + w;"),
    "whole numbers": ("const mem<int>*", "int n = 0; n += x[0]; n *= 3; y[0] = static_cast<float>(n);"),
    "rare words": ("const mem<int>*", "__builtin_assume(x[0] > 0); if (x[1] == 0) __trap(); y[0] = 1;"),
}


def said(parameter: str, body: str) -> str:
    source = SOURCE.format(parameter=parameter, body=body)
    return subprocess.run(COMMAND, input=source, capture_output=True, text=True, check=False).stderr


pytestmark = pytest.mark.skipif(not shutil.which(COMPILER), reason=f"there is no {COMPILER}")


@pytest.mark.parametrize("name", REFUSED)
def test_hidden_accesses_and_operations_do_not_compile(name):
    parameter, body, message = REFUSED[name]
    text = said(parameter, body)
    assert "error" in text and message in text


@pytest.mark.parametrize("name", RIGHT)
def test_their_right_twins_do(name):
    assert said(*RIGHT[name]) == ""
