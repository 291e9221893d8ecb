/** Makes the elements of the page, never from HTML text. */

type Attributes = Record<string, string | number | boolean>;

/** An element with attributes and children; `true` is an attribute without a value, `false` none. */
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

export function button(words: string, label: string, hook: string, press: () => void): HTMLButtonElement {
  const element = make("button", { type: "button", "aria-label": label, title: label, "data-action": hook }, words);
  element.addEventListener("click", press);
  return element;
}

/** A list to choose from; `fill` sets what it offers, unless that is the very same. */
export function choice(
  label: string,
  hook: string,
  choose: (value: string) => void,
): { element: HTMLLabelElement; fill(options: [value: string, words: string][], chosen: string): void } {
  const select = make("select", { "data-control": hook });
  select.addEventListener("change", () => choose(select.value));
  let told: unknown;
  return {
    element: make("label", {}, make("span", {}, label), select),
    fill(options, chosen) {
      const entries = () => options.map(([value, words]) => make("option", { value }, words));
      if (options !== told) select.replaceChildren(...entries());
      told = options;
      if (select.value !== chosen) select.value = chosen;
    },
  };
}

/** A text to write into. */
export function field(
  label: string,
  hook: string,
  placeholder: string,
  write: (text: string) => void,
): { element: HTMLLabelElement; input: HTMLInputElement } {
  const input = make("input", { type: "search", "data-control": hook, placeholder, spellcheck: "false" });
  input.addEventListener("input", () => write(input.value));
  return { element: make("label", {}, make("span", {}, label), input), input };
}

/** Writes a text unless it is there: a change, even to the same, costs a layout. */
export function write(element: Element, words: string): void {
  if (element.textContent !== words) element.textContent = words;
}
