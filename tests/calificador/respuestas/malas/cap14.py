"""Respuestas equivocadas que no salen del registro. Cada celda «# %% ejercicio | qué hace mal» es una entrega entera."""

# %% 14.1 | la pérdida entre cuatro
score_by_hand = {"loss": 0.87, "token": 0.83, "exact": 0.5, "sampled": 0.06}

# %% 14.1 | el acierto, entre las ocho casillas
score_by_hand = {"loss": 0.58, "token": 0.63, "exact": 0.5, "sampled": 0.06}

# %% 14.1 | el acierto, sin los fines
score_by_hand = {"loss": 0.58, "token": 0.75, "exact": 0.5, "sampled": 0.06}

# %% 14.1 | el exacto, como potencia del acierto
score_by_hand = {"loss": 0.58, "token": 0.83, "exact": 0.48, "sampled": 0.06}

# %% 14.1 | lo sorteado, contando una vez el ½
score_by_hand = {"loss": 0.58, "token": 0.83, "exact": 0.5, "sampled": 0.13}

# %% 14.1 | la pérdida en bits y el exacto por símbolos ⇒ nats
score_by_hand = {"loss": 0.833, "token": 0.833, "exact": 0.833, "sampled": 0.0625}

# %% 14.2 | compara los tensores enteros
def exact_and_token(written, wanted, eos_id=2):
    width = min(written.shape[1], wanted.shape[1])
    same = written[:, :width] == wanted[:, :width]
    asked = ((wanted == eos_id).cumsum(1) - (wanted == eos_id).long() == 0)
    return same.all(1).double().mean().item(), (same & asked[:, :width]).sum().item() / asked.sum().item()

# %% 14.2 | tapa el relleno por su número, pero lo de detrás del fin lo cuenta
def exact_and_token(written, wanted, eos_id=2):
    width = min(written.shape[1], wanted.shape[1])
    asked = wanted != 0
    same = (written[:, :width] == wanted[:, :width]) & asked[:, :width]
    return (same.sum(1) == asked.sum(1)).double().mean().item(), same.sum().item() / asked.sum().item()

# %% 14.2 | corta en el último fin y no en el primero
def exact_and_token(written, wanted, eos_id=2):
    exact = hits = places = 0
    for a, b in zip(written.tolist(), wanted.tolist()):
        b = b[: b.index(eos_id) + 1]
        while a and eos_id in a and a[-1] != eos_id:
            a = a[:-1]
        exact, hits, places = exact + (a == b), hits + sum(x == y for x, y in zip(a, b)), places + len(b)
    return exact / len(written), hits / places

# %% 14.2 | para al primer fallo
def exact_and_token(written, wanted, eos_id=2):
    exact = hits = places = 0
    for a, b in zip(written.tolist(), wanted.tolist()):
        a = a[: a.index(eos_id) + 1] if eos_id in a else a
        b = b[: b.index(eos_id) + 1]
        exact, places = exact + (a == b), places + len(b)
        for x, y in zip(a, b):
            if x != y:
                break
            hits += 1
    return exact / len(written), hits / places

# %% 14.2 | devuelve cuántas y no qué proporción
def exact_and_token(written, wanted, eos_id=2):
    exact = hits = 0
    for a, b in zip(written.tolist(), wanted.tolist()):
        a = a[: a.index(eos_id) + 1] if eos_id in a else a
        b = b[: b.index(eos_id) + 1]
        exact, hits = exact + (a == b), hits + sum(x == y for x, y in zip(a, b))
    return exact, hits

# %% 14.3 | el resultado
short_sighted = "803"

# %% 14.3 | la suma con espacios por dentro
short_sighted = "275 + 528"

# %% 14.3 | un número
short_sighted = 2

# %% 14.3 | todas
short_sighted = ["458+367", "275+528", "199+099", "354+645"]

# %% 14.3 | lo que escribe el miope
short_sighted = "703"

# %% 14.4 | la cadena más larga de la suma, para todos sus lugares
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    for (a, b), result in zip(pairs.tolist(), written.tolist()):
        runs, best = 0, 0
        for k in range(1, digits + 1):
            runs = runs + 1 if a % 10**k + b % 10**k >= 10**k else 0
            best = max(best, runs)
        for k in range(digits + 1):
            table[best, 0] += 1
            table[best, 1] += (a + b) // 10**k % 10 != result // 10**k % 10
    return table

