"""Random equations of einsum with operands that fit them, and now and then not."""

import string


class Einsum:
    """Mixed into a program: uses its choices."""

    def letters_of(self, sizes, rank):
        """Letters for the dims of one operand: those of other operands, new ones, now and then one twice."""
        r = self.rng
        letters = []
        for _ in range(rank):
            known = [a for a in sizes if a not in letters or self.chance(0.2)]
            letter = r.choice(known) if known and self.chance(0.6) else r.choice(string.ascii_letters)
            sizes.setdefault(letter, r.choice([0, 1]) if self.chance(0.08) else r.randrange(2, 5))
            letters.append(letter)
        return letters

    def operand(self, sizes, spread, dtype):
        """A new tensor and its part of the equation; `spread` are the sizes that an ellipsis stands for."""
        r = self.rng
        letters = self.letters_of(sizes, r.choice([0, 1, 2, 2, 2, 3]))
        size = [1 if self.chance(0.08) else sizes[a] for a in letters]
        if len(set(letters)) < len(letters):
            size = [sizes[a] for a in letters]
        if self.wrong() and size:
            size[r.randrange(len(size))] += 1
        if spread is not None and self.chance(0.7):
            at = r.randrange(len(letters) + 1)
            some = spread[r.randrange(len(spread) + 1) :]
            letters.insert(at, '...')
            size[at:at] = [1 if self.chance(0.2) else s for s in some]
        names = self.new(dtype, size)
        return names and names[0], ''.join(letters)

    def output(self, sizes, spread):
        r = self.rng
        letters = r.sample(sorted(sizes), r.randrange(len(sizes) + 1))
        if spread is not None and self.chance(0.8):
            letters.insert(r.randrange(len(letters) + 1), '...')
        if self.wrong():
            letters.append(r.choice(string.ascii_letters))
        return '->' + ''.join(letters)

    def damaged(self, equation):
        r = self.rng
        at = r.randrange(len(equation) + 1)
        return equation[:at] + r.choice(['.', '..', '...', '1', '-', '->', ',', ' ', 'q', '$']) + equation[at:]

    def einsum(self):
        r = self.rng
        sizes = {}
        spread = [r.randrange(1, 4) for _ in range(r.randrange(3))] if self.chance(0.3) else None
        dtype = r.choice(['float32', 'float32', 'float64', 'int64', 'int32', 'bool'])
        operands = [self.operand(sizes, spread, dtype) for _ in range(r.choice([1, 1, 2, 2, 2, 3, 4]))]
        if any(name is None for name, _ in operands):
            return []
        equation = ','.join(part for _, part in operands)
        if self.chance(0.8):
            equation += self.output(sizes, spread)
        if self.chance(0.1):
            equation = equation.replace(',', ' , ')
        if self.wrong():
            equation = self.damaged(equation)
        names = [name for name, _ in operands]
        if self.wrong():
            names = names[1:] if self.chance(0.5) and len(names) > 1 else names + names[:1]
        return self.step('einsum', names, equation=equation)
