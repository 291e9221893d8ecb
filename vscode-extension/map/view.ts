/** The page: creates its parts, connects their gestures to actions, and draws them. */

import { counted, grouped, human } from "../shared/numbers";
import type { Actions } from "./actions";
import { drawCurve } from "./curve";
import { createDetails } from "./details";
import { make, pressable, write } from "./dom";
import { createFlame } from "./flame";
import { listen } from "./gestures";
import type { Host } from "./host";
import { createHelp, listenToKeys, showHelp } from "./keyboard";
import { createLegend } from "./legend";
import { instructionAt, NONE, ownStep, valueString } from "./model";
import { createPanel } from "./panel";
import { Plot } from "./plot";
import { countAt, type Drawn, drawRectangles, valueAt } from "./rectangles";
import type { Drawing, Scene } from "./scene";
import { createSplitter } from "./splitter";
import { createCurveTable, createValueTable } from "./tables";
import type { Theme } from "./theme";
import { createToolbar } from "./toolbar";

export type View = ReturnType<typeof createView>;

/** What the view needs of the page. */
interface Page {
  redraw: () => void;
  /** Brings the other dump of a comparison to the front, and selects a value of it. */
  swap: (value: number) => void;
}

export function createView(scene: () => Scene, actions: Actions, host: Host, page: Page) {
  let drawn: Drawn | null = null;
  let otherDrawn: Drawn | null = null;
  const help = createHelp();
  const openHelp = () => showHelp(help);
  const details = createDetails(host, actions, scene);
  const toolbar = createToolbar(actions, openHelp);
  const legend = createLegend(actions, scene);
  const panel = createPanel(actions, details.element, legend.element);
  const curve = new Plot("curve", "Live bytes by step", "slider");
  const values = new Plot("values", "Values by live range and offset", "application");
  values.canvas.setAttribute("aria-roledescription", "memory map");
  const curveSection = section("curve", actions, (curveAs) => actions.change({ curveAs }), {
    picture: ["Curve", { element: curve.element, draw: (scene, theme) => drawCurve(curve, scene, theme) }],
    table: ["Table", createCurveTable(actions, scene)],
  });
  const flame = createFlame(actions, details);
  const valueSection = section("values", actions, (valuesAs) => actions.change({ valuesAs }), {
    picture: [
      "Map",
      { element: values.element, draw: (scene, theme) => (drawn = drawRectangles(values, scene, theme)) },
    ],
    flame: ["Flame graph", flame],
    table: ["Table", createValueTable(actions)],
  });
  const splitters = [
    createSplitter("curve", "before", "Resize the live bytes", actions),
    createSplitter("side", "after", "Resize the details and the live values", actions),
  ] as const;
  const otherValues = new Plot("other-values", "Values of the other dump", "img");
  const otherTitle = make("h2", {});
  const otherSection = make("section", { class: "values other" }, make("div", { class: "head" }, otherTitle));
  otherSection.append(otherValues.element);
  const status = make("div", { class: "spoken", role: "status", "aria-live": "polite" });
  const note = make("p", { class: "note", role: "note" });

  const stepAt = (x: number) => curve.stepScale(scene().steps).invert(x);
  const allocationAt = (y: number) => {
    const bytes = drawn!.y.invert(y);
    return scene().layout.bands.find(({ low, high }) => low <= bytes && bytes < high)?.allocation ?? NONE;
  };
  listen(curve, scene, actions, {
    hasBytes: false,
    click([x]) {
      actions.change({ range: null });
      actions.setStep(stepAt(x));
    },
    drag: ([from], [to]) => actions.compareSteps(stepAt(from), stepAt(to)),
    doubleClick: ([x]) => actions.goToStep(stepAt(x)),
    hover(point) {
      const last = scene().model.stepCount - 1;
      details.point(point && { step: Math.max(0, Math.min(last, Math.round(stepAt(point[0])))) });
    },
  });
  listen(values, scene, actions, {
    hasBytes: true,
    click(point) {
      if (!drawn) return;
      const value = valueAt(values, scene().layout, drawn, point);
      actions.setStep(drawn.x.invert(point[0]));
      actions.mark(NONE);
      if (value !== NONE) actions.select(value);
      else actions.mark(allocationAt(point[1]));
    },
    doubleClick(point) {
      if (!drawn) return;
      const value = valueAt(values, scene().layout, drawn, point);
      if (value !== NONE) actions.goToValue(value);
      else actions.goToAllocation(allocationAt(point[1]));
    },
    hover(point) {
      if (!point || !drawn) return details.point(null);
      const value = valueAt(values, scene().layout, drawn, point);
      if (value !== NONE) {
        const others = countAt(scene(), drawn, point) - 1;
        const inPixel = `${counted(others, "more value")} in this pixel; zoom in to distinguish them`;
        return details.point({ value }, others > 0 ? inPixel : "");
      }
      const allocation = allocationAt(point[1]);
      details.point(allocation === NONE ? null : { allocation }, "Nothing is live here.");
    },
  });
  const valueInOther = (point: [number, number]) => {
    const { other } = scene();
    return other && otherDrawn ? valueAt(otherValues, other.layout, otherDrawn, point) : NONE;
  };
  listen(otherValues, scene, actions, {
    hasBytes: false,
    click: (point) => page.swap(valueInOther(point)),
    doubleClick: () => actions.reset(),
    hover(point) {
      const { other, model } = scene();
      const value = point ? valueInOther(point) : NONE;
      const partner = value === NONE ? NONE : (other?.model.map.comparison?.partner[value] ?? NONE);
      otherValues.canvas.title = other && value !== NONE ? valueString(other.model, "label", value) : "";
      details.point(partner === NONE || !model.isPlaced[partner] ? null : { value: partner });
    },
  });
  // Redraw at once: resizing clears a canvas.
  for (const plot of [curve, values, otherValues]) plot.keepFitting(page.redraw);
  const showFlame = () => {
    actions.change({ valuesAs: "flame" });
    page.redraw();
    flame.element.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  };
  const toggleFlame = () =>
    scene().state.valuesAs === "flame" ? actions.change({ valuesAs: "picture" }) : showFlame();
  listenToKeys(scene, actions, {
    revealInList: panel.reveal,
    search: toolbar.startSearch,
    toggleFlame,
    help: openHelp,
  });

  const panes = [curveSection.element, splitters[0].element, valueSection.element, otherSection];
  const pictures = make("div", { class: "pictures" }, ...panes);
  const element = make(
    "div",
    { class: "page" },
    toolbar.element,
    make("main", {}, make("div", { class: "left" }, note, pictures), splitters[1].element, panel.element),
    status,
    help,
  );

  return {
    element,
    curve,
    values,
    /** What the lower plot shows, null while the flame graph or the table is shown instead. */
    drawn: () => drawn,
    details,
    /** Shows the flame graph and moves the focus into it. */
    showFlame,
    draw(scene: Scene, theme: Theme): void {
      toolbar.draw(scene);
      write(note, noteText(scene));
      for (const splitter of splitters) splitter.draw(scene, theme);
      legend.draw(scene, theme);
      panel.draw(scene, theme);
      details.draw(scene);
      announce(scene, curve.canvas, status);
      const isOld = scene.model.map.comparison?.side === "old";
      curveSection.show("Live bytes", scene.state.curveAs, scene, theme);
      const ofDump = scene.other ? ` of the ${isOld ? "old" : "new"} dump` : "";
      const { valuesAs } = scene.state;
      drawn = null;
      valueSection.show(`Values${valuesAs === "flame" ? "" : ofDump}`, valuesAs, scene, theme);
      const other = valuesAs === "flame" ? undefined : scene.other;
      otherSection.hidden = !other;
      otherDrawn = other ? drawRectangles(otherValues, other, theme) : null;
      if (!other) return;
      write(otherTitle, `Values of the ${isOld ? "new" : "old"} dump`);
      // Each dump keeps its place when the other one comes to the front.
      valueSection.element.style.order = isOld ? "1" : "0";
      otherSection.style.order = isOld ? "0" : "1";
    },
  };
}