# %% 14.4 | cuenta el propio lugar
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    for (a, b), result in zip(pairs.tolist(), written.tolist()):
        chain = 0
        for k in range(digits + 1):
            chain = chain + 1 if a % 10 ** (k + 1) + b % 10 ** (k + 1) >= 10 ** (k + 1) else 0
            table[chain, 0] += 1
            table[chain, 1] += (a + b) // 10**k % 10 != result // 10**k % 10
    return table

# %% 14.4 | cuenta sumas mal y no lugares
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    for (a, b), result in zip(pairs.tolist(), written.tolist()):
        chain = 0
        for k in range(digits + 1):
            table[chain, 0] += 1
            table[chain, 1] += a + b != result
            chain = chain + 1 if a % 10 ** (k + 1) + b % 10 ** (k + 1) >= 10 ** (k + 1) else 0
    return table

# %% 14.4 | cadena = llevadas hasta aquí, aunque haya huecos
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    for (a, b), result in zip(pairs.tolist(), written.tolist()):
        chain = 0
        for k in range(digits + 1):
            table[chain, 0] += 1
            table[chain, 1] += (a + b) // 10**k % 10 != result // 10**k % 10
            chain += a % 10 ** (k + 1) + b % 10 ** (k + 1) >= 10 ** (k + 1)
    return table

# %% 14.4 | proporciones
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2)
    for (a, b), result in zip(pairs.tolist(), written.tolist()):
        chain = 0
        for k in range(digits + 1):
            table[chain, 0] += 1
            table[chain, 1] += (a + b) // 10**k % 10 != result // 10**k % 10
            chain = chain + 1 if a % 10 ** (k + 1) + b % 10 ** (k + 1) >= 10 ** (k + 1) else 0
    return torch.stack([table[:, 0], table[:, 1] / table[:, 0].clamp(min=1)], 1)

# %% 14.4 | lleva también lo que escribió el modelo
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.int64)
    for (a, b), result in zip(pairs.tolist(), written.tolist()):
        chain = 0
        for k in range(digits + 1):
            table[chain, 0] += 1
            table[chain, 1] += (a + b) // 10**k % 10 != result // 10**k % 10
            carries = (a // 10**k % 10 + b // 10**k % 10) > result // 10**k % 10
            chain = chain + 1 if carries else 0
    return table

# %% 14.4 | solo lleva si las dos cifras suman diez, sin la que llega
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.int64)
    for (a, b), result in zip(pairs.tolist(), written.tolist()):
        chain = 0
        for k in range(digits + 1):
            table[chain, 0] += 1
            table[chain, 1] += (a + b) // 10**k % 10 != result // 10**k % 10
            chain = chain + 1 if a // 10**k % 10 + b // 10**k % 10 >= 10 else 0
    return table

# %% 14.4 | la cadena se incluye a sí mismo ⇒ son los de su derecha
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    for (a, b), r in zip(pairs.tolist(), written.tolist()):
        chain = 0
        for k in range(digits + 1):
            place = a // 10**k % 10 + b // 10**k % 10 + (chain > 0)
            chain = chain + 1 if place >= 10 else 0
            table[chain, 0] += 1
            table[chain, 1] += r // 10**k % 10 != place % 10
    return table

# %% 14.4 | la primera cadena cuenta uno menos
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    for (a, b), r in zip(pairs.tolist(), written.tolist()):
        chain = carry = 0
        for k in range(digits + 1):
            place = a // 10**k % 10 + b // 10**k % 10 + carry
            table[max(chain - 1, 0), 0] += 1
            table[max(chain - 1, 0), 1] += r // 10**k % 10 != place % 10
            carry = int(place >= 10)
            chain = chain + 1 if carry else 0
    return table

