from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dpbayes as dp


def test_every_public_name_loads_and_says_what_it_does_and_others_are_refused():
    assert all(getattr(dp, name).__doc__ for name in dp.__all__)
    assert set(dp.__all__) <= set(dir(dp))
    with pytest.raises(AttributeError, match="no attribute 'hellingr'"):
        assert dp.hellingr


def test_importing_the_package_loads_no_numerics():
    code = (
        "import sys, dpbayes; sys.exit(bool({'numpy', 'scipy', 'matplotlib'} &"
        " {*sys.modules}))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_module_has_its_line_in_the_list():
    listed = {
        line.split()[0] for line in (dp.__doc__ or "").splitlines()[4:] if line.strip()
    }
    folder = Path(dp.__file__).parent
    public = {path.stem for path in folder.glob("[!_]*.py")}
    public |= {path.parent.name for path in folder.glob("[!_]*/__init__.py")}
    assert listed == public
