"""A gradient in JAX, whose kernels XLA compiles. JAX maps its memory itself."""

import os

# Otherwise JAX takes three quarters of the device at once, and each recorded launch sees all of it.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp

weights = jax.random.normal(jax.random.PRNGKey(0), (128, 32))
inputs = jnp.ones((64, 128))
gradient = jax.jit(jax.grad(lambda w: jnp.sum(jax.nn.gelu(inputs @ w) ** 2)))(weights)
print(float(gradient.sum()), float(jnp.sin(weights).sum()))
