"""The folder tools/ is the package `sheaf` once it is installed; all else is in pyproject.toml."""

from setuptools import find_packages, setup

setup(
    packages=["sheaf", *(f"sheaf.{room}" for room in find_packages("tools"))],
    package_dir={"sheaf": "tools"},
)
