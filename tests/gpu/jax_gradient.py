"""A gradient in JAX, whose kernels XLA compiles; each buffer is allocated by itself."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_ALLOCATOR", "platform")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

weights = jax.random.normal(jax.random.PRNGKey(0), (128, 32))
inputs = jnp.ones((64, 128))
gradient = jax.jit(jax.grad(lambda w: jnp.sum(jax.nn.gelu(inputs @ w) ** 2)))(weights)
print(float(gradient.sum()), float(jnp.sin(weights).sum()))
