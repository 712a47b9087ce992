"""Triton kernels of a vLLM wheel, compiled ahead of time without vLLM: what the scripts triton-experts and
triton-attention share, and triton-norms in part. Kernel source stays in the wheel."""

import ast
import email
import importlib.util
import sys
import tempfile
import zipfile
from importlib import metadata
from pathlib import Path


def load_kernels(wheel, sources, scratch, given=""):
    """A module of nothing but the jitted kernels and helpers named in `sources` ({file in the wheel: names}). `given` is
    source for the names that they use from elsewhere."""
    parts = ["import triton\nimport triton.language as tl\n", given]
    for file, names in sources.items():
        source = wheel.read(file).decode()
        wanted = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name in names]
        if len(wanted) != len(names):
            sys.exit(f"{Path(sys.argv[0]).name}: {wheel.filename} has not all of {', '.join(names)} in {file}")
        lines = source.splitlines()
        for node in wanted:
            first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
            parts.append("\n".join(lines[first - 1 : node.end_lineno]) + "\n")
    return load_module("\n".join(parts), scratch)


def load_module(source, scratch):
    """Triton reads a kernel's text in its file: `source` becomes one in the folder `scratch`."""
    with tempfile.NamedTemporaryFile("w", dir=scratch, prefix="kernels_", suffix=".py", delete=False) as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location(Path(file.name).stem, file.name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_kernel(kernel, types, constants, is_aligned, capability, options):
    """(cubin, what to launch). `types`: {argument: Triton type} of what is no constant; `is_aligned(argument)`: its value is
    a multiple of 16, as the just-in-time compiler would see."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature, attributes, arguments = {}, {}, []
    for index, name in enumerate(kernel.arg_names):
        if name in constants:
            signature[name] = "constexpr"
            continue
        signature[name] = types[name]
        arguments.append(name)
        if is_aligned(name):
            attributes[(index,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    meta = compiled.metadata
    if meta.global_scratch_size or meta.profile_scratch_size:
        sys.exit(f"{Path(sys.argv[0]).name}: the kernel wants scratch memory, which the launcher does not give")
    return compiled.asm["cubin"], {"function": meta.name, "shared": meta.shared, "warps": meta.num_warps,
                                   "arguments": arguments}


def open_wheel(path):
    return zipfile.ZipFile(path)


def versions(wheel=None):
    """What the tables of compiled kernels name, so that it gets into the environment of what is measured with them: the
    Triton that compiles and the vLLM whose text it compiles."""
    found = {"triton": metadata.version("triton")}
    if wheel is not None:
        names = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        found["vllm"] = email.message_from_bytes(wheel.read(names[0]))["Version"]
    return found
