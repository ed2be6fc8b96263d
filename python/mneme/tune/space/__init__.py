"""What is searched: parameters, the space that they span, and the presets that are made for a launch."""
