"""What searches: samplers propose points, and the loop has them measured and tells the sampler what became of each."""
