/** The tooltip beside the pointer: facts at once, then the hover of the editor if there is one. */

import type { Target } from "../shared/messages";
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
  /** Adds the editor's hover of a target. */
  setDescription(target: Target, markdown: string): void;
  /** Clears cached descriptions, which are stale after a reload. */
  clearDescriptions(): void;
}

const DISTANCE = 14;
const REST_MILLISECONDS = 250;

/** Create the tooltip. `describe` requests the hover of a target from the editor, if there is one. */
export function createTooltip(describe: (target: Target) => void): Tooltip {
  const element = make("div", { class: "tooltip", role: "tooltip", hidden: true });
  const descriptions = new Map<string, string>();
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
  /** Replaces everything but the note. */
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
          make("dl", {}, ...facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])),
          ...(note ? [make("p", { class: "aside" }, note)] : []),
        );
        element.hidden = false;
        const markdown = descriptions.get(key);
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
    setDescription(target, markdown) {
      const key = keyOf(target);
      descriptions.set(key, markdown);
      if (key !== shown || element.hidden) return;
      fill(markdown);
      move();
    },
    clearDescriptions() {
      descriptions.clear();
      this.hide();
    },
  };
}

function keyOf(target: Target): string {
  return JSON.stringify(target);
}
