"""Reads `cuobjdump -sass` on stdin; for the longest loop's FFMA stretch: instruction mix and a model of register reads.

Model: two banks (even, odd) of one 32-lane read a cycle each; an instruction reads within three cycles of its issue; one
issue a cycle. The reuse cache has an entry for each operand slot and bank; a read of that slot and bank replaces it, and
keeps what it read only if flagged .reuse.
"""
import collections, re, sys

pattern = re.compile(r"/\*([0-9a-f]{4,5})\*/\s+(.*?);")
code = [(int(a, 16), t.strip()) for a, t in pattern.findall(sys.stdin.read())]
index = {a: i for i, (a, _) in enumerate(code)}
loops = []
for i, (a, t) in enumerate(code):
    m = re.search(r"BRA.*?0x([0-9a-f]+)", t)
    if m and int(m[1], 16) < a and int(m[1], 16) in index:
        loops.append((index[int(m[1], 16)], i))
share = lambda l: sum("FFMA" in t for _, t in code[l[0]:l[1]]) / (l[1] - l[0])
loops = [l for l in loops if l[1] - l[0] > 250]
lo, hi = max(loops, key=share)
body = [t for _, t in code[lo:hi + 1]]
ops = collections.Counter(re.sub(r"^@!?\w+\s+", "", t).split()[0] for t in body)
print("  body", len(body), "FFMA share %.3f" % (ops["FFMA"] / len(body)), dict(ops.most_common(8)))
cache = {}
reads = [0, 0]
n = hits = flagged = 0
used = set()  # (cycle, bank)
cycle = 0
waits = []
loaded = {}
for position, t in enumerate(body):
    m = re.match(r"(?:@!?\w+ )?FFMA R(\d+), (.*)", t)
    if not m:
        l = re.match(r"LDS.128 R(\d+)", t)
        if l:
            for r in range(4): loaded[int(l[1]) + r] = n
        cycle += 1
        continue
    n += 1
    need = [0, 0]
    seen = set()
    for slot, operand in enumerate(x.strip() for x in m[2].split(",")):
        r = re.match(r"-?\|?R(\d+)", operand)
        if not r: continue
        r = int(r[1])
        if r in loaded:
            waits.append(n - 1 - loaded.pop(r))
        key = (slot, r % 2)
        if cache.get(key) == r: hits += 1
        elif r not in seen: need[r % 2] += 1
        seen.add(r)
        cache[key] = r if "reuse" in operand else None
        flagged += "reuse" in operand
    reads[0] += need[0]
    reads[1] += need[1]
    cycle += 1
    while True:
        slots = []
        for bank in (0, 1):
            free = [cycle + d for d in range(3) if (cycle + d, bank) not in used]
            if len(free) < need[bank]: break
            slots += [(c, bank) for c in free[:need[bank]]]
        else: break
        cycle += 1
    used.update(slots)
print("  reuse flags %.2f hits %.2f a FFMA; reads a FFMA even %.3f odd %.3f; cycles a FFMA %.3f -> lanes %.1f%%; LDS-to-use FFMAs min %d median %d, below 32: %.2f"
      % (flagged / n, hits / n, reads[0] / n, reads[1] / n, cycle / n, 100 * n / cycle, min(waits), sorted(waits)[len(waits) // 2], sum(w < 32 for w in waits) / len(waits)))
