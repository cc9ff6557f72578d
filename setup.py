"""What pyproject.toml cannot say: the wheel carries the notebooks, their numbers, a typesetter."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
CARRIED = {
    "notebooks/**/*.ipynb": "",
    "book/reference/**/*.json": "",
    "book/_extra/mathjax/*": "runner/mathjax",
}


class CarryNotebooks(build_py):
    """Build the package, then copy what lies beside it in a checkout."""

    def run(self) -> None:
        """Copy the notebooks, the reference and MathJax into the package that is built."""
        super().run()
        if self.editable_mode:
            return
        package = Path(self.build_lib, "dpbayes")
        for pattern, target in CARRIED.items():
            for path in ROOT.glob(pattern):
                below = path.relative_to(ROOT)
                if {".ipynb_checkpoints", "_build", "results"} & set(below.parts):
                    continue
                place = package / target / path.name if target else package / below
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)


setup(cmdclass={"build_py": CarryNotebooks})
