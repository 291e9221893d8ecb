"""Holds advice against reality: `python prove.py FOLDER` compares what it predicts with what recompiling gives."""

import json
import sys
from pathlib import Path
import subprocess
import os

def data(folder):
    out = folder/"report.json"
    code = os.environ.get("XL", ".venv/bin/xla-lens")
    r = subprocess.run([code, "advise", str(folder), "--output-format", "json"], capture_output=True, text=True)
    try:
        return json.loads(r.stdout)[0]
    except Exception:
        print(folder, r.stderr[:300], r.stdout[:100]); return None

def main():
    root = Path(sys.argv[1])
    changes = json.loads(Path(sys.argv[2]).read_text())
    cache = {}
    def get(key):
        if key not in cache:
            f = root/key
            cache[key] = data(f) if (f/"facts.json").exists() else None
        return cache[key]
    good = n = 0
    for name,(rule,_,bases) in changes.items():
        for base in bases:
            for backend in ("cpu","tpu"):
                a = get(f"{base}@{backend}") if (root/f"{base}@{backend}").is_dir() else None
                b = get(f"{base}__{name}@{backend}") if (root/f"{base}__{name}@{backend}").is_dir() else None
                if a is None or b is None: continue
                A, B = a["advice"], b["advice"]
                rows = [x for x in A["actions"] if x["rule"] == rule]
                M = 1<<20
                pn = sum(x["saved_needed_bytes"] or 0 for x in rows)/M; pp = sum(x["saved_bytes"] for x in rows)/M
                top = max((x["saved_bytes"] for x in rows), default=0)/M
                an = (A["needed_bytes"]-B["needed_bytes"])/M; ap=(A["peak_bytes"]-B["peak_bytes"])/M
                ratio = max(pn, pp)/an if an else float('inf')
                n += 1; ok = 1/1.5 <= ratio <= 1.5; good += ok
                print(f"{base+'@'+backend:24}{name:10}{rule:17} rows {len(rows):2} need {A['needed_bytes']/M:8.0f} pred need {pn:8.0f} peak {pp:8.0f} top {top:7.0f} | actual need {an:8.0f} peak {ap:8.0f} {'ok' if ok else '--'}")
    print(good, n)
main()