/** A section that shows the same in several ways. A press on its title folds it. */
function section<As extends string>(
  name: "curve" | "values",
  actions: Actions,
  choose: (as: As) => void,
  ways: Record<As, [label: string, shown: Drawing]>,
) {
  const title = pressable(() => actions.fold(name), { class: "fold", "data-action": `fold-${name}` });
  const heading = make("h2", {}, title);
  const entries = Object.entries<[string, Drawing]>(ways) as [As, [string, Drawing]][];
  const tabs = entries.map(([as, [label]]) => pressable(() => choose(as), { "data-action": `${name}-${as}` }, label));
  const group = make("span", { class: "buttons", role: "group", "aria-label": "Show as" }, ...tabs);
  const head = make("div", { class: "head" }, heading, group);
  const element = make("section", { class: name }, head, ...entries.map(([, [, { element }]]) => element));
  return {
    element,
    /** Shows what is chosen unless the section is folded. */
    show(text: string, chosen: As, scene: Scene, theme: Theme): void {
      const isFolded = scene.state.folded.includes(name);
      write(title, text);
      title.dataset.sign = isFolded ? "▸ " : "▾ ";
      title.setAttribute("aria-expanded", String(!isFolded));
      element.setAttribute("aria-label", text);
      element.classList.toggle("folded", isFolded);
      for (const [index, [as, [, shown]]] of entries.entries()) {
        tabs[index]!.setAttribute("aria-pressed", String(as === chosen));
        shown.element.hidden = isFolded || as !== chosen;
        if (!shown.element.hidden) shown.draw(scene, theme);
      }
    },
  };
}

/** A note about what the dump lacks, empty if it is complete. */
function noteText({ model, layout, space, other }: Scene): string {
  if (other) {
    const [front, back] = model.map.comparison?.side === "old" ? ["old", "new"] : ["new", "old"];
    return `Area: ${front} dump. Dashed line: ${back} dump. The same instructions are at the same steps.`;
  }
  if (!layout.bands.length) return "All allocations of this memory space are empty.";
  if (!layout.boxes.value.length) return "No values are assigned to these allocations.";
  if (!model.isPlaced.includes(1)) {
    return "The dump has no live ranges: every value is drawn over all steps, and live bytes are unknown.";
  }
  return space.peak_step === null
    ? "No value of this memory space has a live range: every value is drawn over all steps."
    : "";
}

/** Announces the step to screen readers. */
function announce({ model, step, liveBytes, state }: Scene, slider: HTMLElement, status: HTMLElement): void {
  const instruction = instructionAt(model, step);
  const text = `step ${grouped(ownStep(model, step))}${instruction ? `, ${instruction}` : ""}, ${human(liveBytes)} live`;
  slider.setAttribute("aria-valuemin", "0");
  slider.setAttribute("aria-valuemax", String(model.stepCount - 1));
  slider.setAttribute("aria-valuenow", String(step));
  slider.setAttribute("aria-valuetext", text);
  const selected = state.selected >= 0 ? `, selected ${valueString(model, "label", state.selected)}` : "";
  write(status, text + selected);
}
