/** The colors of the current theme, read from the style sheets. */

import { type Color, PALETTE_LENGTH, SCALE_LENGTH } from "./coloring";

const NAMES = ["background", "foreground", "muted", "live", "match", "over", "other", "unknown"] as const;

export interface Theme extends Record<(typeof NAMES)[number], string> {
  palette: string[];
  scale: string[];
  /** In high contrast, the edges of rectangles have the color of the text. */
  isHighContrast: boolean;
  font: string;
}

/** Red, green and blue, up to 255. */
export type Rgb = [number, number, number];

/** Sets the theme on the root element: that of the editor, else the preference of the system. */
export function applyTheme(): void {
  const classes = document.body.classList;
  const isEditor = [...classes].some((name) => name.startsWith("vscode-"));
  const isLight = classes.contains("vscode-high-contrast-light");
  const prefers = (query: string) => !isEditor && matchMedia(query).matches;
  const isContrast = isLight || classes.contains("vscode-high-contrast");
  const isDark = classes.contains("vscode-dark") || (isContrast && !isLight);
  const { dataset } = document.documentElement;
  dataset.theme = isDark || prefers("(prefers-color-scheme: dark)") ? "dark" : "light";
  dataset.contrast = isContrast || prefers("(prefers-contrast: more)") ? "more" : "normal";
}

/** Read the colors of the current theme. */
export function readTheme(root: HTMLElement): Theme {
  applyTheme();
  const probe = root.appendChild(document.createElement("span"));
  probe.className = "probe";
  const style = getComputedStyle(probe);
  const read = (name: string) => {
    probe.style.color = `var(--${name})`;
    return style.color;
  };
  const each = (name: string, length: number) => Array.from({ length }, (_, number) => read(`${name}-${number}`));
  const theme = {
    ...(Object.fromEntries(NAMES.map((name) => [name, read(name)])) as Record<(typeof NAMES)[number], string>),
    palette: each("palette", PALETTE_LENGTH),
    scale: each("scale", SCALE_LENGTH),
    isHighContrast: style.getPropertyValue("--high-contrast").trim() === "1",
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
  for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)", "(forced-colors: active)"]) {
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

/** Parse a computed CSS color. */
export function rgb(computed: string): Rgb {
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
