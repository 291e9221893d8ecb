/** Creates the elements of the page, never from HTML text. */

type Attributes = Record<string, string | number | boolean>;

/** Create an element with attributes and children. `true` is an attribute without a value, `false` omits it. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(attribute, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

/** Create a button that calls back when it is pressed. */
export function pressable(press: () => void, attributes: Attributes, ...children: (Node | string)[]) {
  const element = make("button", { type: "button", ...attributes }, ...children);
  element.addEventListener("click", press);
  return element;
}

export function button(text: string, label: string, hook: string, press: () => void): HTMLButtonElement {
  return pressable(press, { "aria-label": label, title: label, "data-action": hook }, text);
}

/** Create a list to choose from. `fill` replaces its options unless they are the same array. */
export function choice(label: string, hook: string, choose: (value: string) => void) {
  const select = make("select", { "data-control": hook });
  select.addEventListener("change", () => choose(select.value));
  const element = make("label", {}, make("span", {}, label), select);
  let filled: unknown;
  return {
    element,
    fill(options: [value: string, text: string][], chosen: string): void {
      const entries = () => options.map(([value, text]) => make("option", { value }, text));
      if (options !== filled) select.replaceChildren(...entries());
      filled = options;
      if (select.value !== chosen) select.value = chosen;
      // A narrow list cuts its text.
      element.title = `${label}: ${select.selectedOptions[0]?.text ?? ""}`;
    },
  };
}

/**
 * Create the label of a row. Of a source line that does not fit, the name of the file and the function are cut, not the number of the line.
 */
export function named(text: string, kind = "label"): HTMLElement {
  const [, file, line, rest = ""] = /^(.+?)((?:\.\w+)?:\d+)( in .*)?$/s.exec(text) ?? [];
  if (!file || !line) return make("span", { class: kind }, text);
  const parts = [make("span", { class: "file" }, file), make("span", {}, line), make("span", { class: "rest" }, rest)];
  return make("span", { class: `${kind} source` }, ...parts);
}

/** Sets the text of an element unless it is the same: every assignment triggers a layout. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Calls back for a press on an element with a data attribute, or on what it contains: with its value. */
export function onPress(root: HTMLElement, name: string, press: (value: string, isDouble: boolean) => void): void {
  for (const type of ["click", "dblclick"] as const) {
    root.addEventListener(type, ({ target, detail }) => {
      // The second click of a double click changes nothing.
      if (type === "click" && detail > 1) return;
      const value = (target as HTMLElement).closest<HTMLElement>(`[data-${name}]`)?.dataset[name];
      if (value !== undefined) press(value, type === "dblclick");
    });
  }
}

/** Create a sample of a color. */
export function swatch(color: string, kind: "swatch" | "bar" = "swatch"): HTMLElement {
  const element = make("span", { class: kind });
  element.style.backgroundColor = color;
  return element;
}
