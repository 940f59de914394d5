// Opens pages in a real Chromium and tells what it saw, as JSON on stdout. It judges nothing.
//
//   node look.mjs JOB.json
//
// JOB: {"modules": DIR, "chromium": PROGRAM, "shots": DIR, "pages": [{"name", "file", "large"}]}
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const job = JSON.parse(readFileSync(process.argv[2], "utf8"));
const require = createRequire(join(job.modules, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };
const SETTINGS = [
  { setting: "desk", viewport: DESK, colorScheme: "light" },
  { setting: "dark", viewport: DESK, colorScheme: "dark" },
  { setting: "phone", viewport: PHONE, colorScheme: "light", isMobile: true, hasTouch: true },
  { setting: "no-scripts", viewport: DESK, colorScheme: "light", javaScriptEnabled: false },
];

const textOfMain = () => {
  const main = document.querySelector("main").cloneNode(true);
  // What the script adds for itself.
  for (const form of main.querySelectorAll("form")) form.remove();
  return main.textContent;
};

const check = async (page, open) => {
  await page.evaluate((unfolded) => {
    for (const one of document.querySelectorAll("details")) one.open = unfolded || one.open;
  }, open);
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((one) => ({
    rule: one.id, help: one.help, places: one.nodes.slice(0, 3).map((node) => node.html.slice(0, 300)),
  }));
};

// What a person does with keys: to the content, to the words, to a state, everything unfolded.
const use = async (page) => {
  await page.keyboard.press("Tab");
  const first = await page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press("/");
  const focused = await page.evaluate(() => document.activeElement.id);
  const shown = () => page.evaluate(() =>
    [...document.querySelectorAll("[data-state]:not([hidden])")].map((item) =>
      item.querySelector("code").textContent));
  const all = await shown();
  const state = await page.evaluate(() => {
    const select = document.querySelector("#find-state");
    return select && [...select.options].map((option) => option.value);
  });
  if (!state) return { first, focused, all };
  await page.fill("#find-words", all[all.length - 1]);
  const byWords = await shown();
  const told = await page.textContent("form.find [role=status]");
  await page.fill("#find-words", "");
  await page.selectOption("#find-state", state[1]);
  const byState = await shown();
  await page.selectOption("#find-state", "all");
  const button = await page.$("form.find button");
  let unfolded = null;
  if (button) {
    await button.click();
    unfolded = await page.evaluate(() =>
      [...document.querySelectorAll("details")].every((one) => one.open));
    await button.click();
  }
  return { first, focused, all, states: state, byWords, told, byState, unfolded };
};

// As much of the page as somebody wants to look at.
const picture = async (page, name) => {
  const [width, height] = await page.evaluate(() =>
    [document.documentElement.clientWidth, document.documentElement.scrollHeight]);
  const clip = { x: 0, y: 0, width, height: Math.min(height, 4000) };
  await page.screenshot({ path: join(job.shots, `${name}.png`), fullPage: true, clip });
};

const look = async (browser, { name, file, large }, { setting, ...options }) => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const address = pathToFileURL(file).href;
  const [complaints, requests] = [[], []];
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== address && !request.url().startsWith("data:")) requests.push(request.url());
  });
  await page.goto(address, { waitUntil: "load" });
  const seen = { name, setting, text: await page.evaluate(textOfMain) };
  seen.title = await page.title();
  seen.width = await page.evaluate(() => document.documentElement.scrollWidth);
  seen.landmarks = await page.evaluate(() =>
    ["header", "nav", "main", "footer"].map((tag) => document.querySelectorAll(`body > ${tag}`).length));
  await picture(page, `${name}-${setting}`);
  if (setting === "desk") seen.use = await use(page);
  // On a large page a check takes long, and colours and widths are those of the others.
  const checks = large ? ["desk"] : ["desk", "dark", "phone"];
  if (checks.includes(setting)) seen.violations = await check(page, true);
  seen.unfoldedWidth = await page.evaluate(() => document.documentElement.scrollWidth);
  if (setting === "desk") {
    await page.reload();
    await page.emulateMedia({ media: "print" });
    // What is folded on the screen is on paper.
    seen.printed = await page.evaluate(() =>
      [...document.querySelectorAll("details pre")].every((one) => one.getBoundingClientRect().height > 0));
    await picture(page, `${name}-print`);
  }
  Object.assign(seen, { complaints, requests });
  await context.close();
  return seen;
};

const browser = await chromium.launch({
  executablePath: job.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const seen = [];
for (const page of job.pages) {
  for (const setting of SETTINGS) seen.push(await look(browser, page, setting));
}
await browser.close();
process.stdout.write(JSON.stringify(seen));
