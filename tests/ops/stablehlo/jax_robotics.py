"""Small programs as roboticists write them: filters, solvers, controllers, renderers."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax_suite import BOOL, Suite, X

Array = jax.Array
LOOSE = (1e-3, 1e-3)


def cases(suite: Suite) -> None:
    estimation(suite)
    control(suite)
    geometry(suite)


def estimation(suite: Suite) -> None:
    suite.program("kalman_filter", kalman_filter, X(6, 2), X(3, 3, low=-0.5, high=0.5), X(2, 3), tolerance=LOOSE)
    suite.program("gaussian_process", gaussian_process, X(6, 2), X(6), X(3, 2), tolerance=LOOSE)
    suite.program(
        "least_squares",
        lambda a, b: jnp.linalg.solve(a.T @ a + 0.1 * jnp.eye(3), a.T @ b),
        X(6, 3),
        X(6),
        grad=True,
        tolerance=LOOSE,
    )
    suite.program("ransac_inliers", lambda p, n: (jnp.abs(p @ n.T) < 0.3).sum(0).argmax(), X(9, 3), X(4, 3))
    suite.program("kmeans", kmeans, X(12, 2), X(3, 2), tolerance=LOOSE)
    suite.program("conjugate_gradient", conjugate_gradient, X(4, 4, symmetric=True), X(4), tolerance=LOOSE)
    suite.program(
        "jacobi",
        lambda a, b: lax.fori_loop(
            0, 20, lambda _, x: (b - (a - jnp.diag(jnp.diagonal(a))) @ x) / jnp.diagonal(a), jnp.zeros(3)
        ),
        X(3, 3, values=[4, 1, 0.5, 1, 5, 1, 0.5, 1, 6]),
        X(3),
    )
    suite.program("gram_schmidt", lambda a: jnp.linalg.qr(a)[0] @ jnp.linalg.qr(a)[1], X(4, 3), tolerance=LOOSE)
    suite.program(
        "power_spectrum", lambda x: jnp.abs(jnp.fft.rfft(x * jnp.hanning(16))) ** 2, X(3, 16), tolerance=LOOSE
    )


def kalman_filter(measured: Array, motion: Array, observe: Array) -> tuple:
    def step(carry: tuple, z: Array) -> tuple:
        state, spread = carry
        state, spread = motion @ state, motion @ spread @ motion.T + 0.1 * jnp.eye(3)
        innovation = observe @ spread @ observe.T + 0.5 * jnp.eye(2)
        gain = jnp.linalg.solve(innovation, observe @ spread).T
        state = state + gain @ (z - observe @ state)
        return (state, spread - gain @ observe @ spread), state

    return lax.scan(step, (jnp.zeros(3), jnp.eye(3)), measured)


def gaussian_process(x: Array, y: Array, query: Array) -> tuple:
    def kernel(a: Array, b: Array) -> Array:
        return jnp.exp(-0.5 * jnp.sum((a[:, None] - b) ** 2, -1))

    lower = jnp.linalg.cholesky(kernel(x, x) + 0.1 * jnp.eye(6))
    solve = partial(jax.scipy.linalg.solve_triangular, lower, lower=True)
    left, right = solve(kernel(x, query)), solve(y)
    return left.T @ right, 1 - jnp.sum(left**2, 0), jnp.log(jnp.diagonal(lower)).sum()


def kmeans(points: Array, centres: Array) -> tuple:
    def step(_: int, centres: Array) -> Array:
        nearest = jnp.argmin(((points[:, None] - centres) ** 2).sum(-1), axis=1)
        member = jax.nn.one_hot(nearest, 3)
        return (member.T @ points) / jnp.maximum(member.sum(0), 1)[:, None]

    return lax.fori_loop(0, 5, step, centres)


def conjugate_gradient(matrix: Array, right: Array) -> Array:
    def step(_: int, state: tuple) -> tuple:
        x, residual, direction = state
        moved = matrix @ direction
        size = residual @ residual
        length = size / (direction @ moved)
        fresh = residual - length * moved
        return x + length * direction, fresh, fresh + (fresh @ fresh) / size * direction

    return lax.fori_loop(0, 3, step, (jnp.zeros_like(right), right, right))[0]


def control(suite: Suite) -> None:
    suite.program("pendulum_rk4", pendulum, X(2), X(8), grad=True)
    suite.program("value_iteration", value_iteration, X(4, 2, 4, low=0.1, high=1), X(4, 2))
    suite.program("contact_solver", contact_solver, X(4, 4, symmetric=True), X(4))
    suite.program("spring_mass", lambda x, v: lax.fori_loop(0, 10, spring_step, (x, v)), X(5), X(5))
    suite.program("pid", pid, X(12))
    suite.program(
        "inverse_dynamics",
        jax.jacfwd(lambda q: jnp.stack([jnp.cos(q[0]) + jnp.cos(q[0] + q[1]), jnp.sin(q[0]) + jnp.sin(q[0] + q[1])])),
        X(2),
    )
    suite.program("mass_matrix", jax.hessian(lambda v: 0.5 * v @ jnp.array([[2.0, 0.3], [0.3, 1.0]]) @ v), X(2))
    suite.program("line_search", line_search, X(4))


def pendulum(state: Array, torques: Array) -> Array:
    def slope(s: Array, u: Array) -> Array:
        return jnp.stack([s[1], -9.81 * jnp.sin(s[0]) + u])

    def step(s: Array, u: Array) -> tuple:
        h = 0.05
        a = slope(s, u)
        b = slope(s + h / 2 * a, u)
        c = slope(s + h / 2 * b, u)
        d = slope(s + h * c, u)
        s = s + h / 6 * (a + 2 * b + 2 * c + d)
        return s, s

    return lax.scan(step, state, torques)[1]


def value_iteration(transition: Array, reward: Array) -> tuple:
    transition = transition / transition.sum(-1, keepdims=True)

    def sweep(_: int, value: Array) -> Array:
        return (reward + 0.9 * transition @ value).max(1)

    value = lax.fori_loop(0, 12, sweep, jnp.zeros(4))
    return value, (reward + 0.9 * transition @ value).argmax(1)


def contact_solver(matrix: Array, right: Array) -> Array:
    """Projected Gauss-Seidel: forces that only push."""

    def sweep(_: int, force: Array) -> Array:
        def one(i: Array, force: Array) -> Array:
            residual = right[i] - matrix[i] @ force
            return force.at[i].set(jnp.maximum(0.0, force[i] + residual / matrix[i, i]))

        return lax.fori_loop(0, 4, one, force)

    return lax.fori_loop(0, 6, sweep, jnp.zeros(4))


def spring_step(_: int, state: tuple) -> tuple:
    x, v = state
    left = jnp.concatenate([x[:1], x[:-1]])
    right = jnp.concatenate([x[1:], x[-1:]])
    v = v + 0.05 * (left - 2 * x + right)
    return x + 0.05 * v, v


def pid(goals: Array) -> Array:
    def step(carry: tuple, goal: Array) -> tuple:
        state, total, before = carry
        error = goal - state
        total = jnp.clip(total + error, -5, 5)
        command = jnp.clip(0.6 * error + 0.05 * total + 0.2 * (error - before), -1, 1)
        return (state + 0.3 * command, total, error), command

    return lax.scan(step, (0.0, 0.0, 0.0), goals)[1]


def line_search(x: Array) -> Array:
    """The first of the halved steps that decreases the value."""
    f = lambda v: jnp.sum(v**4 - v**2)  # noqa: E731
    gradient = jax.grad(f)(x)
    steps = 0.5 ** jnp.arange(6)
    values = jax.vmap(lambda t: f(x - t * gradient))(steps)
    return x - steps[jnp.argmax(values < f(x))] * gradient


def geometry(suite: Suite) -> None:
    suite.program("quaternion_rotate", quaternion_rotate, X(5, 4), X(5, 3), grad=True)
    suite.program("rodrigues", rodrigues, X(3), grad=True)
    suite.program("ray_spheres", ray_spheres, X(6, 3), X(6, 3), X(4, 3))
    suite.program("volume_rendering", volume_rendering, X(3, 8, low=0, high=2), X(3, 8, 3), grad=True)
    suite.program(
        "voxel_grid",
        lambda p: jnp.zeros((4, 4, 4), jnp.int32).at[tuple(jnp.clip((p * 2 + 2).astype(jnp.int32), 0, 3).T)].add(1),
        X(20, 3),
    )
    suite.program("bilinear_sample", bilinear_sample, X(6, 6), X(7, 2, low=0, high=4.9), grad=True)
    suite.program(
        "polygon_area",
        lambda p: 0.5 * jnp.abs(jnp.sum(p[:, 0] * jnp.roll(p[:, 1], -1) - jnp.roll(p[:, 0], -1) * p[:, 1])),
        X(6, 2),
        grad=True,
    )
    suite.program("boxes_overlap", boxes_overlap, X(4, 4, low=0, high=1), X(5, 4, low=0, high=1))
    suite.program("suppression", suppression, X(5, 4, low=0, high=1), X(5, distinct=True))
    suite.program(
        "bezier",
        lambda p, t: sum(
            b * p[i] for i, b in enumerate([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3])
        ),
        X(4),
        X(9, low=0, high=1),
    )
    suite.program(
        "spherical",
        lambda p: jnp.stack(
            [
                jnp.hypot(p[:, 0], p[:, 1]),
                jnp.arctan2(p[:, 1], p[:, 0]),
                jnp.arccos(p[:, 2] / jnp.linalg.norm(p, axis=1)),
            ],
            -1,
        ),
        X(5, 3),
    )
    suite.program(
        "sobel",
        lambda x: jax.scipy.signal.convolve2d(x, jnp.array([[1.0, 0, -1], [2, 0, -2], [1, 0, -1]]), mode="same"),
        X(6, 7),
    )
    suite.program(
        "distance_transform",
        lambda m: lax.fori_loop(
            0,
            4,
            lambda _, d: jnp.minimum(d, lax.reduce_window(d, jnp.inf, lax.min, (3, 3), (1, 1), "SAME") + 1),
            jnp.where(m, 0.0, 99.0),
        ),
        X(6, 6, dtype=BOOL),
    )


def quaternion_rotate(q: Array, v: Array) -> Array:
    q = q / jnp.linalg.norm(q, axis=-1, keepdims=True)
    twice = 2 * jnp.cross(q[:, 1:], v)
    return v + q[:, :1] * twice + jnp.cross(q[:, 1:], twice)


def rodrigues(v: Array) -> Array:
    angle = jnp.linalg.norm(v)
    x, y, z = v / angle
    cross = jnp.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return jnp.eye(3) + jnp.sin(angle) * cross + (1 - jnp.cos(angle)) * cross @ cross


def ray_spheres(origin: Array, direction: Array, centres: Array) -> tuple:
    direction = direction / jnp.linalg.norm(direction, axis=-1, keepdims=True)
    offset = origin[:, None] - centres
    along = jnp.einsum("rd,rsd->rs", direction, offset)
    inside = along**2 - jnp.sum(offset**2, -1) + 0.8
    distance = jnp.where(inside > 0, -along - jnp.sqrt(jnp.maximum(inside, 0)), jnp.inf)
    return distance.min(1), distance.argmin(1)


def volume_rendering(density: Array, colour: Array) -> Array:
    alpha = 1 - jnp.exp(-density * 0.1)
    through = jnp.cumprod(jnp.concatenate([jnp.ones((3, 1)), 1 - alpha[:, :-1] + 1e-10], 1), axis=1)
    return jnp.einsum("rs,rsc->rc", alpha * through, colour)


def bilinear_sample(image: Array, places: Array) -> Array:
    low = jnp.floor(places).astype(jnp.int32)
    part = places - low
    corner = lambda dy, dx: image[low[:, 0] + dy, low[:, 1] + dx]  # noqa: E731
    top = corner(0, 0) * (1 - part[:, 1]) + corner(0, 1) * part[:, 1]
    bottom = corner(1, 0) * (1 - part[:, 1]) + corner(1, 1) * part[:, 1]
    return top * (1 - part[:, 0]) + bottom * part[:, 0]


def boxes_overlap(a: Array, b: Array) -> Array:
    low = jnp.maximum(a[:, None, :2], b[:, :2])
    high = jnp.minimum(a[:, None, :2] + a[:, None, 2:], b[:, :2] + b[:, 2:])
    common = jnp.prod(jnp.clip(high - low, 0), -1)
    return common / (jnp.prod(a[:, 2:], -1)[:, None] + jnp.prod(b[:, 2:], -1) - common)


def suppression(boxes: Array, scores: Array) -> Array:
    order = jnp.argsort(-scores)
    overlap = boxes_overlap(boxes[order], boxes[order])

    def keep(i: Array, alive: Array) -> Array:
        return jnp.where(alive[i], alive & ((overlap[i] < 0.3) | (jnp.arange(5) <= i)), alive)

    return order, lax.fori_loop(0, 5, keep, jnp.ones(5, bool))
