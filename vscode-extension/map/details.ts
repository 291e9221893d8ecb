/**
 * The pane of details: about what the pointer is on, else about the selection, else about the matches, else about the peak.
 * Shows its own facts at once, then the hover of the editor if there is one.
 */

import type { Target } from "../shared/messages";
import { grouped } from "../shared/numbers";
import type { Actions } from "./actions";
import { make, pressable } from "./dom";
import {
  allocationText,
  type Fact,
  factsOf,
  matchFacts,
  otherFacts,
  otherStepFacts,
  peakFacts,
  sourceOf,
  stepFacts,
} from "./facts";
import type { Host } from "./host";
import { elementsOf } from "./markdown";
import { changes } from "./memoize";
import { NONE, ownStep, valueString } from "./model";
import type { Scene } from "./scene";

export type Details = ReturnType<typeof createDetails>;

/** Something with facts of its own, of which the editor knows nothing. */
interface Described {
  title: string;
  facts: Fact[];
}

interface Content extends Described {
  /** Those of the facts that are about the other dump of a comparison. */
  others?: Fact[];
  buttons?: [text: string, hook: string, title: string, press: () => void][];
}

const REST_MILLISECONDS = 250;

function listOf(facts: Fact[]): HTMLElement {
  return make("dl", {}, ...facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
}

export function createDetails(host: Host, actions: Actions, scene: () => Scene) {
  const content = make("div", { class: "content", role: "region", "aria-label": "Details", tabindex: 0 });
  const buttons = make("div", { class: "actions" });
  const element = make("div", { class: "details" }, content, buttons);
  const descriptions = new Map<string, string>();
  let pointed: { target: Target | Described; note: string } | null = null;
  let isNew = changes();
  let about = "";
  let timer: ReturnType<typeof setTimeout> | undefined;

  content.addEventListener("click", (event) => {
    const link = (event.target as HTMLElement).closest("a");
    if (!link) return;
    event.preventDefault();
    host.post({ type: "open", href: link.dataset.href ?? "" });
  });

  function targetOf({ state }: Scene): Target | null {
    if (state.selected >= 0) return { value: state.selected };
    return state.marked >= 0 ? { allocation: state.marked } : null;
  }

  function fill(now: Scene): void {
    const selected = targetOf(now);
    const target = pointed?.target ?? selected;
    const key = JSON.stringify(target);
    const { search, space, step, emphasis, state } = now;
    const inputs = target ? [] : [search, space, step, emphasis, state.picked];
    if (!isNew(JSON.stringify([key, selected, pointed?.note]), now.model, ...inputs)) return;
    // Starts at the top for each target, and stays where it is while the same one is described.
    if (about !== key) content.scrollTop = element.scrollTop = 0;
    about = key;
    clearTimeout(timer);
    const { title, facts, others = [], buttons: shown = [] } = contentOf(now, target);
    const markdown = target && descriptions.get(key);
    // The hover of the editor is about one dump only.
    if (markdown) content.replaceChildren(make("div", { class: "markdown" }, elementsOf(markdown)), listOf(others));
    else content.replaceChildren(make("h2", {}, title), listOf(facts));
    if (pointed?.note) content.append(make("p", { class: "aside" }, pointed.note));
    if (markdown) element.dataset.described = key;
    else delete element.dataset.described;
    if (target && !markdown && host.isEditor && !("facts" in target)) {
      timer = setTimeout(() => host.post({ type: "describe", target }), pointed ? REST_MILLISECONDS : 0);
    }
    const isSame = key === JSON.stringify(selected);
    buttons.hidden = !isSame || shown.length === 0;
    if (!isSame) return;
    const focused = buttons.contains(document.activeElement) && (document.activeElement as HTMLElement).dataset.action;
    const created = shown.map(([text, hook, title, press]) => pressable(press, { "data-action": hook, title }, text));
    buttons.replaceChildren(...created);
    if (focused) (buttons.querySelector<HTMLElement>(`[data-action="${focused}"]`) ?? content).focus();
  }

  function contentOf(now: Scene, target: Target | Described | null): Content {
    const { model, search } = now;
    const { picked, search: query } = now.state;
    const buttons: Content["buttons"] = [];
    const add = (isWanted: unknown, ...one: (typeof buttons)[number]) => isWanted && buttons.push(one);
    const addSource = (source: string) => {
      const [text, verb] = host.isEditor ? ["Source line", "Open"] : ["Copy path", "Copy"];
      add(source, text, "source", `${verb} ${source} (L)`, () => actions.openSource(source));
    };
    if (target && "facts" in target) return target;
    if (target && "value" in target) {
      const { value } = target;
      const [source, allocation] = [valueString(model, "source", value), model.allocation[value] ?? NONE];
      add(host.isEditor, "Open", "open", "Open in the editor (Enter)", () => actions.goToValue(value));
      const hlo = "Open its instruction in the HLO module";
      add(host.isEditor, "HLO", "hlo", hlo, () => actions.goToInstruction(value));
      addSource(source);
      add(source, "Same line", "pick", "Pick all values of this source line", () => {
        actions.change({ picked: null });
        actions.pick({ by: "source", name: source });
      });
      add(allocation >= 0, "Allocation", "mark", "Select its allocation", () => actions.mark(allocation));
      const title = valueString(model, "label", value);
      return { title, facts: factsOf(now, value), others: otherFacts(now, value), buttons };
    }
    if (target && "step" in target) {
      const { step } = target;
      const title = `Step ${grouped(ownStep(model, step))}`;
      return { title, facts: stepFacts(now, step), others: otherStepFacts(now, step) };
    }
    if (target) {
      const [name, size] = allocationText(model, target.allocation);
      add(host.isEditor, "Open", "open", "Open in the editor", () => actions.goToAllocation(target.allocation));
      return { title: `allocation ${name}`, facts: [["size", size]], buttons };
    }
    if (!search.isOn) return { title: `Peak of ${now.space.name}`, facts: peakFacts(now) };
    addSource(sourceOf(now));
    add(picked, "Solo", "solo", "Show only these values, or all again (S)", actions.solo);
    add(true, "Largest", "largest", "Select the largest (N for the next one)", () => actions.moveToMatch(1));
    add(picked, "Clear", "clear", "Show all alike again (Esc)", () => actions.change({ picked: null }));
    const title = [picked?.name, query.trim() && `“${query.trim()}”`].filter(Boolean).join(", ");
    return { title, facts: matchFacts(now), buttons };
  }

  return {
    element,
    draw: fill,
    /** Shows what is under the pointer, null if nothing is. `note` is shown below its details. */
    point(target: Target | Described | null, note = ""): void {
      const [before, after] = [pointed, target && { target, note }].map((one) => JSON.stringify(one));
      if (before === after) return;
      pointed = target && { target, note };
      fill(scene());
    },
    /** Adds the editor's hover of a target. */
    setDescription(target: Target, markdown: string): void {
      descriptions.set(JSON.stringify(target), markdown);
      isNew = changes();
      fill(scene());
    },
    /** Clears cached hovers, which are stale after a reload and when another map is shown. */
    clearDescriptions(): void {
      descriptions.clear();
      pointed = null;
      isNew = changes();
    },
  };
}
