"""usage: check_links.py SOURCE_DIR: names each relative link of a Markdown page that leads to no file."""

import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
pages = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("*/*.md"), *root.glob("schedulers/**/*.md")]
broken = 0
for page in sorted(set(pages)):
    if "build" in page.relative_to(root).parts:
        continue
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        target = link.split("#")[0]
        if target and "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists():
            print(f"{page.relative_to(root)}: {link} leads nowhere")
            broken += 1
sys.exit(1 if broken else 0)
