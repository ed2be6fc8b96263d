"""Says so where the distribution `mneme`, which is another project's, lies in the same folder as this package.

Each has overwritten files of the other then, and which of them is imported is by chance.
"""

import pathlib
import warnings


def others(folder: pathlib.Path) -> list[str]:
    """The distributions of that name in a folder of packages.

    >>> others(pathlib.Path("/nowhere"))
    []
    """
    return sorted(path.name for path in folder.glob("mneme-*.dist-info") if path.is_dir())


for _other in others(pathlib.Path(__file__).absolute().parents[1]):
    warnings.warn(
        f"importing mneme: {_other} lies beside it, which is another project's (Mneme's distribution is mneme-gpu) and "
        "has overwritten files of it, or lost its own: "
        "pip uninstall mneme, then pip install --force-reinstall mneme-gpu",
        RuntimeWarning,
        stacklevel=3,
    )
