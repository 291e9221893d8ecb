/** The manifest of the extension, `package.json`. `npm run build` writes the commands, menus and keys of `commands.json` into it. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

const read = (name) => JSON.parse(readFileSync(join(import.meta.dirname, name), "utf8"));

/** Return the text of `package.json`. */
export function manifest() {
  const { conditions, commands } = read("commands.json");
  const whole = read("package.json");
  const rows = Object.entries(commands).map(([name, row]) => ({ command: `xla-lens.${name}`, ...row }));
  const menus = { commandPalette: [] };
  for (const { command, palette, menus: places = [] } of rows) {
    if (palette) menus.commandPalette.push({ command, when: palette });
    for (const [menu, when, group] of places) {
      menus[menu] ??= [];
      menus[menu].push({ command, when: when.replace(/\{(\w+)\}/g, (_, name) => conditions[name]), group });
    }
  }
  // What is undefined is left out of JSON.
  whole.contributes.commands = rows.map(({ command, title, icon, enablement }) => {
    return { command, title, category: "XLA Lens", icon: icon && `$(${icon})`, enablement };
  });
  whole.contributes.menus = menus;
  whole.contributes.keybindings = rows.flatMap(({ command, key, binding }) => [
    ...(key ? [{ command, key: `alt+${key}`, mac: `ctrl+alt+${key}`, when: conditions.keys }] : []),
    ...(binding ? [{ command, ...binding }] : []),
  ]);
  return `${JSON.stringify(whole, null, 2)}\n`;
}
