/** What is shown beside the pointer: some facts at once, and then what the editor's hover says. */

import type { Target } from "../src/protocol";
import { make } from "./dom";
import type { Fact } from "./facts";
import { elementsOf } from "./markdown";

interface Point {
  clientX: number;
  clientY: number;
}

export interface Tooltip {
  element: HTMLElement;
  show(at: Point, target: Target, title: string, facts: Fact[], note?: string): void;
  hide(): void;
  /** The editor has described something. */
  described(target: Target, markdown: string): void;
  /** What was described does not hold any more. */
  forget(): void;
}

const DISTANCE = 14;
const REST_MILLISECONDS = 250;

/** `describe` asks the editor, if there is one, for what it says. */
export function createTooltip(describe: (target: Target) => void): Tooltip {
  const element = make("div", { class: "tooltip", role: "tooltip", hidden: true });
  const known = new Map<string, string>();
  let shown = "";
  let at: Point = { clientX: 0, clientY: 0 };
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
  /** The note stays. */
  const fill = (markdown: string) => {
    element.dataset.described = shown;
    const notes = element.querySelectorAll("p.aside");
    element.replaceChildren(make("div", { class: "markdown" }, elementsOf(markdown)), ...notes);
  };

  return {
    element,
    show(point, target, title, facts, note = "") {
      at = point;
      const key = keyOf(target);
      if (element.hidden || key !== shown) {
        clearTimeout(timer);
        shown = key;
        delete element.dataset.described;
        element.replaceChildren(
          make("strong", {}, title),
          make("dl", {}, ...facts.flatMap(([name, words]) => [make("dt", {}, name), make("dd", {}, words)])),
          ...(note ? [make("p", { class: "aside" }, note)] : []),
        );
        element.hidden = false;
        const markdown = known.get(key);
        if (markdown !== undefined) fill(markdown);
        else timer = setTimeout(() => describe(target), REST_MILLISECONDS);
      }
      move();
    },
    hide() {
      clearTimeout(timer);
      shown = "";
      element.hidden = true;
    },
    described(target, markdown) {
      const key = keyOf(target);
      known.set(key, markdown);
      if (key !== shown || element.hidden) return;
      fill(markdown);
      move();
    },
    forget() {
      known.clear();
      this.hide();
    },
  };
}

function keyOf(target: Target): string {
  return JSON.stringify(target);
}
