"""What an operator asks of a pipeline: is everything there, will it work, how is it doing."""
