/** What is shown beside the pointer: some facts at once, and then what the editor's hover says. */

import { make } from "./dom";
import type { Fact } from "./facts";
import { elementsOf } from "./markdown";
import { NONE } from "./model";

export interface Tooltip {
  element: HTMLElement;
  show(event: { clientX: number; clientY: number }, title: string, facts: Fact[], note: string, value: number): void;
  hide(): void;
  /** The editor has described a value. */
  described(value: number, markdown: string): void;
  /** What was described does not hold any more. */
  forget(): void;
}

const DISTANCE = 14;
const REST_MILLISECONDS = 250;

/** `describe` asks the editor for what it says of a value. */
export function createTooltip(describe: (value: number) => void): Tooltip {
  const element = make("div", { class: "tooltip", role: "tooltip", hidden: true });
  const known = new Map<number, string>();
  let shown = NONE;
  let at = { clientX: 0, clientY: 0 };
  let timer: ReturnType<typeof setTimeout> | undefined;

  const move = () => {
    const { offsetWidth, offsetHeight } = element;
    const [right, bottom] = [window.innerWidth, window.innerHeight];
    const isLeft = at.clientX + DISTANCE + offsetWidth > right;
    const isAbove = at.clientY + DISTANCE + offsetHeight > bottom;
    const x = isLeft ? at.clientX - DISTANCE - offsetWidth : at.clientX + DISTANCE;
    const y = isAbove ? at.clientY - DISTANCE - offsetHeight : at.clientY + DISTANCE;
    element.style.left = `${Math.max(4, x)}px`;
    element.style.top = `${Math.max(4, y)}px`;
  };
  const fill = (value: number, markdown: string) => {
    element.replaceChildren(make("div", { class: "markdown" }, elementsOf(markdown)));
    element.dataset.described = String(value);
    move();
  };

  return {
    element,
    show(event, title, facts, note, value) {
      at = event;
      if (element.hidden || value !== shown || value === NONE) {
        clearTimeout(timer);
        shown = value;
        delete element.dataset.described;
        element.replaceChildren(
          make("strong", {}, title),
          make("dl", {}, ...facts.flatMap(([name, words]) => [make("dt", {}, name), make("dd", {}, words)])),
          ...(note ? [make("p", {}, note)] : []),
        );
        element.hidden = false;
        const markdown = known.get(value);
        if (markdown !== undefined) fill(value, markdown);
        else if (value !== NONE) timer = setTimeout(() => describe(value), REST_MILLISECONDS);
      }
      move();
    },
    hide() {
      clearTimeout(timer);
      shown = NONE;
      element.hidden = true;
    },
    described(value, markdown) {
      known.set(value, markdown);
      if (value === shown && !element.hidden) fill(value, markdown);
    },
    forget() {
      known.clear();
      this.hide();
    },
  };
}
