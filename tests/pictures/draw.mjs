// Draws job summaries as GitHub shows them, and job logs as GitLab does: PNG files, light and dark.
//
//   node draw.mjs PACKAGES CHROMIUM < pages.json
//
// PACKAGES is the folder with `node_modules`. pages.json is a list of {"kind": "summary" | "log", "text", "out", "dark",
// "open", "images"}: `out` is the file to write, `open` unfolds what is folded, and `images` says which file is at which
// address. What has another address is not fetched: it is a broken image, and its address goes to standard error.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, chromium] = process.argv.slice(2);
const require = createRequire(`${packages}/node_modules/`);
const { Marked } = require("marked");
const { chromium: browsers } = require("playwright-core");
const styles = (name) => readFileSync(`${packages}/node_modules/github-markdown-css/${name}.css`, "utf-8");
const mermaid = `${packages}/node_modules/mermaid/dist/mermaid.min.js`;

// What GitHub leaves of the HTML in Markdown (github.com/gjtorikian/html-pipeline, its sanitization filter), as far as
// summaries may use it.
const ATTRIBUTES = { img: ["src", "alt", "width", "height", "title"], a: ["href"], details: ["open"], td: ["align"], th: ["align"] };
const ALERTS = { NOTE: "Note", TIP: "Tip", IMPORTANT: "Important", WARNING: "Warning", CAUTION: "Caution" };
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

const DIFF = { "+": "pl-mi1", "-": "pl-md", "!": "pl-mc" };
const markdown = new Marked({
  gfm: true,
  renderer: {
    code({ text, lang }) {
      if (lang === "mermaid") return `<pre data-mermaid="1">${escaped(text)}</pre>`;
      const lines = text.split("\n").map((line) => {
        const style = lang === "diff" ? DIFF[line[0]] : undefined;
        return style ? `<span data-diff="${style}">${escaped(line)}</span>` : escaped(line);
      });
      return `<pre>${lines.join("\n")}</pre>`;
    },
    blockquote({ tokens }) {
      const body = this.parser.parse(tokens);
      const found = /^<p>\[!(\w+)\]\s*/.exec(body);
      if (!found || !(found[1] in ALERTS)) return `<blockquote>${body}</blockquote>`;
      return `<div data-alert="${found[1].toLowerCase()}"><p data-title="1">${ALERTS[found[1]]}</p><p>${body.slice(found[0].length)}</div>`;
    },
  },
});

const COLORS = { 1: "font-weight:bold", 31: "color:#e06c6c", 32: "color:#69c36e", 33: "color:#d9b44a", 36: "color:#5ab9c1" };

function logAsHtml(log) {
  let open = 0;
  let number = 0;
  const lines = [];
  for (const raw of log.split("\n")) {
    const begun = /section_start:\d+:\w+(\[collapsed=true\])?\r\x1b\[0K(.*)/.exec(raw);
    if (/section_end:\d+:\w+\r\x1b\[0K/.test(raw)) {
      lines.push(open ? "</details>" : "");
      open = 0;
      continue;
    }
    let text = escaped(begun ? begun[2] : raw);
    text = text.replace(/\x1b\[([\d;]+)m/g, (_, codes) => {
      const style = codes.split(";").map((code) => COLORS[code]).filter(Boolean).join(";");
      return codes === "0" ? "</span>" : `<span style="${style}">`;
    });
    number += 1;
    const line = `<span class="number">${number}</span>${text}`;
    if (begun) {
      lines.push(`<details ${begun[1] ? "" : "open"}><summary>${line}</summary>`);
      open = 1;
    } else {
      lines.push(`<div>${line}</div>`);
    }
  }
  return lines.join("");
}

const LOG_STYLE = `
  body { margin: 0; background: #1f1e24; color: #dcdcde; }
  .log { font: 13px/1.5 "DejaVu Sans Mono", monospace; padding: 12px 16px; white-space: pre-wrap; overflow-wrap: anywhere; }
  .log summary { font-weight: bold; }
  .number { display: inline-block; width: 3em; margin-right: 1em; text-align: right; color: #737278; }
`;

function summaryAsHtml(page) {
  const theme = page.dark ? "dark" : "light";
  const background = page.dark ? "#0d1117" : "#ffffff";
  return `<!doctype html><meta charset="utf-8"><style>${styles(`github-markdown-${theme}`)}
    body { margin: 0; background: ${background}; }
    .markdown-body { padding: 24px 32px; font-family: "Noto Sans", "DejaVu Sans", sans-serif; }
    .markdown-body pre.drawing { background: none; padding: 0; }
  </style><article class="markdown-body">${markdown.parse(page.text)}</article>`;
}

// In the page: takes out what GitHub would, gives the rest its classes, and draws the charts.
function finish([attributes, dark, open]) {
  const article = document.querySelector(".markdown-body");
  for (const element of article.querySelectorAll("*")) {
    const allowed = attributes[element.localName] ?? [];
    for (const { name } of [...element.attributes]) {
      if (!allowed.includes(name) && !name.startsWith("data-")) element.removeAttribute(name);
    }
    if (element.dataset.diff) element.className = element.dataset.diff;
    if (element.dataset.title) element.className = "markdown-alert-title";
    if (element.dataset.alert) element.className = `markdown-alert markdown-alert-${element.dataset.alert}`;
    if (element.dataset.mermaid) element.className = "drawing mermaid";
    if (open && element.localName === "details") element.open = true;
  }
  for (const box of article.querySelectorAll("pre:not(.drawing)")) {
    const outer = document.createElement("div");
    outer.className = "highlight";
    box.replaceWith(outer);
    outer.append(box);
  }
  mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: dark ? "dark" : "default" });
  return mermaid.run({ querySelector: ".drawing" });
}

const browser = await browsers.launch({ executablePath: chromium, args: ["--no-sandbox"] });
try {
  for (const page of JSON.parse(readFileSync(0, "utf-8"))) {
    const tab = await browser.newPage({ viewport: { width: 1012, height: 400 } });
    await tab.route("**/*", (route) => {
      const url = route.request().url();
      const file = page.images?.[url] ?? page.images?.[url.replace(/=[\w-]+$/, "")];
      if (file) return route.fulfill({ path: file, contentType: "image/png" });
      console.error(`not fetched: ${url}`);
      return route.abort();
    });
    if (page.kind === "log") {
      await tab.setContent(`<!doctype html><meta charset="utf-8"><style>${LOG_STYLE}</style><div class="log">${logAsHtml(page.text)}</div>`);
    } else {
      await tab.setContent(summaryAsHtml(page));
      await tab.addScriptTag({ path: mermaid });
      await tab.evaluate(finish, [ATTRIBUTES, page.dark, page.open]);
    }
    await tab.evaluate(() => document.fonts.ready);
    await tab.screenshot({ path: page.out, fullPage: true });
    await tab.close();
  }
} finally {
  await browser.close();
}