# %% 14.4 | desde la izquierda
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    for (a, b), r in zip(pairs.tolist(), written.tolist()):
        carry, carries = 0, []
        for k in range(digits):
            carry = int(a // 10**k % 10 + b // 10**k % 10 + carry >= 10)
            carries.append(carry)
        for k in range(digits + 1):
            chain = 0
            while k + chain < digits and carries[k + chain]:
                chain += 1
            table[chain, 0] += 1
            table[chain, 1] += r // 10**k % 10 != (a + b) // 10**k % 10
    return table

# %% 14.4 | cuenta sumas, no lugares
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    for (a, b), r in zip(pairs.tolist(), written.tolist()):
        chain = 0
        for k in range(digits + 1):
            place = a // 10**k % 10 + b // 10**k % 10 + (chain > 0)
            table[chain, 0] += 1
            table[chain, 1] += r != a + b
            chain = chain + 1 if place >= 10 else 0
    return table

# %% 14.4 | se para en el primer fallo
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    for (a, b), r in zip(pairs.tolist(), written.tolist()):
        chain = 0
        for k in range(digits + 1):
            place = a // 10**k % 10 + b // 10**k % 10 + (chain > 0)
            table[chain, 0] += 1
            bad = r // 10**k % 10 != place % 10
            table[chain, 1] += bad
            if bad:
                break
            chain = chain + 1 if place >= 10 else 0
    return table

# %% 14.4 | la cadena no se corta ⇒ vuelve a ser 0
def errors_by_chain(pairs, written, digits):
    table = torch.zeros(digits + 1, 2, dtype=torch.long)
    for (a, b), r in zip(pairs.tolist(), written.tolist()):
        chain = 0
        for k in range(digits + 1):
            s = a // 10**k % 10 + b // 10**k % 10 + min(chain, 1)
            table[chain] += torch.tensor([1, int(r // 10**k % 10 != s % 10)])
            if s > 9:
                chain += 1
    return table

# %% 14.5 | ordena los textos sin quitar los ceros
def leaked(train, test):
    seen = {tuple(sorted(text.split("+"))) for text in train}
    return [i for i, text in enumerate(test) if tuple(sorted(text.split("+"))) in seen]

# %% 14.5 | quita los ceros, pero no ordena
def leaked(train, test):
    seen = {tuple(part.lstrip("0") for part in text.split("+")) for text in train}
    return [i for i, text in enumerate(test) if tuple(part.lstrip("0") for part in text.split("+")) in seen]

# %% 14.5 | los índices de entrenar
def leaked(train, test):
    seen = {frozenset(map(int, text.split("+"))) for text in test}
    return [i for i, text in enumerate(train) if frozenset(map(int, text.split("+"))) in seen]

# %% 14.5 | cuántas
def leaked(train, test):
    seen = {frozenset(map(int, text.split("+"))) for text in train}
    return sum(frozenset(map(int, text.split("+"))) in seen for text in test)

# %% 14.5 | ordena todas las cifras de la suma
def leaked(train, test):
    seen = {"".join(sorted(text.replace("+", ""))) for text in train}
    return [i for i, text in enumerate(test) if "".join(sorted(text.replace("+", ""))) in seen]

# %% 14.5 | basta con que uno de los dos sumandos esté
def leaked(train, test):
    seen = {n for text in train for n in map(int, text.split("+"))}
    return [i for i, text in enumerate(test) if seen & set(map(int, text.split("+")))]

# %% 14.5 | las que no estaban
def leaked(train, test):
    key = lambda text: tuple(sorted(map(int, text.split("+"))))
    seen = {key(text) for text in train}
    return [i for i, text in enumerate(test) if key(text) not in seen]

# %% 14.5 | los dos sumandos, como un conjunto de cifras cada uno
def leaked(train, test):
    key = lambda text: frozenset(frozenset(part) for part in text.split("+"))
    seen = {key(text) for text in train}
    return [i for i, text in enumerate(test) if key(text) in seen]

# %% 14.5 | solo el primer sumando
def leaked(train, test):
    seen = {int(text.split("+")[0]) for text in train}
    return [i for i, text in enumerate(test) if int(text.split("+")[0]) in seen]

# %% 14.6 | corta por la primera operación y no por la última
def to_prefix(text):
    for group in ("+-", "*/"):
        depth = 0
        for i, sign in enumerate(text):
            depth += (sign == "(") - (sign == ")")
            if depth == 0 and sign in group:
                return sign + to_prefix(text[:i]) + to_prefix(text[i + 1 :])
    return to_prefix(text[1:-1]) if text[0] == "(" else text

# %% 14.6 | de izquierda a derecha, sin rangos
def to_prefix(text):
    depth = 0
    for i in reversed(range(len(text))):
        depth += (text[i] == ")") - (text[i] == "(")
        if depth == 0 and text[i] in "+-*/":
            return text[i] + to_prefix(text[:i]) + to_prefix(text[i + 1 :])
    return to_prefix(text[1:-1]) if text[0] == "(" else text

# %% 14.6 | la resta antes que la suma
def to_prefix(text):
    for group in ("-", "+", "/", "*"):
        depth = 0
        for i in reversed(range(len(text))):
            depth += (text[i] == ")") - (text[i] == "(")
            if depth == 0 and text[i] in group:
                return text[i] + to_prefix(text[:i]) + to_prefix(text[i + 1 :])
    return to_prefix(text[1:-1]) if text[0] == "(" else text

# %% 14.6 | no mira la profundidad
def to_prefix(text):
    for group in ("+-", "*/"):
        for i in reversed(range(len(text))):
            if text[i] in group:
                return text[i] + to_prefix(text[:i].strip("()")) + to_prefix(text[i + 1 :].strip("()"))
    return text

# %% 14.6 | quita los paréntesis y ordena lo demás
def to_prefix(text):
    return "".join(s for s in text if s in "+-*/") + "".join(s for s in text if s not in "+-*/()")

# %% 14.6 | la pila no saca las de la misma clase
def to_prefix(text):
    level, values, signs = {"+": 0, "-": 0, "*": 1, "/": 1}, [], []

    def join():
        right, left = values.pop(), values.pop()
        values.append(signs.pop() + left + right)

    for s in text:
        if s == "(":
            signs.append(s)
        elif s == ")":
            while signs[-1] != "(":
                join()
            signs.pop()
        elif s in level:
            while signs and signs[-1] != "(" and level[signs[-1]] > level[s]:
                join()
            signs.append(s)
        else:
            values.append(s)
    while signs:
        join()
    return values[0]

# %% 14.6 | el orden posfijo
def to_prefix(text):
    level, out, signs = {"+": 0, "-": 0, "*": 1, "/": 1}, "", []
    for s in text:
        if s == "(":
            signs.append(s)
        elif s == ")":
            while signs[-1] != "(":
                out += signs.pop()
            signs.pop()
        elif s in level:
            while signs and signs[-1] != "(" and level[signs[-1]] >= level[s]:
                out += signs.pop()
            signs.append(s)
        else:
            out += s
    return out + "".join(reversed(signs))

# %% 14.6 | los operandos, cambiados de lado
def to_prefix(text):
    level, values, signs = {"+": 0, "-": 0, "*": 1, "/": 1}, [], []

    def join():
        values.append(signs.pop() + values.pop() + values.pop())

    for s in text:
        if s == "(":
            signs.append(s)
        elif s == ")":
            while signs[-1] != "(":
                join()
            signs.pop()
        elif s in level:
            while signs and signs[-1] != "(" and level[signs[-1]] >= level[s]:
                join()
            signs.append(s)
        else:
            values.append(s)
    while signs:
        join()
    return values[0]

# %% 14.6 | la multiplicación, después de la suma
def to_prefix(text):
    level, values, signs = {"+": 1, "-": 1, "*": 0, "/": 0}, [], []

    def join():
        right, left = values.pop(), values.pop()
        values.append(signs.pop() + left + right)

    for s in text:
        if s == "(":
            signs.append(s)
        elif s == ")":
            while signs[-1] != "(":
                join()
            signs.pop()
        elif s in level:
            while signs and signs[-1] != "(" and level[signs[-1]] >= level[s]:
                join()
            signs.append(s)
        else:
            values.append(s)
    while signs:
        join()
    return values[0]

# %% 14.6 | deja los paréntesis de más en el prefijo
def to_prefix(text):
    best, depth = None, 0
    for i, s in enumerate(text):
        depth += (s == "(") - (s == ")")
        if depth == 0 and s in "+-*/" and (best is None or s in "+-" or text[best] in "*/"):
            best = i
    if best is None:
        return text
    return text[best] + to_prefix(text[:best]) + to_prefix(text[best + 1 :])

# %% 14.6 | todas las operaciones de multiplicar, agrupadas de izquierda a derecha antes que los paréntesis
def to_prefix(text):
    values = [s for s in text if s not in "+-*/()"]
    signs = [s for s in text if s in "+-*/"]
    for kind in ("*/", "+-"):
        i = 0
        while i < len(signs):
            if signs[i] in kind:
                values[i : i + 2] = [signs.pop(i) + values[i] + values[i + 1]]
            else:
                i += 1
    return values[0]

# %% 14.7 | los dos lados iguales, sin asociar
def to_infix(text):
    rank, stack = {"+": 1, "-": 1, "*": 2, "/": 2}, []
    for sign in reversed(text):
        if sign not in rank:
            stack.append((sign, 3))
            continue
        sides = [f"({t})" if r < rank[sign] else t for t, r in (stack.pop(), stack.pop())]
        stack.append((sign.join(sides), rank[sign]))
    return stack[0][0]

# %% 14.7 | el derecho siempre que sea una operación
def to_infix(text):
    rank, stack = {"+": 1, "-": 1, "*": 2, "/": 2}, []
    for sign in reversed(text):
        if sign not in rank:
            stack.append((sign, 3))
            continue
        (left, a), (right, b) = stack.pop(), stack.pop()
        left = f"({left})" if a < rank[sign] else left
        right = f"({right})" if b < 3 else right
        stack.append((left + sign + right, rank[sign]))
    return stack[0][0]

# %% 14.7 | cuatro rangos distintos
def to_infix(text):
    rank, stack = {"+": 1, "-": 2, "*": 3, "/": 4}, []
    for sign in reversed(text):
        if sign not in rank:
            stack.append((sign, 9))
            continue
        (left, a), (right, b) = stack.pop(), stack.pop()
        left = f"({left})" if a < rank[sign] else left
        right = f"({right})" if b <= rank[sign] else right
        stack.append((left + sign + right, rank[sign]))
    return stack[0][0]

# %% 14.7 | solo pone paréntesis a las sumas
def to_infix(text):
    stack = []
    for sign in reversed(text):
        if sign in "+-*/":
            left, right = stack.pop(), stack.pop()
            stack.append(f"({left}{sign}{right})" if sign in "+-" else left + sign + right)
        else:
            stack.append(sign)
    return stack[0]

# %% 14.7 | lee de izquierda a derecha
def to_infix(text):
    signs, leaves = [s for s in text if s in "+-*/"], [s for s in text if s not in "+-*/"]
    return leaves[0] + "".join(s + x for s, x in zip(signs, leaves[1:]))

# %% 14.7 | quita los de la derecha si el valor es el mismo
def to_infix(text):
    level, stack = {"+": 0, "-": 0, "*": 1, "/": 1}, []
    for s in reversed(text):
        if s not in level:
            stack.append((s, 2))
            continue
        (left, a), (right, b) = stack.pop(), stack.pop()
        left = f"({left})" if a < level[s] else left
        right = f"({right})" if b < level[s] or (b == level[s] and s in "-/") else right
        stack.append((left + s + right, level[s]))
    return stack[0][0]

# %% 14.7 | todos los paréntesis
def to_infix(text):
    stack = []
    for s in reversed(text):
        stack.append(f"({stack.pop()}{s}{stack.pop()})" if s in "+-*/" else s)
    return stack[0][1:-1] if len(stack[0]) > 1 else stack[0]

# %% 14.7 | el de dentro, sin paréntesis si es una resta
def to_infix(text):
    level, stack = {"+": 0, "-": 0, "*": 1, "/": 1}, []
    for s in reversed(text):
        if s not in level:
            stack.append((s, 2))
            continue
        (left, a), (right, b) = stack.pop(), stack.pop()
        left = f"({left})" if a <= level[s] else left
        right = f"({right})" if b < level[s] else right
        stack.append((left + s + right, level[s]))
    return stack[0][0]

# %% 14.8 | el siguiente que cierra
def bracket_excess(weights, text):
    closes = [j for j, s in enumerate(text) if s == ")"]
    out = []
    for i in [k for k, s in enumerate(text) if s == "("]:
        own = min(j for j in closes if j > i)
        rest = [j for j in closes if j != own]
        out.append(weights[:, i, own] - weights[:, i, rest].mean(1))
    return torch.stack(out).mean(0)

# %% 14.8 | el control son los demás signos
def bracket_excess(weights, text):
    stack, out = [], []
    for j, s in enumerate(text):
        if s == "(":
            stack.append(j)
        elif s == ")":
            i = stack.pop()
            out.append(weights[:, i, j] - (weights[:, i].sum(1) - weights[:, i, j]) / (len(text) - 1))
    return torch.stack(out).mean(0)

# %% 14.8 | desde el que cierra
def bracket_excess(weights, text):
    stack, pairs = [], []
    for j, s in enumerate(text):
        if s == "(":
            stack.append(j)
        elif s == ")":
            pairs.append((j, stack.pop()))
    opens = [o for _, o in pairs]
    out = [weights[:, c, o] - weights[:, c, [x for x in opens if x != o]].mean(1) for c, o in pairs]
    return torch.stack(out).mean(0)

# %% 14.8 | cociente en lugar de diferencia
def bracket_excess(weights, text):
    stack, pairs = [], []
    for j, s in enumerate(text):
        if s == "(":
            stack.append(j)
        elif s == ")":
            pairs.append((stack.pop(), j))
    closes = [c for _, c in pairs]
    out = [weights[:, o, c] / weights[:, o, [x for x in closes if x != c]].mean(1) for o, c in pairs]
    return torch.stack(out).mean(0)

# %% 14.8 | una media de todas las cabezas
def bracket_excess(weights, text):
    stack, pairs = [], []
    for j, s in enumerate(text):
        if s == "(":
            stack.append(j)
        elif s == ")":
            pairs.append((stack.pop(), j))
    closes = [c for _, c in pairs]
    out = [weights[:, o, c] - weights[:, o, [x for x in closes if x != c]].mean(1) for o, c in pairs]
    return torch.stack(out).mean().expand(len(weights))

# %% 14.8 | el control cuenta también el suyo
def bracket_excess(weights, text):
    stack, pairs = [], []
    for j, s in enumerate(text):
        if s == "(":
            stack.append(j)
        elif s == ")":
            pairs.append((stack.pop(), j))
    closes = [c for _, c in pairs]
    return torch.stack([weights[:, o, c] - weights[:, o, closes].mean(1) for o, c in pairs]).mean(0)

# %% 14.8 | las parejas, la primera que abre con la primera que cierra
def bracket_excess(weights, text):
    opens = [j for j, s in enumerate(text) if s == "("]
    closes = [j for j, s in enumerate(text) if s == ")"]
    out = []
    for o, c in zip(opens, closes):
        rest = [x for x in closes if x != c]
        out.append(weights[:, o, c] - weights[:, o, rest].mean(1))
    return torch.stack(out).mean(0)

# %% 14.8 | reparte entre las filas de todos los signos y no entre las de los que abren
def bracket_excess(weights, text):
    stack, pairs = [], []
    for j, s in enumerate(text):
        if s == "(":
            stack.append(j)
        elif s == ")":
            pairs.append((stack.pop(), j))
    closes = [c for _, c in pairs]
    out = [weights[:, o, c] - weights[:, o, [x for x in closes if x != c]].mean(1) for o, c in pairs]
    return torch.stack(out).sum(0) / len(text)

# %% 14.9 | el de la tasa medida, recortado
def rate_interval(hits, n, z=1.96):
    rate = hits / n
    half = z * math.sqrt(rate * (1 - rate) / n)
    return max(0.0, rate - half), min(1.0, rate + half)

# %% 14.9 | suma dos aciertos y dos fallos
def rate_interval(hits, n, z=1.96):
    rate = (hits + z * z / 2) / (n + z * z)
    half = z * math.sqrt(rate * (1 - rate) / (n + z * z))
    return rate - half, rate + half

# %% 14.9 | la desviación de la peor tasa
def rate_interval(hits, n, z=1.96):
    half = z * 0.5 / math.sqrt(n)
    return hits / n - half, hits / n + half

# %% 14.9 | sin la raíz de n
def rate_interval(hits, n, z=1.96):
    rate = hits / n
    half = z * math.sqrt(rate * (1 - rate)) / n
    return rate - half, rate + half

# %% 14.9 | regla del tres
def rate_interval(hits, n, z=1.96):
    rate = hits / n
    return rate - 3 / n, min(1.0, rate + 3 / n)

# %% 14.9 | la desviación con n − 1
def rate_interval(hits, n, z=1.96):
    m = n - 1
    rate = hits / n
    middle = (rate + z * z / (2 * m)) / (1 + z * z / m)
    half = z * math.sqrt(rate * (1 - rate) / m + z * z / (4 * m * m)) / (1 + z * z / m)
    return middle - half, middle + half

# %% 14.9 | prueba las tasas de milésima en milésima
def rate_interval(hits, n, z=1.96):
    good = [p / 1000 for p in range(1001) if abs(hits / n - p / 1000) <= z * math.sqrt(p / 1000 * (1 - p / 1000) / n)]
    return (min(good), max(good)) if good else (hits / n, hits / n)

# %% 14.10 | lee lo que otros ya han escrito en esa ronda
def carry_rounds(sums):
    state = [1 if s > 9 else -1 if s == 9 else 0 for s in sums.tolist()]
    rows, jump = [list(state)], 1
    while -1 in state:
        for k, s in enumerate(state):
            if s == -1:
                state[k] = state[k - jump] if k >= jump else 0
        rows.append(list(state))
        jump *= 2
    return torch.tensor(rows)

# %% 14.10 | una ronda de más
def carry_rounds(sums):
    state = (sums > 9).long() - (sums == 9).long()
    rows, jump, last = [state], 1, False
    while not last:
        last = not (state < 0).any()
        below = torch.cat([torch.zeros_like(state[:jump]), state[:-jump]])
        state = torch.where(state < 0, below, state)
        rows.append(state)
        jump *= 2
    return torch.stack(rows)

# %% 14.10 | siempre las rondas que pide el largo
def carry_rounds(sums):
    state = (sums > 9).long() - (sums == 9).long()
    rows, jump = [state], 1
    while jump <= len(sums):
        below = torch.cat([torch.zeros_like(state[:jump]), state[:-jump]])
        state = torch.where(state < 0, below, state)
        rows.append(state)
        jump *= 2
    return torch.stack(rows)

# %% 14.10 | las unidades no dudan nunca
def carry_rounds(sums):
    state = (sums > 9).long() - (sums == 9).long()
    state[0] = state[0].clamp(min=0)
    rows, jump = [state], 1
    while (state < 0).any():
        below = torch.cat([torch.zeros_like(state[:jump]), state[:-jump]])
        state = torch.where(state < 0, below, state)
        rows.append(state)
        jump *= 2
    return torch.stack(rows)

# %% 14.10 | da las cifras y no las llevadas
def carry_rounds(sums):
    state = (sums > 9).long() - (sums == 9).long()
    rows, jump = [state], 1
    while (state < 0).any():
        below = torch.cat([torch.zeros_like(state[:jump]), state[:-jump]])
        state = torch.where(state < 0, below, state)
        rows.append(state)
        jump *= 2
    return torch.stack([sums % 10 + row for row in rows])

# %% 14.11 | la mitad de las veces hay llevada
def exact_rate(digits, reach):
    states = {-1: 1.0}
    for _ in range(digits):
        new = {}
        for run, chance in states.items():
            for key, p in ((-1, 0.4), (0, 0.5), (-1 if run < 0 else run + 1, 0.1)):
                if key < reach:
                    new[key] = new.get(key, 0.0) + p * chance
        states = new
    return sum(states.values())

# %% 14.11 | olvida que un 9 sin llevada no lleva
def exact_rate(digits, reach):
    states = {-1: 1.0}
    for _ in range(digits):
        new = {}
        for run, chance in states.items():
            for key, p in ((-1, 0.45), (0, 0.45), (run + 1, 0.1)):
                if key < reach:
                    new[key] = new.get(key, 0.0) + p * chance
        states = new
    return sum(states.values())

# %% 14.11 | un vecino de menos
def exact_rate(digits, reach):
    states = {-1: 1.0}
    for _ in range(digits):
        new = {}
        for run, chance in states.items():
            for key, p in ((-1, 0.45), (0, 0.45), (-1 if run < 0 else run + 1, 0.1)):
                if key < max(0, reach - 1):
                    new[key] = new.get(key, 0.0) + p * chance
        states = new
    return sum(states.values())

# %% 14.11 | por ciento
def exact_rate(digits, reach):
    states = {-1: 100.0}
    for _ in range(digits):
        new = {}
        for run, chance in states.items():
            for key, p in ((-1, 0.45), (0, 0.45), (-1 if run < 0 else run + 1, 0.1)):
                if key < reach:
                    new[key] = new.get(key, 0.0) + p * chance
        states = new
    return sum(states.values())

# %% 14.11 | sorteando
def exact_rate(digits, reach):
    sums = torch.randint(10, (2, 2000, digits), generator=torch.Generator().manual_seed(0)).sum(0).tolist()
    good = 0
    for row in sums:
        carry, run, fine = False, 0, True
        for s in row:
            run = 0 if s > 9 else run + 1 if carry and s == 9 else 0
            carry = s + carry > 9
            fine = fine and not (carry and run >= reach)
        good += fine
    return good / len(sums)

# %% 14.2 | compara hasta la más corta
def exact_and_token(written, wanted, eos_id=2):
    exact = hits = places = 0
    for a, b in zip(written.tolist(), wanted.tolist()):
        b = b[: b.index(eos_id) + 1]
        a = a[: a.index(eos_id) + 1] if eos_id in a else a
        exact += all(x == y for x, y in zip(a, b)) and len(a) <= len(b)
        hits, places = hits + sum(x == y for x, y in zip(a, b)), places + len(b)
    return exact / len(written), hits / places

# %% 14.2 | la media de las proporciones de cada fila
def exact_and_token(written, wanted, eos_id=2):
    exact, rates = 0, []
    for a, b in zip(written.tolist(), wanted.tolist()):
        b = b[: b.index(eos_id) + 1]
        a = a[: a.index(eos_id) + 1] if eos_id in a else a
        exact += a == b
        rates.append(sum(x == y for x, y in zip(a, b)) / len(b))
    return exact / len(written), sum(rates) / len(rates)

# %% 14.2 | no cuenta el fin
def exact_and_token(written, wanted, eos_id=2):
    exact = hits = places = 0
    for a, b in zip(written.tolist(), wanted.tolist()):
        b = b[: b.index(eos_id)]
        a = a[: a.index(eos_id)] if eos_id in a else a
        exact += a == b
        hits, places = hits + sum(x == y for x, y in zip(a, b)), places + len(b)
    return exact / len(written), hits / max(places, 1)

# %% 14.12 | da lo que cae y no lo que acierta
def hits_by_view(scores, values, labels, place):
    own = torch.arange(scores.shape[-1]) == place[..., None]
    rates = []
    for hidden in (torch.zeros_like(own), own, ~own):
        right = (scores.masked_fill(hidden, -torch.inf).softmax(-1) @ values).argmax(-1) == labels
        rates.append(right[place >= 0].double().mean())
    return rates[0] - torch.stack(rates)

# %% 14.12 | tapa el valor y no la puntuación, con un −1 que es el último
def hits_by_view(scores, values, labels, place):
    rates = []
    for keep in (None, False, True):
        hits = []
        for i in range(len(place)):
            for t in range(place.shape[1]):
                weights = scores[i, t].softmax(0).clone()
                if keep is False:
                    weights[place[i, t]] = 0
                elif keep:
                    weights[torch.arange(len(weights)) != place[i, t]] = 0
                hits.append(float((weights @ values[i]).argmax() == labels[i, t]))
        rates.append(sum(hits) / len(hits))
    return torch.tensor(rates, dtype=torch.float64)

# %% 14.12 | cuenta también los pasos en que no se dice ninguno
def hits_by_view(scores, values, labels, place):
    own = torch.arange(scores.shape[-1]) == place[..., None]
    rates = []
    for hidden in (torch.zeros_like(own), own, ~own & (place >= 0)[..., None]):
        right = (scores.masked_fill(hidden, -torch.inf).softmax(-1) @ values).argmax(-1) == labels
        rates.append(right.double().mean())
    return torch.stack(rates)

# %% 14.12 | escribe lo que aporta el sitio más mirado
def hits_by_view(scores, values, labels, place):
    own = torch.arange(scores.shape[-1]) == place[..., None]
    written = values.argmax(-1)
    rates = []
    for hidden in (torch.zeros_like(own), own, ~own):
        top = scores.masked_fill(hidden, -torch.inf).argmax(-1)
        rates.append((written.gather(1, top) == labels)[place >= 0].double().mean())
    return torch.stack(rates)

# %% 14.12 | tapa el sitio del paso y no el que le toca
def hits_by_view(scores, values, labels, place):
    steps, keys = scores.shape[-2:]
    own = (torch.arange(keys) == torch.arange(steps)[:, None]).expand_as(scores)
    rates = []
    for hidden in (torch.zeros_like(own), own, ~own):
        right = (scores.masked_fill(hidden, -torch.inf).softmax(-1) @ values).argmax(-1) == labels
        rates.append(right[place >= 0].double().mean())
    return torch.stack(rates)

# %% 14.12 | tapa con un cero
def hits_by_view(scores, values, labels, place):
    own = torch.arange(scores.shape[-1]) == place[..., None]
    rates = []
    for hidden in (torch.zeros_like(own), own, ~own):
        right = (scores.masked_fill(hidden, 0.0).softmax(-1) @ values).argmax(-1) == labels
        rates.append(right[place >= 0].double().mean())
    return torch.stack(rates)

# %% 14.12 | la media de las medias de cada ejemplo
def hits_by_view(scores, values, labels, place):
    own = torch.arange(scores.shape[-1]) == place[..., None]
    rates = []
    for hidden in (torch.zeros_like(own), own, ~own):
        right = (scores.masked_fill(hidden, -torch.inf).softmax(-1) @ values).argmax(-1) == labels
        rows = [r[p >= 0].double().mean() for r, p in zip(right, place) if (p >= 0).any()]
        rates.append(torch.stack(rows).mean())
    return torch.stack(rates)

# %% 14.12 | la media de los valores que se ven, sin pesos
def hits_by_view(scores, values, labels, place):
    own = torch.arange(scores.shape[-1]) == place[..., None]
    rates = []
    for hidden in (torch.zeros_like(own), own, ~own):
        seen = (~hidden & (scores > -torch.inf)).double()
        right = (seen @ values).argmax(-1) == labels
        rates.append(right[place >= 0].double().mean())
    return torch.stack(rates)
