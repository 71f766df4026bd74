// Requests to the service, elements of the page, and what is to be read at once.

const parts = {};
export function notice(text, part = "asked") {
  parts[part] = text;
  const all = Object.values(parts).filter(Boolean).join(" ");
  const box = document.getElementById("notice");
  if (box.textContent !== all) box.textContent = all;
  box.hidden = !all;
}

export async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  if (answer.status === 401 && path !== "/api/login") { document.getElementById("login").showModal(); }
  const said = await answer.json();
  if (!answer.ok) { notice(said.error); setTimeout(() => notice(""), 12000); throw new Error(said.error); }
  return said;
}

export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function table(head, rows, label) {
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, element("table", {},
    element("thead", {}, element("tr", {}, ...head.map((h) => element("th", { scope: "col" }, h)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell)))))));
}

document.getElementById("login").addEventListener("close", async () => {
  await ask("/api/login", { token: document.getElementById("token").value });
  location.reload();
});
