"""Builds the recorder's own wheel whenever the project is installed or built, for the app to hand out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.wheel import WheelBuilder


class RecorderWheel(BuildHookInterface):
    """Called by hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build `dist/profet_recorder-VERSION-py3-none-any.whl`, and put it into a wheel of the whole project."""
        if self.target_name == "wheel":
            builder = WheelBuilder(str(Path(self.root) / "profet_recorder"))
            wheel = next(builder.build(directory=str(Path(self.root) / "dist"), versions=["standard"]))
            if version == "standard":
                build_data["force_include"][wheel] = f"profet_core/shipped/dist/{Path(wheel).name}"
