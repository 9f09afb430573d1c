"""Makes src/gsimc/v1 of the protocol files. A source distribution has it, and not the files."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What the messages only have in options, which a client does not need.
OPTIONS = ("buf/validate/validate.proto", "google/api/field_behavior.proto")


class Protocol(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        here = Path(self.root)
        top = here.parent.parent
        if (top / "api" / "gsimc").is_dir():
            generate(top, here / "src")
            if self.target_name == "sdist":  # a wheel takes it from there
                build_data["force_include"][str(top / "LICENSE")] = "LICENSE"
        elif not (here / "src" / "gsimc" / "v1").is_dir():
            raise FileNotFoundError(f"{top / 'api'}: build in a clone of the repository, or from "
                                    "the source distribution")


def generate(top: Path, out: Path) -> None:
    """Writes the messages, their types and the stubs of top/api below out.

    The options of fields are left out, so that no package but ours has to define them.
    """
    names = sorted(p.relative_to(top / "api").as_posix() for p in top.glob("api/gsimc/v1/*.proto"))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "protocol.binpb")
        protoc(f"-I{top / 'api'}", f"-I{top / 'third_party'}", "--include_imports",
               "--include_source_info", f"--descriptor_set_out={path}", *names)
        files = descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes())
        kept = [f for f in files.file if f.name not in OPTIONS]
        for file in kept:
            file.DiscardUnknownFields()
            imports = [name for name in file.dependency if name not in OPTIONS]
            del file.dependency[:]
            file.dependency.extend(imports)
        path.write_bytes(descriptor_pb2.FileDescriptorSet(file=kept).SerializeToString())
        protoc(f"--descriptor_set_in={path}", f"--python_out={out}", f"--pyi_out={out}",
               f"--grpc_python_out={out}", *names)
    (out / "gsimc" / "v1" / "__init__.py").touch()


def protoc(*args: str) -> None:
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *args], check=True)
