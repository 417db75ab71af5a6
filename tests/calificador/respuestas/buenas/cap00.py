"""Respuestas buenas, escritas de otra manera. Cada celda «# %% ejercicio | cómo está escrita» es una entrega entera."""

# %% 0.1 | tal cual
broadcast_shapes = {"axes": 3, "elements": 105, "compared": 35}

# %% 0.1 | restando dos tensores vacíos
both = torch.empty(5, 1, 3) - torch.empty(7, 3)
broadcast_shapes = {"axes": both.dim(), "elements": both.numel(), "compared": both.sum(-1).numel()}

# %% 0.2 | tal cual
one_row = {"first": 5, "second": 2, "dot_products": 262144, "multiplications": 16777216}

# %% 0.2 | con la matriz, y las cuentas sin hacer
gram = torch.tensor([[1.0, 2], [0, 2], [2, 0]]).T @ torch.tensor([[1.0, 2], [0, 2], [2, 0]])
one_row = {"first": gram[0, 0].item(), "second": gram[0, 1].item(), "dot_products": 512**2,
           "multiplications": 512 * 64 * 512}

# %% 0.3 | con decimales
softmax_jacobian = {"small": 0.1, "large": 0.9, "diagonal": 0.09, "off_diagonal": -0.09}

# %% 0.3 | con autograd
weights = torch.tensor([0.0, 9.0]).clamp(min=1).log().softmax(0)
jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(0), torch.tensor([0, math.log(9)]))
softmax_jacobian = {"small": float(weights[0]), "large": float(weights[1]),
                    "diagonal": float(jacobian[1, 1]), "off_diagonal": float(jacobian[0, 1])}

# %% 0.4 | con los decimales que se piden
entropy_by_hand = {"entropy": 1.040, "divergence": 0.059}

# %% 0.4 | con los logaritmos redondeados del enunciado
entropy_by_hand = {"entropy": 1.5 * 0.693, "divergence": 1.099 - 1.5 * 0.693}

# %% 0.4 | sumando por la definición
q = [1 / 2, 1 / 4, 1 / 4]
entropy_by_hand = {"entropy": -sum(x * math.log(x) for x in q),
                   "divergence": sum(x * math.log(3 * x) for x in q)}

# %% 0.5 | tal cual
variance_rules = {"sum": 13, "difference": 13, "double": 16, "product": 36}

# %% 0.5 | con dos monedas que valen más y menos la desviación típica
pairs = torch.cartesian_prod(torch.tensor([-2.0, 2.0]), torch.tensor([-3.0, 3.0]))
x, y = pairs[:, 0], pairs[:, 1]
variance_rules = {name: t.var(correction=0).item() for name, t in
                  (("sum", x + y), ("difference", x - y), ("double", 2 * x), ("product", x * y))}

# %% 0.6 | tal cual
rank_and_trace = {"rank": 5, "trace": 25, "singular_value": 13}

# %% 0.6 | con las funciones de PyTorch
m = 2 * torch.ones(5, 5, dtype=torch.float64) + 3 * torch.eye(5, dtype=torch.float64)
rank_and_trace = {"rank": int(torch.linalg.matrix_rank(m)), "trace": float(m.trace()),
                  "singular_value": float(torch.linalg.matrix_norm(m, 2))}

# %% 0.7 | tal cual
clipped_gradient = {"clipped_x": 0.6, "clipped_y": -0.8, "untouched_x": 3, "untouched_y": -4}

# %% 0.7 | con la función de PyTorch, que divide entre la norma más una millonésima
def clip(top):
    p = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    p.grad = torch.tensor([3.0, -4.0], dtype=torch.float64)
    torch.nn.utils.clip_grad_norm_([p], top)
    return p.grad.tolist()

clipped_gradient = dict(zip(("clipped_x", "clipped_y", "untouched_x", "untouched_y"), clip(1) + clip(10)))
