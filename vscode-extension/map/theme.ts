/** The colors of the current theme, read from the style sheets. */

import type { Color } from "./coloring";

/** The colors of groups of values, and the scale from little to much padding, of each theme: as many as `coloring.ts` says. */
const PALETTES = {
  light: ["#4a8fd0", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#7a5195", "#8a8f2a", "#3c4f76"],
  dark: ["#5aa9e6", "#f0b840", "#33bb99", "#e58abf", "#ee7733", "#b79be0", "#b5bd3c", "#8fa3c8"],
};
const SCALES = {
  light: ["#a9b8c6", "#fdc98a", "#fd9f55", "#f16913", "#b93a04", "#67000d"],
  dark: ["#566675", "#7f3b08", "#b35806", "#e08214", "#fdb863", "#fff0d0"],
};

const FORCED_COLORS = "(forced-colors: active)";
const NAMES = ["background", "foreground", "muted", "live", "match", "over", "other", "unknown"] as const;

export interface Theme extends Record<(typeof NAMES)[number], string> {
  palette: string[];
  scale: string[];
  /** In high contrast, the edges of rectangles have the color of the text. */
  isHighContrast: boolean;
  font: string;
}

/** The share of background in what does not match the search or is not picked. */
export const FAINT_SHARE = 0.82;

/** Red, green and blue, up to 255. */
export type Rgb = [number, number, number];

/** Sets the theme on the root element: that of the editor, else the preference of the system. */
export function applyTheme(): "light" | "dark" {
  // Such as `vscode-high-contrast`, which is dark.
  const kind = document.body.dataset.vscodeThemeKind;
  const prefers = (query: string) => kind === undefined && matchMedia(query).matches;
  const theme = /(?:dark|contrast)$/.test(kind ?? "") || prefers("(prefers-color-scheme: dark)") ? "dark" : "light";
  const contrast = kind?.includes("contrast") || prefers("(prefers-contrast: more)") ? "more" : "normal";
  Object.assign(document.documentElement.dataset, { theme, contrast });
  return theme;
}

/** Read the colors of the current theme. */
export function readTheme(root: HTMLElement): Theme {
  const name = applyTheme();
  const probe = root.appendChild(document.createElement("span"));
  probe.className = "probe";
  const style = getComputedStyle(probe);
  const read = (name: string) => {
    probe.style.color = `var(--${name})`;
    return style.color;
  };
  const theme = {
    ...(Object.fromEntries(NAMES.map((name) => [name, read(name)])) as Record<(typeof NAMES)[number], string>),
    palette: PALETTES[name],
    scale: SCALES[name],
    isHighContrast: document.documentElement.dataset.contrast === "more" || matchMedia(FORCED_COLORS).matches,
    font: style.fontFamily,
  };
  probe.remove();
  return theme;
}

/** Calls back when the theme may have changed: classes or variables of the editor, or preferences of the system. */
export function watchTheme(changed: () => void): void {
  const observer = new MutationObserver(changed);
  observer.observe(document.body, { attributes: true, attributeFilter: ["class", "data-vscode-theme-id"] });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["style", "class"] });
  for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)", FORCED_COLORS]) {
    matchMedia(query).addEventListener("change", changed);
  }
}

export function cssColor(theme: Theme, color: Color): string {
  if (color === "other" || color === "unknown") return theme[color];
  return "palette" in color ? theme.palette[color.palette]! : theme.scale[color.scale]!;
}

/** A color as a 32-bit canvas pixel. */
export function pixel([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Parse a CSS color, computed or hexadecimal. */
export function rgb(computed: string): Rgb {
  if (computed.startsWith("#")) return [1, 3, 5].map((at) => Number.parseInt(computed.slice(at, at + 2), 16)) as Rgb;
  const numbers = computed.match(/[\d.]+/g)?.map(Number) ?? [];
  const scale = computed.startsWith("color(") ? 255 : 1;
  const [red = 0, green = 0, blue = 0] = numbers.map((number) => number * scale);
  return [red, green, blue];
}

/** Mix two colors; a share of 0 is the first. */
export function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  return [0, 1, 2].map((part) => Math.round(from[part]! + (to[part]! - from[part]!) * share)) as Rgb;
}

/** Whether black is easier to read than white on a color, by WCAG luminance. */
export function isLight(color: Rgb): boolean {
  const [red, green, blue] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179;
}
