/** The colours of the page, as its style sheets have them for the theme in use. */

import { type Colour, PALETTE_LENGTH, SCALE_LENGTH } from "./colouring";

export interface Theme {
  background: string;
  foreground: string;
  muted: string;
  line: string;
  accent: string;
  live: string;
  liveArea: string;
  match: string;
  palette: string[];
  scale: string[];
  other: string;
  unknown: string;
  /** Whether the reader asked for high contrast: then all rectangles have edges in the colour of the text. */
  isHighContrast: boolean;
  font: string;
}

/** The parts of a colour, each up to 255. */
export type Rgb = [number, number, number];

/** Says on the root which colours are meant: those of the editor's theme, or else what the system prefers. */
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

/** Reads the colours that are meant now. */
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
    background: read("background"),
    foreground: read("foreground"),
    muted: read("muted"),
    line: read("line"),
    accent: read("accent"),
    live: read("live"),
    liveArea: read("live-area"),
    match: read("match"),
    palette: each("palette", PALETTE_LENGTH),
    scale: each("scale", SCALE_LENGTH),
    other: read("other"),
    unknown: read("unknown"),
    isHighContrast: style.getPropertyValue("--high-contrast").trim() === "1",
    font: style.fontFamily,
  };
  probe.remove();
  return theme;
}

/** Calls when the theme may have changed: the editor changes classes and variables, the system its preferences. */
export function watchTheme(changed: () => void): void {
  const observer = new MutationObserver(changed);
  observer.observe(document.body, { attributes: true, attributeFilter: ["class", "data-vscode-theme-id"] });
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["style", "class"] });
  for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)", "(forced-colors: active)"]) {
    matchMedia(query).addEventListener("change", changed);
  }
}

export function colourText(theme: Theme, colour: Colour): string {
  if (colour === "other" || colour === "unknown") return theme[colour];
  return "palette" in colour ? theme.palette[colour.palette]! : theme.scale[colour.scale]!;
}

/** A colour as the pixels of a canvas have it. */
export function pixel([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** The parts of a colour that a browser has computed. */
export function rgb(computed: string): Rgb {
  const numbers = computed.match(/[\d.]+/g)?.map(Number) ?? [];
  const scale = computed.startsWith("color(") ? 255 : 1;
  const [red = 0, green = 0, blue = 0] = numbers.map((number) => number * scale);
  return [red, green, blue];
}

/** A colour, so much of the way to another. */
export function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  return [0, 1, 2].map((part) => Math.round(from[part]! + (to[part]! - from[part]!) * share)) as Rgb;
}

/** Whether black is easier to read than white on a colour (by the luminance of WCAG). */
export function isLight(colour: Rgb): boolean {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179;
}
