# expect: status=0
# says: JAX
import jax
import jax.numpy as jnp

w = jnp.zeros((4,))


@jax.jit
def update(w, x, y):
    return w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)


for step in range(20):
    key = jax.random.PRNGKey(step)
    w = update(w, jax.random.normal(key, (8, 4)), jnp.ones(8))
print(w)
