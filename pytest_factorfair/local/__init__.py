"""Models in this process: weights read by transformers or diffusers."""
