"""The training of torch_training.py where PyTorch maps its memory itself (expandable segments)."""

import os
import pathlib
import runpy

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
runpy.run_path(str(pathlib.Path(__file__).with_name("torch_training.py")))
