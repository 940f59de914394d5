// Finding among many: by words and by state. Everything on the page is there without it.
(() => {
  const items = Array.from(document.querySelectorAll("[data-state]"));
  const home = document.querySelector("[data-find]");
  if (!home || items.length < 2) return;
  const states = Array.from(new Set(items.map((item) => item.dataset.state)));
  const form = document.createElement("form");
  form.className = "find";
  form.setAttribute("role", "search");
  form.setAttribute("aria-label", home.dataset.find);
  const field = (name, control) => {
    const box = document.createElement("div");
    const label = document.createElement("label");
    label.htmlFor = control.id;
    label.textContent = name;
    box.append(label, control);
    form.append(box);
    return control;
  };
  const words = document.createElement("input");
  words.type = "search";
  words.id = "find-words";
  words.autocomplete = "off";
  field("Find", words);
  const state = document.createElement("select");
  state.id = "find-state";
  for (const name of ["all", ...states]) state.append(new Option(name, name));
  field("Show", state);
  const foldable = document.querySelectorAll("details");
  if (foldable.length > 0) {
    const fold = document.createElement("button");
    fold.type = "button";
    fold.textContent = "Unfold all output";
    fold.addEventListener("click", () => {
      const open = fold.textContent.startsWith("Unfold");
      for (const one of foldable) one.open = open;
      fold.textContent = open ? "Fold all output" : "Unfold all output";
    });
    form.append(fold);
  }
  const told = document.createElement("p");
  told.className = "quiet small";
  told.setAttribute("role", "status");
  form.append(told);
  const texts = new Map();
  const textOf = (item) => {
    if (!texts.has(item)) texts.set(item, item.textContent.toLowerCase());
    return texts.get(item);
  };
  const find = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of items) {
      const fits = (state.value === "all" || item.dataset.state === state.value)
        && wanted.every((word) => textOf(item).includes(word));
      item.hidden = !fits;
      if (fits) shown += 1;
    }
    told.textContent = shown === items.length ? "" : `${shown} of ${items.length} shown`;
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  words.addEventListener("input", find);
  state.addEventListener("change", find);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      words.focus();
    }
  });
  // Who follows a link to something that is hidden wants to see it.
  addEventListener("hashchange", () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.closest("[hidden]")) {
      words.value = "";
      state.value = "all";
      find();
      target.scrollIntoView();
    }
  });
  addEventListener("beforeprint", () => {
    for (const one of foldable) one.open = true;
  });
  home.append(form);
})();
