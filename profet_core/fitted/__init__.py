"""Run fitted dense layers and trees with numpy."""
