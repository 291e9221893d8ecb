/** The dialog that lists keys and gestures. */

import { make } from "./dom";
import { KEYS, POINTER } from "./keyboard";

export function createHelp(): HTMLDialogElement {
  const dialog = make("dialog", { class: "help", "aria-labelledby": "help-title" });
  const close = make("button", { type: "button", "data-action": "close-help" }, "Close");
  close.addEventListener("click", () => dialog.close());
  const keys = KEYS.map(([name, , what]) => [name, what] as const);
  const rows = [...keys, ...POINTER].flatMap(([name, what]) => [make("dt", {}, name), make("dd", {}, what)]);
  dialog.append(make("h2", { id: "help-title" }, "Keys and gestures"), make("dl", {}, ...rows), close);
  return dialog;
}
